"""What rgw and transformers' own parser make of the same output, side by side, and whether the two agree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rgw.derender.compare import TransformersResult
from rgw.model import ParsedOutput, Severity, ToolUse
from rgw.output.json_text import pretty

READABLE_WIDTH = 40


@dataclass(frozen=True, slots=True)
class Agreement:
    """The comparison in words.

    Attributes:
        agrees: Both say the same.
        title: The same as a sentence.
        rows: What differs: its name, what rgw says, what transformers says.
    """

    agrees: bool
    title: str
    rows: tuple[tuple[str, str, str], ...]


def compare(parsed: ParsedOutput, alone: TransformersResult) -> Agreement:
    """Put the two beside each other."""
    if alone.agrees_with(parsed):
        what = "refuses it as well" if parsed.ill_formed else "returns the same"
        return Agreement(True, f"transformers' own parse_response {what}", ())
    if alone.error:
        title = "transformers' own parse_response fails on it"
    elif parsed.ill_formed:
        title = "transformers' own parse_response returns a message and says nothing of what is wrong"
    else:
        title = "transformers' own parse_response returns something else"
    return Agreement(False, title, tuple(_differences(parsed, alone)))


def _differences(parsed: ParsedOutput, alone: TransformersResult) -> Iterator[tuple[str, str, str]]:
    if alone.error or parsed.ill_formed:
        yield "verdict", _verdict(parsed), alone.error or "no complaint"
    text = "" if parsed.ill_formed else parsed.text
    if alone.error:
        return
    if parsed.reasoning.strip() != alone.reasoning.strip():
        yield "reasoning", parsed.reasoning.strip() or "none", alone.reasoning.strip() or "none"
    if text.strip() != alone.text.strip():
        yield "text", text.strip() or ("all of it, raw" if parsed.ill_formed else "none"), alone.text.strip() or "none"
    if parsed.tool_uses != alone.tool_uses:
        yield "tool calls", _calls(parsed.tool_uses), _calls(alone.tool_uses)


def _verdict(parsed: ParsedOutput) -> str:
    if not parsed.ill_formed:
        return "read"
    codes = [issue.code.value for issue in parsed.issues if issue.severity is Severity.ERROR]
    return f"ill-formed: {', '.join(dict.fromkeys(codes))}"


def _calls(tool_uses: list[ToolUse]) -> str:
    return "\n".join(f"{use['name']} {pretty(use['input'], width=READABLE_WIDTH)}" for use in tool_uses) or "none"
