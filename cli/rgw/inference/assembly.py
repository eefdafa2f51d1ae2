"""From the literals of a turn and the notation of its calls to a response schema in the dialect of this registry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rgw.inference.calls import CallForm, Surroundings
from rgw.inference.json_calls import FlattenedJson
from rgw.inference.literals import alternatives, escaped, layout_pattern, literal_pattern, markers, set_off
from rgw.inference.turns import Delimiter, TurnForm
from rgw.registry.model import PYTHON_CONSTANTS, Dialect, LayoutRules, Origin, Schema, TurnRules, UntypedValues

_SHORTEST_RESERVED = 3
_PLAIN_TEXT: Mapping[str, Any] = {"content": "text", "content_args": {"strip": False}}


@dataclass(frozen=True, slots=True)
class Choices:
    """What the sightings leave open, and refinement tries.

    Attributes:
        unreserved: Delimiters that do stand in ordinary text.
        reserve_in_reasoning: Delimiters of calls may not stand in reasoning either.
        layout_behind_text: The white space before a call belongs to it only where text stands before it.
        untyped: How a value without a type is read; `None`: as the notation suggests.
    """

    unreserved: frozenset[str] = frozenset()
    reserve_in_reasoning: bool = False
    layout_behind_text: bool = False
    untyped: UntypedValues | None = None


def assemble(name: str, turn: TurnForm, calls: CallForm | None, choices: Choices, *, eos_token: str) -> Schema:
    """The schema that reads turns of these literals.

    Args:
        name: What to call it.
        turn: The literals of a turn.
        calls: The notation of its calls, if it has any.
        choices: What the literals leave open.
        eos_token: The token that was rendered as the tokenizer's own end of the turn.
    """
    return _Assembly(turn, calls, choices, eos_token).schema(name)


class _Assembly:
    def __init__(self, turn: TurnForm, calls: CallForm | None, choices: Choices, eos_token: str) -> None:
        self._eos_token = eos_token
        self._turn = turn
        self._calls = calls
        self._choices = choices

    def schema(self, name: str) -> Schema:
        fields: dict[str, Any] = {}
        if self._turn.reasoning_open is not None and self._turn.reasoning_close is not None:
            fields["reasoning_content"] = self._reasoning(self._turn.reasoning_open, self._turn.reasoning_close)
        if self._calls is not None:
            fields["tool_calls"] = self._calls.field(self._around_calls())
        fields["content"] = self._text()
        template = {"defaults": {"role": "assistant"}, **self._anchor(), "fields": fields}
        return Schema(
            name=name,
            title=f"Inferred: {self._calls.title if self._calls is not None else 'no calls'}",
            origin=Origin("rgw"),
            dialects={Dialect.RESPONSE_TEMPLATE: template},
            turn=TurnRules(
                end=self._end_markers(),
                resumable=self._resumable(),
                reserved=tuple(self._reserved()),
                reserved_in_reasoning=tuple(self._not_in_thoughts()) if self._choices.reserve_in_reasoning else (),
                prefill=self._turn.prefill,
            ),
            layout=self._layout(),
            untyped_values=self._untyped(),
            constants=self._calls.constants if self._calls is not None else PYTHON_CONSTANTS,
        )

    def _untyped(self) -> UntypedValues:
        if self._choices.untyped is not None:
            return self._choices.untyped
        return self._calls.untyped_values if self._calls is not None else UntypedValues.JSON

    def _anchor(self) -> dict[str, str]:
        anchors = self._turn.anchors
        if len(anchors) == 1:
            return {"start_anchor": anchors[0]}
        return {"start_anchor_pattern": alternatives(map(escaped, anchors)) or r"\A"}

    def _layout(self) -> LayoutRules:
        header = f"(?:{escaped(self._turn.anchors[0])})?" if self._turn.header_again else ""
        return LayoutRules(turn_start=header + layout_pattern(self._turn.before_turn))

    def _header_again(self) -> str:
        if not self._turn.repeats_header:
            return ""
        return "".join(f"(?:{escaped(anchor)})?" for anchor in self._turn.anchors[:1])

    def _reasoning(self, opened: Delimiter, closed: Delimiter) -> dict[str, Any]:
        closer = literal_pattern(closed.core)
        opener = self._header_again() + set_off(opened.before, opened.core) + literal_pattern(opened.core)
        opener += layout_pattern(opened.behind)
        return {
            "open_pattern": opener + self._closed_at_once(closer),
            "close_pattern": self._closed_when_empty(opened, closer)
            + set_off(closed.before, closed.core)
            + closer
            + layout_pattern(closed.behind),
            **_PLAIN_TEXT,
        }

    def _closed_when_empty(self, opened: Delimiter, closer: str) -> str:
        behind = self._turn.behind_empty_thought
        if behind is None:
            return ""
        return f"(?<={literal_pattern(opened.core)}{layout_pattern(opened.behind)}){closer}{layout_pattern(behind)}|"

    def _closed_at_once(self, closer: str) -> str:
        """Some templates close at the start of a turn the reasoning that their generation prompt opens."""
        return rf"|\A\s{{0,4}}(?={closer})" if self._turn.closes_unopened else ""

    def _text(self) -> dict[str, Any]:
        opened, closed = self._turn.text_open, self._turn.text_close
        if opened is None:
            endings = alternatives(self._endings())
            return {**({"close_pattern": endings} if endings else {}), **_PLAIN_TEXT}
        closes = self._endings()
        if closed is not None and closed.core:
            closes.append(set_off(closed.before, closed.core) + literal_pattern(closed.core))
        if self._turn.repeats_header and self._turn.reasoning_close is not None:
            closes.append(literal_pattern(self._turn.reasoning_close.core))
        return {
            "open_pattern": self._header_again()
            + set_off(opened.before, opened.core)
            + literal_pattern(opened.core)
            + layout_pattern(opened.behind),
            "close_pattern": alternatives(closes),
            **_PLAIN_TEXT,
        }

    def _endings(self) -> list[str]:
        """Patterns of what ends the turn, those of more markers first."""
        return list(map(_ending_pattern, sorted(self._turn.endings, key=len, reverse=True)))

    def _around_calls(self) -> Surroundings:
        turn = self._turn
        calls = self._calls
        assert calls is not None
        opened = self._header_again() + self._layout_before_calls() + self._before_each_call()
        opened += literal_pattern(turn.call_open.core)
        if not turn.call_open.core and not turn.section_open.core:
            opened += calls.beginning
        elif turn.call_open.behind and not isinstance(calls, FlattenedJson):
            opened += r"\s{1,8}" if turn.call_open.core[-1:].isalnum() else r"\s{0,8}"
        closed = literal_pattern(turn.call_close.core)
        if turn.section_close.core:
            again = literal_pattern(turn.separator) + literal_pattern(turn.call_open.core)
            closed += f"(?:\\s{{0,8}}{literal_pattern(turn.section_close.core)}|(?=\\s{{0,8}}{again}))"
        endings = alternatives(map(_ending_pattern, turn.call_endings))
        closed += layout_pattern(turn.call_close.behind) if closed or endings else ""
        closed += f"(?:{endings})?" if endings else ""
        return Surroundings(opened, closed)

    def _layout_before_calls(self) -> str:
        turn = self._turn
        before = turn.call_open.before
        layout = layout_pattern(before)
        alone = "" if turn.section_open.core else set_off(before, turn.call_open.core).removeprefix(layout)
        if not layout or not self._choices.layout_behind_text:
            return layout + alone
        closed = turn.reasoning_close
        behind_thought = rf"(?<!{escaped(closed.core + closed.behind)}\s{{0,8}})" if closed is not None else ""
        return rf"(?:{behind_thought}(?<!\A\s{{0,8}}){layout})?{alone}"

    def _before_each_call(self) -> str:
        """What opens the section before the first call; the others follow a call, and a separator if there is one."""
        turn = self._turn
        section, separator = literal_pattern(turn.section_open.core), literal_pattern(turn.separator)
        if not section and not separator:
            return ""
        closer = literal_pattern(turn.call_close.core)
        follows = f"(?<={closer}\\s{{0,8}}){separator}" if closer else separator
        first = f"{set_off('', turn.section_open.core)}{section}\\s{{0,8}}" if section else ""
        return f"(?:{first}|{follows}\\s{{0,8}})"

    def _end_markers(self) -> tuple[str, ...]:
        """The first marker of each ending; the tokenizer's own first, since that is what proofs render with."""
        endings = (*self._turn.endings, *self._turn.call_endings)
        found = [marker for ending in endings for marker in markers(ending)[:1]]
        own = [self._eos_token] if any(self._eos_token in ending for ending in endings) else []
        return tuple(dict.fromkeys([*own, *found]))

    def _resumable(self) -> tuple[str, ...]:
        """End markers that also close a part in the middle of a turn."""
        turn = self._turn
        inner = {turn.call_close.core, *(part.core for part in (turn.reasoning_close, turn.text_close) if part)}
        return tuple(marker for marker in self._end_markers() if turn.repeats_header and marker in inner)

    def _call_markers(self) -> Iterable[str]:
        turn = self._turn
        delimiters = (turn.section_open, turn.call_open, turn.call_close, turn.section_close)
        found = [marker for delimiter in delimiters for marker in markers(delimiter.core)]
        return dict.fromkeys(literal for literal in found if _is_distinct(literal))

    def _not_in_thoughts(self) -> Iterable[str]:
        headers = [marker for anchor in self._turn.anchors for marker in markers(anchor)[:1]]
        text = self._turn.text_open
        openers = markers(text.core) if text is not None else []
        return dict.fromkeys([*self._call_markers(), *filter(_is_distinct, [*headers, *openers])])

    def _reserved(self) -> Iterable[str]:
        """The delimiters that text does not hold by chance."""
        turn = self._turn
        parts = (turn.reasoning_open, turn.reasoning_close, turn.text_open, turn.text_close)
        thoughts = [each for each in parts if each is not None]
        found = [*self._call_markers(), *(marker for delimiter in thoughts for marker in markers(delimiter.core))]
        found += [*self._calls.literals()] if self._calls is not None else []
        found += [marker for anchor in turn.anchors for marker in markers(anchor)[:1]]
        ends = [marker for ending in turn.endings for marker in markers(ending)[:1]]
        found += [marker for ending in turn.call_endings for marker in markers(ending)[:1]]
        never = {*ends, *self._choices.unreserved}
        kept = [literal for literal in found if _is_distinct(literal) and literal not in never]
        return dict.fromkeys(kept)


def _is_distinct(literal: str) -> bool:
    return len(literal) >= _SHORTEST_RESERVED and not literal.isalnum() and any(map(str.isalnum, literal))


def _ending_pattern(ending: str) -> str:
    """The first marker must stand there; those behind it, and the white space before it, may."""
    pattern, rest = "", ending
    for number, marker in enumerate(markers(ending)):
        place = rest.index(marker)
        white_space, rest = rest[:place], rest[place + len(marker) :]
        if number == 0:
            pattern = set_off(white_space, marker) + escaped(marker)
        else:
            pattern += f"(?:{layout_pattern(white_space)}{escaped(marker)})?"
    return pattern
