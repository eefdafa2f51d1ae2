"""The records of a check: what was looked at, what was found, how bad it is, and which findings are accepted.

Pure data. Every format of the output says the same of one `Report`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Severity(StrEnum):
    """What a change means to whoever reads the model's turns, the mildest first."""

    COSMETIC = "cosmetic"
    """Renders identically, and the schema still proves."""
    COMPATIBLE = "compatible"
    """Differs, and is still read."""
    BREAKING = "breaking"
    """Is no longer read."""
    UNKNOWN = "unknown"
    """Could not be decided, and so is never clean."""

    def at_least(self, other: Severity) -> bool:
        """Whether this is as bad as `other`, or worse."""
        order = list(Severity)
        return order.index(self) >= order.index(other)


class FindingKind(StrEnum):
    """What was found; `docs/commands/check.md` explains each."""

    TEMPLATE_CHANGED = "template-changed"
    TEMPLATE_ADDED = "template-added"
    TEMPLATE_REMOVED = "template-removed"
    TEMPLATE_UNREGISTERED = "template-unregistered"
    TEMPLATE_NOT_SERVED = "template-not-served"
    NATIVE_CHANGED = "native-changed"
    NATIVE_DIFFERS = "native-differs"
    NATIVE_UNREGISTERED = "native-unregistered"
    REGISTRY_CHANGED = "registry-changed"
    PARSING_CHANGED = "parsing-changed"
    SAMPLE_MISREAD = "sample-misread"
    UPSTREAM_SCHEMA = "upstream-schema"
    UPSTREAM_TEMPLATE = "upstream-template"
    UPSTREAM_NOTE = "upstream-note"
    REPOSITORY_RENAMED = "repository-renamed"
    REPOSITORY_MISSING = "repository-missing"
    REPOSITORY_GATED = "repository-gated"
    REPOSITORY_UNREACHABLE = "repository-unreachable"
    REPOSITORY_UNUSABLE = "repository-unusable"
    STALE_ACCEPTANCE = "stale-acceptance"


NOT_DONE = frozenset(
    {FindingKind.REPOSITORY_GATED, FindingKind.REPOSITORY_UNREACHABLE, FindingKind.REPOSITORY_UNUSABLE}
)
"""The findings that say that something could not be looked at."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a subject is written down: a file, and the line where it is said, counted from 1."""

    file: str
    line: int = 1


class Outcome(StrEnum):
    """What became of a subject."""

    CHECKED = "checked"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Subject:
    """One thing that was looked at, or should have been; `reason` says why it was not."""

    name: str
    place: Place
    outcome: Outcome = Outcome.CHECKED
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about a changed chat template; `None` is what could not be found out.

    Attributes:
        before: The sha256 of the template as it was; `None` where there was none.
        after: The sha256 of the template as it is now; `None` where there is none.
        lines_added: Lines that only the new text has.
        lines_removed: Lines that only the old text has.
        renders_identically: Whether both write the same text for the probes.
        differing_probes: The probes that they render differently, by name.
        schema: The schema in use.
        schema_proves: Whether that schema provably reads the new template.
        proving_schemas: The schemas that do.
    """

    before: str | None
    after: str | None
    lines_added: int | None = None
    lines_removed: int | None = None
    renders_identically: bool | None = None
    differing_probes: tuple[str, ...] = ()
    schema: str | None = None
    schema_proves: bool | None = None
    proving_schemas: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "before": self.before,
            "after": self.after,
            "lines_added": self.lines_added,
            "lines_removed": self.lines_removed,
            "renders_identically": self.renders_identically,
            "differing_probes": list(self.differing_probes),
            "schema": self.schema,
            "schema_proves": self.schema_proves,
            "proving_schemas": list(self.proving_schemas),
        }


@dataclass(frozen=True, slots=True)
class Finding:
    """One change, or one thing that could not be looked at.

    Attributes:
        kind: What it is.
        severity: What it means.
        subject: The name of the subject that it is about.
        message: What was found, in one line. It may hold untrusted text.
        place: Where the subject is written down.
        fix: What to do, in one line.
        identity: What makes it this finding and no other of its kind and subject, such as the new hash.
        evidence: What is known about a changed template.
        diff: A unified diff of what changed, untrusted text; empty when there is none.
    """

    kind: FindingKind
    severity: Severity
    subject: str
    message: str
    place: Place
    fix: str = ""
    identity: tuple[str, ...] = ()
    evidence: Evidence | None = None
    diff: str = ""

    @property
    def fingerprint(self) -> str:
        """What a baseline knows the finding by: independent of lines, places, wording and severity."""
        parts = json.dumps([self.kind.value, self.subject, *self.identity])
        return hashlib.sha256(parts.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Accepted:
    """A finding that a baseline accepts, and the reason that it gives."""

    finding: Finding
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """What one check found.

    Attributes:
        subjects: What was looked at, or should have been, sorted by name.
        findings: What was found and is not accepted, sorted.
        accepted: What was found and is accepted, sorted.
        versions: The versions of what took part.
        registry_digest: The registry that took part.
    """

    subjects: tuple[Subject, ...]
    findings: tuple[Finding, ...]
    accepted: tuple[Accepted, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    registry_digest: str = ""

    @property
    def counts(self) -> dict[str, int]:
        """The numbers on which every format agrees."""
        return {
            "subjects": len(self.subjects),
            **{outcome.value: sum(subject.outcome is outcome for subject in self.subjects) for outcome in Outcome},
            "findings": len(self.findings),
            **{severity.value: sum(found.severity is severity for found in self.findings) for severity in Severity},
            "accepted": len(self.accepted),
        }

    @property
    def checked_nothing(self) -> bool:
        """Whether nothing could be looked at, so that the report says nothing about drift."""
        return not any(subject.outcome is Outcome.CHECKED for subject in self.subjects)

    def exit_code(self, fail_on: Severity = Severity.COSMETIC) -> int:
        """3 when something could not be done, 1 when there are findings as bad as `fail_on`, else 0.

        What is unknown is as bad as anything.
        """
        if self.checked_nothing or any(finding.kind in NOT_DONE for finding in self.findings):
            return 3
        return int(any(finding.severity.at_least(fail_on) for finding in self.findings))


def sorted_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings in the order in which they are shown: by subject, then the worst first."""
    worst_first = list(reversed(Severity))
    return tuple(
        sorted(
            findings, key=lambda found: (found.subject, worst_first.index(found.severity), found.kind, found.identity)
        )
    )
