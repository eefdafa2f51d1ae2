"""The raw output on a terminal: every character in the colour of its segment, issues under their place.

Where there is no colour, a ruler under each row says the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from rgw.model import ParsedOutput, SegmentKind, Severity
from rgw.output.text import BAD, DIM, WARN
from rgw.output.tiles import Note, Omission, Row, Tiles, coverage, label

STYLES = {
    SegmentKind.REASONING: "magenta",
    SegmentKind.TEXT: "bold",
    SegmentKind.TOOL_CALL: "green",
    SegmentKind.DELIMITER: "cyan",
    SegmentKind.LAYOUT: "bright_black",
    SegmentKind.PREFILL: "yellow",
    SegmentKind.UNCLAIMED: "white on red",
}
LETTERS = {
    SegmentKind.REASONING: "r",
    SegmentKind.TEXT: "t",
    SegmentKind.TOOL_CALL: "c",
    SegmentKind.DELIMITER: "d",
    SegmentKind.LAYOUT: "l",
    SegmentKind.PREFILL: "p",
    SegmentKind.UNCLAIMED: "?",
}
SEVERITY_STYLES = {Severity.ERROR: BAD, Severity.WARNING: WARN}
NARROWEST_NOTE = 40


class TiledOutput:
    """A Rich renderable of one derendered raw output."""

    def __init__(self, raw_output: str, parsed: ParsedOutput, *, whole: bool = False) -> None:
        self._parsed = parsed
        self._tiles = Tiles(raw_output, parsed, whole=whole)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        coloured = console.color_system is not None and not console.no_color
        gutter = len(str(self._tiles.line_count)) + 1
        width = max(options.max_width - gutter - 4, 8)
        margin = Text(f"{'':>{gutter}} │ ", style=DIM)
        yield legend(self._parsed, coloured=coloured)
        yield Text()
        for row in self._tiles.rows(width):
            if isinstance(row, Omission):
                yield Text(f"{'⋯':>{gutter}}   {row.words}", style=DIM)
                continue
            yield Text.assemble(
                (f"{row.number or '':>{gutter}} │ ", DIM), *((text, STYLES[kind]) for text, kind in row.pieces)
            )
            if not coloured:
                yield Text.assemble(margin, _ruler(row))
            for note in row.notes:
                yield from (Text.assemble(margin, text) for text in _lines(note, width))


def legend(parsed: ParsedOutput, *, coloured: bool = True) -> Text:
    """The kinds of segment that occur, each in its colour, with how many characters it covers."""
    return Text("   ").join(
        Text.assemble(
            (f" {label(kind)} ", _swatch(kind)) if coloured else f"{LETTERS[kind]} {label(kind)}", (f" {count:,}", DIM)
        )
        for kind, count in coverage(parsed)
    )


def _ruler(row: Row) -> Text:
    return Text("".join(LETTERS[kind].ljust(cell_len(text), "─") for text, kind in row.pieces), style=DIM)


def _lines(note: Note, width: int) -> Iterator[Text]:
    """The caret line of an issue and its words, beside the carets where there is room, else under them."""
    style = SEVERITY_STYLES[note.severity]
    beside = note.column + len(note.carets) + 1
    room = width - beside
    if room >= min(NARROWEST_NOTE, len(note.words)):
        indent, (first, *rest) = beside, wrap(note.words, room)
        yield Text(f"{' ' * note.column}{note.carets} {first}", style=style)
    else:
        indent = min(note.column, max(width - NARROWEST_NOTE, 0))
        rest = wrap(note.words, width - indent)
        yield Text(" " * note.column + note.carets, style=style)
    for words in rest:
        yield Text(" " * indent + words, style=style)


def _swatch(kind: SegmentKind) -> str:
    return STYLES[kind] if kind is SegmentKind.UNCLAIMED else f"{STYLES[kind]} reverse"
