"""What inference says of a template: a candidate, line by line with what shows it, what cannot be seen, and the proof.

Pure data; `inferring` makes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rgw.proof.certificate import Proof
from rgw.registry.model import Schema


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why one line of a candidate is as it is.

    Attributes:
        path: The line, as keys joined by dots.
        reason: What it stands for.
        seen_in: The labels of probes whose renders show it.
    """

    path: str
    reason: str
    seen_in: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inference:
    """The result for one template.

    Attributes:
        schema: The candidate; `None` when the template shows no format that the dialect can express.
        explanations: Its lines, explained.
        unobservable: What the template does not show, in words.
        failure: Why there is no candidate, or why it is not proved; empty when it is.
        proof: The proof or the attempt; `None` when there is no candidate.
        rounds: How many candidates were tried.
        notation: What the calls look like, in words; empty when none were seen.
        writes_calls: The template writes calls at all.
        end_is_unknown: Turns end with the tokenizer's own token, and nothing says which that is.
    """

    schema: Schema | None
    explanations: tuple[Explanation, ...] = ()
    unobservable: tuple[str, ...] = ()
    failure: str = ""
    proof: Proof | None = None
    rounds: int = 0
    notation: str = ""
    writes_calls: bool = False
    end_is_unknown: bool = False

    @property
    def proved(self) -> bool:
        """The candidate reads what the template writes, shown with conversations that inference has not seen."""
        return self.proof is not None and self.proof.proved and not self.failure

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, without the schema: that is YAML to whoever writes it."""
        return {
            "proved": self.proved,
            "failure": self.failure or None,
            "notation": self.notation or None,
            "writes_calls": self.writes_calls,
            "explanations": [
                {"path": each.path, "reason": each.reason, "seen_in": list(each.seen_in)} for each in self.explanations
            ],
            "unobservable": list(self.unobservable),
            "rounds": self.rounds,
            "proof": _proof(self.proof),
        }


def _proof(proof: Proof | None) -> Mapping[str, Any] | None:
    return proof.to_dict() if proof is not None else None
