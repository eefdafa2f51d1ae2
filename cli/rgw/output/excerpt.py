"""Which stretches of a long raw output are worth showing: where segments meet and where issues point.

Pure arithmetic on offsets; it draws nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rgw.model import ParsedOutput

WHOLE_CHARACTERS, WHOLE_LINES = 6_000, 120
AROUND_CHARACTERS, AROUND_LINES = 160, 2
FIRST_BOUNDARIES, LAST_BOUNDARIES, MOST_ISSUES = 40, 10, 40


@dataclass(frozen=True, slots=True)
class Stretch:
    """`raw_output[start:end]`, shown or left out; `line` is the number of the line in which it starts."""

    start: int
    end: int
    line: int
    shown: bool


def excerpt(raw_output: str, parsed: ParsedOutput) -> Iterator[Stretch]:
    """The raw output as stretches in order, shown and left out by turns; short outputs are shown whole."""
    position, line = 0, 1
    for start, end in _shown(raw_output, parsed):
        if start > position:
            yield Stretch(position, start, line, shown=False)
            line += raw_output.count("\n", position, start)
        yield Stretch(start, end, line, shown=True)
        line += raw_output.count("\n", start, end)
        position = end
    if position < len(raw_output):
        yield Stretch(position, len(raw_output), line, shown=False)


def _shown(raw_output: str, parsed: ParsedOutput) -> list[tuple[int, int]]:
    if len(raw_output) <= WHOLE_CHARACTERS and raw_output.count("\n") <= WHOLE_LINES:
        return [(0, len(raw_output))]
    merged: list[tuple[int, int]] = []
    for start, end in sorted(_around(raw_output, point) for point in _points(raw_output, parsed)):
        if merged and start - merged[-1][1] < AROUND_CHARACTERS:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _points(raw_output: str, parsed: ParsedOutput) -> set[int]:
    boundaries = [segment.start for segment in parsed.segments]
    issues = parsed.issues[:MOST_ISSUES]
    return {
        0,
        len(raw_output),
        *boundaries[:FIRST_BOUNDARIES],
        *boundaries[-LAST_BOUNDARIES:],
        *(issue.start for issue in issues),
        *(issue.end for issue in issues),
    }


def _around(raw_output: str, point: int) -> tuple[int, int]:
    start = end = point
    lowest, highest = max(0, point - AROUND_CHARACTERS), min(len(raw_output), point + AROUND_CHARACTERS)
    for _ in range(AROUND_LINES):
        start = max(raw_output.rfind("\n", lowest, max(start - 1, lowest)) + 1, lowest)
        newline = raw_output.find("\n", end, highest)
        end = newline + 1 if newline >= 0 else highest
    return start, end
