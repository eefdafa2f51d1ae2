"""The notations of a call that the response-template dialect can read, each recognised by where the known words stand.

A form says where each call begins and ends in a sighting, and gives the content part of the `tool_calls` field. The
literals around the calls are found in `turns`, from sightings that differ in what surrounds them.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

from rgw.inference.literals import ends, layout_pattern, literal_pattern, markers, merged, split_between
from rgw.inference.sightings import QUOTED, Mark, Sighting, SlotKind
from rgw.proof.model import Call
from rgw.registry.model import UntypedValues

_SCAN = json.JSONDecoder(strict=False).raw_decode
_NEVER_IN_NAMES = "\\s\"'<>{}"


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
    python_constants = False

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


def find_form(sightings: Sequence[Sighting]) -> CallForm | None:
    """The first form, from the plainest to the most particular, that all the sightings with calls are written in."""
    for form in (JsonList, JsonCalls, NamedJson, FlattenedJson, PythonList, RelaxedJson, TaggedArguments):
        fitted = form.fit(sightings)
        if fitted is not None:
            return fitted
    return None


def calling(sightings: Iterable[Sighting]) -> list[Sighting]:
    """The sightings of turns that stand last, whose calls are all written and whose values are plain."""
    last = (each for each in sightings if each.follower is None and not each.after_tool)
    return [each for each in last if each.plain and is_called(each)]


def quoting(sightings: Iterable[Sighting]) -> list[Sighting]:
    """The sightings of turns with texts that a notation may have to quote."""
    return [each for each in sightings if not each.plain and is_called(each) and _holds(each, str)]


def prints_constants_as_python(sightings: Iterable[Sighting]) -> bool:
    """Whether a template writes `None` for what JSON calls `null`."""
    constant = [each for each in sightings if not each.plain and is_called(each) and _holds(each, bool)]
    return any("None" in each.output and "null" not in each.output for each in constant)


def _holds(sighting: Sighting, kind: type) -> bool:
    return any(isinstance(value, kind) for call in sighting.turn.calls for value in call.arguments.values())


def is_called(sighting: Sighting) -> bool:
    """Whether a turn calls, and the template writes the name of every call."""
    named = {mark.slot.call for mark in sighting.marks if mark.slot.kind is SlotKind.NAME}
    return bool(sighting.turn.calls) and len(named) == len(sighting.turn.calls)


def marks_of(sighting: Sighting, call: int) -> list[Mark]:
    """The known words of one call, in order."""
    kinds = (SlotKind.TEXT, SlotKind.REASONING)
    return [mark for mark in sighting.marks if mark.slot.kind not in kinds and mark.slot.call == call]


# -- JSON ----------------------------------------------------------------------------------------------------------


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
    """Where a JSON object holds the name and the arguments of a call."""

    name: tuple[str, ...]
    arguments: tuple[str, ...]

    @classmethod
    def of(cls, value: Any, call: Call) -> _Paths | None:
        name, arguments = _path_to(value, call.name), _path_to(value, dict(call.arguments))
        if name is None or arguments is None:
            return None
        known = {name[0], arguments[0], "id", "type"}
        return cls(name, arguments) if value.keys() <= known else None

    def transform(self, prefix: str) -> dict[str, Any]:
        name, arguments = (".".join(path) for path in self)
        return {
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
        objects = list(_objects(sighting))
        if any(_Paths.of(value.value, call) is None for value, call in objects) or len(objects) != len(
            sighting.turn.calls
        ):
            raise Unfit
        return [Unit(value.start, value.end) for value, _ in objects]

    def field(self, around: Surroundings) -> dict[str, Any]:
        plain = self._paths == (("name",), ("arguments",))
        transform = {"type": "function", "function": "{content}"} if plain else self._paths.transform("content.")
        return {**_delimiters(around), "repeats": True, "content": "json", "transform": transform}


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
        listed = _list_of_calls(sighting)
        if listed is None:
            raise Unfit
        return [Unit(listed.start, listed.end)]

    @property
    def beginning(self) -> str:
        return f"(?={literal_pattern(self._beginning)})"

    def field(self, around: Surroundings) -> dict[str, Any]:
        return {
            **_delimiters(around),
            "repeats": True,
            "content": "json",
            "transform": self._paths.transform(""),
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
        try:
            opened = [(sighting, each) for sighting in calling(sightings) for each in cls._opened(sighting)]
        except Unfit:
            return None
        heads = [_pieces(sighting, each.unit.start, each.arguments.start, each.marks) for sighting, each in opened]
        tails = [sighting.output[each.arguments.end : each.unit.end] for sighting, each in opened]
        inside_open, inside_close = head_pattern(heads), merged(tails) if tails else None
        return cls(inside_open, inside_close) if inside_open is not None and inside_close is not None else None

    def units(self, sighting: Sighting) -> list[Unit]:
        return [each.unit for each in self._opened(sighting)]

    def field(self, around: Surroundings) -> dict[str, Any]:
        around = Surroundings(around.open + self._open, self._close + around.close)
        return {**_delimiters(around), "repeats": True, "content": "json", "transform": NAMED}

    @classmethod
    def _opened(cls, sighting: Sighting) -> list[_Opened]:
        return list(_named_arguments(sighting))


NAMED: Mapping[str, Any] = {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}


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


# -- patterns of openers -------------------------------------------------------------------------------------------


def _pieces(sighting: Sighting, start: int, end: int, marks: Sequence[Mark]) -> list[str | SlotKind]:
    """Literals and slots, in turn; literals first and last."""
    pieces: list[str | SlotKind] = []
    position = start
    for mark in marks:
        pieces += [sighting.output[position : mark.start], mark.slot.kind]
        position = mark.end
    return [*pieces, sighting.output[position:end]]


def head_pattern(heads: Sequence[Sequence[str | SlotKind]]) -> str | None:
    """One pattern for the openers of several calls; `None` when they have not the same parts."""
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
            pattern += "(?P=name)" if named else f"(?P<name>{_word_pattern(heads, column)})"
            named = True
        else:
            pattern += _word_pattern(heads, column)
    return pattern


def _word_pattern(heads: Sequence[Sequence[str | SlotKind]], column: int) -> str:
    return word_pattern(str(heads[0][column + 1]))


def word_pattern(behind: str, *, spaces: bool = False) -> str:
    """A pattern for a name that ends where a literal begins."""
    stop = behind.strip()[:1]
    never = _NEVER_IN_NAMES if not spaces else '\\n"<>'
    if stop and not stop.isalnum() and stop not in never and stop not in "-_.":
        never += re.escape(stop)
    return f"[^{never}]{{1,128}}"


def _delimiters(around: Surroundings) -> dict[str, Any]:
    delimiters = {"open_pattern": around.open}
    return {**delimiters, "close_pattern": around.close} if around.close else delimiters


# -- Python --------------------------------------------------------------------------------------------------------


class PythonList(CallForm):
    """`[name(key=value), …]`, or the calls one behind the other."""

    title = "a Python list of calls"

    def __init__(self, *, brackets: bool, unescaped_strings: bool) -> None:
        self._brackets = brackets
        self._unescaped_strings = unescaped_strings

    @classmethod
    def fit(cls, sightings: Sequence[Sighting]) -> Self | None:
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
        return r"(?=\[\s{0,8}[\w.-]{1,128}\()" if self._brackets else r"(?=[\w.-]{1,128}\()"

    def field(self, around: Surroundings) -> dict[str, Any]:
        arguments = {"unescaped_strings": True} if self._unescaped_strings else {}
        arguments |= {} if self._brackets else {"brackets": False}
        return {
            **_delimiters(around),
            "repeats": True,
            "content": "python-call-list",
            **({"content_args": arguments} if arguments else {}),
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{arguments}"}},
            "transform_each": True,
        }


def _is_raw(sighting: Sighting) -> bool:
    """Whether the values are written as they are, whatever they hold."""
    return all(str(value) in sighting.output for call in sighting.turn.calls for value in call.arguments.values())


# -- relaxed JSON --------------------------------------------------------------------------------------------------


class RelaxedJson(CallForm):
    """`name{key:<q>text<q>,key:7}`: JSON with bare keys, and strings between delimiters of their own."""

    title = "a name, then its arguments as JSON with bare keys or other quotes"

    def __init__(self, inside_open: str, opening: str, closing: str, *, bare_keys: bool) -> None:
        self._open = inside_open
        self._quotes = (opening, closing)
        self._bare_keys = bare_keys

    @classmethod
    def fit(cls, sightings: Sequence[Sighting]) -> Self | None:
        gaps = ArgumentGaps.of(sightings)
        if gaps is None or not gaps.texts or not gaps.numbers:
            return None
        text_value, number_value = gaps.texts[0].before_value, gaps.numbers[0].before_value
        ends_of = [
            (text.behind_value, number.behind_value)
            for text in gaps.texts
            for number in gaps.numbers
            if not text.is_last and not number.is_last
        ]
        if ":" not in number_value or not text_value.startswith(number_value):
            return None
        if not ends_of or not all(text.endswith(number) for text, number in ends_of):
            return None
        text_end, number_end = ends_of[0]
        opening = text_value.removeprefix(number_value)
        closing = text_end.removesuffix(number_end)
        if not opening or not closing:
            return None
        heads = []
        for sighting in calling(sightings):
            for number in range(len(sighting.turn.calls)):
                names = [mark for mark in marks_of(sighting, number) if mark.slot.kind in (SlotKind.NAME, SlotKind.ID)]
                brace = sighting.output.find("{", names[-1].end) if names else -1
                if brace < 0:
                    return None
                heads.append(_pieces(sighting, names[0].start, brace, names))
        inside = head_pattern(heads)
        form = cls(inside, opening, closing, bare_keys='"' not in number_value) if inside is not None else None
        return form if form is not None and cls._fits(form, sightings) else None

    def units(self, sighting: Sighting) -> list[Unit]:
        units = []
        for number in range(len(sighting.turn.calls)):
            marks = marks_of(sighting, number)
            names = [mark for mark in marks if mark.slot.kind in (SlotKind.NAME, SlotKind.ID)]
            if not names:
                raise Unfit
            brace = sighting.output.find("{", names[-1].end)
            end = sighting.output.find("}", max(marks[-1].end, brace))
            if brace < 0 or end < 0 or names[-1].start > marks[-1].start:
                raise Unfit
            units.append(Unit(names[0].start, end + 1))
        return units

    def literals(self) -> Iterable[str]:
        return self._quotes

    def field(self, around: Surroundings) -> dict[str, Any]:
        arguments: dict[str, Any] = {}
        if self._quotes != ('"', '"'):
            arguments["string_delims"] = [list(self._quotes)]
        if self._bare_keys:
            arguments["unquoted_keys"] = True
        return {
            **_delimiters(Surroundings(around.open + self._open, around.close)),
            "repeats": True,
            "content": "json",
            "content_args": arguments,
            "transform": NAMED,
        }


# -- tagged arguments ----------------------------------------------------------------------------------------------


class ArgumentGap(NamedTuple):
    """The literals around one argument."""

    is_text: bool
    before_key: str
    before_value: str
    behind_value: str
    repeats_key: bool
    behind_repeated: str
    is_first: bool
    is_last: bool


class ArgumentGaps(NamedTuple):
    """The literals around the arguments of all the calls, those of texts and those of numbers."""

    texts: tuple[ArgumentGap, ...]
    numbers: tuple[ArgumentGap, ...]

    @classmethod
    def of(cls, sightings: Sequence[Sighting]) -> Self | None:
        """`None` when some key or value is not written, or not in order."""
        gaps = []
        for sighting in calling(sightings):
            for number, call in enumerate(sighting.turn.calls):
                found = _argument_gaps(sighting, number, call)
                if found is None:
                    return None
                gaps += found
        return cls(tuple(gap for gap in gaps if gap.is_text), tuple(gap for gap in gaps if not gap.is_text))


def _argument_gaps(sighting: Sighting, number: int, call: Call) -> list[ArgumentGap] | None:
    text = sighting.output
    marks = marks_of(sighting, number)
    kinds = [mark.slot.kind for mark in marks]
    names = sum(kind in (SlotKind.NAME, SlotKind.ID) for kind in kinds)
    rest = marks[names:]
    size = len(rest) // len(call.arguments) if call.arguments else 0
    wanted = {2: [SlotKind.KEY, SlotKind.VALUE], 3: [SlotKind.KEY, SlotKind.VALUE, SlotKind.KEY]}
    if not names or [mark.slot.kind for mark in rest] != wanted.get(size, []) * len(call.arguments):
        return None
    later = [mark.start for mark in sighting.marks if rest and mark.start >= rest[-1].end]
    positions = [mark.start for mark in rest] + [min(later, default=sighting.end)]
    gaps = []
    for place in range(len(call.arguments)):
        key, value, *repeated = rest[place * size : (place + 1) * size]
        last = repeated[0] if repeated else value
        previous = marks[names + place * size - 1].end
        gaps.append(
            ArgumentGap(
                is_text=isinstance(list(call.arguments.values())[key.slot.argument], str),
                before_key=text[previous : key.start],
                before_value=text[key.end : value.start],
                behind_value=text[value.end : (repeated[0].start if repeated else positions[(place + 1) * size])],
                repeats_key=bool(repeated),
                behind_repeated=text[last.end : positions[(place + 1) * size]] if repeated else "",
                is_first=place == 0,
                is_last=place == len(call.arguments) - 1,
            )
        )
    return gaps


class _Quotes(NamedTuple):
    """What some values stand between, and the characters that ask for it."""

    open: str
    close: str
    characters: str


class _Tag(NamedTuple):
    """One argument's literals: `open KEY middle VALUE close`, the key perhaps repeated in `close`."""

    open: str
    middle: str
    close: tuple[str, ...]
    name_close: str
    says_string: tuple[str, str] | None
    quotes: _Quotes | None = None


