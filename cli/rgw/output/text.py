"""Rich building blocks that the views share: escaped text, one palette, one table shape."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from rgw.output.escape import escape_block, escape_commands, escape_line

GOOD, BAD, WARN, DIM, NAME = "bold green", "bold red", "bold yellow", "dim", "bold cyan"

# For streams that cannot carry what the views draw with; each replacement is as wide as the original.
_ASCII = str.maketrans(
    {"✓": "+", "✗": "x", "⏎": "$", "·": "-", "⋯": "~", "│": "|", "╷": ".", "╰": "`", "─": "-", "▲": "^"}
)


class Escaped:
    """A renderable of which no text can reach the terminal unescaped, whoever built it."""

    def __init__(self, renderable: RenderableType) -> None:
        self._renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        start = ""
        for segment in console.render(self._renderable, options):
            if segment.control:
                continue
            text = _harmless(start, escape_block(segment.text))
            start = (start + text).rpartition("\n")[2]
            yield Segment(text.translate(_ASCII) if options.ascii_only else text, _unlinked(segment.style))


def line(text: str, style: str = "") -> Text:
    """`text` on one line, escaped."""
    return Text(escape_line(text), style=style)


def block(text: str, style: str = "") -> Text:
    """`text` over as many lines as it has, escaped."""
    return Text(escape_block(text), style=style)


def table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> Table:
    """A table with a rule under its head; cells fold, never lose text."""
    result = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, show_edge=False)
    for column in columns:
        result.add_column(column, overflow="fold")
    for row in rows:
        result.add_row(*(line(cell) if isinstance(cell, str) else cell for cell in row))
    return result


def card(facts: Iterable[tuple[str, str | Text]]) -> Table:
    """Facts one under the other, their labels in a column of their own."""
    result = Table.grid(padding=(0, 2))
    result.add_column(style=DIM)
    result.add_column(overflow="fold")
    for label, fact in facts:
        result.add_row(line(label), line(fact) if isinstance(fact, str) else fact)
    return result


def indented(renderable: RenderableType, columns: int = 2) -> Padding:
    """`renderable` moved to the right."""
    return Padding(renderable, (0, 0, 0, columns))


def _harmless(start: str, text: str) -> str:
    """`text`, which continues the line `start`, without what a CI log obeys, even where `start` is a part of that."""
    safe = escape_commands(start + text)
    if safe.startswith(start):
        return safe[len(start) :]
    return f"\\x{ord(text[0]):02x}" + escape_commands("." + text[1:])[1:]


def _unlinked(style: Style | None) -> Style | None:
    return style.update_link(None) if style is not None and style.link else style
