"""Calls whose arguments are almost JSON: bare keys, or strings between delimiters of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

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
    marks_of,
    pieces_of,
)
from rgw.inference.sightings import Sighting, SlotKind


class RelaxedJson(CallForm):
    """`name{key:<q>text<q>,key:7}`: JSON with bare keys, and strings between delimiters of their own."""

    title = "a name, then its arguments as JSON with bare keys or other quotes"

    def __init__(self, inside_open: str, opening: str, closing: str, *, bare_keys: bool) -> None:
        self._open = inside_open
        self._quotes = (opening, closing)
        self._bare_keys = bare_keys

    @classmethod
    def fit(cls, sightings: Sequence[Sighting]) -> Self | None:
        """See `CallForm.fit`."""
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
                heads.append(pieces_of(sighting, names[0].start, brace, names))
        inside = head_pattern(heads)
        form = cls(inside, opening, closing, bare_keys='"' not in number_value) if inside is not None else None
        return form if form is not None and cls._fits(form, sightings) else None

    def units(self, sighting: Sighting) -> list[Unit]:
        """See `CallForm.units`."""
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
        """See `CallForm.literals`."""
        return self._quotes

    def field(self, around: Surroundings) -> dict[str, Any]:
        """See `CallForm.field`."""
        arguments: dict[str, Any] = {}
        if self._quotes != ('"', '"'):
            arguments["string_delims"] = [list(self._quotes)]
        if self._bare_keys:
            arguments["unquoted_keys"] = True
        return {
            **delimiters(Surroundings(around.open + self._open, around.close)),
            "repeats": True,
            "content": "json",
            "content_args": arguments,
            "transform": NAMED,
        }
