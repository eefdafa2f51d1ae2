"""The JSON document of a report; `docs/schemas/check.schema.json` describes it."""

from __future__ import annotations

from typing import Any

from rgw.drift.model import Finding, Report, Subject
from rgw.output.escape import escape_json
from rgw.output.json_text import pretty
from rgw.output.printer import JSON_WIDTH


def document(report: Report) -> dict[str, Any]:
    """The report as JSON-like data, exact to the character."""
    return {
        "version": 1,
        "counts": report.counts,
        "versions": dict(report.versions),
        "registry_digest": report.registry_digest,
        "subjects": [_subject(subject) for subject in report.subjects],
        "findings": [finding_document(finding) for finding in report.findings],
        "accepted": [{**finding_document(entry.finding), "reason": entry.reason} for entry in report.accepted],
    }


def finding_document(finding: Finding) -> dict[str, Any]:
    """One finding as JSON-like data."""
    return {
        "fingerprint": finding.fingerprint,
        "kind": finding.kind.value,
        "severity": finding.severity.value,
        "subject": finding.subject,
        "message": finding.message,
        "fix": finding.fix or None,
        "file": finding.place.file,
        "line": finding.place.line,
        "evidence": finding.evidence.to_dict() if finding.evidence else None,
        "diff": finding.diff or None,
    }


def written(report: Report) -> str:
    """The report as JSON text."""
    return escape_json(pretty(document(report), width=JSON_WIDTH))


def _subject(subject: Subject) -> dict[str, Any]:
    return {
        "name": subject.name,
        "outcome": subject.outcome.value,
        "reason": subject.reason or None,
        "file": subject.place.file,
        "line": subject.place.line,
    }
