"""The findings that a project accepts, each with its reason: reading the file, and telling them from the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rgw.drift.model import Accepted, Finding, FindingKind, Outcome, Place, Severity, Subject
from rgw.errors import UsageError
from rgw.registry.yaml_reading import Located, read_yaml
from rgw.registry.yaml_writing import dump_yaml

_HEADER = "# Findings of `rgw check` that this project accepts, each with its reason.\n"


@dataclass(frozen=True, slots=True)
class Acceptance:
    """One entry of a baseline.

    Attributes:
        fingerprint: The finding's fingerprint.
        kind: The finding's kind.
        subject: What the finding is about.
        reason: Why it is accepted.
        place: Where the entry stands.
    """

    fingerprint: str
    kind: FindingKind
    subject: str
    reason: str
    place: Place


def read_baseline(path: Path) -> tuple[Acceptance, ...]:
    """The entries of a baseline file.

    Raises:
        RegistryError: It cannot be read or is not valid; the message names the line.
    """
    entries = read_yaml(path, str(path)).record(required=("accepted",))["accepted"].items()
    found = [_acceptance(entry) for entry in entries]
    lines: dict[str, int] = {}
    for entry, acceptance in zip(entries, found, strict=True):
        if acceptance.fingerprint in lines:
            raise entry.error(f"{acceptance.fingerprint} stands in line {lines[acceptance.fingerprint]} already")
        lines[acceptance.fingerprint] = entry.line
    return tuple(found)


def write_baseline(path: Path, known: Sequence[Acceptance], findings: Iterable[Finding], reason: str) -> None:
    """Write a baseline that accepts `findings` for `reason`, beside what it accepts already."""
    if not reason.strip():
        raise UsageError(
            "a finding is not accepted without a reason", "say why, for example --accept 'known until 2.3'"
        )
    added = [
        {"fingerprint": found.fingerprint, "kind": found.kind, "subject": found.subject, "reason": reason}
        for found in findings
        if found.kind is not FindingKind.STALE_ACCEPTANCE
    ]
    kept = [
        {"fingerprint": entry.fingerprint, "kind": entry.kind, "subject": entry.subject, "reason": entry.reason}
        for entry in known
    ]
    path.write_text(_HEADER + dump_yaml({"accepted": kept + added}), encoding="utf-8")


def apply_baseline(
    baseline: Sequence[Acceptance], findings: Iterable[Finding], subjects: Iterable[Subject]
) -> tuple[list[Finding], list[Accepted]]:
    """What is left of `findings`, and what is accepted.

    An entry whose subject was looked at without its finding is left as a finding of its own: it would otherwise hide
    the next one of its kind unseen.
    """
    reasons = {entry.fingerprint: entry.reason for entry in baseline}
    found = list(findings)
    seen = {finding.fingerprint for finding in found}
    looked_at = {subject.name for subject in subjects if subject.outcome is Outcome.CHECKED}
    left = [finding for finding in found if finding.fingerprint not in reasons]
    stale = [_stale(entry) for entry in baseline if entry.fingerprint not in seen and entry.subject in looked_at]
    accepted = [Accepted(finding, reasons[finding.fingerprint]) for finding in found if finding.fingerprint in reasons]
    return left + stale, accepted


def _acceptance(entry: Located) -> Acceptance:
    keys = entry.record(required=("fingerprint", "kind", "subject", "reason"))
    return Acceptance(
        fingerprint=keys["fingerprint"].matching(r"[0-9a-f]{16}", "the 16 hexadecimal digits that rgw check shows"),
        kind=keys["kind"].member(FindingKind),
        subject=keys["subject"].nonempty_text(),
        reason=keys["reason"].nonempty_text(),
        place=Place(entry.file, entry.line),
    )


def _stale(entry: Acceptance) -> Finding:
    return Finding(
        FindingKind.STALE_ACCEPTANCE,
        Severity.COSMETIC,
        entry.subject,
        f"the accepted finding {entry.kind} ({entry.fingerprint}) no longer occurs",
        entry.place,
        "remove it from the baseline",
        identity=(entry.fingerprint,),
    )
