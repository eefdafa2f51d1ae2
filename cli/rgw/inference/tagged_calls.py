"""Calls whose arguments each stand between tags, their values as they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

from rgw.inference.arguments import ArgumentGaps
from rgw.inference.calls import (
    NAMED,
    CallForm,
    Surroundings,
    Unfit,
    Unit,
    calling,
    delimiters,
    head_pattern,
    holds,
    is_called,
    marks_of,
    pieces_of,
    quoting,
    word_pattern,
)
from rgw.inference.literals import ends, layout_pattern, literal_pattern, markers, split_between
from rgw.inference.sightings import QUOTED, Sighting, SlotKind
from rgw.registry.model import JSON_CONSTANTS, PYTHON_CONSTANTS, UntypedValues

_SAY_STRING = ("true", "string")
"""What the dialect takes for the word that says that a value is a string."""


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

    def __init__(self, tag: _Tag, inside_open: str, *, constants: tuple[str, ...]) -> None:
        self._tag = tag
        self._open = inside_open
        self.constants = constants
        self.untyped_values = UntypedValues.TEXT

    @classmethod
    def fit(cls, sightings: Sequence[Sighting]) -> Self | None:
        """See `CallForm.fit`."""
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
                heads.append(pieces_of(sighting, names[0].start, end, names))
        inside = head_pattern(heads, tag.open[:1])
        form = cls(tag, inside, constants=_constants(sightings)) if inside is not None else None
        return form if form is not None and cls._fits(form, sightings) else None

    def units(self, sighting: Sighting) -> list[Unit]:
        """See `CallForm.units`."""
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
        """See `CallForm.literals`."""
        for literal in (self._tag.open, self._tag.middle, *self._tag.close):
            yield from markers(literal)

    def field(self, around: Surroundings) -> dict[str, Any]:
        """See `CallForm.field`."""
        return {
            **delimiters(Surroundings(around.open + self._open, rf"\s{{0,8}}{around.close}")),
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
        core = literal_pattern(ends(first).core)
        named = core + "".join(f"(?P=key){literal_pattern(part.rstrip())}" for part in rest)
        closer = layout_pattern(ends(first).before) + (named if rest else f"(?P<closing_tag>{core})")
        value = _value_pattern(opener, key + literal_pattern((middle.before + middle.core)[:1]))
        value = f"(?P<value>{value})" if tag.quotes is None else _quoted_pattern(tag.quotes, value)
        return f"{opener}(?P<key>{key}){between}{value}{closer}(?=\\s{{0,8}}(?:{opener}|{close}|\\Z))"

    def _middle_pattern(self, literal: str) -> str:
        if self._tag.says_string is None:
            return literal_pattern(literal)
        before, behind = self._tag.says_string
        return f"{literal_pattern(before)}(?P<string>[a-z]{{1,16}}){literal_pattern(behind)}"


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
    unprobed = tag.open[:1] if tag.open[0] not in QUOTED else ""
    return _Quotes(opening, closing, "".join(dict.fromkeys(characters + unprobed)))


def _quoted_pattern(quotes: _Quotes, value: str) -> str:
    """A value between quotes, or one without a character that asks for them; strings in a list or object hold any."""
    opening, closing = literal_pattern(quotes.open), literal_pattern(quotes.close)
    never = "".join(map(_in_class, quotes.characters))
    string = r"""'(?:[^'\\\n]|\\.)*+'|"(?:[^"\\\n]|\\.)*+\""""
    plain = rf"[^{never}]*|[\[{{](?:{string}|[^'\"{never}])*[\]}}]"
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
    """The literal around a word of texts that is another of numbers, where that is all that differs."""
    texts, numbers = ({gap.before_value for gap in kind} for kind in gaps)
    if len(texts) != 1 or len(numbers) != 1:
        return None
    text, number = texts.pop(), numbers.pop()
    for word in _SAY_STRING:
        before, found, behind = text.partition(word)
        other = number.removeprefix(before).removesuffix(behind)
        if found and other.isalpha() and number == f"{before}{other}{behind}":
            return before, behind
    return None


def _constants(sightings: Iterable[Sighting]) -> tuple[str, ...]:
    """Null, true and false as a template prints them, without what it leaves out; as JSON where that is not seen."""
    shown = " ".join(each.output for each in sightings if not each.plain and is_called(each) and holds(each, bool))
    null = tuple(word for word in ("null", "None") if word in shown)[:1]
    is_python = "True" in shown and "true" not in shown
    return (*null, *(PYTHON_CONSTANTS if is_python else JSON_CONSTANTS)[1:]) if shown else JSON_CONSTANTS
