"""What a proof says: the counts of every check, what the template cannot carry, and the smallest failure.

Pure data; `proving` makes it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from rgw.derender.growth import Growth
from rgw.proof.model import Conversation, Turn
from rgw.proof.roundtrip import Outcome, Trip


class Check(StrEnum):
    """The parts of a proof."""

    ROUND_TRIP = "round_trip"
    HOSTILE_VALUES = "hostile_values"
    TRUNCATION = "truncation"
    MUTATION = "mutation"


class FindingKind(StrEnum):
    """Why there is nothing to prove, or not all that there should be."""

    NOT_COMPILED = "not_compiled"
    NOT_RENDERED = "not_rendered"
    EXCEEDS_LIMIT = "exceeds_limit"
    NO_TURN = "no_turn"
    NOTHING_WRITTEN = "nothing_written"
    SUPERLINEAR = "superlinear"


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason, with the template's own words; they are untrusted text."""

    kind: FindingKind
    message: str


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A turn that stands against the pair, and the check that found it."""

    check: Check
    trip: Trip

    def to_dict(self) -> dict[str, Any]:
        """The conversation, what the template made of it, its tiling, and what came back."""
        turn = self.trip.turn
        return {
            "check": self.check.value,
            "outcome": self.trip.outcome.value,
            "notes": list(self.trip.notes),
            "with_tools": self.trip.typed,
            "variables": dict(turn.variables),
            "conversation": conversation_to_dict(turn.conversation),
            "prompt": turn.prompt,
            "output": turn.output,
            "parsed": self.trip.parsed.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Proof:
    """A certificate, or the reason why there is none.

    Attributes:
        schema: The schema's name.
        template_sha256: The template's identity.
        conversations: How many conversations were tried, benign and hostile each.
        seed: What they were made from.
        versions: The versions of what took part.
        registry_digest: The registry that the schema came from, when one did; filled in by `batch`.
        growth: How reading with the schema grows, when it was measured; filled in by `batch`.
        shape: How the template wants its messages.
        counts: Outcomes, by check.
        refused: Turns that the template refuses to write, by its reasons.
        uncut: Turns that do not continue the template's own generation prompt.
        losses: What the template cannot carry when the derender is not told the tools.
        typed_losses: What it cannot carry when the derender is.
        carries_text: Text came back from the template.
        carries_reasoning: Reasoning came back from the template.
        carries_calls: Calls came back from the template.
        findings: What kept the proof from being made.
        counterexample: The smallest turn that stands against the pair.
    """

    schema: str
    template_sha256: str
    conversations: int
    seed: int
    versions: Mapping[str, str]
    registry_digest: str = ""
    growth: Growth | None = None
    shape: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[Check, Mapping[Outcome, int]] = field(default_factory=dict)
    refused: Mapping[str, int] = field(default_factory=dict)
    uncut: int = 0
    losses: Mapping[str, int] = field(default_factory=dict)
    typed_losses: Mapping[str, int] = field(default_factory=dict)
    carries_text: bool = False
    carries_reasoning: bool = False
    carries_calls: bool = False
    findings: tuple[Finding, ...] = ()
    counterexample: Counterexample | None = None

    @property
    def proved(self) -> bool:
        """Every ordinary turn came back exact or as the template writes it, and no turn anywhere was misread."""
        ordinary = self.counts.get(Check.ROUND_TRIP, {})
        well_read = ordinary.get(Outcome.EXACT, 0) + ordinary.get(Outcome.TEMPLATE_LOSSY, 0)
        silent = sum(counts.get(Outcome.SILENT, 0) for counts in self.counts.values())
        return not self.findings and well_read > 0 and not silent and not ordinary.get(Outcome.FLAGGED, 0)

    @property
    def digest(self) -> str:
        """sha256 over the certificate, for the registry."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "schema": self.schema,
            "template_sha256": self.template_sha256,
            "proved": self.proved,
            "conversations": self.conversations,
            "seed": self.seed,
            "versions": dict(self.versions),
            "registry_digest": self.registry_digest,
            "growth": asdict(self.growth) if self.growth else None,
            "shape": dict(self.shape),
            "counts": {
                check.value: {outcome.value: counts.get(outcome, 0) for outcome in Outcome}
                for check, counts in self.counts.items()
            },
            "refused": dict(self.refused),
            "uncut": self.uncut,
            "losses": {"without_tools": dict(self.losses), "with_tools": dict(self.typed_losses)},
            "carries_text": self.carries_text,
            "carries_reasoning": self.carries_reasoning,
            "carries_calls": self.carries_calls,
            "findings": [{"kind": finding.kind.value, "message": finding.message} for finding in self.findings],
            "counterexample": self.counterexample.to_dict() if self.counterexample else None,
        }


def joined(proofs: Sequence[Proof]) -> Proof:
    """One certificate for what was tried of one pair in several steps; the seed is that of the first."""

    def total(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
        return dict(sorted(sum(map(Counter, counts), Counter[str]()).items()))

    return replace(
        proofs[0],
        conversations=sum(proof.conversations for proof in proofs),
        counts={
            check: sum((Counter(proof.counts.get(check, {})) for proof in proofs), Counter[Outcome]())
            for check in Check
            if any(check in proof.counts for proof in proofs)
        },
        refused=total(proof.refused for proof in proofs),
        uncut=sum(proof.uncut for proof in proofs),
        losses=total(proof.losses for proof in proofs),
        typed_losses=total(proof.typed_losses for proof in proofs),
        carries_text=any(proof.carries_text for proof in proofs),
        carries_reasoning=any(proof.carries_reasoning for proof in proofs),
        carries_calls=any(proof.carries_calls for proof in proofs),
        findings=tuple(dict.fromkeys(finding for proof in proofs for finding in proof.findings)),
        counterexample=next((proof.counterexample for proof in proofs if proof.counterexample), None),
    )


def conversation_to_dict(conversation: Conversation) -> dict[str, Any]:
    """A conversation as plain data, in the words of this program rather than of any template."""
    return {
        "turns": [_turn_to_dict(turn) for turn in conversation.turns],
        "tools": list(conversation.tools) if conversation.tools is not None else None,
    }


def _turn_to_dict(turn: Turn) -> dict[str, Any]:
    data: dict[str, Any] = {"role": turn.role.value, "text": turn.text}
    if turn.reasoning:
        data["reasoning"] = turn.reasoning
    if turn.calls:
        data["tool_uses"] = [{"name": call.name, "input": dict(call.arguments)} for call in turn.calls]
    return data
