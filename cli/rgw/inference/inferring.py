"""Inference from end to end: probe, find the notation and the literals, assemble candidates, and let proof decide."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from types import MappingProxyType

from rgw.derender.growth import Growth, patterns_of
from rgw.derender.vetting import known_growth
from rgw.errors import EngineError, RegistryError
from rgw.inference.assembly import Choices, assemble
from rgw.inference.calls import CallForm, calling
from rgw.inference.explaining import end_token, explain, unobservable
from rgw.inference.headers import Headed, behind_header
from rgw.inference.json_calls import FlattenedJson, JsonCalls
from rgw.inference.model import Inference
from rgw.inference.notations import find_form
from rgw.inference.refinement import refinements
from rgw.inference.sightings import Sighting, SlotKind, observe
from rgw.inference.thoughts import thought_closers
from rgw.inference.turns import TurnForm, TurnReader
from rgw.proof.certificate import Check, Finding, FindingKind, Proof
from rgw.proof.proving import prove
from rgw.proof.roundtrip import Outcome
from rgw.proof.shapes import ShapeError, discover
from rgw.proof.strict import StrictRenderer
from rgw.registry.model import Schema
from rgw.templates.rendering import PLACEHOLDER_TOKENS, RenderLimits, RenderPool

LIMITS = RenderLimits(seconds=2.0, output=256 * 1024, call_seconds=20.0)
"""What rendering may take while a template is inferred."""

_REMEMBERED = 30_000
"""Renders kept in memory: candidates are tried on the same conversations, and so is the registered schema."""

_NO_TOKENS: Mapping[str, str] = MappingProxyType({})
_TRIAL_CONVERSATIONS = 40
_LONGEST_PATTERN = 4_000

MOST_ROUNDS = 6
"""How many candidates are tried."""


def render_pool(tokens: Mapping[str, str] = PLACEHOLDER_TOKENS) -> RenderPool:
    """What renders while a template is inferred, on two processors where there are so many."""
    workers = min(2, os.cpu_count() or 1)
    return RenderPool(workers, limits=LIMITS, variables=tokens, remembered=_REMEMBERED)


def infer(  # noqa: PLR0913 - each is a choice of its own, and all but one are by name
    template: str,
    *,
    name: str = "inferred",
    tokens: Mapping[str, str] = _NO_TOKENS,
    conversations: int = 200,
    seed: int = 0,
    pool: RenderPool | None = None,
) -> Inference:
    """Infer a response schema from a chat template alone, and try to prove it.

    Args:
        template: The chat template; it is only ever rendered in bounded workers.
        name: What to call the schema.
        tokens: The special tokens of the tokenizer, where they are known.
        conversations: How many conversations the proof tries, none of which inference has seen.
        seed: The same seed gives the same result.
        pool: Where to render; by default a pool of this call's own. Its special tokens are then those of `tokens`.

    Raises:
        EngineError: Templates cannot be rendered here at all.
    """
    known = {**PLACEHOLDER_TOKENS, **tokens}
    with nullcontext(pool) if pool is not None else render_pool(known) as workers:
        workers.start()
        renderer = StrictRenderer(workers)
        try:
            shape = discover(renderer, template)
            seen = observe(renderer, template, shape, seed=seed)
            headed = behind_header(seen.sightings)
            closers = () if _thinks(headed.sightings) else thought_closers(renderer, template, shape)
        except ShapeError as error:
            return Inference(None, failure=f"the template does not render: {error}")
        blank = Inference(None, writes_calls=seen.writes_calls)
        if not headed.sightings:
            return replace(blank, failure="no finished turn continues the template's own generation prompt")
        if seen.writes_calls and not calling(headed.sightings):
            return replace(blank, failure="no last turn with calls continues the template's own generation prompt")
        form = find_form(headed.sightings)
        if form is None and seen.writes_calls:
            return replace(blank, failure=_why_no_form(headed.sightings))
        turn, calls = _literals(headed, form, closers)
        is_known = "eos_token" in tokens
        token = end_token(turn, known["eos_token"], is_known=is_known) if "eos_token" in template else ""
        unseen = unobservable(headed.sightings, turn, shape, writes_calls=seen.writes_calls, end_token=token)
        notation = calls.title if calls is not None else ""
        blank = replace(blank, notation=notation, unobservable=unseen, end_is_unknown=bool(token) and not is_known)

        def candidate(choices: Choices) -> Inference:
            schema = assemble(name, turn, calls, choices, eos_token=known["eos_token"])
            return replace(blank, schema=schema, explanations=explain(schema, turn, calls, shape))

        def proof(schema: Schema, count: int, offset: int) -> Proof:
            return prove(template, schema, count=count, seed=seed + offset, pool=workers, shrink=False)

        return _Search(candidate, proof, calls, conversations).result()


def _why_no_form(seen: Sequence[Sighting]) -> str:
    with_arguments = [sighting for sighting in seen if all(call.arguments for call in sighting.turn.calls)]
    if find_form(with_arguments) is not None:
        return "a call without arguments is written in another notation than those with arguments, or broken"
    return "the calls are written in no notation that the dialect can express"


def _thinks(seen: Sequence[Sighting]) -> bool:
    return any(mark.slot.kind is SlotKind.REASONING for sighting in seen for mark in sighting.marks)


def _literals(headed: Headed, form: CallForm | None, closers: Sequence[str]) -> tuple[TurnForm, CallForm | None]:
    """The literals of the turn; calls that nothing opens are read by their beginning."""
    turn = TurnReader(headed.sightings, form, headed.anchors, closers).form()
    if isinstance(form, JsonCalls) and not (turn.call_open.core or turn.section_open.core):
        flattened = FlattenedJson.fit(headed.sightings)
        if flattened is not None:
            return TurnReader(headed.sightings, flattened, headed.anchors, closers).form(), flattened
    return turn, form


class _Search:
    """Candidates for one template, the plainest first; the counterexample of one leads to the next.

    Args:
        candidate: Makes the candidate of some choices.
        proof: Tries one, with so many conversations made from a seed at such an offset.
        calls: The notation of the calls.
        conversations: How many conversations decide: those of `rgw prove` for the first candidate, and for each that
            is refined from what was misread others that inference has not seen.
    """

    def __init__(
        self,
        candidate: Callable[[Choices], Inference],
        proof: Callable[[Schema, int, int], Proof],
        calls: CallForm | None,
        conversations: int,
    ) -> None:
        self._candidate = candidate
        self._proof = proof
        self._calls = calls
        self._conversations = conversations

    def result(self) -> Inference:
        """The first candidate that proves, or the one with the least against it."""
        waiting, tried = [Choices()], list[Inference]()
        seen = set(waiting)
        while waiting and len(tried) < MOST_ROUNDS:
            choices = waiting.pop(0)
            inference = replace(self._tried(self._candidate(choices), unseen=len(tried)), rounds=len(tried) + 1)
            if inference.proved:
                return inference
            tried.append(inference)
            if inference.proof is not None:
                better = [each for each in refinements(choices, self._calls, inference.proof) if each not in seen]
                seen.update(better)
                waiting += better
        return replace(min(tried, key=_badness), rounds=len(tried))

    def _tried(self, inference: Inference, *, unseen: int) -> Inference:
        """The candidate with its proof: a few of the conversations that decide come first."""
        schema = inference.schema
        assert schema is not None
        if max(map(len, patterns_of(schema))) > _LONGEST_PATTERN:
            return replace(inference, failure="what the template writes around a turn is too long to be a delimiter")
        try:
            proof = self._proof(schema, _TRIAL_CONVERSATIONS, unseen)
            if proof.proved:
                with ThreadPoolExecutor(1) as aside:
                    growth = aside.submit(known_growth, schema)
                    proof = self._proof(schema, self._conversations, unseen)
                    proof = _with_growth(proof, growth.result()) if proof.proved else proof
        except (RegistryError, EngineError) as error:
            return replace(inference, failure=f"the candidate does not load: {error}")
        failure = "" if proof.proved else _reason(proof)
        if proof.proved and self._calls is not None and not proof.carries_calls:
            failure = "no call came back in the proof"
        return replace(inference, proof=proof, failure=failure)


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
