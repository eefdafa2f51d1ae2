"""Calls in JSON: one object each, a list of them all, or a name with the arguments as an object behind it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

from rgw.inference.calls import (
    NAMED,
    CallForm,
    Surroundings,
    Unfit,
    Unit,
    calling,
    delimiters,
    head_pattern,
    marks_of,
    pieces_of,
)
from rgw.inference.literals import literal_pattern, merged
from rgw.inference.sightings import Mark, Sighting, SlotKind
from rgw.proof.model import Call

_SCAN = json.JSONDecoder(strict=False).raw_decode


class _Json(NamedTuple):
    value: Any
    start: int
    end: int


def _json_around(text: str, opening: str, floor: int, first: int, last: int) -> _Json | None:
    """The outermost JSON value that begins with `opening` at or after `floor` and spans `first` to `last`."""
    position = text.find(opening, floor, first + 1)
    while position >= 0:
        try:
            value, end = _SCAN(text, position)
        except (ValueError, RecursionError):
            end = -1
        if end >= last:
            return _Json(value, position, end)
        position = text.find(opening, position + 1, first + 1)
    return None


def _path_to(value: Any, wanted: Any) -> tuple[str, ...] | None:
    """The keys that lead to a value inside nested objects."""
    if not isinstance(value, dict):
        return None
    for key, below in value.items():
        if below == wanted and type(below) is type(wanted):
            return (key,)
        deeper = _path_to(below, wanted)
        if deeper is not None:
            return (key, *deeper)
    return None


class _Paths(NamedTuple):
    """Where a JSON object holds the name and the arguments of a call, and under which other key its id."""

    name: tuple[str, ...]
    arguments: tuple[str, ...]
    identity: str = ""

    @classmethod
    def of(cls, value: Any, call: Call) -> _Paths | None:
        name, arguments = _path_to(value, call.name), _path_to(value, dict(call.arguments))
        if name is None or arguments is None:
            return None
        known = {name[0], arguments[0], "id", "type"}
        rest = [key for key in value if key not in known]
        if len(rest) > 1 or any(isinstance(value[key], dict | list) for key in rest):
            return None
        return cls(name, arguments, *rest)

    def transform(self, prefix: str) -> dict[str, Any]:
        name, arguments = ".".join(self.name), ".".join(self.arguments)
        return {
            **({"id": f"{{{prefix}{self.identity}}}"} if self.identity else {}),
            "type": "function",
            "function": {"name": f"{{{prefix}{name}}}", "arguments": f"{{{prefix}{arguments}}}"},
        }


class JsonCalls(CallForm):
    """`{"name": …, "arguments": {…}}`, one object a call."""

    title = "one JSON object a call"

    def __init__(self, paths: _Paths) -> None:
        self._paths = paths

    @classmethod
    def fit(cls, sightings: Sequence[Sighting]) -> Self | None:
        """See `CallForm.fit`."""
        found = {
            _Paths.of(value.value, call)
            for sighting in calling(sightings)
            for value, call in _objects(sighting)
            if call.arguments
        }
        paths = found.pop() if len(found) == 1 else None
        form = cls(paths) if paths is not None else None
        return form if form is not None and cls._fits(form, sightings) else None

    def units(self, sighting: Sighting) -> list[Unit]:
        """See `CallForm.units`."""
        objects = list(_objects(sighting))
        if any(_Paths.of(value.value, call) is None for value, call in objects) or len(objects) != len(
            sighting.turn.calls
        ):
            raise Unfit
        return [Unit(value.start, value.end) for value, _ in objects]

    def field(self, around: Surroundings) -> dict[str, Any]:
        """See `CallForm.field`."""
        plain = self._paths == _Paths(("name",), ("arguments",))
        transform = {"type": "function", "function": "{content}"} if plain else self._paths.transform("content.")
        return {**delimiters(around), "repeats": True, "content": "json", "transform": transform}


def _objects(sighting: Sighting) -> Iterator[tuple[_Json, Call]]:
    """The JSON object around each call's known words."""
    floor = 0
    for number, call in enumerate(sighting.turn.calls):
        marks = marks_of(sighting, number)
        if not marks:
            return
        floor = max([floor, *(mark.end for mark in sighting.marks if mark.end <= marks[0].start)])
        found = _json_around(sighting.output, "{", floor, marks[0].start, marks[-1].end)
        if found is None or not isinstance(found.value, dict):
            return
        yield found, call
        floor = found.end


class JsonList(CallForm):
    """`[{"name": …, "arguments": {…}}, …]`: one list of all the calls."""

    title = "one JSON list of all the calls"

    def __init__(self, paths: _Paths, beginning: str) -> None:
        self._paths = paths
        self._beginning = beginning

    @classmethod
    def fit(cls, sightings: Sequence[Sighting]) -> Self | None:
        """See `CallForm.fit`."""
        found: set[_Paths | None] = set()
        beginning = ""
        for sighting in calling(sightings):
            listed = _list_of_calls(sighting)
            if listed is None:
                return None
            found |= {
                _Paths.of(item, call)
                for item, call in zip(listed.value, sighting.turn.calls, strict=True)
                if call.arguments
            }
            beginning = sighting.output[listed.start : marks_of(sighting, 0)[0].start]
        paths = found.pop() if len(found) == 1 else None
        return cls(paths, beginning) if paths is not None else None

    def units(self, sighting: Sighting) -> list[Unit]:
        """See `CallForm.units`."""
        listed = _list_of_calls(sighting)
        if listed is None:
            raise Unfit
        return [Unit(listed.start, listed.end)]

    @property
    def beginning(self) -> str:
        """See `CallForm.beginning`."""
        return f"(?={literal_pattern(self._beginning)})"

    def field(self, around: Surroundings) -> dict[str, Any]:
        """See `CallForm.field`."""
        return {
            **delimiters(around),
            "repeats": True,
            "content": "json",
            "transform": self._paths.transform(""),
            "transform_each": True,
        }


