"""The response template that a repository ships beside the registered schema: the same, or at least as good?"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rgw.derender.native import digest_of, native_schema, schemas_like
from rgw.detection import detect
from rgw.errors import SourceError
from rgw.exporting import is_exported
from rgw.proof.batch import Attempt, Pair, Status, certify
from rgw.proof.certificate import Finding, FindingKind
from rgw.registry.loader import Registry
from rgw.templates.model import ResolvedTemplates
from rgw.templates.rendering import RenderPool


class Agreement(StrEnum):
    """How what a repository ships relates to what the registry says of its chat template."""

    SAME = "same"
    """It is what the registered schema has, is exported as, or was made from."""
    BOTH_READ = "both_read"
    """It is another one, and proves to read the template too."""
    DISAGREE = "disagree"
    """It is another one, and does not prove to read the template."""
    UNREGISTERED = "unregistered"
    """No schema is registered for the template."""


@dataclass(frozen=True, slots=True)
class NativeAssessment:
    """What is known of a native response template.

    Attributes:
        ref: The repository.
        digest: sha256 of the native response template.
        registered: The schema that is registered for the chat template.
        same_as: The schemas of the registry that have this very response template, or were made from it; and the
            registered one when it is what `rgw apply` writes of it.
        attempt: Whether it proves to read the chat template; `None` where there is no chat template, and where the
            registered schema has it: that pair has been proved.
    """

    ref: str
    digest: str
    registered: str | None
    same_as: tuple[str, ...]
    attempt: Attempt | None

    @property
    def proves(self) -> bool:
        """Whether the native response template proves to read the repository's chat template."""
        return self.attempt is not None and self.attempt.status is Status.PROVED

    @property
    def agreement(self) -> Agreement:
        """How it relates to the registry."""
        if self.registered is None:
            return Agreement.UNREGISTERED
        if self.registered in self.same_as:
            return Agreement.SAME
        return Agreement.BOTH_READ if self.proves else Agreement.DISAGREE

    @property
    def is_superlinear(self) -> bool:
        """Whether the time that reading with it takes grows faster than what is read."""
        return any(finding.kind is FindingKind.SUPERLINEAR for finding in self._problems)

    @property
    def is_untried(self) -> bool:
        """Whether nothing is known of how it reads: it could not be put to the proof."""
        return self.attempt is None or self.attempt.proof is None or bool(self._problems)

    @property
    def message(self) -> str:
        """The same in one line."""
        proof = "it proves to read the chat template" if self.proves else f"it is not proved to read it{self._reason}"
        match self.agreement:
            case Agreement.SAME:
                return f"the native response_template is that of schema {self.registered}"
            case Agreement.UNREGISTERED:
                return f"there is a native response_template and no registered schema; {proof}"
            case _:
                return f"the native response_template differs from schema {self.registered}; {proof}"

    @property
    def _reason(self) -> str:
        if self.attempt is None:
            return ": there is no chat template"
        reasons = filter(None, [self.attempt.message, *(finding.message for finding in self._problems)])
        return "".join(f": {reason}" for reason in reasons)

    @property
    def _problems(self) -> tuple[Finding, ...]:
        return self.attempt.proof.findings if self.attempt and self.attempt.proof else ()

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "ref": self.ref,
            "digest": self.digest,
            "registered": self.registered,
            "same_as": list(self.same_as),
            "agreement": self.agreement.value,
            "proof": self.attempt.to_dict() if self.attempt else None,
            "message": self.message,
        }


def assess_native(
    resolved: ResolvedTemplates,
    registry: Registry,
    *,
    count: int = 200,
    seed: int = 0,
    pool: RenderPool | None = None,
) -> NativeAssessment | None:
    """Compare what a repository ships with the registry, by digest and else by proof; `None` when it ships nothing.

    The native response template is measured before it reads anything: one whose time grows faster than linearly is
    not proved.

    Args:
        resolved: The repository.
        registry: The schemas and templates.
        count: Conversations of each kind for the proof.
        seed: What the conversations are made from.
        pool: Where to render.

    Raises:
        EngineError: Templates cannot be rendered here at all.
    """
    native = resolved.native_response_template
    if native is None:
        return None
    schema = detect(resolved, registry).schema
    registered = schema.name if schema else None
    same_as = schemas_like(native, registry)
    if schema is not None and schema.name not in same_as and is_exported(native, schema):
        same_as = (*same_as, schema.name)
    attempt = None if registered in same_as else _attempt(resolved, count=count, seed=seed, pool=pool)
    return NativeAssessment(resolved.ref, digest_of(native), registered, same_as, attempt)


def _attempt(resolved: ResolvedTemplates, *, count: int, seed: int, pool: RenderPool | None) -> Attempt | None:
    effective = resolved.effective
    if effective is None:
        return None
    try:
        pair = Pair(resolved.ref, effective.sha256, effective.text, native_schema(resolved))
    except SourceError as error:
        return Attempt(resolved.ref, Status.ERROR, effective.sha256, message=str(error))
    return certify(pair, count=count, seed=seed, pool=pool)
