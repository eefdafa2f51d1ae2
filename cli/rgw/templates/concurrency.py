"""Waiting for slow places: many calls at once, and no call for longer than its time.

The threads are daemons: they end with the program, so that Ctrl-C never waits for the network. This module knows
nothing of templates.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import TypeVar

THREAD_NAME = "rgw-templates"

Item = TypeVar("Item", bound=Hashable)
Result = TypeVar("Result")

Watch = Callable[[Iterable[Item]], Iterable[Item]]
"""Lets somebody watch items pass while what becomes of each is waited for."""


def within(seconds: float, call: Callable[[], Result]) -> Result:
    """Return what a call returns.

    Raises:
        TimeoutError: It takes longer; it is left to itself then.
    """
    future: Future[Result] = Future()
    _start(partial(_settle, future, call))
    return future.result(timeout=seconds)


def map_concurrently(
    function: Callable[[Item], Result], items: Iterable[Item], *, workers: int, watch: Watch[Item] = iter
) -> dict[Item, Result]:
    """Apply a function to every item in a few threads; the first exception in the order of the items is raised."""
    futures: dict[Item, Future[Result]] = {item: Future() for item in items}
    waiting: SimpleQueue[Item] = SimpleQueue()
    for item in futures:
        waiting.put(item)

    def work() -> None:
        with suppress(Empty):
            while True:
                item = waiting.get_nowait()
                _settle(futures[item], partial(function, item))

    for _ in range(min(workers, len(futures))):
        _start(work)
    return {item: futures[item].result() for item in watch(futures)}


def _settle(future: Future[Result], call: Callable[[], Result]) -> None:
    """Hand on whatever the call does, an exception included."""
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - it is raised again where the result is asked for
        future.set_exception(error)
    else:
        future.set_result(result)


def _start(work: Callable[[], None]) -> None:
    threading.Thread(target=work, daemon=True, name=THREAD_NAME).start()
