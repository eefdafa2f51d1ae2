"""Much work at once, in processes that end with the one that they work for. This module knows nothing of templates."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_processes(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    processes: int,
    prepare: Callable[[], None] | None = None,
) -> Iterator[Result]:
    """Apply a function to every item in processes of their own; the results come in the order of the items.

    Ctrl-C is for this process alone. The others end with it, however it ends, and as soon as nobody waits for their
    results: what they are at then is dropped.

    Args:
        function: What to apply; like the items and the results, it travels between processes.
        items: What to apply it to; all of them are asked for at once.
        processes: How many at a time.
        prepare: What each process does first.

    Raises:
        BrokenExecutor: A process died.
    """
    context = get_context("spawn")
    lifeline, held = context.Pipe(duplex=False)
    executor = ProcessPoolExecutor(processes, mp_context=context, initializer=_serve, initargs=(lifeline, prepare))
    try:
        with _interrupts_put_off():
            results = executor.map(function, items)
        yield from results
    finally:
        held.close()
        executor.shutdown(cancel_futures=True)
        lifeline.close()


def _serve(lifeline: Connection, prepare: Callable[[], None] | None) -> None:
    """Begin to work for another process, and end when it lets go of its end of the line."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_after, args=(lifeline,), daemon=True).start()
    if prepare is not None:
        prepare()


def _end_after(lifeline: Connection) -> None:
    with suppress(OSError):
        lifeline.poll(None)
    os._exit(1)


@contextmanager
def _interrupts_put_off() -> Iterator[None]:
    """What is started within does not see Ctrl-C while it loads; this process sees it when it has been started."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
