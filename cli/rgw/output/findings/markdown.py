"""A report as Markdown, for a job summary or an issue: what strangers wrote stands in code, and cannot leave it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rgw.drift.model import Finding, Outcome, Report
from rgw.output.escape import escape_block, escape_commands, escape_line
from rgw.output.findings.words import summary

_FENCE = re.compile(r"`{3,}")


def written(report: Report) -> str:
    """The report as Markdown."""
    return escape_commands("\n".join(_lines(report)))


def _lines(report: Report) -> Iterator[str]:
    yield "## rgw check"
    yield ""
    yield f"**{'Nothing was checked' if report.checked_nothing else 'Checked'}:** {summary(report)}"
    if report.findings:
        yield ""
        yield "| severity | finding | subject | what | fingerprint |"
        yield "|---|---|---|---|---|"
        yield from (_row(finding) for finding in report.findings)
    for finding in report.findings:
        if finding.diff:
            yield from _diff(finding)
    unchecked = [subject for subject in report.subjects if subject.outcome is not Outcome.CHECKED]
    if unchecked:
        yield ""
        yield f"### Not checked: {len(unchecked)}"
        yield ""
        yield from (
            f"- {_code(subject.name)}: {subject.outcome.value}, {_code(subject.reason)}" for subject in unchecked
        )
    if report.accepted:
        yield ""
        yield f"### Accepted: {len(report.accepted)}"
        yield ""
        yield from (
            f"- {_code(entry.finding.subject)}: {entry.finding.kind.value}, {_code(entry.reason)}"
            for entry in report.accepted
        )


def _row(finding: Finding) -> str:
    what = _code(finding.message) + (f"<br>→ {_code(finding.fix)}" if finding.fix else "")
    cells = [finding.severity.value, finding.kind.value, _code(finding.subject), what, finding.fingerprint]
    return f"| {' | '.join(cells)} |"


def _diff(finding: Finding) -> Iterator[str]:
    text = escape_block(finding.diff)
    longest = max((len(found) for found in _FENCE.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield ""
    yield f"<details><summary>{_html(finding.subject)}: {finding.fingerprint}</summary>"
    yield ""
    yield f"{fence}diff"
    yield text
    yield fence
    yield ""
    yield "</details>"


def _html(text: str) -> str:
    return escape_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _code(text: str) -> str:
    """A name as code. What could end the code or the table's cell is shown as the escape that names it."""
    safe = escape_line(text).replace("`", r"\x60").replace("|", r"\x7c")
    return f"`{safe}`" if safe.strip() else "``" + " " + "``"
