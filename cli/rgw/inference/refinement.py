"""What to try next, when a candidate did not prove: the counterexample says which choice was wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rgw.inference.assembly import Choices
from rgw.inference.calls import CallForm
from rgw.model import IssueCode
from rgw.proof.certificate import Check, Proof
from rgw.registry.model import PYTHON_CONSTANTS, UntypedValues

_TEXT_AND_LAYOUT = frozenset({"text: outer white space", "text: dropped", "text: made up"})


def refinements(choices: Choices, calls: CallForm | None, proof: Proof) -> Iterator[Choices]:
    """The choices that may mend what stands against a candidate, the likeliest first."""
    if proof.counterexample is None:
        return
    check, trip = proof.counterexample.check, proof.counterexample.trip
    stray = {
        trip.turn.output[issue.start : issue.end]
        for issue in trip.parsed.issues
        if issue.code is IssueCode.STRAY_DELIMITER
    }
    if check is Check.ROUND_TRIP and stray - choices.unreserved:
        yield replace(choices, unreserved=choices.unreserved | stray)
    if _TEXT_AND_LAYOUT & {*trip.notes} and not choices.layout_behind_text:
        yield replace(choices, layout_behind_text=True)
    prints_python = (
        calls is not None and calls.untyped_values is UntypedValues.TEXT and calls.constants == PYTHON_CONSTANTS
    )
    if prints_python and choices.untyped is None:
        yield replace(choices, untyped=UntypedValues.PYTHON)
    if check is not Check.ROUND_TRIP and not choices.reserve_in_reasoning:
        yield replace(choices, reserve_in_reasoning=True)