class TaggedArguments(CallForm):
    """`<parameter=key>value</parameter>` and the like: each argument between literals."""

    title = "a name, then each argument between tags"

    def __init__(self, tag: _Tag, inside_open: str, *, python_constants: bool) -> None:
        self._tag = tag
        self._open = inside_open
        self.python_constants = python_constants
        self.untyped_values = UntypedValues.TEXT

    @classmethod
    def fit(cls, sightings: Sequence[Sighting]) -> Self | None:
        gaps = ArgumentGaps.of(sightings)
        tag = _tag_of(gaps) if gaps is not None and gaps.texts else None
        if tag is None:
            return None
        tag = tag._replace(quotes=_quotes(tag, sightings))
        heads = []
        for sighting in calling(sightings):
            for number in range(len(sighting.turn.calls)):
                names = [mark for mark in marks_of(sighting, number) if mark.slot.kind in (SlotKind.NAME, SlotKind.ID)]
                close = sighting.output.startswith(tag.name_close, names[-1].end)
                end = names[-1].end + len(tag.name_close) if close else names[-1].end
                heads.append(_pieces(sighting, names[0].start, end, names))
        inside = head_pattern(heads)
        constants = prints_constants_as_python(sightings)
        form = cls(tag, inside, python_constants=constants) if inside is not None else None
        return form if form is not None and cls._fits(form, sightings) else None

    def units(self, sighting: Sighting) -> list[Unit]:
        units = []
        for number, call in enumerate(sighting.turn.calls):
            marks = marks_of(sighting, number)
            names = [mark for mark in marks if mark.slot.kind in (SlotKind.NAME, SlotKind.ID)]
            if not names:
                raise Unfit
            close = self._tag.close[-1] if call.arguments else self._tag.name_close
            if not sighting.output.startswith(close, marks[-1].end):
                raise Unfit
            units.append(Unit(names[0].start, marks[-1].end + len(close)))
        return units

    def literals(self) -> Iterable[str]:
        for literal in (self._tag.open, self._tag.middle, *self._tag.close):
            yield from markers(literal)

    def field(self, around: Surroundings) -> dict[str, Any]:
        return {
            **_delimiters(Surroundings(around.open + self._open, rf"\s{{0,8}}{around.close}")),
            "repeats": True,
            "content": "xml-inline",
            "content_args": {"tag_pattern": self._tag_pattern(around.close), "value_parser": {"name": "text"}},
            "transform": NAMED,
        }

    def _tag_pattern(self, close: str) -> str:
        tag = self._tag
        opener = literal_pattern(tag.open.lstrip())
        middle = ends(tag.middle)
        key = word_pattern(tag.middle, spaces=True)
        between = self._middle_pattern(middle.before + middle.core) + layout_pattern(middle.behind)
        first, *rest = tag.close
        closer = layout_pattern(ends(first).before) + literal_pattern(ends(first).core)
        closer += "".join(f"(?P=key){literal_pattern(part.rstrip())}" for part in rest)
        value = _value_pattern(opener, key + literal_pattern((middle.before + middle.core)[:1]))
        value = f"(?P<value>{value})" if tag.quotes is None else _quoted_pattern(tag.quotes, value)
        return f"{opener}(?P<key>{key}){between}{value}{closer}(?=\\s{{0,8}}(?:{opener}|{close}|\\Z))"

    def _middle_pattern(self, literal: str) -> str:
        if self._tag.says_string is None:
            return literal_pattern(literal)
        before, behind = self._tag.says_string
        return f"{literal_pattern(before)}(?P<string>true|false){literal_pattern(behind)}"


