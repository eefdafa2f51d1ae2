"""What the change of a chat template means: what differs in its text, in what it writes, and in what reads it.

Templates are only rendered when one has changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rgw.derender.native import digest_of
from rgw.differences.changes import text_difference
from rgw.drift.model import Evidence, Severity
from rgw.drift.proofs import Prover, Question
from rgw.registry.loader import Registry
from rgw.templates.model import ResolvedTemplates
from rgw.templates.similarity import layout_variants, line_fingerprint, similarity

if TYPE_CHECKING:
    from rgw.proof.behaviour import Behaviour
    from rgw.proof.native import NativeAssessment
    from rgw.templates.rendering import RenderPool

CONVERSATIONS = 200
_DIFF_LINES = 200
_LINE_LENGTH = 500


@dataclass(frozen=True, slots=True)
class OldTemplate:
    """A template as it was; `text` is `None` where only its hash is known."""

    sha256: str
    text: str | None


@dataclass(frozen=True, slots=True)
class Assessment:
    """What a change means, in words for a message, with what shows it."""

    severity: Severity
    words: str
    evidence: Evidence
    diff: str = ""


class Assessor:
    """Assesses changes of chat templates; each question is answered once. A context manager: leaving it ends workers.

    Args:
        registry: The schemas that may read a template.
        conversations: How many conversations a proof takes.
    """

    def __init__(self, registry: Registry, *, conversations: int = CONVERSATIONS) -> None:
        self._registry = registry
        self._conversations = conversations
        self._behaviours: dict[str, Behaviour | None] = {}
        self._natives: dict[tuple[str, str], NativeAssessment] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if "_pool" in self.__dict__:
            self._pool.close()

    def assess(self, before: OldTemplate | None, sha256: str, text: str, schema: str | None) -> Assessment:
        """Judge a template that takes the place of another.

        Args:
            before: The template as it was; `None` where there was none.
            sha256: The hash of the template as it is.
            text: The template as it is.
            schema: The schema that reads what the old one wrote, if any.
        """
        difference = text_difference(before.text, text) if before and before.text is not None else None
        differences = self._differences(before, text)
        proves = self.proves(sha256, text, schema) if schema else None
        severity = _severity(proves=proves, identical=differences == ())
        evidence = Evidence(
            before=before.sha256 if before else None,
            after=sha256,
            lines_added=difference.added if difference else None,
            lines_removed=difference.removed if difference else None,
            renders_identically=None if differences is None else not differences,
            differing_probes=differences or (),
            schema=schema,
            schema_proves=proves,
            proving_schemas=self._proving(sha256, text, schema, proves),
        )
        words = [self._text_words(before, text, evidence), _render_words(evidence), _proof_words(evidence)]
        diff = shortened(difference.diff) if difference else ""
        return Assessment(severity, "; ".join(filter(None, words)), evidence, diff)

    def proves(self, sha256: str, text: str, schema: str) -> bool | None:
        """Whether a schema provably reads what a template writes; `None` when that cannot be tried."""
        return self._prover.proves(sha256, text, schema)

    def ask_ahead(self, questions: Iterable[Question]) -> None:
        """Put many templates to the proof at the same time, so that judging them waits for no proof."""
        self._prover.ask_ahead(questions)

    def native(self, resolved: ResolvedTemplates) -> NativeAssessment | None:
        """How the response template that a model ships itself agrees with the registry; `None` when it ships none."""
        from rgw.proof.native import assess_native

        if resolved.native_response_template is None:
            return None
        effective = resolved.effective
        question = digest_of(resolved.native_response_template), effective.sha256 if effective else ""
        found = self._natives.get(question)
        if found is None:
            found = assess_native(resolved, self._registry, count=self._conversations, pool=self._pool)
            assert found is not None
            # What went wrong is told with the name of the model.
            if found.attempt is None or found.attempt.proof is not None:
                self._natives[question] = found
        return found

    def _text_words(self, before: OldTemplate | None, text: str, evidence: Evidence) -> str:
        """What differs in the text; where only the hash of the old one is known, by the line fingerprints."""
        if before is None:
            return ""
        if layout := layout_variants(text).get(before.sha256):
            return f"only {layout} changed"
        if evidence.lines_added is not None:
            return f"{evidence.lines_added} lines added, {evidence.lines_removed} removed"
        fingerprint = self._registry.fingerprints().get(before.sha256)
        if fingerprint is None:
            return "the old text cannot be had"
        return f"{similarity(line_fingerprint(text), fingerprint):.0%} of the lines are the same"

    def _proving(self, sha256: str, text: str, schema: str | None, proves: bool | None) -> tuple[str, ...]:
        """The schemas that read the template: the one in use, or else whichever do."""
        if schema is not None and proves is not False:
            return (schema,) if proves else ()
        if self._behaviour(text) is None:  # nothing reads what a template that renders nothing writes
            return ()
        return self._prover.proving_schemas(sha256, text)

    def _differences(self, before: OldTemplate | None, text: str) -> tuple[str, ...] | None:
        """The probes that the two templates render differently; `None` when that cannot be found out."""
        old = self._old_behaviour(before) if before else None
        new = self._behaviour(text) if old else None
        if old is None or new is None or not old.is_comparable(new):
            return None
        return tuple(old.differences(new))

    def _old_behaviour(self, before: OldTemplate) -> Behaviour | None:
        """What the old template did: rendered anew, or as the registry knows it."""
        if before.text is not None:
            return self._behaviour(before.text)
        from rgw.proof.behaviour import Behaviour

        registered = self._registry.find_template(before.sha256)
        return Behaviour.read(registered.behaviour or "") if registered else None

    def _behaviour(self, text: str) -> Behaviour | None:
        from rgw.proof.behaviour import behaviour_of

        if text not in self._behaviours:
            self._behaviours[text] = behaviour_of(self._pool, text)
        return self._behaviours[text]

    @cached_property
    def _prover(self) -> Prover:
        return Prover(self._registry, conversations=self._conversations, pool=self._pool)

    @cached_property
    def _pool(self) -> RenderPool:
        from rgw.proof.strict import PROOF_LIMITS
        from rgw.templates.rendering import RenderPool

        return RenderPool(limits=PROOF_LIMITS)


def _severity(*, proves: bool | None, identical: bool) -> Severity:
    if proves is None:
        return Severity.UNKNOWN
    if not proves:
        return Severity.BREAKING
    return Severity.COSMETIC if identical else Severity.COMPATIBLE


def shortened(diff: str) -> str:
    """A diff without what nobody would read: its first lines, and of a long line the beginning."""
    lines = diff.split("\n")
    shown = [line if len(line) <= _LINE_LENGTH else f"{line[:_LINE_LENGTH]}…" for line in lines[:_DIFF_LINES]]
    if len(lines) > len(shown):
        shown.append(f"… {len(lines) - len(shown)} more lines")
    return "\n".join(shown)


def _render_words(evidence: Evidence) -> str:
    if evidence.renders_identically is None:
        return ""
    if evidence.renders_identically:
        return "renders identically"
    first, *others = evidence.differing_probes
    more = f" and {len(others)} more probes" if others else ""
    return f"renders {first}{more} differently"


def _proof_words(evidence: Evidence) -> str:
    if evidence.schema_proves:
        return f"schema {evidence.schema} still proves"
    others = ", ".join(evidence.proving_schemas)
    found = f"; {others} does" if others else "; no schema does"
    if evidence.schema is None:
        return f"no schema was in use; proved: {others or 'none'}"
    if evidence.schema_proves is None:
        return f"schema {evidence.schema} cannot be put to the proof"
    return f"schema {evidence.schema} no longer proves{found}"
