"""The view of a report for people: what was found about each subject, then what was not checked, then the counts."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import groupby

from rich.console import Console, RenderableType
from rich.text import Text

from rgw.drift.model import Finding, Outcome, Report, Severity
from rgw.output.findings.words import summary
from rgw.output.printer import PIPED_WIDTH
from rgw.output.text import BAD, DIM, GOOD, WARN, Escaped, indented, line

_STYLES = {Severity.COSMETIC: DIM, Severity.COMPATIBLE: WARN, Severity.BREAKING: BAD, Severity.UNKNOWN: BAD}
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_DIFF_LINES = 20


def view(report: Report) -> Iterator[RenderableType]:
    """What a person sees of a report."""
    for subject, findings in groupby(report.findings, key=lambda finding: finding.subject):
        yield Text.assemble(("✗ ", BAD), line(subject, "bold"))
        for finding in findings:
            yield indented(_finding(finding), 4)
        yield ""
    skipped = [subject for subject in report.subjects if subject.outcome is Outcome.SKIPPED]
    if skipped:
        yield line(f"not checked: {len(skipped)}", DIM)
        for reason, subjects in groupby(sorted(skipped, key=lambda each: each.reason), key=lambda each: each.reason):
            yield indented(line(f"{reason}: {_first(subject.name for subject in subjects)}", DIM), 4)
        yield ""
    for entry in report.accepted:
        yield line(f"accepted: {entry.finding.subject}: {entry.finding.kind} ({entry.reason})", DIM)
    if report.checked_nothing:
        yield Text.assemble(("✗ ", BAD), line("nothing was checked", "bold"))
    elif not report.findings:
        yield Text.assemble(("✓ ", GOOD), line("nothing has changed", "bold"))
    yield line(summary(report))


def written(report: Report) -> str:
    """The view as text without colours."""
    stream = io.StringIO()
    console = Console(file=stream, width=PIPED_WIDTH, highlight=False, markup=False, emoji=False, color_system=None)
    for renderable in view(report):
        console.print(Escaped(renderable))
    return "".join(text.rstrip() + "\n" for text in stream.getvalue().splitlines()).rstrip("\n")


def _finding(finding: Finding) -> Text:
    lines = [
        Text.assemble(
            line(finding.severity, _STYLES[finding.severity]),
            line(f"  {finding.kind}  {finding.fingerprint}", DIM),
        ),
        line(finding.message),
    ]
    if finding.fix:
        lines.append(line(f"→ {finding.fix}", DIM))
    lines += _diff(finding.diff)
    return Text("\n").join(lines)


def _diff(diff: str) -> Iterator[Text]:
    lines = [text for text in diff.split("\n") if text and not text.startswith(("---", "+++"))]
    for text in lines[:_DIFF_LINES]:
        yield line(f"  {text}", _DIFF_STYLES.get(text[:1], DIM))
    if len(lines) > _DIFF_LINES:
        yield line(f"  … {len(lines) - _DIFF_LINES} more lines (--json shows them)", DIM)


def _first(names: Iterator[str], shown: int = 3) -> str:
    listed = list(names)
    rest = f" and {len(listed) - shown} more" if len(listed) > shown else ""
    return ", ".join(listed[:shown]) + rest
