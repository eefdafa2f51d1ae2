"""A report of `rgw check` in each of its formats: one module per format, and the dispatch.

Every format says the same of one report, and escapes what strangers wrote for where it ends up.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

if TYPE_CHECKING:
    from rgw.drift.model import Report


class Format(StrEnum):
    """How a report is written."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"
    JUNIT = "junit"
    SARIF = "sarif"
    GITHUB = "github"


def written(report: Report, form: Format) -> str:
    """The report as text in one format, ready for a file or a terminal."""
    match form:
        case Format.TABLE:
            from rgw.output.findings import table

            return table.written(report)
        case Format.JSON:
            from rgw.output.findings import document

            return document.written(report)
        case Format.MARKDOWN:
            from rgw.output.findings import markdown

            return markdown.written(report)
        case Format.JUNIT:
            from rgw.output.findings import junit

            return junit.written(report)
        case Format.SARIF:
            from rgw.output.findings import sarif

            return sarif.written(report)
        case Format.GITHUB:
            from rgw.output.findings import github

            return github.written(report)
        case _:
            assert_never(form)
