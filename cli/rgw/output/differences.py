"""The view of `rgw diff`: the two templates, the diff of their texts, and what they write differently side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest

from rich import box
from rich.console import RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from rgw.differences.model import Change, Comparison, Difference, Rendering, Side, TextDifference
from rgw.output.text import BAD, DIM, GOOD, NAME, WARN, card, indented, line
from rgw.output.tiles import visible

_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_DIFF_LINES, _ROWS, _CHARACTERS, _AROUND = 40, 16, 600, 160
_REMOVED, _ADDED = "bold red", "bold green"


def view(compared: Comparison, *, whole: bool = False) -> Iterator[RenderableType]:
    """What a person sees of a comparison."""
    yield _headline(compared)
    yield indented(card(_facts(compared)))
    if compared.text is not None and compared.text.diff:
        yield ""
        yield Rule(line("text", DIM), align="left", style=DIM)
        yield _text_diff(compared.text, whole=whole)
    for aspect, differences in groupby(compared.differences, key=lambda difference: difference.aspect):
        yield ""
        yield Rule(line(aspect.value, NAME), align="left", style=DIM)
        for difference in differences:
            yield from _difference(difference, whole=whole)


def _headline(compared: Comparison) -> Text:
    if compared.text is None:
        return Text.assemble(("✓ ", GOOD), line("the same template", "bold"))
    if not compared.differing:
        return Text.assemble(("✓ ", GOOD), line("they write the same", "bold"), _of(len(compared.probes)))
    count = f"  {len(compared.differing)} of {len(compared.probes)} probes"
    return Text.assemble(("✗ ", BAD), line("they write differently", "bold"), line(count, DIM))


def _of(probes: int) -> Text:
    return line(f"  for all {probes} probes", DIM)


def _facts(compared: Comparison) -> Iterator[tuple[str, str | Text]]:
    yield "A", _side(compared.before)
    yield "B", _side(compared.after)
    if compared.text is not None:
        yield "text", _text_words(compared.text)
    if compared.refused:
        yield "refused", f"by both: {', '.join(compared.refused)}"


def _side(side: Side) -> Text:
    where = side.template.source if side.revision is None else f"{side.template.source} @ {side.revision[:12]}"
    return Text.assemble(line(side.ref, "bold"), line(f"  {side.template.sha256[:12]}  {where}", DIM))


def _text_words(text: TextDifference) -> str:
    if text.layout:
        return f"only {text.layout} differs"
    return f"lines: {text.added} added, {text.removed} removed"


def _text_diff(text: TextDifference, *, whole: bool) -> RenderableType:
    lines = [part for part in text.diff.split("\n") if not part.startswith(("---", "+++"))]
    shown = lines if whole else lines[:_DIFF_LINES]
    parts = [line(_cut(part, whole=whole), _DIFF_STYLES.get(part[:1], DIM)) for part in shown]
    if len(lines) > len(shown):
        parts.append(line(f"⋯ {len(lines) - len(shown)} more lines (--whole shows them)", DIM))
    return indented(Text("\n").join(parts))


def _difference(difference: Difference, *, whole: bool) -> Iterator[RenderableType]:
    also = f"  and {len(difference.also_in)} more: {', '.join(difference.also_in)}" if difference.also_in else ""
    yield Text.assemble(line(difference.probe, "bold"), line(also, DIM))
    rows = list(_rows(difference)) if difference.changes else [_refusal(difference)]
    shown = rows if whole else rows[:_ROWS]
    sides = Table(box=box.SIMPLE, show_header=True, header_style=DIM, pad_edge=False, show_edge=False, expand=True)
    for name in ("A", "B"):
        sides.add_column(name, ratio=1, overflow="fold")
    for before, after in shown:
        sides.add_row(before.shown(whole=whole), after.shown(whole=whole))
    yield indented(sides)
    if len(rows) > len(shown):
        yield indented(line(f"⋯ {len(rows) - len(shown)} more rows (--whole shows them)", DIM))


@dataclass(frozen=True, slots=True)
class _Cell:
    """A stretch of one side: a line, or part of one, with what differs in it marked."""

    pieces: tuple[tuple[str, str], ...]

    def shown(self, *, whole: bool) -> Text:
        return Text.assemble(
            *(
                Text(_cut(visible(text), whole=whole, most=_AROUND if style == DIM else _CHARACTERS), style=style)
                for text, style in self.pieces
            )
        )


_NOTHING = _Cell(())


def _refusal(difference: Difference) -> tuple[_Cell, _Cell]:
    return _answer(difference.before), _answer(difference.after)


def _answer(rendering: Rendering) -> _Cell:
    if rendering.text is None:
        return _Cell(((f"refuses: {rendering.refusal}", WARN),))
    return _Cell(((f"renders {len(rendering.text):,} characters", DIM),))


def _rows(difference: Difference) -> Iterator[tuple[_Cell, _Cell]]:
    """The lines in which something changes, each side's beside the other's."""
    before, after = difference.before.text or "", difference.after.text or ""
    for changes in _by_line(before, difference.changes):
        old = [(change.before_start, change.before_start + len(change.before)) for change in changes]
        new = [(change.after_start, change.after_start + len(change.after)) for change in changes]
        left, right = _marked(before, old, _REMOVED), _marked(after, new, _ADDED)
        yield from zip_longest(left, right, fillvalue=_NOTHING)


def _by_line(text: str, changes: Sequence[Change]) -> Iterator[list[Change]]:
    """Changes that begin in the same line, together."""
    for _, group in groupby(changes, key=lambda change: text.count("\n", 0, change.before_start)):
        yield list(group)


def _marked(text: str, spans: Sequence[tuple[int, int]], style: str) -> list[_Cell]:
    """The lines that the spans lie in, with the spans marked."""
    start = text.rfind("\n", 0, spans[0][0]) + 1
    newline = text.find("\n", max(spans[-1][1] - 1, spans[-1][0]))
    end = newline + 1 if newline >= 0 else len(text)
    pieces: list[tuple[str, str]] = []
    position = start
    for first, last in spans:
        pieces += [(text[position:first], DIM), (text[first:last], style)]
        position = last
    pieces.append((text[position:end], DIM))
    return _in_lines(pieces)


def _in_lines(pieces: Sequence[tuple[str, str]]) -> list[_Cell]:
    lines: list[list[tuple[str, str]]] = [[]]
    for text, style in pieces:
        for part in text.splitlines(keepends=True):
            lines[-1].append((part, style))
            if part.endswith("\n"):
                lines.append([])
    return [_Cell(tuple(parts)) for parts in lines if parts]


def _cut(text: str, *, whole: bool, most: int = _CHARACTERS) -> str:
    """A long text without its middle."""
    if whole or len(text) <= most:
        return text
    return f"{text[: most // 2]} ⋯ {len(text) - most:,} characters ⋯ {text[-most // 2 :]}"
