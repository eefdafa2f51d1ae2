"""A report as JUnit XML: a test case for each subject, which its findings fail, skipped or in error if not checked."""

from __future__ import annotations

from collections import defaultdict
from xml.etree import ElementTree as ET

from rgw.drift.model import Finding, Outcome, Report, Subject
from rgw.output.escape import escape_block, escape_commands, escape_line

SUITE = "rgw check"


def written(report: Report) -> str:
    """The report as XML text."""
    findings: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in report.findings:
        findings[finding.subject].append(finding)
    suite = ET.Element("testsuite", name=SUITE)
    failures = errors = 0
    for subject in report.subjects:
        found = findings.pop(subject.name, [])
        case = _case(suite, subject)
        failures += bool(found) and subject.outcome is not Outcome.FAILED
        errors += subject.outcome is Outcome.FAILED
        _judge(case, subject, found)
    counts = report.counts
    totals = {"tests": len(report.subjects), "failures": failures, "errors": errors, "skipped": counts["skipped"]}
    properties = ET.Element("properties")
    for name, count in counts.items():
        ET.SubElement(properties, "property", name=name, value=str(count))
    suite.insert(0, properties)
    root = ET.Element("testsuites", name=SUITE)
    for key, value in totals.items():
        suite.set(key, str(value))
        root.set(key, str(value))
    root.append(suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + escape_commands(ET.tostring(root, encoding="unicode"))


def _case(suite: ET.Element, subject: Subject) -> ET.Element:
    return ET.SubElement(
        suite,
        "testcase",
        name=escape_line(subject.name),
        classname=SUITE,
        file=escape_line(subject.place.file),
        line=str(subject.place.line),
    )


def _judge(case: ET.Element, subject: Subject, found: list[Finding]) -> None:
    if subject.outcome is Outcome.SKIPPED:
        ET.SubElement(case, "skipped", message=escape_line(subject.reason))
        return
    tag = "error" if subject.outcome is Outcome.FAILED else "failure"
    for finding in found:
        element = ET.SubElement(
            case, tag, message=escape_line(finding.message), type=f"{finding.severity.value} {finding.kind.value}"
        )
        element.text = escape_block("\n".join(filter(None, [finding.fix, finding.fingerprint, finding.diff])))
    if subject.outcome is Outcome.FAILED and not found:
        ET.SubElement(case, "error", message=escape_line(subject.reason), type="accepted")
