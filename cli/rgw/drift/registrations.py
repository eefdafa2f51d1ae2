"""The registry against the hub: is every registered hash still served by a repository that is named for it?

The repositories of a template are asked in their order until one serves it, those of all templates at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from rgw.drift.assessment import Assessor, OldTemplate
from rgw.drift.lockfile import registered_schema
from rgw.drift.model import Evidence, Finding, FindingKind, Outcome, Place, Severity, Subject
from rgw.drift.repositories import obstacle_finding, renamed_finding
from rgw.errors import Obstacle
from rgw.registry.layer import TEMPLATES
from rgw.registry.loader import Registry
from rgw.registry.model import RegisteredTemplate
from rgw.templates.concurrency import Watch
from rgw.templates.model import ChatTemplate, ResolvedTemplates, UnresolvedTemplates
from rgw.templates.resolve import resolve_places

Resolved = ResolvedTemplates | UnresolvedTemplates


@dataclass(slots=True)
class _Inquiry:
    """What is known so far of one registered template."""

    template: RegisteredTemplate
    waiting: list[tuple[str, str | None]]
    served: bool = False
    answers: list[Resolved] = field(default_factory=list)

    def hear(self, answer: Resolved) -> None:
        self.answers.append(answer)
        if isinstance(answer, ResolvedTemplates):
            self.served = any(found.sha256 == self.template.sha256 for found in answer.templates)


def check_registrations(
    registry: Registry,
    assessor: Assessor,
    *,
    families: Collection[str] = (),
    watch: Watch[tuple[str, str | None]] = iter,
) -> Iterator[tuple[Subject, list[Finding]]]:
    """Read what repositories serve now, and then compare one registered template after the other with that.

    Args:
        registry: What is registered.
        assessor: Judges what has changed.
        families: Only the templates of these families; empty: all.
        watch: Lets somebody watch the repositories pass while they are read.
    """
    chosen = [found for found in registry.templates.values() if not families or found.family in families]
    inquiries = [_Inquiry(template, [_place(named) for named in template.repos]) for template in chosen]
    _ask(inquiries, watch)

    def judge(inquiry: _Inquiry) -> tuple[Subject, list[Finding]]:
        place = Place(f"{_label(registry, inquiry.template.sha256)}/{TEMPLATES}")
        return _Verdict(inquiry, registry, assessor, place).give()

    return map(judge, inquiries)


def subject_name(template: RegisteredTemplate) -> str:
    """What reports call a registered template."""
    return f"registered template {template.variant} {template.sha256[:12]}"


def _label(registry: Registry, sha256: str) -> str:
    return next(layer.label for layer in reversed(registry.layers) if sha256 in layer.templates)


def _ask(inquiries: list[_Inquiry], watch: Watch[tuple[str, str | None]]) -> None:
    known: dict[tuple[str, str | None], Resolved] = {}
    while pending := [inquiry for inquiry in inquiries if inquiry.waiting and not inquiry.served]:
        asked = {inquiry.waiting[0] for inquiry in pending}
        unknown = sorted(asked - known.keys(), key=lambda place: (place[0], place[1] or ""))
        known |= resolve_places(unknown, watch=watch)
        for inquiry in pending:
            inquiry.hear(known[inquiry.waiting.pop(0)])
        if all(_is_unreachable(known[place]) for place in asked):
            return  # the hub is down: asking for all the others would take as long again for each


def _is_unreachable(answer: Resolved) -> bool:
    return isinstance(answer, UnresolvedTemplates) and answer.obstacle is Obstacle.UNREACHABLE


def _place(named: str) -> tuple[str, str | None]:
    """A repository as the registry names it: `owner/name`, or `owner/name@revision`."""
    ref, _, revision = named.partition("@")
    return ref, revision or None


class _Verdict:
    """What the answers of the repositories say of one template."""

    def __init__(self, inquiry: _Inquiry, registry: Registry, assessor: Assessor, place: Place) -> None:
        self._template = inquiry.template
        self._served = inquiry.served
        self._read = [answer for answer in inquiry.answers if isinstance(answer, ResolvedTemplates)]
        self._unread = [answer for answer in inquiry.answers if isinstance(answer, UnresolvedTemplates)]
        self._registry = registry
        self._assessor = assessor
        self._place = place
        self._subject = subject_name(inquiry.template)

    def give(self) -> tuple[Subject, list[Finding]]:
        if not self._template.repos:
            return self._subject_with(Outcome.SKIPPED, "no repository is named for it"), []
        missing = Severity.COMPATIBLE if self._served else Severity.BREAKING
        findings = [obstacle_finding(answer, self._subject, self._place, missing) for answer in self._unread]
        findings += filter(None, (renamed_finding(answer, self._subject, self._place) for answer in self._read))
        if self._served:
            return self._subject_with(Outcome.CHECKED), findings
        if self._read:
            findings.append(self._not_served(self._read[0]))
        in_the_way = [answer for answer in self._unread if answer.obstacle is not Obstacle.MISSING]
        if in_the_way:
            return self._subject_with(Outcome.FAILED, in_the_way[0].message), findings
        return self._subject_with(Outcome.CHECKED), findings

    def _not_served(self, answer: ResolvedTemplates) -> Finding:
        """The finding about the first repository that could be read, the one that gives the template its name."""
        repositories = ", ".join(found.ref for found in self._read)
        what = f"{self._template.sha256[:12]} is no longer served by {repositories}"
        current = answer.effective
        if current is None:
            return self._finding(Severity.BREAKING, f"{what}; {answer.ref} has no chat template now", ("",))
        severity, words, evidence = self._judge(current)
        registered = registered_schema(self._registry, current.sha256)
        known = f"registered for {registered}" if registered else "not registered"
        return self._finding(
            severity, f"{what}; {answer.ref} serves {current.sha256[:12]}, {known}{words}", (current.sha256,), evidence
        )

    def _judge(self, current: ChatTemplate) -> tuple[Severity, str, Evidence | None]:
        """What it means that another template is served; one that is registered for the same schema has been judged."""
        schema = self._template.schema
        if schema is not None and registered_schema(self._registry, current.sha256) == schema:
            return Severity.COMPATIBLE, "", None
        old = OldTemplate(self._template.sha256, None)
        assessment = self._assessor.assess(old, current.sha256, current.text, schema)
        severity = Severity.UNKNOWN if self._unread else assessment.severity
        return severity, f": {assessment.words}", assessment.evidence

    def _finding(
        self, severity: Severity, message: str, identity: tuple[str, ...], evidence: Evidence | None = None
    ) -> Finding:
        return Finding(
            FindingKind.TEMPLATE_NOT_SERVED,
            severity,
            self._subject,
            message,
            self._place,
            "register what is served now, and name repositories that serve the old one",
            identity,
            evidence,
        )

    def _subject_with(self, outcome: Outcome, reason: str = "") -> Subject:
        return Subject(self._subject, self._place, outcome, reason)