def _quotes(tag: _Tag, sightings: Sequence[Sighting]) -> _Quotes | None:
    """What some values stand between that others do not need."""
    found: dict[tuple[str, str], str] = {}
    for sighting in quoting(sightings):
        marks = marks_of(sighting, 0)
        values = [mark for mark in marks if mark.slot.kind is SlotKind.VALUE]
        for first, last in zip(values[::2], values[1::2], strict=False):
            keys = [mark.end for mark in marks if mark.slot.kind is SlotKind.KEY and mark.end < first.start]
            before = sighting.output[max(keys, default=0) : first.start]
            opening = before.removeprefix(tag.middle)
            closing, ended, _ = sighting.output[last.end :].partition(tag.close[0])
            if ended and opening != before and opening.strip() and closing.strip():
                character = list(QUOTED)[first.slot.argument]
                found[opening, closing] = found.get((opening, closing), "") + character
    if len(found) != 1:
        return None
    (opening, closing), characters = found.popitem()
    return _Quotes(opening, closing, characters)


def _quoted_pattern(quotes: _Quotes, value: str) -> str:
    """A value between quotes, or one without a character that asks for them; JSON may hold any."""
    opening, closing = literal_pattern(quotes.open), literal_pattern(quotes.close)
    never = "".join(map(_in_class, quotes.characters))
    plain = rf"[^{never}]*|[\[{{]{value}[\]}}]"
    return rf"(?P<quoted>{opening})?(?P<value>(?(quoted){value}|(?:{plain})))(?(quoted){closing})"


