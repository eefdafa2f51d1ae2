"""The views of `rgw lint` and `rgw explain`: what the rules found in each template, and what a rule means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from rgw.fitness.linting import Report, Status
from rgw.fitness.model import Finding, Rule, Severity
from rgw.output.text import BAD, DIM, NAME, WARN, block, indented, line, table

_STYLES = {Severity.ERROR: BAD, Severity.WARNING: WARN, Severity.NOTE: DIM}
_MARKS = {Severity.ERROR: "✗ ", Severity.WARNING: "! ", Severity.NOTE: "· "}


def view(reports: Sequence[Report]) -> Iterator[RenderableType]:
    """What a person sees of `reports`."""
    for number, report in enumerate(reports):
        if number:
            yield ""
        yield _headline(report)
        if report.status is not Status.LINTED:
            yield indented(line(report.message))
        elif report.findings:
            yield indented(table(("", "Rule", "What was found"), map(_row, report.findings)))
        else:
            yield indented(line("no rule found anything, which does not say that the template is harmless", DIM))


def rule_view(rule: Rule) -> Iterator[RenderableType]:
    """A rule in full."""
    yield Text.assemble(line(rule.id, NAME), "  ", line(rule.severity.value, _STYLES[rule.severity]))
    yield line(rule.title, "bold")
    yield ""
    yield block(rule.explanation)


def rules_view(rules: Sequence[Rule]) -> Iterator[RenderableType]:
    """All rules, one a row."""
    rows = [(line(rule.id, NAME), line(rule.severity.value, _STYLES[rule.severity]), rule.title) for rule in rules]
    yield table(("Rule", "Severity", "A template that breaks it"), rows)


def _headline(report: Report) -> Text:
    if report.status is not Status.LINTED:
        return Text.assemble(("✗ ", BAD), line(report.ref, "bold"))
    counts = Counter(finding.rule.severity for finding in report.findings)
    found = [severity for severity in Severity if counts[severity]]
    words = [f"{counts[severity]} {severity.value}{'s' * (counts[severity] > 1)}" for severity in found]
    return Text.assemble(
        line(_MARKS[found[0]], _STYLES[found[0]]) if found else line("· ", DIM),
        line(report.ref, "bold"),
        line(f"  {', '.join(words) or 'nothing found'}"),
        line(f"  {(report.sha256 or '')[:12]}", DIM),
    )


def _row(finding: Finding) -> list[str | Text]:
    place = f"line {finding.line}: " if finding.line else ""
    severity = finding.rule.severity
    return [
        line(severity.value, _STYLES[severity]),
        line(finding.rule.id, NAME),
        Text.assemble(line(finding.rule.title), "\n", line(f"{place}{finding.message}", DIM)),
    ]
