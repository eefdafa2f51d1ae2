"""Mutation: a turn whose structure was damaged must be read as before, as what it now says, or be flagged.

What a damaged turn says is asked of the template: for what was read it must write the characters of the damaged text,
none lost and none invented. White space may differ, the order of parts, and an end-of-turn marker that was cut away.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from rgw.derender import Derenderer
from rgw.model import SegmentKind
from rgw.proof.model import Conversation, same_turn, turn_of
from rgw.proof.roundtrip import Outcome, Trip, error_codes, with_blanks_of
from rgw.proof.turns import Studio


def mutations(
    studio: Studio, derenderer: Derenderer, trips: Sequence[Trip], delimiters: Sequence[str], random: Random
) -> list[Trip]:
    """Damage turns that were read well, once each for every kind of damage, and judge what is read."""
    damaged = [_parse(derenderer, trip, output) for trip in trips for output in _damaged(trip, delimiters, random)]
    suspects = [trip for trip in damaged if trip.outcome is Outcome.SILENT]
    endings = (*derenderer.schema.turn.end, *_endings(trips))
    readings = [(trip, _as_read(trip)) for trip in suspects]
    asked = [(reading, trip.turn.variables) for trip, several in readings for reading in several]
    written = iter(studio.write(asked))
    verdicts = iter(
        [_verdict(derenderer, trip, [next(written) for _ in several], endings) for trip, several in readings]
    )
    judged = [next(verdicts) if trip.outcome is Outcome.SILENT else trip for trip in damaged]
    return [trip for trip in judged if trip is not None]


def _as_read(trip: Trip) -> list[Conversation]:
    """The conversation with what was read: with blank parts that may be there and came back empty, and as it is."""
    conversation = trip.turn.conversation
    back = turn_of(trip.parsed)
    blank = with_blanks_of(conversation.last, back)
    return [conversation.with_last(turn) for turn in ([back] if same_turn(back, blank) else [blank, back])]


def _damaged(trip: Trip, delimiters: Sequence[str], random: Random) -> Iterator[str]:
    output = trip.turn.output
    pieces = [output[segment.start : segment.end] for segment in trip.parsed.segments]
    structural = [
        number for number, segment in enumerate(trip.parsed.segments) if segment.kind is SegmentKind.DELIMITER
    ]
    if structural:
        chosen = random.choice(structural)
        yield "".join(pieces[:chosen] + pieces[chosen + 1 :])
        yield "".join(pieces[: chosen + 1] + pieces[chosen:])
    if len(structural) > 1:
        one, other = random.sample(structural, 2)
        swapped = list(pieces)
        swapped[one], swapped[other] = pieces[other], pieces[one]
        yield "".join(swapped)
    if delimiters:
        position = random.randrange(len(output) + 1)
        yield output[:position] + random.choice(delimiters) + output[position:]


def _parse(derenderer: Derenderer, trip: Trip, output: str) -> Trip:
    tools = trip.turn.conversation.tools if trip.typed else None
    parsed = derenderer.parse(output, prompt=trip.turn.prompt, tools=tools)
    damaged = replace(trip, turn=replace(trip.turn, output=output), parsed=parsed)
    if parsed.ill_formed:
        return damaged.judged(Outcome.FLAGGED, error_codes(parsed))
    if parsed.issues:
        return damaged.judged(Outcome.FLAGGED, tuple(dict.fromkeys(issue.code.value for issue in parsed.issues)))
    if same_turn(turn_of(parsed), turn_of(trip.parsed)):
        return damaged.judged(Outcome.EXACT)
    return damaged.judged(Outcome.SILENT)


def _verdict(derenderer: Derenderer, trip: Trip, texts: Sequence[str | None], endings: Sequence[str]) -> Trip | None:
    """Whether the template writes the damaged turn for what was read; `None` where it cannot say what was read."""
    head = trip.turn.head
    written = [text.removeprefix(head) for text in texts if text is not None and text.startswith(head)]
    if any(_says(said, trip.turn.output, () if trip.parsed.end_of_turn else endings) for said in written):
        return trip.judged(Outcome.EXACT)
    tools = trip.turn.conversation.tools if trip.typed else None
    read = turn_of(trip.parsed)
    back = (turn_of(derenderer.parse(said, prompt=trip.turn.prompt, tools=tools)) for said in written[:1])
    if any(same_turn(turn, read) for turn in back):
        return trip.judged(Outcome.SILENT, ("a damaged turn is read as another, without an issue",))
    return None


def _says(said: str, output: str, endings: Sequence[str]) -> bool:
    written, damaged = _characters(said), _characters(output)
    added = written - damaged
    return not damaged - written and (not added or any(added == _characters(ending) for ending in endings))


_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


def _characters(text: str) -> Counter[str]:
    """The characters but white space; JSON's other notations of a slash and of a number are that slash and number."""
    plain = _NUMBER.sub(_plain_number, text.replace("\\/", "/"))
    return Counter("".join(plain.split()))


def _plain_number(number: re.Match[str]) -> str:
    if "." in number[0] or "e" in number[0].lower():
        return repr(float(number[0]))
    return "0" if number[0] == "-0" else number[0]


def _endings(trips: Sequence[Trip]) -> tuple[str, ...]:
    """What ends turns without calls: the markers that may be missing from a damaged turn."""
    endings: dict[str, None] = {}
    for trip in trips:
        delimiters = [segment for segment in trip.parsed.segments if segment.kind is SegmentKind.DELIMITER]
        if delimiters and not trip.parsed.tool_uses:
            last = trip.turn.output[delimiters[-1].start : delimiters[-1].end]
            if trip.turn.output.rstrip().endswith(last):
                endings[last] = None
    return tuple(endings)
