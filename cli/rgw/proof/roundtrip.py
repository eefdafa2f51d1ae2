"""The round trip: what was meant is rendered, cut out, derendered and compared.

A difference is the template's doing only when the template writes the same text for what came back as for what was
meant, for each part of the turn on its own; otherwise the schema misread the turn. Where the text itself was made to
look like another part, only the whole is asked for, and that no call went missing: nobody could tell the two apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from rgw.derender import Derenderer
from rgw.model import IssueCode, ParsedOutput, Severity
from rgw.proof.model import Call, Turn, canonical, same_calls, same_turn, turn_of
from rgw.proof.shapes import ReasoningForm
from rgw.proof.turns import CutTurn, Studio


class Outcome(StrEnum):
    """What became of a turn on its way there and back."""

    EXACT = "exact"
    TEMPLATE_LOSSY = "template_lossy"
    FLAGGED = "flagged"
    SILENT = "silent"


@dataclass(frozen=True, slots=True)
class Trip:
    """One turn, derendered and judged.

    Attributes:
        turn: The turn and what was meant.
        typed: Whether the derender was told the tools.
        parsed: What came back.
        outcome: The judgement.
        notes: What the template lost, or the codes of the errors that flagged it, or what differs.
    """

    turn: CutTurn
    typed: bool
    parsed: ParsedOutput
    outcome: Outcome
    notes: tuple[str, ...] = ()

    def judged(self, outcome: Outcome, notes: tuple[str, ...] = ()) -> Trip:
        """The same trip with another judgement."""
        return replace(self, outcome=outcome, notes=notes)

    def cut_at(self, position: int, parsed: ParsedOutput) -> Trip:
        """The trip of the turn's first characters."""
        return replace(self, turn=replace(self.turn, output=self.turn.output[:position]), parsed=parsed)


def round_trips(
    studio: Studio, derenderer: Derenderer, turns: Iterable[CutTurn], *, hostile: bool = False
) -> list[Trip]:
    """Derender each turn without its tools, and with them when there are any, and judge what comes back.

    Args:
        studio: Renders with the template.
        derenderer: Reads with the schema.
        turns: What was cut out.
        hostile: The turns hold delimiters in their text, reasoning or values.
    """
    attempts = [
        (turn, typed, derenderer.parse(turn.output, prompt=turn.prompt, tools=_tools(turn) if typed else None))
        for turn in turns
        for typed in ((False, True) if turn.conversation.tools else (False,))
    ]
    differing = [
        (turn, parsed) for turn, _, parsed in attempts if not parsed.ill_formed and not _is_exact(turn, parsed)
    ]
    misread = iter(_misread(studio, differing, _lookalikes if hostile else _variants))
    trips = []
    for turn, typed, parsed in attempts:
        meant, back = turn.conversation.last, turn_of(parsed)
        if parsed.ill_formed:
            trips.append(Trip(turn, typed, parsed, Outcome.FLAGGED, error_codes(parsed)))
        elif same_turn(meant, back):
            trips.append(Trip(turn, typed, parsed, Outcome.EXACT))
        elif (notes := next(misread)) and hostile and _began_as_thought(studio, derenderer, turn, back):
            trips.append(Trip(turn, typed, parsed, Outcome.TEMPLATE_LOSSY, ("text: read as reasoning",)))
        elif notes and hostile and _held_calls(studio, turn, back):
            trips.append(Trip(turn, typed, parsed, Outcome.TEMPLATE_LOSSY, ("text: read as calls",)))
        elif notes and hostile and _is_said_to_deviate(parsed):
            trips.append(Trip(turn, typed, parsed, Outcome.FLAGGED, (IssueCode.TOLERATED_DELIMITER.value,)))
        elif notes:
            trips.append(Trip(turn, typed, parsed, Outcome.SILENT, notes))
        else:
            trips.append(Trip(turn, typed, parsed, Outcome.TEMPLATE_LOSSY, differences(meant, back)))
    return trips


