"""Truncation: a turn cut off at any character must be read as a beginning of the whole turn, or be flagged."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Sequence

from rgw.derender import Derenderer
from rgw.model import SegmentKind
from rgw.proof.model import Turn, same_calls, same_turn, turn_of
from rgw.proof.roundtrip import Outcome, Trip, error_codes


def truncations(derenderer: Derenderer, trip: Trip, delimiters: Sequence[str]) -> Iterator[Trip]:
    """Cut a turn that was read well at every character and judge what is read from each beginning."""
    whole = turn_of(trip.parsed)
    tools = trip.turn.conversation.tools if trip.typed else None
    delimiters = (*delimiters, *_bare_openings(trip))
    for position in range(len(trip.turn.output)):
        parsed = derenderer.parse(trip.turn.output[:position], prompt=trip.turn.prompt, tools=tools)
        cut = trip.cut_at(position, parsed)
        part = turn_of(parsed)
        if parsed.ill_formed:
            kept = Turn(part.role, reasoning="" if part.text else part.reasoning, calls=part.calls)
            notes = tuple(_misreadings(kept, whole, delimiters))
            yield cut.judged(Outcome.SILENT, notes) if notes else cut.judged(Outcome.FLAGGED, error_codes(parsed))
        elif same_turn(part, whole):
            yield cut.judged(Outcome.EXACT)
        else:
            notes = tuple(_misreadings(part, whole, delimiters))
            yield cut.judged(Outcome.SILENT, notes) if notes else cut.judged(Outcome.EXACT)


def _bare_openings(trip: Trip) -> Iterator[str]:
    """How the calls begin that no delimiter opens: a bare list, say. One character of it is not known for one."""
    before = None
    for segment in trip.parsed.segments:
        if segment.kind is SegmentKind.TOOL_CALL and before not in {SegmentKind.DELIMITER, SegmentKind.TOOL_CALL}:
            yield trip.turn.output[segment.start : segment.start + 2]
        if segment.kind is not SegmentKind.LAYOUT:
            before = segment.kind


def _misreadings(part: Turn, whole: Turn, delimiters: Sequence[str]) -> Iterator[str]:
    """What a cut turn says that the whole one does not."""
    if not same_calls(part.calls, whole.calls[: len(part.calls)]):
        yield "calls: another call than in the whole turn"
    if not _begins(part.reasoning, whole.reasoning, delimiters):
        yield "reasoning: not a beginning of the whole turn's"
    if not _begins(part.text, whole.text, delimiters):
        yield "text: not a beginning of the whole turn's"


def _begins(part: str, whole: str, delimiters: Sequence[str]) -> bool:
    """Whether `part` is a beginning of `whole`, save for white space and the first characters of a delimiter.

    Those may begin like what the whole goes on with: `<th` is no beginning of `<div>`, but one of `<think>`.
    """
    common = len(os.path.commonprefix([part, whole]))  # noqa: RUF071 - of texts, not of paths
    longest = max(map(len, delimiters), default=0)
    rests = (part[position:].strip() for position in range(common, max(-1, common - longest), -1))
    return any(
        not rest or any(delimiter.startswith(rest) and delimiter != rest for delimiter in delimiters) for rest in rests
    )
