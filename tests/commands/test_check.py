"""`rgw check` says what has changed, in every format; what it could not look at is never clean."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree as ET

import pytest

from commands.conftest import EXAMPLES, KIOSK, Rgw
from drift.formats import COMPATIBLE, TEMPLATE, write_registry
from loopback_hub import LoopbackHub
from output.findings.reports import counts_of
from rgw.commands.check import FormatChoice, SeverityChoice
from rgw.drift.model import Severity
from rgw.output.findings import Format

JINJA = "chat_template.jinja"
HOSTILE = "\x1b]0;owned\x07\n::error::owned\n##[error]owned [bold]x[/bold]"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose model can change."""
    shutil.copytree(EXAMPLES / "model", tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def locked(rgw: Rgw, project: Path) -> Path:
    assert rgw("lock", "model", *KIOSK).code == 0
    return project


@pytest.fixture
def changed(locked: Path) -> Path:
    template = locked / "model" / JINJA
    template.write_text("{#- changed -#}\n" + template.read_text("utf-8"), "utf-8")
    return locked


CHECK = ["check", *KIOSK, "--conversations", "20"]


def test_nothing_has_changed(rgw: Rgw, locked: Path) -> None:
    outcome = rgw(*CHECK)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == "✓ nothing has changed\n2 of 2 checked, no findings\n"


def test_a_change_is_a_finding_with_its_severity(rgw: Rgw, changed: Path) -> None:
    outcome = rgw(*CHECK)
    assert (outcome.code, outcome.err) == (1, "")
    assert "template-changed" in outcome.out
    assert "schema kiosk still proves" in " ".join(outcome.out.split())
    assert "2 of 2 checked, 1 finding (1 " in outcome.out


def test_for_programs_and_scripts(rgw: Rgw, changed: Path) -> None:
    outcome = rgw(*CHECK, "--json")
    (finding,) = outcome.document["findings"]
    assert (outcome.code, outcome.document["version"], finding["kind"]) == (1, 1, "template-changed")
    assert outcome.err.startswith("warning: 2 of 2 checked, 1 finding")
    assert rgw(*CHECK, "--format", "json").document == outcome.document
    assert rgw(*CHECK, "--quiet").out == f"{finding['fingerprint']}\n"
    assert rgw(*CHECK, "--query", "findings[].kind").document == ["template-changed"]


def test_the_report_goes_to_a_file_and_copies_to_others(rgw: Rgw, changed: Path) -> None:
    reports = ["--report", "sarif=rgw.sarif", "--report", "markdown=rgw.md"]
    outcome = rgw(*CHECK, "--format", "junit", "--output", "rgw.xml", *reports)
    assert (outcome.code, outcome.out) == (1, "")
    assert ET.parse(changed / "rgw.xml").getroot().attrib["failures"] == "1"
    assert len(json.loads((changed / "rgw.sarif").read_text("utf-8"))["runs"][0]["results"]) == 1
    assert "2 of 2 checked, 1 finding" in (changed / "rgw.md").read_text("utf-8")


@pytest.mark.parametrize("option", ["--json", "--quiet"])
def test_a_report_in_two_formats_is_refused(rgw: Rgw, changed: Path, option: str) -> None:
    outcome = rgw(*CHECK, option, "--format", "sarif")
    assert outcome.code == 2
    assert f"{option} and --format sarif ask for two kinds of output — leave one of them out" in outcome.err


def test_json_is_the_format_of_the_file_as_well(rgw: Rgw, changed: Path) -> None:
    assert rgw(*CHECK, "--json", "--output", "report.json").code == 1
    assert json.loads((changed / "report.json").read_text("utf-8"))["counts"]["findings"] > 0


def test_all_formats_of_one_run_agree_on_the_counts(rgw: Rgw, changed: Path) -> None:
    shutil.copytree(EXAMPLES / "edited-model", changed / "other")
    assert rgw("lock", "other", *KIOSK).code == 1
    reports = [part for form in Format for part in ("--report", f"{form}=report.{form}")]
    outcome = rgw(*CHECK, *reports, "--json")
    expected = {"subjects": 3, "checked": 3, "failed": 0, "skipped": 0, "findings": 2, "accepted": 0}
    expected |= {"cosmetic": 1, "compatible": 0, "breaking": 0, "unknown": 1}
    assert outcome.document["counts"] == expected
    counted = {form: counts_of(form, (changed / f"report.{form}").read_text("utf-8")) for form in Format}
    assert counted == dict.fromkeys(Format, expected)


@pytest.mark.parametrize(("options", "drawn"), [([], True), (["--format", "github"], True), (["--quiet"], False)])
def test_progress_is_drawn_where_somebody_watches(
    options: list[str], drawn: bool, rgw: Rgw, hub: LoopbackHub, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overlay = ["--registry", str(write_registry(project / "overlay", (TEMPLATE, "bracketed", "owner/model")))]
    hub.commit("owner/model", {JINJA: TEMPLATE})
    assert rgw("lock", "owner/model", *overlay).code == 0
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    outcome = rgw("check", *overlay, *options)
    assert outcome.code == 0
    assert [word in outcome.err for word in ("Reading", "Comparing")] == [drawn, drawn]
    assert "Reading" not in outcome.out


def test_annotations_name_the_line_of_the_lockfile(rgw: Rgw, changed: Path) -> None:
    first, last = rgw(*CHECK, "--format", "github").out.splitlines()
    assert re.match(r"::(notice|warning) file=rgw\.lock,line=7,title=", first)
    assert last.startswith("::notice title=rgw check::2 of 2 checked, 1 finding")


def test_what_is_milder_than_asked_for_is_shown_and_exits_0(rgw: Rgw, changed: Path) -> None:
    outcome = rgw(*CHECK, "--fail-on", "breaking")
    assert outcome.code == 0
    assert "1 finding" in outcome.out


def test_what_is_unknown_is_never_0(rgw: Rgw, locked: Path) -> None:
    (locked / "model" / JINJA).write_text("{% for %}", "utf-8")
    outcome = rgw(*CHECK, "--fail-on", "breaking", "--json")
    assert outcome.document["counts"]["unknown"] == 1
    assert outcome.code == 1


def test_nothing_was_checked_is_never_0(rgw: Rgw, locked: Path) -> None:
    (locked / "rgw.lock").write_text(
        f"version: 1\nregistry: {'0' * 64}\ntransformers: '5'\nmodels: []\nschemas: {{}}\n", "utf-8"
    )
    outcome = rgw(*CHECK)
    assert outcome.code == 3
    assert "✗ nothing was checked" in outcome.out
    assert outcome.err.startswith("error: nothing was checked: 0 of 0 checked")


def test_findings_are_accepted_for_a_reason_and_reported_when_they_are_gone(rgw: Rgw, changed: Path) -> None:
    baseline = ["--baseline", "accepted.yaml"]
    assert rgw(*CHECK, *baseline, "--accept", "known until 2.3").code == 1
    accepted = rgw(*CHECK, *baseline)
    assert accepted.code == 0
    assert "known until 2.3" in accepted.out
    assert "no findings, 1 accepted" in accepted.out
    shutil.copy(EXAMPLES / "model" / JINJA, changed / "model" / JINJA)
    gone = rgw(*CHECK, *baseline, "--json")
    assert gone.code == 1
    assert [finding["kind"] for finding in gone.document["findings"]] == ["stale-acceptance"]


def test_the_hub_is_asked_and_a_gated_repository_is_not_clean(rgw: Rgw, hub: LoopbackHub, project: Path) -> None:
    overlay = ["--registry", str(write_registry(project / "overlay", (TEMPLATE, "bracketed", "owner/model")))]
    hub.commit("owner/model", {JINJA: TEMPLATE})
    hub.commit("owner/other", {JINJA: TEMPLATE})
    assert rgw("lock", "owner/model", "owner/other", *overlay).code == 0
    hub.commit("owner/model", {JINJA: COMPATIBLE})
    hub.commit("owner/other", {JINJA: COMPATIBLE}, gated=True)
    outcome = rgw("check", *overlay, "--conversations", "20", "--json")
    assert outcome.code == 3
    assert [(finding["subject"], finding["kind"]) for finding in outcome.document["findings"]] == [
        ("owner/model", "template-changed"),
        ("owner/other", "repository-gated"),
    ]


def test_registered_templates_are_checked_on_their_own(rgw: Rgw, hub: LoopbackHub, project: Path) -> None:
    overlay = ["--registry", str(write_registry(project / "overlay", (TEMPLATE, "bracketed", "owner/model")))]
    hub.commit("owner/model", {JINJA: TEMPLATE})
    outcome = rgw("check", "--registry-repos", "--family", "brackets", *overlay)
    assert (outcome.code, outcome.err) == (0, "")
    assert "1 of 1 checked, no findings" in outcome.out


def test_transformers_is_checked_on_its_own(rgw: Rgw) -> None:
    outcome = rgw("check", "--transformers", *KIOSK, "--json")
    assert outcome.code == 0
    assert outcome.document["counts"]["checked"] > 0
    assert "samples of schema kiosk" in [subject["name"] for subject in outcome.document["subjects"]]


@pytest.mark.parametrize("form", Format)
def test_no_name_reaches_a_log_raw(form: Format, rgw: Rgw, locked: Path) -> None:
    hostile = locked / HOSTILE.replace("/", "|")
    shutil.move(locked / "model", hostile)
    assert rgw("lock", hostile.name, *KIOSK, "--file", "other.lock").code == 0
    (hostile / JINJA).write_text("{% for %}" + HOSTILE, "utf-8")
    outcome = rgw(*CHECK, "--lock", "other.lock", "--format", form)
    assert outcome.code == 1
    shown = outcome.out + outcome.err
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "##[" not in shown
    assert not [line for line in shown.splitlines() if line.lstrip().startswith("::error::")]


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        ([], 3, "rgw.lock: no such file — write it with `rgw lock REF...`"),
        (["--lock", "missing.lock"], 3, "missing.lock: no such file"),
        (["--family", "qwen3"], 2, "--family is for --registry-repos"),
        (["--registry-repos", "--family", "nobody"], 2, "no template of the family 'nobody' is registered"),
        (["--trl-source", "pypi"], 2, "pypi needs to know which TRL"),
        (["--accept", "why"], 2, "--accept needs a file to write to"),
        (["--report", "sarif"], 2, "--report 'sarif' is not FORMAT=FILE"),
        (["--report", "html=x"], 2, "a FORMAT is one of table, json"),
        (["--fail-on", "unknown"], 2, "--fail-on"),
        (["--baseline", "missing.yaml"], 3, "missing.yaml"),
        (["--trl-source", "missing"], 3, "missing"),
    ],
)
def test_what_cannot_be_done_is_one_line(arguments: list[str], code: int, part: str, rgw: Rgw) -> None:
    outcome = rgw("check", *arguments, *KIOSK)
    assert outcome.code == code
    assert part in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_report_that_cannot_be_written_is_one_line(rgw: Rgw, locked: Path) -> None:
    outcome = rgw(*CHECK, "--output", "missing/report.txt")
    assert outcome.code == 3
    assert "missing/report.txt could not be written" in outcome.err


def test_the_choices_are_those_of_their_rooms() -> None:
    assert list(get_args(FormatChoice)) == list(Format)
    assert [*get_args(SeverityChoice), "unknown"] == list(Severity)
