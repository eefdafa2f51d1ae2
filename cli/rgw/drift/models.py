"""The lockfile against the hub and the registry: what has changed about each model since it was locked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rgw.drift.assessment import Assessor, OldTemplate
from rgw.drift.lockfile import (
    LOCK_AGAIN,
    Lock,
    LockedModel,
    LockedTemplate,
    native_digest,
    registered_schema,
    schema_digest,
    template_key,
)
from rgw.drift.model import Evidence, Finding, FindingKind, Place, Severity, Subject
from rgw.drift.natives import native_finding
from rgw.drift.proofs import Question
from rgw.drift.repositories import obstacle_finding, obstacle_subject, renamed_finding
from rgw.registry.loader import Registry
from rgw.templates.concurrency import Watch
from rgw.templates.model import ChatTemplate, ResolvedTemplates, UnresolvedTemplates
from rgw.templates.resolve import is_local, resolve_places


def check_models(
    lock: Lock, registry: Registry, assessor: Assessor, *, lockfile: str, watch: Watch[tuple[str, str | None]] = iter
) -> Iterator[tuple[Subject, list[Finding]]]:
    """Read every locked model, and then compare one after the other with what it was.

    Args:
        lock: The models as they were.
        registry: What is registered now.
        assessor: Judges what has changed.
        lockfile: The path of the lockfile, for places.
        watch: Lets somebody watch the models pass while they are read.
    """
    now = resolve_places(((model.ref, model.revision) for model in lock.models), watch=watch)
    past = _Past(model for model in lock.models if _has_changed(model, now[model.ref, model.revision]))
    comparisons = {
        model.ref: _Comparison(model, resolved, lock, registry, assessor, Place(lockfile, model.line), past)
        for model in lock.models
        if isinstance(resolved := now[model.ref, model.revision], ResolvedTemplates)
    }
    assessor.ask_ahead(question for comparison in comparisons.values() for question in comparison.questions())

    def compare(model: LockedModel) -> tuple[Subject, list[Finding]]:
        place = Place(lockfile, model.line)
        resolved = now[model.ref, model.revision]
        if isinstance(resolved, UnresolvedTemplates):
            gone = obstacle_finding(resolved, model.ref, place, Severity.BREAKING)
            return obstacle_subject(resolved, model.ref, place), [gone]
        return Subject(model.ref, place), list(comparisons[model.ref].findings())

    return map(compare, lock.models)


def _has_changed(model: LockedModel, resolved: ResolvedTemplates | UnresolvedTemplates) -> bool:
    if isinstance(resolved, UnresolvedTemplates):
        return False
    templates = {template.sha256 for template in model.templates} != {found.sha256 for found in resolved.templates}
    return templates or (model.native is not None and model.native != native_digest(resolved))


class _Past:
    """What models were when they were locked, as far as the hub or the cache still has the commits.

    Attributes:
        texts: The texts of templates, by hash.
        natives: The response templates that models shipped themselves, by digest.
    """

    def __init__(self, models: Iterable[LockedModel]) -> None:
        places = [(model.ref, model.commit) for model in models if model.commit and not is_local(model.ref)]
        read = [found for found in resolve_places(places).values() if isinstance(found, ResolvedTemplates)]
        self.texts = {template.sha256: template.text for found in read for template in found.templates}
        self.natives = {native_digest(found): found.native_response_template for found in read}


class _Comparison:
    """One model as it was and as it is."""

    def __init__(  # noqa: PLR0913, PLR0917 - what it takes to compare, all from one place
        self,
        model: LockedModel,
        resolved: ResolvedTemplates,
        lock: Lock,
        registry: Registry,
        assessor: Assessor,
        place: Place,
        past: _Past,
    ) -> None:
        self._model = model
        self._resolved = resolved
        self._lock = lock
        self._registry = registry
        self._assessor = assessor
        self._place = place
        self._past = past

    def findings(self) -> Iterator[Finding]:
        if renamed := renamed_finding(self._resolved, self._model.ref, self._place):
            yield renamed
        yield from filter(None, (self._compare(before, after) for before, after in self._pairs()))
        native = self._past.natives.get(self._model.native)
        if found := native_finding(self._model, self._resolved, native, self._assessor, self._place):
            yield found

    def questions(self) -> Iterator[Question]:
        """What the findings depend on that takes long to find out."""
        for before, after in self._pairs():
            if before and after and (schema := self._schema_in_question(before, after)):
                yield Question(after.sha256, after.text, schema)

    def _pairs(self) -> Iterator[tuple[LockedTemplate | None, ChatTemplate | None]]:
        """Each template as it was and as it is."""
        before = {template_key(template): template for template in self._model.templates}
        after = {template_key(template): template for template in self._resolved.templates}
        for key in sorted(before.keys() | after.keys()):
            yield before.get(key), after.get(key)

    def _schema_in_question(self, before: LockedTemplate, after: ChatTemplate) -> str | None:
        """The schema that has to prove once more, since either the template or the registry has changed."""
        if before.sha256 != after.sha256:
            return before.schema
        schema = registered_schema(self._registry, after.sha256)
        return schema if self._is_registered_otherwise(before, schema) else None

    def _is_registered_otherwise(self, before: LockedTemplate, schema: str | None) -> bool:
        """Whether a template has another schema now, or one that reads otherwise."""
        if before.schema != schema:
            return True
        return schema is not None and schema_digest(self._registry.schemas[schema]) != self._lock.schemas[schema].digest

    def _compare(self, before: LockedTemplate | None, after: ChatTemplate | None) -> Finding | None:
        if after is None:
            assert before is not None
            return self._removed(before)
        if before is None:
            return self._added(after)
        if before.sha256 != after.sha256:
            return self._changed(before, after)
        return self._registration(before, after)

    def _changed(self, before: LockedTemplate, after: ChatTemplate) -> Finding:
        what = f"the chat template {after.name!r} changed from {before.sha256[:12]} to {after.sha256[:12]}"
        return self._assessed(FindingKind.TEMPLATE_CHANGED, what, before, after)

    def _added(self, after: ChatTemplate) -> Finding:
        """A template under a new name matters when it takes the place of the one that was in use."""
        what = f"there is a new chat template {after.name!r} ({after.sha256[:12]})"
        effective = self._locked_effective()
        if after.effective and effective is not None:
            what += f", used with tools in place of {effective.name!r}"
            return self._assessed(FindingKind.TEMPLATE_ADDED, what, effective, after)
        return self._finding(
            FindingKind.TEMPLATE_ADDED, Severity.COMPATIBLE, f"{what}, not the one used with tools", (after.sha256,)
        )

    def _removed(self, before: LockedTemplate) -> Finding:
        what = f"the chat template {before.name!r} ({before.sha256[:12]}) is gone"
        effective = self._resolved.effective
        if not before.effective:
            what, severity = f"{what}, not the one used with tools", Severity.COMPATIBLE
        elif effective is None:
            what, severity = f"{what}, and none takes its place", Severity.BREAKING
        else:
            what += f", {effective.name!r} is used with tools in its place"
            return self._assessed(FindingKind.TEMPLATE_REMOVED, what, before, effective)
        return self._finding(FindingKind.TEMPLATE_REMOVED, severity, what, (before.name, before.sha256))

    def _assessed(self, kind: FindingKind, what: str, before: LockedTemplate, after: ChatTemplate) -> Finding:
        old = OldTemplate(before.sha256, self._past.texts.get(before.sha256))
        assessment = self._assessor.assess(old, after.sha256, after.text, before.schema)
        registered = registered_schema(self._registry, after.sha256)
        known = f"registered for {registered}" if registered else "not registered"
        return self._finding(
            kind,
            assessment.severity,
            f"{what}: {assessment.words}; the new one is {known}",
            (before.name, before.sha256, after.sha256),
            fix=LOCK_AGAIN if registered else self._registering(assessment.evidence),
            evidence=assessment.evidence,
            diff=assessment.diff,
        )

    def _registering(self, evidence: Evidence) -> str:
        if not evidence.proving_schemas:
            return "no schema proves: write one, or stay with the revision that is locked"
        schema = evidence.proving_schemas[0]
        return f"run `rgw register {self._model.ref} --schema {schema}`, then `rgw lock {self._model.ref}`"

    def _registration(self, before: LockedTemplate, after: ChatTemplate) -> Finding | None:
        """What the registry says of an unchanged template, where that has changed or is nothing."""
        schema = registered_schema(self._registry, after.sha256)
        known = f"the chat template {after.name!r} ({after.sha256[:12]})"
        if not self._is_registered_otherwise(before, schema):
            return self._unregistered(known, after) if schema is None and after.effective else None
        if before.schema == schema:
            assert schema is not None
            what = f"schema {schema}, which reads {known}, changed"
            identity = (after.sha256, schema, schema_digest(self._registry.schemas[schema]))
        else:
            what = f"{known} was registered for {before.schema or 'no schema'}, now for {schema or 'no schema'}"
            identity = (after.sha256, before.schema or "", schema or "")
        proves = self._assessor.proves(after.sha256, after.text, schema) if schema else False
        severity = {True: Severity.COMPATIBLE, False: Severity.BREAKING, None: Severity.UNKNOWN}[proves]
        words = {True: "; it proves", False: "; it does not prove", None: "; it cannot be put to the proof"}[proves]
        return self._finding(
            FindingKind.REGISTRY_CHANGED,
            severity,
            what + (words if schema else ""),
            identity,
            evidence=Evidence(
                after.sha256, after.sha256, 0, 0, True, schema=schema, schema_proves=proves if schema else None
            ),
        )

    def _unregistered(self, known: str, after: ChatTemplate) -> Finding:
        return self._finding(
            FindingKind.TEMPLATE_UNREGISTERED,
            Severity.UNKNOWN,
            f"{known} is registered for no schema, so that nothing is known to read what the model writes",
            (after.sha256,),
            fix="`rgw detect` shows what is near; register it, then run `rgw lock`",
        )

    def _finding(  # noqa: PLR0913, PLR0917 - the fields of a finding
        self,
        kind: FindingKind,
        severity: Severity,
        message: str,
        identity: tuple[str, ...],
        fix: str = LOCK_AGAIN,
        evidence: Evidence | None = None,
        diff: str = "",
    ) -> Finding:
        return Finding(kind, severity, self._model.ref, message, self._place, fix, identity, evidence, diff)

    def _locked_effective(self) -> LockedTemplate | None:
        return next((template for template in self._model.templates if template.effective), None)
