"""A report as SARIF 2.1.0, for code scanning: a rule for each kind of finding, a result for each finding."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from rgw.drift.model import Finding, FindingKind, Outcome, Report, Severity, Subject
from rgw.output.escape import escape_block, escape_json, escape_line
from rgw.output.json_text import pretty

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

_LEVELS = {
    Severity.COSMETIC: "note",
    Severity.COMPATIBLE: "warning",
    Severity.BREAKING: "error",
    Severity.UNKNOWN: "error",
}
_RULES = {
    FindingKind.TEMPLATE_CHANGED: "A model's chat template is not the one that was locked",
    FindingKind.TEMPLATE_ADDED: "A model has a chat template that was not locked",
    FindingKind.TEMPLATE_REMOVED: "A chat template that was locked is gone",
    FindingKind.TEMPLATE_UNREGISTERED: "No schema is registered for a model's chat template",
    FindingKind.TEMPLATE_NOT_SERVED: "No repository serves a registered chat template any more",
    FindingKind.NATIVE_CHANGED: "The response template that a model ships is not the one that was locked",
    FindingKind.NATIVE_DIFFERS: "The response template that a model ships differs from the registered schema",
    FindingKind.NATIVE_UNREGISTERED: "A model ships a response template for a chat template that has no schema",
    FindingKind.REGISTRY_CHANGED: "The registry says something else of a chat template than when it was locked",
    FindingKind.PARSING_CHANGED: "The installed transformers parses recorded samples otherwise",
    FindingKind.SAMPLE_MISREAD: "A schema does not read one of its samples with the installed transformers",
    FindingKind.UPSTREAM_SCHEMA: "TRL says something else of a schema",
    FindingKind.UPSTREAM_TEMPLATE: "TRL says something else of a chat template",
    FindingKind.UPSTREAM_NOTE: "TRL differs from what the registry keeps on purpose",
    FindingKind.REPOSITORY_RENAMED: "A repository is called otherwise now",
    FindingKind.REPOSITORY_MISSING: "The hub shows no such repository or revision",
    FindingKind.REPOSITORY_GATED: "A repository may not be read",
    FindingKind.REPOSITORY_UNREACHABLE: "A repository could not be reached",
    FindingKind.REPOSITORY_UNUSABLE: "A repository holds nothing that can be read",
    FindingKind.STALE_ACCEPTANCE: "The baseline accepts a finding that no longer occurs",
}


def written(report: Report) -> str:
    """The report as JSON text."""
    return escape_json(pretty(document(report)))


def document(report: Report) -> dict[str, Any]:
    """The report as a SARIF log."""
    unchecked = [subject for subject in report.subjects if subject.outcome is not Outcome.CHECKED]
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "rgw",
                        "semanticVersion": report.versions.get("rgw", "0"),
                        "rules": [
                            {"id": kind.value, "shortDescription": {"text": text}} for kind, text in _RULES.items()
                        ],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "invocations": [
                    {
                        "executionSuccessful": not report.checked_nothing,
                        "toolExecutionNotifications": [_notification(subject) for subject in unchecked],
                    }
                ],
                "properties": {"counts": report.counts},
                "results": [
                    *(_result(finding) for finding in report.findings),
                    *(_accepted(entry.finding, entry.reason) for entry in report.accepted),
                ],
            }
        ],
    }


def _result(finding: Finding) -> dict[str, Any]:
    return {
        "ruleId": finding.kind.value,
        "ruleIndex": list(_RULES).index(finding.kind),
        "level": _LEVELS[finding.severity],
        "message": {"text": _message(finding)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(finding.place.file, safe="/", errors="backslashreplace")},
                    "region": {"startLine": finding.place.line},
                },
                "logicalLocations": [{"fullyQualifiedName": escape_line(finding.subject)}],
            }
        ],
        "partialFingerprints": {"rgw/v1": finding.fingerprint},
        "properties": {
            "severity": finding.severity.value,
            **({"evidence": finding.evidence.to_dict()} if finding.evidence else {}),
        },
    }


def _accepted(finding: Finding, reason: str) -> dict[str, Any]:
    return {
        **_result(finding),
        "suppressions": [{"kind": "external", "status": "accepted", "justification": escape_line(reason)}],
    }


def _message(finding: Finding) -> str:
    said = f"{escape_line(finding.subject)}: {escape_line(finding.message)}"
    return "\n".join(filter(None, [said, escape_line(finding.fix), escape_block(finding.diff)]))


def _notification(subject: Subject) -> dict[str, Any]:
    level = "error" if subject.outcome is Outcome.FAILED else "note"
    text = f"{escape_line(subject.name)} was not checked: {escape_line(subject.reason)}"
    return {"level": level, "message": {"text": text}}
