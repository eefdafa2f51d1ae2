"""The registry against TRL at a ref: what a re-sync would change, as findings."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from rgw.drift.assessment import Assessor
from rgw.drift.model import Finding, FindingKind, Place, Severity, Subject
from rgw.registry.loader import Registry
from rgw.upstream.planning import Change, Note, Plan, SchemaChange, TemplateChange, plan_resync
from rgw.upstream.reading import Upstream, read_upstream
from rgw.upstream.sources import UpstreamSource

_RESYNC = "look at it with `rgw resync`, then take it over"


def check_upstream(source: UpstreamSource, registry: Registry, assessor: Assessor) -> tuple[Subject, list[Finding]]:
    """Compare the packaged registry with TRL.

    Args:
        source: Which TRL.
        registry: What is registered; an overlay over it is no matter of TRL's.
        assessor: Says whether a schema that upstream changed still reads upstream's templates.

    Raises:
        UpstreamError: TRL cannot be had or read.
        RegistryError: The registry cannot take it in.
    """
    upstream = read_upstream(source)
    plan = plan_resync(registry.layers[0].root, upstream)
    subject = Subject(f"TRL {plan.after}", Place("registry/upstream.lock.yaml"))
    return subject, list(_Comparison(plan, upstream, registry, assessor, subject).findings())


class _Comparison:
    """A plan read as findings."""

    def __init__(
        self, plan: Plan, upstream: Upstream, registry: Registry, assessor: Assessor, subject: Subject
    ) -> None:
        self._plan = plan
        self._texts = {template.sha256: template.text for template in upstream.templates}
        self._registry = registry
        self._assessor = assessor
        self._subject = subject

    def findings(self) -> Iterator[Finding]:
        yield from (self._schema(change) for change in self._plan.schemas)
        yield from (self._template(change) for change in self._plan.templates)
        yield from filter(None, (self._note(note) for note in self._plan.notes))

    def _schema(self, change: SchemaChange) -> Finding:
        severity, words = Severity.COMPATIBLE, ""
        if change.kind is Change.CHANGED:
            severity, words = self._still_read(change.name)
        return Finding(
            FindingKind.UPSTREAM_SCHEMA,
            severity,
            self._subject.name,
            f"schema {change.name} is {change.kind}{words}",
            self._subject.place,
            _RESYNC,
            identity=(change.kind, change.name, _digest(change.diff)),
            diff=change.diff,
        )

    def _still_read(self, schema: str) -> tuple[Severity, str]:
        """Whether the registry's own schema reads what upstream's changed one is for."""
        known = self._registry.templates
        shared = [sha256 for sha256 in self._texts if sha256 in known and known[sha256].schema == schema]
        return _judged([self._assessor.proves(sha256, self._texts[sha256], schema) for sha256 in shared])

    def _template(self, change: TemplateChange) -> Finding:
        before, after = change.before or "no schema", change.after or "no schema"
        moved = change.kind is Change.CHANGED and change.before != change.after
        words = f", from {before} to {after}" if moved else f", with {before if change.after is None else after}"
        return Finding(
            FindingKind.UPSTREAM_TEMPLATE,
            Severity.BREAKING if moved else Severity.COMPATIBLE,
            self._subject.name,
            f"template {change.variant} ({change.sha256[:12]}) is {change.kind}{words}",
            self._subject.place,
            _RESYNC,
            identity=(change.kind, change.sha256, before, after),
        )

    def _note(self, note: Note) -> Finding | None:
        """What the registry keeps on purpose is no finding as long as it is the same and proves."""
        severity, words = self._kept(note)
        if severity is Severity.COMPATIBLE and note.sha256 is not None:
            return None
        return Finding(
            FindingKind.UPSTREAM_NOTE,
            severity,
            self._subject.name,
            note.message + words,
            self._subject.place,
            "review it",
            identity=(note.message, _digest(note.diff)),
            diff=note.diff,
        )

    def _kept(self, note: Note) -> tuple[Severity, str]:
        if note.schema is None:
            return Severity.COMPATIBLE, ""
        if note.sha256 is None:
            return self._still_read(note.schema)
        return _judged([self._assessor.proves(note.sha256, self._texts[note.sha256], note.schema)])


def _digest(diff: str) -> str:
    """A digest of what a diff says, wherever in the file that stands."""
    lines = [line for line in diff.splitlines() if not line.startswith("@@")]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _judged(proofs: Sequence[bool | None]) -> tuple[Severity, str]:
    """What it means whether the registry's own schema proves on each of upstream's templates."""
    if False in proofs:
        return Severity.BREAKING, "; the registry's own no longer proves"
    if not proofs or None in proofs:
        return Severity.UNKNOWN, "; whether the registry's own still reads its templates could not be tried"
    return Severity.COMPATIBLE, "; the registry's own still proves on its templates"
