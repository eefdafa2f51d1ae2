"""Inference from end to end: probe, find the notation and the literals, assemble candidates, and let proof decide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace

from rgw.derender.growth import Growth
from rgw.derender.vetting import known_growth
from rgw.errors import EngineError, RegistryError
from rgw.inference.assembly import Choices, assemble
from rgw.inference.forms import CallForm, FlattenedJson, JsonCalls, calling, find_form, is_called
from rgw.inference.headers import Headed, behind_header
from rgw.inference.model import Inference
from rgw.inference.sightings import Sighting, SlotKind, observe
from rgw.inference.thoughts import thought_closers
from rgw.inference.turns import TurnForm, TurnReader
from rgw.proof.certificate import Check, Finding, FindingKind, Proof
from rgw.proof.proving import prove
from rgw.proof.roundtrip import Outcome
from rgw.proof.shapes import ShapeError, discover
from rgw.proof.strict import StrictRenderer
from rgw.registry.model import Schema, UntypedValues
from rgw.templates.rendering import RenderLimits, RenderPool

LIMITS = RenderLimits(seconds=2.0, output=256 * 1024, call_seconds=20.0)
"""What rendering may take while a template is inferred."""

_TRIAL_CONVERSATIONS = 40
_TRIAL_SEED = 1
_PROOF_SEED = 2
_MOST_ROUNDS = 6


def infer(
    template: str,
    *,
    name: str = "inferred",
    conversations: int = 200,
    seed: int = 0,
    pool: RenderPool | None = None,
) -> Inference:
    """Infer a response schema from a chat template alone, and try to prove it.

    Args:
        template: The chat template; it is only ever rendered in bounded workers.
        name: What to call the schema.
        conversations: How many conversations the proof tries, none of which inference has seen.
        seed: The same seed gives the same result.
        pool: Where to render; by default a pool of this call's own.

    Raises:
        EngineError: Templates cannot be rendered here at all.
    """
    with nullcontext(pool) if pool is not None else RenderPool(limits=LIMITS) as renderer:
        renderer.start()
        strict = StrictRenderer(renderer)
        try:
            shape = discover(strict, template)
            seen = observe(strict, template, shape, seed=seed)
            headed = behind_header(seen.sightings)
            closers = thought_closers(strict, template, shape) if not _thinks(headed.sightings) else ()
        except ShapeError as error:
            return Inference(None, failure=f"the template does not render: {error}")
        if not headed.sightings:
            return Inference(None, failure="no finished turn continues the template's own generation prompt")
        if seen.writes_calls and not any(map(is_called, headed.sightings)):
            return Inference(None, failure="no turn with calls continues the template's own generation prompt")
        return _Search(renderer, template, headed, closers, name, conversations, seed).result()


def _thinks(seen: Sequence[Sighting]) -> bool:
    return any(mark.slot.kind is SlotKind.REASONING for sighting in seen for mark in sighting.marks)


class _Search:
    """Candidates for one template, the plainest first."""

    def __init__(
        self,
        pool: RenderPool,
        template: str,
        headed: Headed,
        closers: Sequence[str],
        name: str,
        conversations: int,
        seed: int,
    ) -> None:
        self._pool = pool
        self._template = template
        self._seen = headed.sightings
        self._anchors = headed.anchors
        self._closers = closers
        self._name = name
        self._conversations = conversations
        self._seed = seed

    def result(self) -> Inference:
        calls = find_form(self._seen)
        if calls is None and any(sighting.turn.calls for sighting in self._seen) and calling(self._seen):
            return Inference(None, failure="the calls are written in no notation that the dialect can express")
        best: Inference | None = None
        for round_number, candidate in enumerate(self._candidates(calls), start=1):
            inference = self._tried(candidate, calls, round_number)
            if inference.proved:
                return inference
            best = inference if best is None else min(best, inference, key=_badness)
            if round_number == _MOST_ROUNDS:
                break
        assert best is not None
        return best

    def _candidates(self, calls: CallForm | None) -> Iterator[Schema]:
        turn, calls = self._literals(calls)
        yield assemble(self._name, turn, calls, Choices())
        yield assemble(self._name, turn, calls, Choices(reserve_in_reasoning=True))
        if calls is not None and calls.python_constants:
            yield assemble(self._name, turn, calls, Choices(untyped=UntypedValues.PYTHON))
        yield assemble(self._name, turn, calls, Choices(reserve=False))

    def _literals(self, calls: CallForm | None) -> tuple[TurnForm, CallForm | None]:
        """The literals of the turn; calls that nothing opens are read by their beginning."""
        turn = TurnReader(self._seen, calls, self._anchors, self._closers).form()
        if isinstance(calls, JsonCalls) and not (turn.call_open.core or turn.section_open.core):
            flattened = FlattenedJson.fit(self._seen)
            if flattened is not None:
                return TurnReader(self._seen, flattened, self._anchors, self._closers).form(), flattened
        return turn, calls

    def _tried(self, candidate: Schema, calls: CallForm | None, rounds: int) -> Inference:
        notation = calls.title if calls is not None else ""
        inference = Inference(candidate, rounds=rounds, notation=notation)
        try:
            trial = self._prove(candidate, _TRIAL_CONVERSATIONS, _TRIAL_SEED)
            if trial.proved:
                trial = self._prove(candidate, self._conversations, _PROOF_SEED)
            if trial.proved:
                trial = _with_growth(trial, known_growth(candidate))
        except (RegistryError, EngineError) as error:
            return replace(inference, failure=f"the candidate does not load: {error}")
        failure = "" if trial.proved else _reason(trial)
        if trial.proved and calls is not None and not trial.carries_calls:
            failure = "no call came back in the proof"
        return replace(inference, proof=trial, failure=failure)

    def _prove(self, candidate: Schema, count: int, seed: int) -> Proof:
        return prove(self._template, candidate, count=count, seed=self._seed + seed, pool=self._pool, shrink=False)


def _with_growth(proof: Proof, growth: Growth) -> Proof:
    if growth.linear:
        return replace(proof, growth=growth)
    reason = f"reading {growth.shape} takes {growth.seconds:.1f} s for {growth.size} characters: {growth.pattern}"
    return replace(proof, growth=growth, findings=(*proof.findings, Finding(FindingKind.SUPERLINEAR, reason)))


def _badness(inference: Inference) -> int:
    """How many turns stand against a candidate."""
    proof = inference.proof
    if proof is None or proof.findings:
        return 10**9
    ordinary = proof.counts.get(Check.ROUND_TRIP, {})
    silent = sum(counts.get(Outcome.SILENT, 0) for counts in proof.counts.values())
    return silent + ordinary.get(Outcome.FLAGGED, 0)


def _reason(proof: Proof) -> str:
    """Why a proof failed, in one line."""
    if proof.findings:
        return proof.findings[0].message
    if proof.counterexample is None:
        return "nothing was read well"
    trip = proof.counterexample.trip
    what = ", ".join(trip.notes) or "no note"
    return f"{proof.counterexample.check.value}: {trip.outcome.value}: {what}"