class JsonListByName(CallForm):
    """`[{"get_weather": {…}}, …]`: one list of all the calls, each under its name."""

    title = "one JSON list of all the calls, each under its name"

    @classmethod
    def fit(cls, sightings: Sequence[Sighting]) -> Self | None:
        """See `CallForm.fit`."""
        form = cls()
        return form if calling(sightings) and cls._fits(form, sightings) else None

    def units(self, sighting: Sighting) -> list[Unit]:
        """See `CallForm.units`."""
        listed = _list_of_calls(sighting)
        if listed is None or listed.value != [{call.name: dict(call.arguments)} for call in sighting.turn.calls]:
            raise Unfit
        return [Unit(listed.start, listed.end)]

    def field(self, around: Surroundings) -> dict[str, Any]:
        """See `CallForm.field`."""
        return {
            **delimiters(around),
            "repeats": True,
            "content": "json",
            "content_args": {"named_by_key": True},
            "transform": _Paths(("name",), ("arguments",)).transform(""),
            "transform_each": True,
        }


def _list_of_calls(sighting: Sighting) -> _Json | None:
    marks = [mark for mark in sighting.marks if mark.slot.kind not in (SlotKind.TEXT, SlotKind.REASONING)]
    if not marks:
        return None
    floor = max((mark.end for mark in sighting.marks if mark.end <= marks[0].start), default=0)
    found = _json_around(sighting.output, "[", floor, marks[0].start, marks[-1].end)
    if found is None or not isinstance(found.value, list) or len(found.value) != len(sighting.turn.calls):
        return None
    return found


class _Opened(NamedTuple):
    """One call whose arguments are a JSON object of their own."""

    unit: Unit
    arguments: _Json
    marks: tuple[Mark, ...]


class NamedJson(CallForm):
    """A name, then the arguments as JSON: `name[…]{…}`."""

    title = "a name, then its arguments as JSON"

    def __init__(self, inside_open: str, inside_close: str) -> None:
        self._open = inside_open
        self._close = inside_close

    @classmethod
    def fit(cls, sightings: Sequence[Sighting]) -> Self | None:
        """See `CallForm.fit`."""
        try:
            opened = [(sighting, each) for sighting in calling(sightings) for each in cls._opened(sighting)]
        except Unfit:
            return None
        heads = [pieces_of(sighting, each.unit.start, each.arguments.start, each.marks) for sighting, each in opened]
        tails = [sighting.output[each.arguments.end : each.unit.end] for sighting, each in opened]
        inside_open, inside_close = head_pattern(heads), merged(tails) if tails else None
        return cls(inside_open, inside_close) if inside_open is not None and inside_close is not None else None

    def units(self, sighting: Sighting) -> list[Unit]:
        """See `CallForm.units`."""
        return [each.unit for each in self._opened(sighting)]

    def field(self, around: Surroundings) -> dict[str, Any]:
        """See `CallForm.field`."""
        around = Surroundings(around.open + self._open, self._close + around.close)
        return {**delimiters(around), "repeats": True, "content": "json", "transform": NAMED}

    @classmethod
    def _opened(cls, sighting: Sighting) -> list[_Opened]:
        return list(_named_arguments(sighting))


def _named_arguments(sighting: Sighting) -> Iterator[_Opened]:
    for number, call in enumerate(sighting.turn.calls):
        marks = marks_of(sighting, number)
        head = [mark for mark in marks if mark.slot.kind in (SlotKind.NAME, SlotKind.ID)]
        rest = [mark for mark in marks if mark.slot.kind in (SlotKind.KEY, SlotKind.VALUE)]
        if not any(mark.slot.kind is SlotKind.NAME for mark in head):
            raise Unfit
        arguments = _arguments_behind(sighting, call, head, rest)
        yield _Opened(Unit(head[0].start, arguments.end), arguments, tuple(head))


def _arguments_behind(sighting: Sighting, call: Call, head: Sequence[Mark], rest: Sequence[Mark]) -> _Json:
    text, floor = sighting.output, head[-1].end
    if rest:
        found = _json_around(text, "{", floor, rest[0].start, rest[-1].end)
    else:
        brace = text.find("{", floor)
        found = _json_around(text, "{", floor, brace, brace + 1) if brace >= 0 else None
    if found is None or found.value != dict(call.arguments):
        raise Unfit
    return found


class FlattenedJson(NamedJson):
    """A JSON object a call that nothing opens, or with more keys than a call has: its beginning is the delimiter."""

    title = "one JSON object a call, recognised by its first keys"

    @classmethod
    def _opened(cls, sighting: Sighting) -> list[_Opened]:
        opened = []
        objects = list(_objects(sighting))
        if len(objects) != len(sighting.turn.calls):
            raise Unfit
        for number, (whole, call) in enumerate(objects):
            marks = marks_of(sighting, number)
            head = [mark for mark in marks if mark.slot.kind in (SlotKind.NAME, SlotKind.ID)]
            rest = [mark for mark in marks if mark.slot.kind in (SlotKind.KEY, SlotKind.VALUE)]
            if not head or (rest and head[-1].start > rest[0].start):
                raise Unfit
            arguments = _arguments_behind(sighting, call, head, rest)
            opened.append(_Opened(Unit(whole.start, whole.end), arguments, tuple(head)))
        return opened
