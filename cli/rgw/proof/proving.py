"""Proving that a schema fits a template: the four checks in order, one certificate at the end."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from importlib.metadata import version
from itertools import chain, zip_longest
from random import Random
from statistics import mean

import rgw
from rgw.derender import Derenderer
from rgw.model import SegmentKind
from rgw.proof.certificate import Check, Counterexample, Finding, FindingKind, Proof, joined
from rgw.proof.conversations import BENIGN, HOSTILE, conversations, smallest, with_delimiters
from rgw.proof.model import Conversation
from rgw.proof.mutation import mutations
from rgw.proof.roundtrip import Outcome, Trip, round_trips
from rgw.proof.shapes import ShapeError, discover
from rgw.proof.strict import PROOF_LIMITS, StrictRenderer
from rgw.proof.truncation import truncations
from rgw.proof.turns import CutTurn, NoTurn, Studio
from rgw.registry.model import Schema
from rgw.templates.rendering import FailureKind, RenderFailure, RenderPool

TRUNCATED_CHARACTERS = 10
"""Characters at which turns are truncated, for each conversation."""

LARGEST_BLOCK = 1_000
"""Conversations tried at once: a longer proof is made block by block, and takes no more memory."""

_SEEDS_BETWEEN_BLOCKS = 2**32
_LONGEST_TRUNCATED = 400
_LONGEST_MEAN_TURN = 10_000
_REASONS_KEPT = 5
_DELIMITERS_KEPT = 12
_PACKAGES = ("transformers", "jinja2", "hypothesis")


def prove(  # noqa: PLR0913 - each is a choice of its own, and all but two are by name
    template: str,
    schema: Schema,
    *,
    count: int = 200,
    seed: int = 0,
    pool: RenderPool | None = None,
    shrink: bool = True,
) -> Proof:
    """Try to prove that `schema` reads what `template` writes.

    Args:
        template: The chat template; it is only ever rendered in bounded workers.
        schema: The response schema.
        count: How many benign conversations, and as many hostile ones.
        seed: The same seed gives the same conversations and the same certificate. Of many conversations, the first
            `LARGEST_BLOCK` or fewer come from it, the others from seeds far from it.
        pool: Where to render; by default a pool of this call's own.
        shrink: Make the counterexample of a pair that is not proved small, which takes some seconds.

    Returns:
        The certificate. It counts fewer conversations than were asked for when a block of them was not proved.

    Raises:
        EngineError: The installed transformers cannot run the schema.
        RegistryError: The schema is not valid.
    """
    blank = blank_proof(template, schema, count=count, seed=seed)
    derenderer = Derenderer(schema)
    tokens = {"eos_token": schema.turn.end[0]} if schema.turn.end else {}
    with nullcontext(pool) if pool is not None else RenderPool(limits=PROOF_LIMITS) as workers:
        workers.start()
        blocks = _blocks(blank)
        conversations(count=blocks[0].conversations, seed=seed, hostile=False)
        renderer = StrictRenderer(workers)
        try:
            studio = Studio(renderer, template, discover(renderer, template), derenderer, tokens=tokens)
            return _first_failing_or_all(_Trial(studio, derenderer, block, shrink=shrink).verdict() for block in blocks)
        except ShapeError as error:
            return replace(blank, findings=(_finding(error.failure),))


def _blocks(blank: Proof) -> list[Proof]:
    """Certificates to fill in, of about the same number of conversations each."""
    number = max(1, -(-blank.conversations // LARGEST_BLOCK))
    size, larger = divmod(blank.conversations, number)
    return [
        replace(blank, conversations=size + (block < larger), seed=blank.seed + block * _SEEDS_BETWEEN_BLOCKS)
        for block in range(number)
    ]


def _first_failing_or_all(proofs: Iterable[Proof]) -> Proof:
    tried: list[Proof] = []
    for proof in proofs:
        tried.append(proof)
        if not proof.proved:
            break
    return joined(tried)


def blank_proof(template: str, schema: Schema, *, count: int, seed: int) -> Proof:
    """A certificate with nothing tried yet; it does not count as proved."""
    return Proof(
        schema=schema.name,
        template_sha256=hashlib.sha256(template.encode("utf-8", "surrogatepass")).hexdigest(),
        conversations=count,
        seed=seed,
        versions={"rgw": rgw.__version__, **{package: version(package) for package in _PACKAGES}},
    )


def _finding(failure: RenderFailure) -> Finding:
    match failure.kind:
        case FailureKind.SYNTAX_ERROR:
            kind = FindingKind.NOT_COMPILED
        case FailureKind.TEMPLATE_ERROR:
            kind = FindingKind.NOT_RENDERED
        case _:
            kind = FindingKind.EXCEEDS_LIMIT
    return Finding(kind, failure.message)


class _Trial:
    """The checks of one pair."""

    def __init__(self, studio: Studio, derenderer: Derenderer, blank: Proof, *, shrink: bool) -> None:
        self._studio = studio
        self._derenderer = derenderer
        self._blank = replace(blank, shape=asdict(studio.shape))
        self._shrink = shrink

    def verdict(self) -> Proof:
        count, seed = self._blank.conversations, self._blank.seed
        turns = list(self._studio.turns(conversations(count=count, seed=seed, hostile=False)))
        cut = [turn for turn in turns if isinstance(turn, CutTurn)]
        missing = [turn for turn in turns if isinstance(turn, NoTurn)]
        proof = replace(
            self._blank,
            refused=dict(Counter(turn.reason for turn in missing if turn.refused).most_common(_REASONS_KEPT)),
            uncut=sum(not turn.refused for turn in missing),
        )
        if not cut:
            reason = missing[0].reason if missing else "no conversation was tried"
            return replace(proof, findings=(Finding(FindingKind.NO_TURN, reason),))
        if (length := mean(len(turn.output) for turn in cut)) > _LONGEST_MEAN_TURN:
            reason = f"the turns are {length:,.0f} characters long on average, whatever was said"
            return replace(proof, findings=(Finding(FindingKind.EXCEEDS_LIMIT, reason),))
        trips = round_trips(self._studio, self._derenderer, cut)
        good = [trip for trip in trips if trip.outcome in {Outcome.EXACT, Outcome.TEMPLATE_LOSSY}]
        delimiters = _delimiters(good, self._derenderer.schema)
        if good and not any(_carries_something(trip) for trip in good):
            reason = "the template writes nothing of what an assistant says"
            return replace(proof, findings=(Finding(FindingKind.NOTHING_WRITTEN, reason),))
        checked = {
            Check.ROUND_TRIP: trips,
            Check.HOSTILE_VALUES: self._hostile(delimiters),
            Check.TRUNCATION: self._truncated(good, delimiters),
            Check.MUTATION: self._mutated(good, delimiters),
        }
        return replace(
            proof,
            counts={check: Counter(trip.outcome for trip in found) for check, found in checked.items()},
            losses=_losses(trip for trip in trips if not trip.typed),
            typed_losses=_losses(trip for trip in trips if trip.typed),
            carries_text=any(trip.parsed.text for trip in good),
            carries_reasoning=any(trip.parsed.reasoning for trip in good),
            carries_calls=any(trip.parsed.tool_uses for trip in good),
            counterexample=self._counterexample(checked, delimiters),
        )

    def _hostile(self, delimiters: Sequence[str]) -> list[Trip]:
        made_up = conversations(count=self._blank.conversations, seed=self._blank.seed, hostile=True)
        hostile = [with_delimiters(conversation, delimiters) for conversation in made_up]
        return self._trips(hostile, hostile=True)

    def _trips(self, conversations: Sequence[Conversation], *, hostile: bool) -> list[Trip]:
        turns = [turn for turn in self._studio.turns(conversations) if isinstance(turn, CutTurn)]
        return round_trips(self._studio, self._derenderer, turns, hostile=hostile)

    def _truncated(self, good: Sequence[Trip], delimiters: Sequence[str]) -> list[Trip]:
        budget = TRUNCATED_CHARACTERS * self._blank.conversations
        found: list[Trip] = []
        for trip in _assorted(trip for trip in good if len(trip.turn.output) <= _LONGEST_TRUNCATED):
            if len(found) + len(trip.turn.output) <= budget:
                found += truncations(self._derenderer, trip, delimiters)
        return found

    def _mutated(self, good: Sequence[Trip], delimiters: Sequence[str]) -> list[Trip]:
        chosen = _assorted(good)[: self._blank.conversations]
        random = Random(self._blank.seed)  # noqa: S311 - nothing secret
        return mutations(self._studio, self._derenderer, chosen, delimiters, random)

    def _counterexample(
        self, checked: Mapping[Check, Sequence[Trip]], delimiters: Sequence[str]
    ) -> Counterexample | None:
        """The worst failure, made as small as it gets."""
        for check, outcome in _WORST_FIRST:
            failed = [trip for trip in checked[check] if trip.outcome is outcome]
            if failed:
                shortest = min(failed, key=lambda trip: len(trip.turn.output))
                return Counterexample(check, self._shrunk(check, outcome, delimiters) or shortest)
        return None

    def _shrunk(self, check: Check, outcome: Outcome, delimiters: Sequence[str]) -> Trip | None:
        if not self._shrink or check not in {Check.ROUND_TRIP, Check.HOSTILE_VALUES}:
            return None
        hostile = check is Check.HOSTILE_VALUES

        def failing(conversation: Conversation) -> Trip | None:
            trips = self._trips([with_delimiters(conversation, delimiters)], hostile=hostile)
            return next((trip for trip in trips if trip.outcome is outcome), None)

        return smallest(HOSTILE if hostile else BENIGN, failing, count=self._blank.conversations, seed=self._blank.seed)


def _carries_something(trip: Trip) -> bool:
    return bool(trip.parsed.text or trip.parsed.reasoning or trip.parsed.tool_uses)


_WORST_FIRST = (
    (Check.ROUND_TRIP, Outcome.SILENT),
    (Check.HOSTILE_VALUES, Outcome.SILENT),
    (Check.TRUNCATION, Outcome.SILENT),
    (Check.MUTATION, Outcome.SILENT),
    (Check.ROUND_TRIP, Outcome.FLAGGED),
)


def _delimiters(good: Iterable[Trip], schema: Schema) -> tuple[str, ...]:
    """The schema's delimiters as this template writes them, seen in the turns that were read well."""
    seen = Counter(
        trip.turn.output[segment.start : segment.end]
        for trip in good
        for segment in trip.parsed.segments
        if segment.kind is SegmentKind.DELIMITER
    )
    common = [delimiter for delimiter, _ in seen.most_common(_DELIMITERS_KEPT)]
    return tuple(dict.fromkeys([*schema.turn.end, *schema.turn.reserved, *common]))


def _losses(trips: Iterable[Trip]) -> dict[str, int]:
    lost = Counter(note for trip in trips if trip.outcome is Outcome.TEMPLATE_LOSSY for note in trip.notes)
    return dict(sorted(lost.items()))


def _assorted(good: Iterable[Trip]) -> list[Trip]:
    """Turns with one kind of content after the other, so that a few are of every kind."""
    kinds: defaultdict[tuple[bool, bool, int], list[Trip]] = defaultdict(list)
    for trip in good:
        if trip.typed or not trip.turn.conversation.tools:
            parsed = trip.parsed
            kinds[bool(parsed.reasoning), bool(parsed.text), len(parsed.tool_uses)].append(trip)
    return [trip for trip in chain.from_iterable(zip_longest(*kinds.values())) if trip is not None]
