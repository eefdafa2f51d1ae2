"""The response template that a model ships itself, against the lockfile and the registry, with the real client."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
import yaml

from drift.conftest import Project, kinds
from drift.formats import BREAKING, COMPATIBLE, TEMPLATE
from loopback_hub import LoopbackHub
from rgw.drift.lockfile import read_lock, write_lock
from rgw.drift.model import Finding, Report
from rgw.proof import native as native_module
from rgw.registry.model import Dialect

JINJA, CONFIGURATION = "chat_template.jinja", "tokenizer_config.json"
FIELDS: dict[str, Any] = {
    "reasoning_content": {"open": "<think>", "close": "</think>", "content": "text", "content_args": {"strip": False}},
    "tool_calls": {
        "open": "<call>",
        "close": "</call>",
        "repeats": True,
        "content": "json",
        "transform": {"type": "function", "function": "{content}"},
    },
    "content": {"close": "[end]", "content": "text", "content_args": {"strip": False}},
}
NATIVE: dict[str, Any] = {"start_anchor": "[assistant]", "fields": FIELDS}
"""Reads `TEMPLATE`, and is written otherwise than the registered schema."""
BLIND: dict[str, Any] = {"start_anchor": "[assistant]", "fields": {"content": FIELDS["content"]}}
"""Takes calls and thoughts for text."""
SLOW: dict[str, Any] = {
    "start_anchor": "[assistant]",
    "fields": {"content": {"close_pattern": r"(?:(a|b|ab)*)*c<end>", "content": "text"}},
}
"""Takes minutes for a few hundred characters."""
WITHOUT_FIELDS: dict[str, Any] = {"start_anchor": "[assistant]"}


def digest(native: dict[str, Any]) -> str:
    written = json.dumps([native], separators=(",", ":"))
    return hashlib.sha256(written.encode()).hexdigest()


def commit(hub: LoopbackHub, native: dict[str, Any] | None, text: str = TEMPLATE, name: str = "owner/model") -> None:
    configuration = {} if native is None else {"response_template": native}
    hub.commit(name, {JINJA: text, CONFIGURATION: json.dumps(configuration)})


def only(report: Report) -> Finding:
    (finding,) = report.findings
    return finding


def registered(project: Project) -> dict[str, Any]:
    return dict(project.registry.schema("bracketed").dialects[Dialect.RESPONSE_TEMPLATE])


def test_one_that_is_the_registered_schemas_is_no_finding(hub: LoopbackHub, project: Project) -> None:
    commit(hub, registered(project))
    project.lock("owner/model")
    report = project.check()
    assert (report.findings, report.exit_code()) == ((), 0)


def test_another_that_proves_as_well_is_compatible(hub: LoopbackHub, project: Project) -> None:
    commit(hub, NATIVE)
    project.lock("owner/model")
    report = project.check()
    assert kinds(report) == [("native-differs", "compatible")]
    assert only(report).message == (
        "the native response_template differs from schema bracketed; it proves to read the chat template"
        f" ({digest(NATIVE)[:12]})"
    )


def test_another_that_misreads_is_breaking_for_who_reads_with_it(hub: LoopbackHub, project: Project) -> None:
    commit(hub, BLIND)
    project.lock("owner/model")
    report = project.check()
    assert kinds(report) == [("native-differs", "breaking")]
    assert "differs from schema bracketed; it is not proved to read it" in only(report).message
    assert "`rgw apply` puts the registered schema in its place" in only(report).fix


def test_one_that_takes_minutes_is_measured_in_time_and_breaking(hub: LoopbackHub, project: Project) -> None:
    commit(hub, SLOW)
    project.lock("owner/model")
    report = project.check()
    assert kinds(report) == [("native-differs", "breaking")]
    assert "it is not proved to read it: reading" in only(report).message


def test_one_that_cannot_be_tried_is_unknown_and_never_clean(hub: LoopbackHub, project: Project) -> None:
    commit(hub, WITHOUT_FIELDS)
    project.lock("owner/model")
    report = project.check()
    assert kinds(report) == [("native-differs", "unknown")]
    assert "owner/model: the response_template that it ships has no fields" in only(report).message
    assert report.exit_code() == 1


@pytest.mark.parametrize(
    ("native", "severity"), [(NATIVE, "unknown"), (BLIND, "unknown"), (SLOW, "breaking")], ids=["fits", "blind", "slow"]
)
def test_one_beside_an_unregistered_chat_template(
    native: dict[str, Any], severity: str, hub: LoopbackHub, project: Project
) -> None:
    commit(hub, native, COMPATIBLE)
    project.lock("owner/model")
    assert sorted(kinds(project.check())) == [("native-unregistered", severity), ("template-unregistered", "unknown")]


@pytest.mark.parametrize(
    ("before", "after", "severity"),
    [(BLIND, NATIVE, "compatible"), (NATIVE, BLIND, "breaking"), (NATIVE, WITHOUT_FIELDS, "unknown")],
    ids=["fits now", "misreads now", "cannot be tried now"],
)
def test_one_that_changed_is_told_with_what_it_means_now(
    before: dict[str, Any], after: dict[str, Any], severity: str, hub: LoopbackHub, project: Project
) -> None:
    commit(hub, before)
    project.lock("owner/model")
    commit(hub, after)
    report = project.check()
    assert kinds(report) == [("native-changed", severity)]
    assert f"changed from {digest(before)[:12]} to {digest(after)[:12]}" in only(report).message


def test_one_that_becomes_the_registered_schemas_is_cosmetic(hub: LoopbackHub, project: Project) -> None:
    commit(hub, NATIVE)
    project.lock("owner/model")
    commit(hub, registered(project))
    report = project.check()
    assert kinds(report) == [("native-changed", "cosmetic")]
    assert only(report).message.endswith("the native response_template is that of schema bracketed")


def test_a_change_is_shown_as_a_diff(hub: LoopbackHub, project: Project) -> None:
    commit(hub, NATIVE)
    project.lock("owner/model")
    commit(hub, {**NATIVE, "start_anchor": "[model]"})
    lines = only(project.check()).diff.split("\n")
    assert '-  "start_anchor": "[assistant]",' in lines
    assert '+  "start_anchor": "[model]",' in lines


def test_a_change_whose_old_commit_is_gone_is_found_without_a_diff(hub: LoopbackHub, project: Project) -> None:
    commit(hub, NATIVE)
    project.lock("owner/model")
    locked = project.lockfile.read_text("utf-8")
    (model,) = yaml.safe_load(locked)["models"]
    project.lockfile.write_text(locked.replace(model["commit"], "0" * 40), "utf-8")
    commit(hub, BLIND)
    assert kinds(project.check()) == [("native-changed", "breaking")]
    assert only(project.check()).diff == ""


@pytest.mark.parametrize(("native", "severity"), [(NATIVE, "compatible"), (BLIND, "breaking")], ids=["fits", "blind"])
def test_one_that_comes_later_is_a_change(
    native: dict[str, Any], severity: str, hub: LoopbackHub, project: Project
) -> None:
    commit(hub, None)
    project.lock("owner/model")
    commit(hub, native)
    report = project.check()
    assert kinds(report) == [("native-changed", severity)]
    assert f"the native response_template {digest(native)[:12]} was not locked" in only(report).message


def test_one_that_goes_is_breaking_for_who_read_with_it(hub: LoopbackHub, project: Project) -> None:
    commit(hub, NATIVE)
    project.lock("owner/model")
    commit(hub, None)
    report = project.check()
    assert kinds(report) == [("native-changed", "breaking")]
    assert f"the native response_template {digest(NATIVE)[:12]} is gone" in only(report).message


def test_what_changed_is_clean_again_when_it_is_locked(hub: LoopbackHub, project: Project) -> None:
    commit(hub, NATIVE)
    project.lock("owner/model")
    commit(hub, registered(project))
    project.lock("owner/model")
    assert project.check().findings == ()


def test_template_and_native_that_change_together_are_two_findings(hub: LoopbackHub, project: Project) -> None:
    commit(hub, registered(project))
    project.lock("owner/model")
    commit(hub, NATIVE, BREAKING)
    assert kinds(project.check()) == [("template-changed", "breaking"), ("native-changed", "unknown")][::-1]


def test_its_digest_is_locked_and_reads_back(hub: LoopbackHub, project: Project) -> None:
    commit(hub, NATIVE)
    commit(hub, None, name="owner/plain")
    project.lock("owner/model", "owner/plain")
    lock = read_lock(project.lockfile)
    assert [model.native for model in lock.models] == [digest(NATIVE), None]
    before = project.lockfile.read_bytes()
    assert f"native_response_template: {digest(NATIVE)}".encode() in before
    assert before.count(b"native_response_template") == 1
    write_lock(project.lockfile, lock)
    assert project.lockfile.read_bytes() == before


def test_a_lockfile_from_before_it_was_locked_is_read(hub: LoopbackHub, project: Project) -> None:
    commit(hub, registered(project))
    project.lock("owner/model")
    lines = project.lockfile.read_text("utf-8").splitlines(keepends=True)
    project.lockfile.write_text("".join(line for line in lines if "native" not in line), "utf-8")
    assert kinds(project.check()) == [("native-changed", "cosmetic")]


def test_models_that_ship_the_same_are_proved_once(
    hub: LoopbackHub, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["owner/a", "owner/b", "owner/c"]
    for name in names:
        commit(hub, NATIVE, name=name)
    project.lock(*names)
    tried = []
    certify = native_module.certify
    monkeypatch.setattr(native_module, "certify", lambda pair, **given: tried.append(pair) or certify(pair, **given))
    assert [finding.subject for finding in project.check().findings] == names
    assert len(tried) == 1


def test_the_next_change_is_another_finding(hub: LoopbackHub, project: Project) -> None:
    commit(hub, None)
    project.lock("owner/model")
    commit(hub, NATIVE)
    first = only(project.check()).fingerprint
    commit(hub, BLIND)
    assert only(project.check()).fingerprint != first
