"""The measuring process of `growth`: reads a schema on stdin, reports each shape before it is read, then the verdict.

Run as `python -m rgw.derender.growth_worker LARGEST`. Its parent kills it when it overruns.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import regex

from rgw.derender.derenderer import Derenderer
from rgw.derender.growth import (
    MAXIMUM_RATIO,
    NOISE_SECONDS,
    Growth,
    adversarial_shapes,
    patterns_of,
    schema_from_dict,
)
from rgw.registry.model import Schema

SMALLEST = 1_000


def main() -> None:
    """Read the schema on stdin, do what the arguments say, and end with the verdict as the last line."""
    schema = schema_from_dict(json.load(sys.stdin))
    task, *arguments = sys.argv[1:]
    if task == "measure":
        _report(asdict(measure(schema, int(arguments[0]))))
    else:
        _report({"pattern": slowest_pattern(schema, *arguments)})


def measure(schema: Schema, largest: int) -> Growth:
    """Read every shape at doubling sizes and stop at the first that grows faster than linearly."""
    derenderer = Derenderer(schema)
    derenderer.parse("a", prompt="")
    for prefix, repeated in adversarial_shapes(schema):
        growth = _measure_shape(derenderer, prefix, repeated, largest)
        if not growth.linear:
            return growth
    return Growth(True)


def _measure_shape(derenderer: Derenderer, prefix: str, repeated: str, largest: int) -> Growth:
    shape = f"{prefix[:60]!r} followed by " * bool(prefix) + f"{repeated[:60]!r} again and again"
    previous = 0.0
    size = SMALLEST
    while size <= largest:
        text = prefix + repeated * (size // len(repeated))
        _report({"shape": shape, "prefix": prefix, "repeated": repeated, "size": len(text)})
        seconds = _time(derenderer, text)
        if seconds > previous * MAXIMUM_RATIO and previous > NOISE_SECONDS:
            seconds = min(seconds, _time(derenderer, text))
            if seconds > previous * MAXIMUM_RATIO:
                pattern = slowest_pattern(derenderer.schema, prefix, repeated)
                return Growth(False, shape, pattern, len(text), seconds, seconds / previous)
        previous = seconds
        size *= 2
    return Growth(True)


def _time(derenderer: Derenderer, text: str) -> float:
    started = time.perf_counter()
    derenderer.parse(text, prompt="")
    return time.perf_counter() - started


def slowest_pattern(schema: Schema, prefix: str, repeated: str) -> str:
    """The pattern that takes longest to search a shape, reported before it is tried in case that it never returns."""
    times: dict[str, float] = {}
    for size in (250, 500, 1_000, 2_000, 4_000):
        text = prefix + repeated * (size // len(repeated))
        for pattern in patterns_of(schema):
            _report({"pattern": pattern})
            started = time.perf_counter()
            with suppress(regex.error):
                regex.compile(pattern, regex.DOTALL).search(text)
            times[pattern] = time.perf_counter() - started
    return max(times, key=lambda pattern: times[pattern]) if times else ""


def _report(data: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(data) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
