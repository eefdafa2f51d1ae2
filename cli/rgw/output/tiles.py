"""A raw output as rows to draw: pieces by kind of segment, and each issue under the row that it points into.

Knows lines, widths and what is left out of a long output; colours and page layouts are the views'.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from rich.cells import cell_len

from rgw.model import Issue, ParsedOutput, SegmentKind, Severity
from rgw.output.escape import escape_line
from rgw.output.excerpt import MOST_ISSUES, Stretch, excerpt

# `\U000e0001`: an escape is never wider.
WIDEST_ESCAPE = 10


@dataclass(frozen=True, slots=True)
class Note:
    """An issue under its row: carets from a column on, and the words for a person."""

    column: int
    carets: str
    severity: Severity
    words: str


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the raw output, or the part of one that fits the width; `number` stands at the first part only."""

    number: int | None
    pieces: tuple[tuple[str, SegmentKind], ...]
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Omission:
    """What is left out between two rows, in words."""

    words: str


class Tiles:
    """The rows of one derendered raw output.

    Args:
        raw_output: The raw output.
        parsed: What the derender says of it.
        whole: Leave nothing of a long output out.
    """

    def __init__(self, raw_output: str, parsed: ParsedOutput, *, whole: bool = False) -> None:
        self._raw_output = raw_output
        self._segments = parsed.segments
        self._starts = [segment.start for segment in parsed.segments]
        self._issues = parsed.issues if whole else parsed.issues[:MOST_ISSUES]
        self._more_issues = len(parsed.issues) - len(self._issues)
        self._stretches = [Stretch(0, len(raw_output), 1, shown=True)] if whole else list(excerpt(raw_output, parsed))

    @property
    def line_count(self) -> int:
        """How many lines the raw output has."""
        return self._raw_output.count("\n") + 1

    def rows(self, width: int = sys.maxsize) -> Iterator[Row | Omission]:
        """The rows in order, none wider than `width` cells but for a newline that hangs over."""
        issues = list(reversed(self._issues))
        for stretch in self._stretches:
            if not stretch.shown:
                yield self._omission(stretch)
                continue
            for number, start, end in _spans(self._raw_output, stretch, width):
                notes = []
                while issues and (issues[-1].start < end or end == len(self._raw_output)):
                    notes.append(self._note(issues.pop(), start, end))
                yield Row(number, tuple(self._pieces(start, end)), tuple(notes))
        if self._more_issues:
            yield Omission(f"{self._more_issues:,} more issues are not shown here; the JSON document has them")

    def _pieces(self, start: int, end: int) -> Iterator[tuple[str, SegmentKind]]:
        index = max(bisect_right(self._starts, start) - 1, 0)
        while index < len(self._segments) and self._segments[index].start < end:
            segment = self._segments[index]
            piece = self._raw_output[max(segment.start, start) : min(segment.end, end)]
            yield visible(piece, segment.kind), segment.kind
            index += 1

    def _note(self, issue: Issue, row_start: int, row_end: int) -> Note:
        start, end = max(issue.start, row_start), min(issue.end, row_end)
        words = f"{issue.severity.value}[{issue.code.value}] {issue.message}"
        if issue.end > row_end:
            at_end = issue.end == len(self._raw_output)
            words += " (up to the end)" if at_end else f" (up to {place(self._raw_output, issue.end)})"
        return Note(
            column=cell_len(visible(self._raw_output[row_start:start])),
            carets="^" * max(cell_len(visible(self._raw_output[start:end])), 1),
            severity=issue.severity,
            words=escape_line(words),
        )

    def _omission(self, stretch: Stretch) -> Omission:
        kinds = {kind for _, kind in self._pieces(stretch.start, stretch.end)}
        what = label(kinds.pop()) if len(kinds) == 1 else "output"
        count = stretch.end - stretch.start
        return Omission(f"{count:,} characters of {what} left out, from line {stretch.line:,} on")


def coverage(parsed: ParsedOutput) -> list[tuple[SegmentKind, int]]:
    """The kinds of segment that occur, each with how many characters it covers."""
    characters: Counter[SegmentKind] = Counter()
    for segment in parsed.segments:
        characters[segment.kind] += segment.end - segment.start
    return [(kind, characters[kind]) for kind in SegmentKind if characters[kind]]


def label(kind: SegmentKind) -> str:
    """A kind in words."""
    return kind.value.replace("_", " ")


def place(raw_output: str, offset: int) -> str:
    """An offset as people count: line and column, both from 1."""
    line = raw_output.count("\n", 0, offset) + 1
    return f"line {line}, column {offset - raw_output.rfind(chr(10), 0, offset)}"


def visible(piece: str, kind: SegmentKind | None = None) -> str:
    """`piece` as it is drawn: newlines as signs, blanks of layout as dots, the unsafe as escapes."""
    drawn = escape_line(piece.replace("\n", "⏎"))
    return drawn.replace(" ", "·") if kind is SegmentKind.LAYOUT else drawn


def _spans(raw_output: str, stretch: Stretch, width: int) -> Iterator[tuple[int | None, int, int]]:
    """Line number, start and end of each row of a stretch; an empty stretch is one empty row."""
    number, start = stretch.line, stretch.start
    while True:
        newline = raw_output.find("\n", start, stretch.end)
        end = newline + 1 if newline >= 0 else stretch.end
        shown_number: int | None = number
        for piece_start, piece_end in _fitting(raw_output, start, end, width):
            yield shown_number, piece_start, piece_end
            shown_number = None
        number, start = number + 1, end
        if start >= stretch.end:
            return


def _fitting(raw_output: str, start: int, end: int, width: int) -> Iterator[tuple[int, int]]:
    used = 0
    for index in range(start, end if end - start > width // WIDEST_ESCAPE else start):
        cells = 0 if raw_output[index] == "\n" else _cells(raw_output[index])
        if used + cells > width and index > start:
            yield start, index
            start, used = index, 0
        used += cells
    yield start, end


@cache
def _cells(character: str) -> int:
    return cell_len(visible(character))
