"""Reports as the formats get them: a usual one, an empty one, and one for any hostile text; and how to read them."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree as ET

from rgw.drift.model import (
    Accepted,
    Evidence,
    Finding,
    FindingKind,
    Outcome,
    Place,
    Report,
    Severity,
    Subject,
    sorted_findings,
)
from rgw.output.findings import Format

LOCK = Place("rgw.lock", 7)
EVIDENCE = Evidence(
    "a" * 64, "b" * 64, 1, 2, False, ("a call", "reasoning"), "qwen3", schema_proves=False, proving_schemas=("hermes",)
)


def finding(
    kind: FindingKind, severity: Severity, subject: str, text: str = "what was found", **more: object
) -> Finding:
    return Finding(kind, severity, subject, text, LOCK, f"fix: {text}", **more)  # type: ignore[arg-type]


def report(text: str = "what was found") -> Report:
    """Six findings, one of them accepted, about five subjects; `text` stands wherever a stranger's may."""
    return Report(
        subjects=(
            Subject(f"{text}/changed", LOCK),
            Subject("owner/clean", LOCK),
            Subject("owner/gated", LOCK, Outcome.FAILED, f"gated: {text}"),
            Subject("owner/skipped", LOCK, Outcome.SKIPPED, text),
            Subject("owner/accepted", LOCK),
        ),
        findings=sorted_findings(
            (
                finding(
                    FindingKind.TEMPLATE_CHANGED,
                    Severity.BREAKING,
                    f"{text}/changed",
                    text,
                    identity=(text,),
                    evidence=EVIDENCE,
                    diff=f"--- before\n+++ now\n@@ -1 +1 @@\n-{text}\n+{text}\n {text}\n{text}",
                ),
                finding(FindingKind.REPOSITORY_RENAMED, Severity.COMPATIBLE, f"{text}/changed", text),
                finding(FindingKind.REGISTRY_CHANGED, Severity.COSMETIC, f"{text}/changed", text),
                finding(FindingKind.REPOSITORY_GATED, Severity.UNKNOWN, "owner/gated", text),
                finding(FindingKind.STALE_ACCEPTANCE, Severity.COSMETIC, "owner/accepted", text),
            )
        ),
        accepted=(Accepted(finding(FindingKind.TEMPLATE_CHANGED, Severity.BREAKING, "owner/accepted", text), text),),
        versions={"rgw": "1.2.3", "transformers": "5.24.0"},
        registry_digest="c" * 64,
    )


CLEAN = Report((Subject("owner/clean", LOCK),), (), versions={"rgw": "1.2.3"}, registry_digest="c" * 64)
NOTHING = Report((), (), versions={"rgw": "1.2.3"}, registry_digest="c" * 64)
COUNTS = {
    "subjects": 5,
    "checked": 3,
    "failed": 1,
    "skipped": 1,
    "findings": 5,
    "cosmetic": 2,
    "compatible": 1,
    "breaking": 1,
    "unknown": 1,
    "accepted": 1,
}
SUMMARY = (
    "3 of 5 checked, 5 findings (1 unknown, 1 breaking, 1 compatible, 2 cosmetic), 1 could not be checked, 1 skipped,"
    " 1 accepted"
)


def counts_of(form: Format, text: str) -> dict[str, int]:
    """The counts that a written report states or shows."""
    match form:
        case Format.JSON:
            return json.loads(text)["counts"]
        case Format.SARIF:
            return json.loads(text)["runs"][0]["properties"]["counts"]
        case Format.JUNIT:
            found = ET.fromstring(text).iter("property")
            return {element.attrib["name"]: int(element.attrib["value"]) for element in found}
        case _:
            match = re.search(
                r"(\d+) of (\d+) checked, (?:no findings|(\d+) findings? \((.*?)\))(.*)", " ".join(text.split())
            )
            assert match
            severities = {word: int(count) for count, word in re.findall(r"(\d+) (\w+)", match[4] or "")}
            others = {word: int(count) for count, word in re.findall(r"(\d+) (could not|skipped|accepted)", match[5])}
            return {
                "subjects": int(match[2]),
                "checked": int(match[1]),
                "failed": others.get("could not", 0),
                "skipped": others.get("skipped", 0),
                "findings": int(match[3] or 0),
                **{name: severities.get(name, 0) for name in ("cosmetic", "compatible", "breaking", "unknown")},
                "accepted": others.get("accepted", 0),
            }
