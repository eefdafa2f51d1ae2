"""Growth is told from a machine that is slow for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from rgw.derender.growth_worker import suspicion

LARGEST = 16_000


def reader(seconds: Callable[[int], float], slowness: Iterator[float]) -> Callable[[int], float]:
    """Takes as long as the size asks for, times the next factor by which the machine is slower than usual."""
    return lambda size: seconds(size) * next(slowness)


def linear(size: int) -> float:
    return size / 1_000_000


def quadratic(size: int) -> float:
    return 0.016 * (size / LARGEST) ** 2


def factors(*first: float, then: float) -> Iterator[float]:
    yield from first
    while True:
        yield then


@pytest.mark.parametrize(
    "slowness",
    [
        factors(then=1.0),
        # 32 ms against 4 ms for a quarter is suspicious; so is 16 ms against 128 ms, and 16 ms against 64 ms is not.
        factors(2.0, 1.0, 1.0, 2.0, then=1.0),
        # The machine becomes slower between the two sizes, and stays so: 16 and 128 ms, then 32 and 128 ms.
        factors(2.0, 1.0, 1.0, then=2.0),
    ],
)
def test_what_is_linear_is_cleared_although_the_machine_is_slow_for_a_while(slowness: Iterator[float]) -> None:
    assert suspicion(reader(linear, slowness), LARGEST) is None


@pytest.mark.parametrize("slower", [1.0, 1.9])
def test_what_is_quadratic_is_not_cleared_by_a_machine_that_is_slow_on_the_smaller_size(slower: float) -> None:
    # 16 ms and 256 ms, 16 times as long: 8.4 times where the smaller size takes 1.9 times as long as it should.
    found = suspicion(reader(quadratic, iter([1.0, 1.0, *[slower, 1.0] * 20])), LARGEST)
    assert found == pytest.approx((0.016 * slower, 0.256))


def test_what_takes_no_time_is_not_looked_at_again() -> None:
    # 1 ms is noise, and a single reading has been made: a second one would find no factor.
    assert suspicion(reader(lambda _: 0.001, iter([1.0])), LARGEST) is None
