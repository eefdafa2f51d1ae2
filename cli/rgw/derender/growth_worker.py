"""The measuring process of `growth`: reads a schema on stdin, reports each shape before it is read, then the verdict.

Run as `python -m rgw.derender.growth_worker TASK LIMIT …`. One that reads longer than the limit is ended by the
operating system: a regular expression that runs away lets no Python code run.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from math import sqrt
from typing import Any

import regex

from rgw.derender.derenderer import Derenderer
from rgw.derender.growth import (
    MAXIMUM_RATIO,
    NOISE_SECONDS,
    Growth,
    Shape,
    adversarial_shapes,
    patterns_of,
    schema_from_dict,
)
from rgw.derender.policy import LENIENT_POLICY
from rgw.registry.model import Schema

_FOURFOLD_RATIO = MAXIMUM_RATIO**2
_CONFIRMING_TURNS = 8

_limits: list[float] = []


def main() -> None:
    """Read the schema on stdin, do what the arguments say, and end with the verdict as the last line."""
    schema = schema_from_dict(json.load(sys.stdin))
    task, limit, *arguments = sys.argv[1:]
    _limits.append(float(limit))
    if task == "measure":
        _report(asdict(measure(schema, int(arguments[0]), lenient=arguments[1] == "lenient")))
    else:
        _report({"pattern": slowest_pattern(schema, Shape(*arguments))})


def measure(schema: Schema, largest: int, *, lenient: bool) -> Growth:
    """Read every shape at doubling sizes and stop at the first that grows faster than linearly."""
    derenderer = Derenderer(schema, policy=LENIENT_POLICY if lenient else None)
    derenderer.parse("a", prompt="")
    for shape in adversarial_shapes(schema):
        growth = _measure_shape(derenderer, shape, largest)
        if not growth.linear:
            return growth
    return Growth(True)


def _measure_shape(derenderer: Derenderer, shape: Shape, largest: int) -> Growth:
    whole, fourfold = suspicion(lambda size: _read(derenderer, shape, size), largest) or (0.0, 0.0)
    if not fourfold:
        return Growth(True)
    pattern = slowest_pattern(derenderer.schema, shape)
    return Growth(False, str(shape), pattern, 4 * largest, fourfold, sqrt(fourfold / whole))


def suspicion(read: Callable[[int], float], largest: int) -> tuple[float, float] | None:
    """Compare reading `largest` characters with reading a quarter; a suspicion is confirmed at four times as much.

    A machine that others use is at times half as fast for a while, in processor time too. So the two sizes of the
    confirmation are read in turns, and one turn in which both are read at the same speed is enough to be cleared:
    growth that is there shows in every turn.

    Args:
        read: Reads so many characters and says how many seconds that took.
        largest: Characters of the first reading.

    Returns:
        The least seconds for `largest` and for four times `largest` characters where reading grows faster than
        linearly; `None` where it does not.
    """
    whole = read(largest)
    if whole < NOISE_SECONDS or whole < read(largest // 4) * _FOURFOLD_RATIO:
        return None
    turns = list[tuple[float, float]]()
    for _ in range(_CONFIRMING_TURNS):
        whole, fourfold = read(largest), read(4 * largest)
        if fourfold < max(whole, NOISE_SECONDS) * _FOURFOLD_RATIO:
            return None
        turns.append((whole, fourfold))
    return min(whole for whole, _ in turns), min(fourfold for _, fourfold in turns)


def _read(derenderer: Derenderer, shape: Shape, size: int) -> float:
    """Seconds to read a shape, reported before it is read in case that it never ends."""
    text = shape.text(size)
    _report({"shape": shape, "size": len(text)})
    started = time.thread_time()
    derenderer.parse(text, prompt="")
    return time.thread_time() - started


def slowest_pattern(schema: Schema, shape: Shape) -> str:
    """The pattern that takes longest to search a shape, reported before it is tried in case that it never returns."""
    times: dict[str, float] = {}
    for size in (250, 1_000, 4_000, 16_000, 64_000):
        text = shape.text(size)
        for pattern in patterns_of(schema):
            _report({"pattern": pattern})
            started = time.thread_time()
            with suppress(regex.error):
                regex.compile(pattern, regex.DOTALL).search(text)
            times[pattern] = time.thread_time() - started
    return max(times, key=lambda pattern: times[pattern]) if times else ""


def _report(data: dict[str, Any]) -> None:
    """Say what is about to be done, and give it its time."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, _limits[0] if _limits else 0)
    sys.stdout.write(json.dumps(data) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