def _began_as_thought(studio: Studio, derenderer: Derenderer, turn: CutTurn, back: Turn) -> bool:
    """Whether the text began with a thought, markers and all, and came back as that thought and the rest.

    Such a turn says nothing else: its text cannot be told from a thought, though the template lays one out otherwise,
    or writes none. Where the template begins an answer without a thought with the closer alone, that is an empty one.
    """
    meant = turn.conversation.last
    if meant.reasoning.strip() and not _drops_reasoning(studio, turn):
        return False
    if not same_calls(meant.calls, back.calls) and not _writes(studio, turn, replace(meant, calls=back.calls)):
        return False
    thought = meant.text.strip().removesuffix(back.text.strip()).strip()
    markers = derenderer.schema.turn.reserved
    opening = next((marker for marker in markers if thought.startswith(marker)), "")
    closing = next((marker for marker in markers if thought.endswith(marker)), "")
    if opening == closing == thought:
        return bool(thought) and not back.reasoning and studio.begins_answers_with(thought)
    between = thought.removeprefix(opening).removesuffix(closing)
    return bool(opening and closing) and opening != closing and between.split() == back.reasoning.split()


def _drops_reasoning(studio: Studio, turn: CutTurn) -> bool:
    """Whether the template writes the turn without its reasoning."""
    meant = turn.conversation.last
    return studio.shape.reasoning is ReasoningForm.NONE or _writes(studio, turn, replace(meant, reasoning=""))


def _held_calls(studio: Studio, turn: CutTurn, back: Turn) -> bool:
    """Whether the text held whole calls, which came back before those that were meant.

    The template writes the same for what came back, but for white space that the format allows between its parts.
    """
    meant = turn.conversation.last
    more = len(back.calls) - len(meant.calls)
    is_same = [call.name for call in meant.calls] == [call.name for call in back.calls[max(more, 0) :]]
    if more <= 0 or not is_same:
        return False
    if meant.reasoning.split() != back.reasoning.split() and (back.reasoning or not _drops_reasoning(studio, turn)):
        return False
    (text,) = studio.write([(turn.conversation.with_last(back), turn.variables)])
    return text is not None and "".join(text.split()) == "".join((turn.head + turn.output).split())


def _writes(studio: Studio, turn: CutTurn, last: Turn) -> bool:
    """Whether the template writes this very output for another last turn."""
    (text,) = studio.write([(turn.conversation.with_last(last), turn.variables)])
    return text is not None and _is_output(turn, text)


def _is_output(turn: CutTurn, text: str) -> bool:
    return text in {turn.head + turn.output, turn.prompt + turn.output}


def _is_said_to_deviate(parsed: ParsedOutput) -> bool:
    """Whether the reading says that no template writes what it read."""
    return any(issue.code is IssueCode.TOLERATED_DELIMITER for issue in parsed.issues)


def error_codes(parsed: ParsedOutput) -> tuple[str, ...]:
    """The distinct codes of what made a turn ill-formed."""
    codes = (issue.code.value for issue in parsed.issues if issue.severity is Severity.ERROR)
    return tuple(dict.fromkeys(codes))


def _tools(turn: CutTurn) -> tuple[Mapping[str, Any], ...]:
    return turn.conversation.tools or ()


def _is_exact(turn: CutTurn, parsed: ParsedOutput) -> bool:
    return same_turn(turn.conversation.last, turn_of(parsed))


def _misread(
    studio: Studio,
    differing: Sequence[tuple[CutTurn, ParsedOutput]],
    variants_of: Callable[[Turn, Turn], Iterator[Turn]],
) -> list[tuple[str, ...]]:
    """For each turn that came back different, what the template would have written otherwise; empty: nothing."""
    variants = [
        (number, turn, variant)
        for number, (turn, parsed) in enumerate(differing)
        for variant in variants_of(turn.conversation.last, turn_of(parsed))
    ]
    written = studio.write([(turn.conversation.with_last(variant), turn.variables) for _, turn, variant in variants])
    notes: list[tuple[str, ...]] = [() for _ in differing]
    for (number, turn, variant), text in zip(variants, written, strict=True):
        if text is None or not _is_output(turn, text):
            whole = with_blank_parts(turn.conversation.last, turn_of(differing[number][1]))
            if not notes[number] or not same_turn(variant, whole):
                notes[number] += differences(turn.conversation.last, variant)
    return notes


