"""A report as GitHub workflow commands: each finding an annotation at the place where its subject is written down."""

from __future__ import annotations

from rgw.drift.model import Finding, Report, Severity
from rgw.output.escape import escape_commands, escape_line
from rgw.output.findings.words import summary

_LEVELS = {
    Severity.COSMETIC: "notice",
    Severity.COMPATIBLE: "warning",
    Severity.BREAKING: "error",
    Severity.UNKNOWN: "error",
}


def written(report: Report) -> str:
    """The report as lines that GitHub turns into annotations."""
    level = "error" if report.checked_nothing else "notice"
    lines = [_annotation(finding) for finding in report.findings]
    lines.append(f"::{level} title=rgw check::{_data(summary(report))}")
    return "\n".join(lines)


def _annotation(finding: Finding) -> str:
    properties = {
        "file": finding.place.file,
        "line": str(finding.place.line),
        "title": f"{finding.severity}: {finding.kind}: {finding.subject}",
    }
    said = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    message = " — ".join(filter(None, [finding.message, finding.fix])) + f" ({finding.fingerprint})"
    return f"::{_LEVELS[finding.severity]} {said}::{_data(message)}"


def _data(text: str) -> str:
    return escape_commands(escape_line(text)).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
