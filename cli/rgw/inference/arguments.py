"""The literals around the arguments of calls, where each key and value is written by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

from rgw.inference.calls import calling, marks_of
from rgw.inference.sightings import Sighting, SlotKind
from rgw.proof.model import Call


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
