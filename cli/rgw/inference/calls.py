"""A notation of calls: what every one of them says of itself, and what they share.

A form says where each call begins and ends in a sighting, and gives the content part of the `tool_calls` field. The
literals around the calls are found in `turns`, from sightings that differ in what surrounds them.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from rgw.inference.literals import merged
from rgw.inference.sightings import Mark, Sighting, SlotKind
from rgw.registry.model import PYTHON_CONSTANTS, UntypedValues

_NEVER_IN_NAMES = "\\s\"'<>{}"

NAMED: Mapping[str, Any] = {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}
"""The transform of calls whose name is captured by their opener and whose content is their arguments."""


class Unit(NamedTuple):
    """The span of one call, or of a list of all of them: from its first known word or bracket to its last."""

    start: int
    end: int


class Surroundings(NamedTuple):
    """The patterns of what opens and closes a call, up to its unit."""

    open: str
    close: str


class CallForm(ABC):
    """One notation, fitted to the sightings."""

    title: str
    untyped_values = UntypedValues.JSON
    constants: tuple[str, ...] = PYTHON_CONSTANTS

    @classmethod
    @abstractmethod
    def fit(cls, sightings: Sequence[Sighting]) -> Self | None:
        """The form with what the sightings say of it; `None` when they are written otherwise."""

    @abstractmethod
    def units(self, sighting: Sighting) -> list[Unit]:
        """The spans of the calls of a sighting, in order.

        Raises:
            Unfit: The sighting is written otherwise.
        """

    @abstractmethod
    def field(self, around: Surroundings) -> dict[str, Any]:
        """The `tool_calls` field."""

    def literals(self) -> Iterable[str]:
        """The delimiters inside the calls."""
        return ()

    @property
    def beginning(self) -> str:
        """A pattern of how a unit begins, for a call that nothing opens; empty when it has none."""
        return ""

    @classmethod
    def _fits(cls, form: Self, sightings: Sequence[Sighting]) -> bool:
        try:
            return all(form.units(sighting) for sighting in calling(sightings))
        except Unfit:
            return False


class Unfit(Exception):
    """A sighting is not written in the form."""


def calling(sightings: Iterable[Sighting]) -> list[Sighting]:
    """The sightings of turns that stand last, whose calls are all written and whose values are plain."""
    last = (each for each in sightings if each.follower is None and not each.after_tool)
    return [each for each in last if each.plain and is_called(each)]


def quoting(sightings: Iterable[Sighting]) -> list[Sighting]:
    """The sightings of turns with texts that a notation may have to quote."""
    return [each for each in sightings if not each.plain and is_called(each) and holds(each, str)]


def holds(sighting: Sighting, kind: type) -> bool:
    """Whether some argument of a turn is of a type."""
    return any(isinstance(value, kind) for call in sighting.turn.calls for value in call.arguments.values())


def is_called(sighting: Sighting) -> bool:
    """Whether a turn calls, and the template writes the name of every call."""
    named = {mark.slot.call for mark in sighting.marks if mark.slot.kind is SlotKind.NAME}
    return bool(sighting.turn.calls) and len(named) == len(sighting.turn.calls)


def marks_of(sighting: Sighting, call: int) -> list[Mark]:
    """The known words of one call, in order."""
    kinds = (SlotKind.TEXT, SlotKind.REASONING)
    return [mark for mark in sighting.marks if mark.slot.kind not in kinds and mark.slot.call == call]


def pieces_of(sighting: Sighting, start: int, end: int, marks: Sequence[Mark]) -> list[str | SlotKind]:
    """Literals and slots, in turn; literals first and last."""
    pieces: list[str | SlotKind] = []
    position = start
    for mark in marks:
        pieces += [sighting.output[position : mark.start], mark.slot.kind]
        position = mark.end
    return [*pieces, sighting.output[position:end]]


def head_pattern(heads: Sequence[Sequence[str | SlotKind]], never: str = "") -> str | None:
    """One pattern for the openers of several calls; `None` when they have not the same parts.

    Args:
        heads: The parts of each opener.
        never: A character that is not in names, since what follows them begins with it.
    """
    if not heads or len({tuple(piece for piece in head if isinstance(piece, SlotKind)) for head in heads}) != 1:
        return None
    pattern = ""
    named = False
    for column in range(len(heads[0])):
        piece = heads[0][column]
        if isinstance(piece, str):
            literal = merged([str(head[column]) for head in heads])
            if literal is None:
                return None
            pattern += literal
        elif piece is SlotKind.NAME:
            pattern += "(?P=name)" if named else f"(?P<name>{_word_pattern(heads, column, never)})"
            named = True
        else:
            pattern += _word_pattern(heads, column, never)
    return pattern


def _word_pattern(heads: Sequence[Sequence[str | SlotKind]], column: int, never: str) -> str:
    return word_pattern(str(heads[0][column + 1]).strip() or never)


def word_pattern(behind: str, *, spaces: bool = False) -> str:
    """A pattern for a name that ends where a literal begins."""
    stop = behind.strip()[:1]
    never = _NEVER_IN_NAMES if not spaces else '\\n"<>'
    if stop and not stop.isalnum() and stop not in never and stop not in "-_.":
        never += re.escape(stop)
    return f"[^{never}]{{1,128}}"


def delimiters(around: Surroundings) -> dict[str, Any]:
    """The `open_pattern` of a field, and its `close_pattern` if it has one."""
    opened = {"open_pattern": around.open}
    return {**opened, "close_pattern": around.close} if around.close else opened