def _variants(meant: Turn, back: Turn) -> Iterator[Turn]:
    """What was meant with one part at a time as it came back, and what came back as a whole."""
    back = with_blank_parts(meant, back)
    if not _moved(meant, back):
        if meant.text != back.text:
            yield replace(meant, text=back.text)
        if meant.reasoning != back.reasoning:
            yield replace(meant, reasoning=back.reasoning)
    if not same_calls(meant.calls, back.calls):
        yield replace(meant, calls=back.calls)
    yield back


def _lookalikes(meant: Turn, back: Turn) -> Iterator[Turn]:
    """What was meant without the calls that went missing, and what came back as a whole."""
    if len(back.calls) < len(meant.calls):
        yield replace(meant, calls=back.calls)
    yield with_blank_parts(meant, back)


def with_blank_parts(meant: Turn, back: Turn) -> Turn:
    """What came back, with other white space in a part that was meant to be white space and came back empty.

    A derendered turn does not say whether an empty part is there. A template that strips it and still writes that it
    is there does not carry it, when it writes the same for other white space.
    """
    return back if _moved(meant, back) else with_blanks_of(meant, back)


def with_blanks_of(meant: Turn, back: Turn) -> Turn:
    """What came back, with white space in each part that was meant to be white space and came back empty."""

    def part(one: str, other: str) -> str:
        return one * 2 if one.isspace() and not other else other

    return replace(back, text=part(meant.text, back.text), reasoning=part(meant.reasoning, back.reasoning))


def _moved(meant: Turn, back: Turn) -> str:
    """How the only words of a turn came back in another place, as some templates write them; empty: not so."""
    if not meant.reasoning and not back.text and _same_words(meant.text, back.reasoning):
        return "text: written as reasoning"
    if not meant.text and not back.reasoning and _same_words(meant.reasoning, back.text):
        return "reasoning: written as text"
    return ""


def _same_words(meant: str, back: str) -> bool:
    """Whether there is something, and it is the same but for outer white space; nothing but that must be the same."""
    return bool(back) and (meant == back or (bool(back.strip()) and meant.strip() == back.strip()))


def differences(meant: Turn, back: Turn) -> tuple[str, ...]:
    """What differs between two turns, in words that are the same for the same kind of difference."""
    moved = _moved(meant, back)
    notes = [moved] if moved else []
    for part, one, other in (("reasoning", meant.reasoning, back.reasoning), ("text", meant.text, back.text)):
        if one != other and not moved:
            notes.append(f"{part}: {_text_difference(one, other)}")
    notes += _call_differences(meant.calls, back.calls)
    return tuple(dict.fromkeys(notes))


def _text_difference(meant: str, back: str) -> str:
    if meant.strip() == back.strip():
        return "outer white space"
    if not back:
        return "dropped"
    return "changed" if meant else "made up"


def _call_differences(meant: Sequence[Call], back: Sequence[Call]) -> Iterator[str]:
    if len(meant) != len(back):
        yield "calls: dropped" if len(back) < len(meant) else "calls: made up"
        return
    for one, other in zip(meant, back, strict=True):
        if one.name != other.name:
            yield "calls: another name"
        for key in {**one.arguments, **other.arguments}:
            if key not in other.arguments or key not in one.arguments:
                yield "arguments: dropped" if key in one.arguments else "arguments: made up"
            elif canonical(one.arguments[key]) != canonical(other.arguments[key]):
                yield f"arguments: {_value_difference(one.arguments[key], other.arguments[key])}"


def _value_difference(meant: Any, back: Any) -> str:
    if isinstance(meant, str) and isinstance(back, str):
        return _text_difference(meant, back)
    if type(meant) is not type(back):
        return f"{_type_name(meant)} read as {_type_name(back)}"
    return f"{_type_name(meant)} changed"


def _type_name(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names[type(value)]
