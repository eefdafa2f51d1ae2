"""From the literals of a turn and the notation of its calls to a response schema in the dialect of this registry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rgw.inference.forms import CallForm, FlattenedJson, Surroundings
from rgw.inference.literals import alternatives, escaped, layout_pattern, literal_pattern, markers
from rgw.inference.turns import Delimiter, TurnForm
from rgw.registry.model import Dialect, LayoutRules, Origin, Schema, TurnRules, UntypedValues

_SHORTEST_RESERVED = 3
_PLAIN_TEXT: Mapping[str, Any] = {"content": "text", "content_args": {"strip": False}}


@dataclass(frozen=True, slots=True)
class Choices:
    """What the sightings leave open, and refinement tries.

    Attributes:
        reserve: The delimiters may not stand in text.
        untyped: How a value without a type is read; `None`: as the notation suggests.
    """

    reserve: bool = True
    untyped: UntypedValues | None = None


def assemble(name: str, turn: TurnForm, calls: CallForm | None, choices: Choices) -> Schema:
    """The schema that reads turns of these literals."""
    return _Assembly(turn, calls, choices).schema(name)


class _Assembly:
    def __init__(self, turn: TurnForm, calls: CallForm | None, choices: Choices) -> None:
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
                reserved=tuple(self._reserved()) if self._choices.reserve else (),
                prefill=self._turn.prefill,
            ),
            layout=self._layout(),
            untyped_values=self._untyped(),
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
        return LayoutRules(turn_start=layout_pattern(self._turn.before_turn))

    def _header_again(self) -> str:
        if not self._turn.repeats_header:
            return ""
        return "".join(f"(?:{escaped(anchor)})?" for anchor in self._turn.anchors[:1])

    def _reasoning(self, opened: Delimiter, closed: Delimiter) -> dict[str, Any]:
        return {
            "open_pattern": layout_pattern(opened.before)
            + self._header_again()
            + literal_pattern(opened.core)
            + layout_pattern(opened.behind),
            "close_pattern": layout_pattern(closed.before)
            + literal_pattern(closed.core)
            + layout_pattern(closed.behind),
            **_PLAIN_TEXT,
        }

    def _text(self) -> dict[str, Any]:
        opened, closed = self._turn.text_open, self._turn.text_close
        if opened is None:
            endings = alternatives(map(_ending_pattern, self._turn.endings))
            return {**({"close_pattern": endings} if endings else {}), **_PLAIN_TEXT}
        closes = [*map(_ending_pattern, self._turn.endings)]
        if closed is not None and closed.core:
            closes.append(layout_pattern(closed.before) + literal_pattern(closed.core))
        if self._turn.repeats_header and self._turn.reasoning_close is not None:
            closes.append(literal_pattern(self._turn.reasoning_close.core))
        return {
            "open_pattern": layout_pattern(opened.before)
            + self._header_again()
            + literal_pattern(opened.core)
            + layout_pattern(opened.behind),
            "close_pattern": alternatives(closes),
            **_PLAIN_TEXT,
        }

    def _around_calls(self) -> Surroundings:
        turn = self._turn
        calls = self._calls
        assert calls is not None
        section = f"(?:{literal_pattern(turn.section_open.core)}\\s{{0,8}})?" if turn.section_open.core else ""
        opened = layout_pattern(turn.call_open.before) + self._header_again() + section
        opened += literal_pattern(turn.call_open.core + turn.call_open.behind.rstrip())
        if not turn.call_open.core and not turn.section_open.core:
            opened += calls.beginning
        elif turn.call_open.behind and not isinstance(calls, FlattenedJson):
            opened += r"\s{0,8}"
        closed = literal_pattern(turn.call_close.core)
        if turn.section_close.core:
            closed += f"(?:\\s{{0,8}}{literal_pattern(turn.section_close.core)})?"
        if closed:
            closed += layout_pattern(turn.call_close.behind)
        return Surroundings(opened, closed)

    def _end_markers(self) -> tuple[str, ...]:
        found = [marker for ending in self._turn.endings for marker in markers(ending)]
        return tuple(dict.fromkeys(found))

    def _reserved(self) -> Iterable[str]:
        """The delimiters that text does not hold by chance."""
        turn = self._turn
        delimiters = [turn.section_open, turn.call_open, turn.call_close, turn.section_close]
        delimiters += [each for each in (turn.reasoning_open, turn.reasoning_close) if each is not None]
        found = [marker for delimiter in delimiters for marker in markers(delimiter.core)]
        found += [*self._calls.literals()] if self._calls is not None else []
        found += [marker for anchor in turn.anchors for marker in markers(anchor)[:1]]
        kept = [literal for literal in found if _is_distinct(literal) and literal not in self._end_markers()]
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
            pattern = layout_pattern(white_space) + escaped(marker)
        else:
            pattern += f"(?:{layout_pattern(white_space)}{escaped(marker)})?"
    return pattern
