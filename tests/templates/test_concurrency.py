"""Many calls at once, and no call for longer than its time."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

import pytest

from rgw.templates.concurrency import map_concurrently, within


def test_calls_run_at_the_same_time() -> None:
    everyone = threading.Barrier(4)

    def meet(item: str) -> str:
        everyone.wait(timeout=30)
        return item.upper()

    assert map_concurrently(meet, ["a", "b", "c", "d"], workers=4) == {"a": "A", "b": "B", "c": "C", "d": "D"}


def test_more_items_than_workers_are_all_done() -> None:
    items = [str(number) for number in range(100)]
    assert map_concurrently(int, items, workers=3) == {item: int(item) for item in items}


def test_the_items_can_be_watched_in_their_order() -> None:
    seen: list[int] = []

    def watch(items: Iterable[int]) -> Iterator[int]:
        for item in items:
            yield item
            seen.append(item)

    assert map_concurrently(lambda number: number * number, [3, 1, 2], workers=2, watch=watch) == {3: 9, 1: 1, 2: 4}
    assert seen == [3, 1, 2]


def test_no_items_are_no_work() -> None:
    assert map_concurrently(int, [], workers=3) == {}


def test_an_exception_of_a_call_is_raised_where_the_results_are_asked_for() -> None:
    with pytest.raises(ValueError, match="'x'"):
        map_concurrently(int, ["1", "x", "2"], workers=2)


def test_a_call_within_its_time_returns() -> None:
    assert within(30, lambda: "done") == "done"


def test_a_call_that_takes_longer_is_left_to_itself() -> None:
    over = threading.Event()
    with pytest.raises(TimeoutError):
        within(0.01, over.wait)
    over.set()
