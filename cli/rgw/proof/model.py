"""A conversation as it is meant, before any template's wishes: who said, thought, called and answered what.

Pure data; `shapes` turns it into messages, `conversations` makes it up.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from rgw.model import ParsedOutput


class Role(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call, with its arguments as the tool would receive them."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Turn:
    """One message; only an assistant thinks and calls, and a tool's turn answers the call of `answers`."""

    role: Role
    text: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    answers: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns of which the last is the assistant's, and the tools on offer (`None`: none were ever mentioned)."""

    turns: tuple[Turn, ...]
    tools: tuple[Mapping[str, Any], ...] | None = None

    @property
    def last(self) -> Turn:
        """The turn that is to come back."""
        return self.turns[-1]

    def with_last(self, turn: Turn) -> Conversation:
        """The same conversation with another last turn."""
        return replace(self, turns=(*self.turns[:-1], turn))


def turn_of(parsed: ParsedOutput) -> Turn:
    """What a derender says that the assistant's turn was."""
    calls = tuple(Call(use["name"], use["input"]) for use in parsed.tool_uses)
    return Turn(Role.ASSISTANT, parsed.text, parsed.reasoning, calls)


def same_calls(left: tuple[Call, ...], right: tuple[Call, ...]) -> bool:
    """Whether two lists of calls are equal, types of values included: `1`, `1.0`, `true` and `"1"` all differ."""
    return [call.name for call in left] == [call.name for call in right] and all(
        canonical(one.arguments) == canonical(other.arguments) for one, other in zip(left, right, strict=True)
    )


def same_turn(left: Turn, right: Turn) -> bool:
    """Whether two assistant turns mean the same."""
    return (left.reasoning, left.text) == (right.reasoning, right.text) and same_calls(left.calls, right.calls)


def canonical(value: Any) -> str:
    """A text that is equal for equal JSON values only."""
    return json.dumps(value, sort_keys=True)
