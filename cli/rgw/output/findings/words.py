"""What every format for people says in the same words."""

from __future__ import annotations

from rgw.drift.model import Report, Severity


def summary(report: Report) -> str:
    """The counts of a report in one line."""
    counts = report.counts
    parts = [f"{counts['checked']} of {counts['subjects']} checked", _findings(counts)]
    parts += [f"{counts[key]} {word}" for key, word in _ALSO.items() if counts[key]]
    return ", ".join(parts)


_ALSO = {"failed": "could not be checked", "skipped": "skipped", "accepted": "accepted"}


def _findings(counts: dict[str, int]) -> str:
    if not counts["findings"]:
        return "no findings"
    by_severity = ", ".join(f"{counts[severity]} {severity}" for severity in reversed(Severity) if counts[severity])
    return f"{counts['findings']} finding{'s' if counts['findings'] > 1 else ''} ({by_severity})"
