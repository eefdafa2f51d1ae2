"""Calls as Python writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from rgw.inference.calls import CallForm, Surroundings, Unfit, Unit, calling, delimiters, marks_of, quoting
from rgw.inference.sightings import Sighting, SlotKind


class PythonList(CallForm):
    """`[name(key=value), …]`, or the calls one behind the other."""

    title = "a Python list of calls"

    def __init__(self, *, brackets: bool, unescaped_strings: bool) -> None:
        self._brackets = brackets
        self._unescaped_strings = unescaped_strings

    @classmethod
    def fit(cls, sightings: Sequence[Sighting]) -> Self | None:
        """See `CallForm.fit`."""
        called = calling(sightings)
        for sighting in called:
            for number in range(len(sighting.turn.calls)):
                marks = marks_of(sighting, number)
                behind_name = sighting.output[marks[0].end :]
                if marks[0].slot.kind is not SlotKind.NAME or not behind_name.startswith("("):
                    return None
        unescaped = any(_is_raw(sighting) for sighting in quoting(sightings))
        for brackets in (True, False):
            form = cls(brackets=brackets, unescaped_strings=unescaped and brackets)
            if called and cls._fits(form, sightings):
                return form
        return None

    def units(self, sighting: Sighting) -> list[Unit]:
        """See `CallForm.units`."""
        first = marks_of(sighting, 0)
        last = marks_of(sighting, len(sighting.turn.calls) - 1)
        if not first or not last:
            raise Unfit
        text = sighting.output
        if not self._brackets:
            end = text.find(")", last[-1].end)
            if end < 0:
                raise Unfit
            return [Unit(first[0].start, end + 1)]
        start = text.rfind("[", 0, first[0].start)
        end = text.find("]", text.find(")", last[-1].end))
        if start < 0 or end < 0 or text[start + 1 : first[0].start].strip():
            raise Unfit
        return [Unit(start, end + 1)]

    @property
    def beginning(self) -> str:
        """See `CallForm.beginning`."""
        return r"(?=\[\s{0,8}[\w.-]{1,128}\()" if self._brackets else r"(?=[\w.-]{1,128}\()"

    def field(self, around: Surroundings) -> dict[str, Any]:
        """See `CallForm.field`."""
        arguments = {"unescaped_strings": True} if self._unescaped_strings else {}
        arguments |= {} if self._brackets else {"brackets": False}
        return {
            **delimiters(around),
            "repeats": True,
            "content": "python-call-list",
            **({"content_args": arguments} if arguments else {}),
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{arguments}"}},
            "transform_each": True,
        }


def _is_raw(sighting: Sighting) -> bool:
    """Whether the values are written as they are, whatever they hold."""
    return all(str(value) in sighting.output for call in sighting.turn.calls for value in call.arguments.values())