def _in_class(character: str) -> str:
    return "\\n" if character == "\n" else re.escape(character)


def _value_pattern(opener: str, key: str) -> str:
    """A value in which no other argument begins."""
    first = re.match(r"\\.|.", opener, re.DOTALL)
    if first is None:
        return r"[\s\S]*?"
    character, rest = first[0], opener[first.end() :]
    return rf"(?:[^{character}]|{character}(?!{rest}{key}))*?"


def _tag_of(gaps: ArgumentGaps) -> _Tag | None:
    """The literals of an argument, from gaps that differ in what surrounds it."""
    both = [*gaps.texts, *gaps.numbers]
    middles = {gap.before_value for gap in both}
    says_string = None
    if len(middles) > 1:
        says_string = _string_attribute(gaps)
        if says_string is None:
            return None
        middles = {gap.before_value for gap in gaps.texts}
    if len(middles) != 1:
        return None
    tails = [gap.behind_repeated if gap.repeats_key else gap.behind_value for gap in both]
    between = {tail for gap, tail in zip(both, tails, strict=True) if not gap.is_last}
    last = {tail for gap, tail in zip(both, tails, strict=True) if gap.is_last}
    first = {gap.before_key for gap in both if gap.is_first}
    if len(between) != 1 or len(first) != 1 or not last:
        return None
    split = split_between(between.pop(), sorted(last), sorted(first))
    name_close = first.pop().removesuffix(split.open)
    close = [split.close.rstrip() if split.close.strip() else split.close]
    if both[0].repeats_key:
        befores = {gap.behind_value for gap in both}
        if len(befores) != 1:
            return None
        close.insert(0, befores.pop())
    middle = middles.pop()
    if not split.open.strip() or not middle.strip():
        return None
    return _Tag(split.open.lstrip(), middle, tuple(close), name_close.rstrip(), says_string)


def _string_attribute(gaps: ArgumentGaps) -> tuple[str, str] | None:
    """The literal around a `true` of texts that is a `false` of numbers, where that is all that differs."""
    texts, numbers = ({gap.before_value for gap in kind} for kind in gaps)
    if len(texts) != 1 or len(numbers) != 1:
        return None
    text, number = texts.pop(), numbers.pop()
    before, found, behind = text.partition("true")
    return (before, behind) if found and f"{before}false{behind}" == number else None
