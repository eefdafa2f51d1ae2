"""The view of `rgw parse`: what the model meant, what is wrong, where each byte went, and what transformers says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text

from rgw.derender.compare import TransformersResult
from rgw.model import ParsedOutput, SegmentKind, Severity
from rgw.output.agreement import compare
from rgw.output.json_text import pretty
from rgw.output.text import BAD, DIM, GOOD, NAME, WARN, block, line, table
from rgw.output.tiles import place
from rgw.output.tiling import STYLES, TiledOutput
from rgw.rollouts import Reading

LONGEST_CONTENT = 2_000
BANNER_ISSUES = 10
MOST_PANELS = 12
_MARKS = {"clean": ("✓", GOOD), "warnings": ("✓", WARN), "looks-like-call": ("✗", BAD), "ill-formed": ("✗", BAD)}


def view(reading: Reading, *, whole: bool = False) -> Iterator[RenderableType]:
    """What a person sees of one reading.

    Args:
        reading: The derendered output.
        whole: Leave nothing of a long output out.
    """
    parsed = reading.parsed
    yield headline(reading)
    if parsed.ill_formed:
        yield banner(reading.output, parsed)
    yield from panels(parsed, whole=whole)
    if reading.output:
        yield ""
        yield Rule(Text("raw output", style="bold"), style=DIM, align="left")
        yield TiledOutput(reading.output, parsed, whole=whole)
    if reading.transformers is not None:
        yield ""
        yield from comparison(reading, reading.transformers)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result in a few words; `state` is `clean`, `warnings`, `looks-like-call` or `ill-formed`."""

    state: str
    words: str


def verdict(parsed: ParsedOutput) -> Verdict:
    """What became of a turn."""
    if parsed.ill_formed:
        return Verdict("ill-formed", "ill-formed")
    if parsed.keeps_call_in_text:
        return Verdict("looks-like-call", "read, but its text looks like a call")
    if parsed.issues:
        count = len(parsed.issues)
        return Verdict("warnings", f"read, {count:,} warning{'s' if count > 1 else ''}")
    return Verdict("clean", "clean")


def consequence(parsed: ParsedOutput) -> str:
    """What an ill-formed turn comes back as."""
    if parsed.reasoning:
        return "The reasoning was never closed. It stays reasoning; there is no text and there are no tool calls."
    return "This turn could not be read whole. It comes back as its raw text, with no reasoning and no tool calls."


def contents(parsed: ParsedOutput) -> Iterator[tuple[str, str, SegmentKind]]:
    """Title, content and kind of what a turn means, in the order to show it; of raw text nothing."""
    if parsed.reasoning:
        yield "reasoning", parsed.reasoning, SegmentKind.REASONING
    if parsed.text and not parsed.ill_formed:
        yield "text", parsed.text, SegmentKind.TEXT
    for number, tool_use in enumerate(parsed.tool_uses, 1):
        title = f"tool call {number}" if len(parsed.tool_uses) > 1 else "tool call"
        yield f"{title}: {tool_use['name']}", pretty(tool_use["input"]), SegmentKind.TOOL_CALL


def headline(reading: Reading) -> Text:
    """Which input, with what result, and what read it."""
    result = verdict(reading.parsed)
    mark, style = _MARKS[result.state]
    ending = "" if reading.parsed.end_of_turn else ", no end-of-turn marker"
    return Text.assemble(
        (f"{mark} {result.words}", style),
        "  ",
        line(str(reading.id), "bold"),
        (f"  {len(reading.output):,} characters{ending}\n  read with ", DIM),
        line(reading.schema, NAME),
        line(f" on {reading.engine}", DIM),
    )


def banner(raw_output: str, parsed: ParsedOutput) -> Panel:
    """The unmistakable sign of an ill-formed turn, with what is wrong."""
    errors = [issue for issue in parsed.issues if issue.severity is Severity.ERROR]
    rows = [
        (line(place(raw_output, issue.start), DIM), line(issue.code.value, BAD), issue.message)
        for issue in errors[:BANNER_ISSUES]
    ]
    more = [line(f"and {len(errors) - BANNER_ISSUES:,} more", DIM)] if len(errors) > BANNER_ISSUES else []
    return Panel(
        Group(Text(consequence(parsed)), "", table(("Where", "What", ""), rows), *more),
        title=Text(" ILL-FORMED ", style="bold white on red"),
        title_align="left",
        box=box.HEAVY,
        border_style="bold red",
        padding=(1, 2),
    )


def panels(parsed: ParsedOutput, *, whole: bool = False) -> Iterator[RenderableType]:
    """Reasoning, text and tool calls, each in a panel; of an ill-formed turn only the cut thought."""
    everything = list(contents(parsed))
    shown = everything if whole else everything[:MOST_PANELS]
    for title, content, kind in shown:
        style = "" if kind is SegmentKind.TEXT else STYLES[kind]
        yield Panel(
            block(content if whole else shortened(content)),
            title=line(title, f"bold {style}".strip()),
            title_align="left",
            box=box.ROUNDED,
            border_style=style or "none",
        )
    if len(shown) < len(everything):
        yield line(f"{len(everything) - len(shown):,} more tool calls are not shown; --whole shows them", DIM)
    if not (parsed.reasoning or parsed.text or parsed.tool_uses):
        yield Panel(Text("nothing: no reasoning, no text, no tool call", style=DIM), box=box.ROUNDED, border_style=DIM)


def comparison(reading: Reading, alone: TransformersResult) -> Iterator[RenderableType]:
    """What transformers alone returns, beside it."""
    agreement = compare(reading.parsed, alone)
    yield Text.assemble(("✓ ", GOOD) if agreement.agrees else ("≠ ", BAD), line(agreement.title, "bold"))
    if agreement.rows:
        rows = [
            (line(label, DIM), block(shortened(ours)), block(shortened(theirs)))
            for label, ours, theirs in agreement.rows
        ]
        yield table(("", "rgw", "transformers"), rows)


def shortened(content: str) -> str:
    """`content` with the middle of what is too long left out, and said to be."""
    if len(content) <= LONGEST_CONTENT:
        return content
    half = LONGEST_CONTENT // 2
    return f"{content[:half]}\n⋯ {len(content) - 2 * half:,} characters left out ⋯\n{content[-half:]}"
