"""The lockfile against the hub, with the real client: what has changed is found, judged, and never passed over."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
import yaml

from drift.conftest import Project, in_time, kinds
from drift.formats import BREAKING, COMPATIBLE, COSMETIC, NOT_JINJA, TEMPLATE, sha256, write_registry
from loopback_hub import GOOD_TOKEN, Fault, FaultKind, LoopbackHub
from rgw.drift.model import Finding, Report
from rgw.registry.loader import load_registry
from rgw.templates import hub as hub_module

JINJA = "chat_template.jinja"


def only(report: Report) -> Finding:
    (finding,) = report.findings
    return finding


@pytest.fixture
def locked(hub: LoopbackHub, project: Project) -> Project:
    hub.commit("owner/model", {JINJA: TEMPLATE, "README.md": "first"})
    project.lock("owner/model")
    return project


def test_nothing_has_changed(locked: Project) -> None:
    report = locked.check()
    assert (report.findings, report.exit_code()) == ((), 0)
    assert [(subject.name, subject.outcome) for subject in report.subjects] == [
        ("owner/model", "checked"),
        ("parse_response with schema bracketed", "checked"),
    ]


def test_a_branch_that_moves_without_touching_the_template_is_no_finding(hub: LoopbackHub, locked: Project) -> None:
    hub.commit("owner/model", {JINJA: TEMPLATE, "README.md": "second"})
    assert locked.check().findings == ()


def test_a_template_that_moves_to_another_file_unchanged_is_no_finding(hub: LoopbackHub, locked: Project) -> None:
    hub.commit("owner/model", {"tokenizer_config.json": json.dumps({"chat_template": TEMPLATE})})
    assert locked.check().findings == ()


def test_line_ends_that_the_reader_translates_are_no_finding(hub: LoopbackHub, locked: Project) -> None:
    hub.commit("owner/model", {JINJA: TEMPLATE.replace("\n", "\r\n")})
    assert locked.check().findings == ()


@pytest.mark.parametrize("edit", COSMETIC)
def test_a_cosmetic_edit(edit: str, hub: LoopbackHub, locked: Project) -> None:
    hub.commit("owner/model", {JINJA: COSMETIC[edit]})
    report = locked.check()
    finding = only(report)
    assert kinds(report) == [("template-changed", "cosmetic")]
    assert report.exit_code() == 1
    assert finding.evidence is not None
    assert finding.evidence.before == sha256(TEMPLATE)
    assert finding.evidence.after == sha256(COSMETIC[edit])
    assert finding.evidence.renders_identically
    assert finding.evidence.schema_proves


def test_line_ends_in_a_json_string_are_cosmetic(hub: LoopbackHub, locked: Project) -> None:
    crlf = TEMPLATE.replace("\n", "\r\n")
    hub.commit("owner/model", {"tokenizer_config.json": json.dumps({"chat_template": crlf})})
    report = locked.check()
    assert kinds(report) == [("template-changed", "cosmetic")]
    assert "only line ends changed" in only(report).message


def test_a_final_newline_is_named(hub: LoopbackHub, locked: Project) -> None:
    hub.commit("owner/model", {JINJA: COSMETIC["final newline"]})
    assert "only the final newline changed; renders identically" in only(locked.check()).message


def test_a_compatible_edit(hub: LoopbackHub, locked: Project) -> None:
    hub.commit("owner/model", {JINJA: COMPATIBLE})
    report = locked.check()
    finding = only(report)
    assert kinds(report) == [("template-changed", "compatible")]
    assert finding.evidence is not None
    assert finding.evidence.renders_identically is False
    assert finding.evidence.schema_proves
    assert (finding.evidence.lines_added, finding.evidence.lines_removed) == (1, 1)
    assert "+[system]Tools that you may call: {{ tools | tojson }}[end]" in finding.diff
    assert "-[system]You may call: {{ tools | tojson }}[end]" in finding.diff


def test_a_breaking_edit_names_the_schema_that_reads_it(hub: LoopbackHub, locked: Project) -> None:
    hub.commit("owner/model", {JINJA: BREAKING})
    report = locked.check()
    finding = only(report)
    assert kinds(report) == [("template-changed", "breaking")]
    assert finding.evidence is not None
    assert finding.evidence.schema_proves is False
    assert finding.evidence.proving_schemas == ("tooled",)
    assert "schema bracketed no longer proves; tooled does" in finding.message


def test_a_template_that_does_not_render_is_unknown_and_never_clean(hub: LoopbackHub, locked: Project) -> None:
    hub.commit("owner/model", {JINJA: NOT_JINJA})
    report = locked.check()
    assert kinds(report) == [("template-changed", "unknown")]
    assert report.exit_code() == 1
    assert "cannot be put to the proof" in only(report).message


def test_an_edit_whose_old_text_is_gone_is_judged_by_the_proof_alone(hub: LoopbackHub, project: Project) -> None:
    commit = hub.commit("owner/model", {JINJA: COMPATIBLE})
    project.lock("owner/model")
    lock = project.lockfile.read_text("utf-8")
    project.lockfile.write_text(
        lock.replace("schema: null", "schema: bracketed").replace("schemas: {}", SCHEMAS), "utf-8"
    )
    hub.commit("owner/model", {JINJA: COSMETIC["comment"]})
    hub.forget("owner/model", commit)
    finding = only(project.check())
    assert finding.severity == "compatible"
    assert "the old text cannot be had" in finding.message
    assert finding.evidence is not None
    assert finding.evidence.renders_identically is None


SCHEMAS = f"schemas:\n  bracketed:\n    digest: {'0' * 64}\n    results: {{}}"


def test_a_template_that_takes_the_place_of_the_locked_one_is_judged(hub: LoopbackHub, locked: Project) -> None:
    hub.commit("owner/model", {JINJA: TEMPLATE, "additional_chat_templates/tool_use.jinja": BREAKING})
    report = locked.check()
    assert kinds(report) == [("template-added", "breaking")]
    assert "'tool_use'" in only(report).message


def test_a_further_template_is_compatible(hub: LoopbackHub, locked: Project) -> None:
    hub.commit("owner/model", {JINJA: TEMPLATE, "additional_chat_templates/rag.jinja": BREAKING})
    assert kinds(locked.check()) == [("template-added", "compatible")]


def test_a_template_that_is_gone_is_breaking(hub: LoopbackHub, locked: Project) -> None:
    hub.commit("owner/model", {"tokenizer.json": "{}"})
    report = locked.check()
    assert kinds(report) == [("template-removed", "breaking")]
    assert "none takes its place" in only(report).message


def test_every_named_template_is_locked(hub: LoopbackHub, project: Project) -> None:
    extra = "additional_chat_templates/tool_use.jinja"
    hub.commit("owner/model", {JINJA: COMPATIBLE, extra: TEMPLATE})
    project.lock("owner/model")
    assert project.check().findings == ()
    hub.commit("owner/model", {JINJA: COMPATIBLE})
    assert kinds(project.check()) == [("template-unregistered", "unknown"), ("template-removed", "compatible")]


def test_a_model_without_a_schema_is_never_clean(hub: LoopbackHub, project: Project) -> None:
    hub.commit("owner/model", {JINJA: COMPATIBLE})
    project.lock("owner/model")
    report = project.check()
    assert kinds(report) == [("template-unregistered", "unknown")]
    assert report.exit_code() == 1


def test_a_repository_that_is_deleted(hub: LoopbackHub, locked: Project) -> None:
    hub.delete("owner/model")
    report = locked.check()
    assert kinds(report) == [("repository-missing", "breaking")]
    assert report.exit_code() == 1


def test_a_revision_that_is_deleted(hub: LoopbackHub, project: Project) -> None:
    hub.commit("owner/model", {JINJA: TEMPLATE}, branch="v1")
    project.lock("owner/model", revision="v1")
    hub.delete("owner/model")
    hub.commit("owner/model", {JINJA: TEMPLATE})
    assert kinds(project.check()) == [("repository-missing", "breaking")]


def test_a_repository_that_becomes_gated(hub: LoopbackHub, locked: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.commit("owner/model", {JINJA: TEMPLATE, "README.md": "gated"}, gated=True)
    hub.commit("owner/model", {JINJA: COMPATIBLE}, gated=True)
    report = locked.check()
    assert kinds(report) == [("repository-gated", "unknown")]
    assert report.exit_code() == 3
    monkeypatch.setenv("HF_TOKEN", GOOD_TOKEN)
    assert kinds(locked.check()) == [("template-changed", "compatible")]


def test_a_repository_that_is_renamed_is_followed_and_told(hub: LoopbackHub, locked: Project) -> None:
    hub.rename("owner/model", "other/model")
    report = locked.check()
    assert kinds(report) == [("repository-renamed", "compatible")]
    assert "owner/model is called other/model now" in only(report).message
    hub.commit("other/model", {JINJA: BREAKING})
    assert kinds(locked.check()) == [("template-changed", "breaking"), ("repository-renamed", "compatible")]


def test_a_rate_limit_that_passes_is_waited_for(
    hub: LoopbackHub, locked: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(hub_module.time, "sleep", waits.append)
    hub.inject(Fault(FaultKind.STATUS, "/api/", status=429, times=2, headers={"Retry-After": "3"}))
    assert locked.check().findings == ()
    assert waits == [3.0, 3.0]


FAULTS = {
    "rate limit": Fault(FaultKind.STATUS, "/api/", status=429),
    "server error": Fault(FaultKind.STATUS, "/api/", status=500),
    "no answer": Fault(FaultKind.DROP, "/api/"),
    "truncated body": Fault(FaultKind.CUT, "/resolve/"),
    "wrong length": Fault(FaultKind.WRONG_LENGTH, "/resolve/"),
    "slow trickle": Fault(FaultKind.TRICKLE, "/resolve/"),
    "not a hub": Fault(FaultKind.NOT_A_HUB, "/api/"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_repository_that_cannot_be_read_is_a_finding_and_nothing_was_checked(
    fault: str, hub: LoopbackHub, locked: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "DEADLINE_SECONDS", 1.0)
    hub.commit("owner/model", {JINJA: BREAKING})
    hub.inject(FAULTS[fault])
    report = locked.check()
    assert kinds(report) == [("repository-unreachable", "unknown")]
    assert report.exit_code() == 3
    assert "failed" in [subject.outcome for subject in report.subjects]


def test_a_large_file_is_followed_to_its_store(hub: LoopbackHub, locked: Project) -> None:
    hub.commit("owner/model", {JINJA: BREAKING}, stored=[JINJA])
    assert kinds(locked.check()) == [("template-changed", "breaking")]


def test_one_repository_that_fails_stops_no_other(hub: LoopbackHub, project: Project) -> None:
    for name in ("a", "b", "c"):
        hub.commit(f"owner/{name}", {JINJA: TEMPLATE})
    project.lock("owner/a", "owner/b", "owner/c")
    hub.delete("owner/b")
    hub.commit("owner/c", {JINJA: COSMETIC["comment"]})
    report = project.check()
    assert [(finding.subject, finding.kind) for finding in report.findings] == [
        ("owner/b", "repository-missing"),
        ("owner/c", "template-changed"),
    ]


def test_a_schema_that_changed_is_told_apart_from_the_template(locked: Project, tmp_path: Path) -> None:
    root = write_registry(tmp_path / "next", (TEMPLATE, "bracketed", "owner/model"), reserved="<never>")
    report = locked.check(load_registry(packaged=root))
    assert kinds(report) == [("registry-changed", "compatible")]
    assert "schema bracketed, which reads the chat template 'default'" in only(report).message


def test_a_template_that_is_registered_for_another_schema(locked: Project, tmp_path: Path) -> None:
    root = write_registry(tmp_path / "next", (TEMPLATE, "tooled", "owner/model"))
    report = locked.check(load_registry(packaged=root))
    assert kinds(report) == [("registry-changed", "breaking")]
    assert "was registered for bracketed, now for tooled; it does not prove" in only(report).message


def test_a_template_that_is_registered_no_longer(locked: Project, tmp_path: Path) -> None:
    report = locked.check(load_registry(packaged=write_registry(tmp_path / "next")))
    assert kinds(report) == [("registry-changed", "breaking")]


def test_a_registry_that_grows_is_no_finding(locked: Project, tmp_path: Path) -> None:
    grown = (TEMPLATE, "bracketed", "owner/model"), (BREAKING, "tooled", "owner/other")
    assert locked.check(load_registry(packaged=write_registry(tmp_path / "next", *grown))).findings == ()


def test_a_transformers_that_returns_something_else_than_when_it_was_locked(locked: Project) -> None:
    text = locked.lockfile.read_text("utf-8")
    lock = yaml.safe_load(text)
    [(question, answer)] = lock["schemas"]["bracketed"]["results"].items()
    edited = text.replace(f"{question}: {answer}", f"{question}: {'0' * 16}")
    locked.lockfile.write_text(edited.replace(f"transformers: {lock['transformers']}", "transformers: 5.13.0"), "utf-8")
    report = locked.check()
    # The sample says what it means all the same, so nothing that reads it breaks.
    assert kinds(report) == [("parsing-changed", "compatible")]
    assert only(report).subject == "parse_response with schema bracketed"
    assert "than with 5.13.0" in only(report).message


def test_files_that_have_not_changed_are_not_fetched_again(hub: LoopbackHub, locked: Project) -> None:
    hub.commit("owner/model", {JINJA: TEMPLATE, "README.md": "second"})
    hub.requests.clear()
    assert locked.check().findings == ()
    assert [request.method for request in hub.requests_for("/resolve/")] == ["HEAD"]


def test_the_template_inside_of_gguf_files_is_locked_and_compared(hub: LoopbackHub, project: Project) -> None:
    hub.commit("owner/quants", {"model-Q4_K_M.gguf": "GGUF and 40 GB of weights"})
    hub.describe("owner/quants", gguf={"chat_template": TEMPLATE})
    project.lock("owner/quants")
    assert project.check().findings == ()
    hub.describe("owner/quants", gguf={"chat_template": BREAKING})
    assert kinds(project.check()) == [("template-changed", "breaking")]
    assert hub.requests_for("/resolve/") == []


def test_fingerprints_do_not_depend_on_lines(hub: LoopbackHub, locked: Project) -> None:
    hub.commit("owner/model", {JINJA: COMPATIBLE})
    before = only(locked.check())
    locked.lockfile.write_text("# moved\n\n" + locked.lockfile.read_text("utf-8"), "utf-8")
    after = only(locked.check())
    assert before.place.line + 2 == after.place.line
    assert before.fingerprint == after.fingerprint


def test_the_next_edit_is_another_finding(hub: LoopbackHub, locked: Project) -> None:
    hub.commit("owner/model", {JINJA: COMPATIBLE})
    first = only(locked.check()).fingerprint
    hub.commit("owner/model", {JINJA: COMPATIBLE + "{# again #}"})
    assert only(locked.check()).fingerprint != first


def test_many_models_are_checked_in_time_and_always_the_same(hub: LoopbackHub, project: Project) -> None:
    names = [f"owner/model-{number:03}" for number in range(300)]
    for name in names:
        hub.commit(name, {JINJA: TEMPLATE, "tokenizer_config.json": "{}"})
    project.lock(*names)
    for name in names:
        hub.commit(name, {JINJA: TEMPLATE, "tokenizer_config.json": '{"moved": true}'})
    for name in names[::10]:
        hub.commit(name, {JINJA: COMPATIBLE, "tokenizer_config.json": "{}"})
    for name in names[::50]:
        hub.delete(name)
    hub.latency = 0.05
    with in_time(hub, seconds=15.0):
        report = project.check()
    assert report.counts["checked"] == 301
    assert [finding.subject for finding in report.findings] == names[::10]
    assert Counter(finding.kind for finding in report.findings) == {"repository-missing": 6, "template-changed": 24}
    assert project.check() == report
