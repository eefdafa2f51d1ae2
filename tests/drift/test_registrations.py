"""The registry against the hub: every registered hash is served by a repository that is named for it, or a finding."""

from __future__ import annotations

from pathlib import Path

import pytest

from drift.conftest import CONVERSATIONS, in_time, kinds
from drift.formats import BREAKING, COMPATIBLE, TEMPLATE, sha256, write_registry
from loopback_hub import Fault, FaultKind, LoopbackHub
from rgw.drift.checking import Wanted, check
from rgw.drift.model import Report
from rgw.errors import UsageError
from rgw.registry.loader import load_registry

JINJA = "chat_template.jinja"


def check_registry(root: Path, *families: str) -> Report:
    wanted = Wanted(registrations=True, families=families, conversations=CONVERSATIONS)
    return check(wanted, load_registry(packaged=root))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_registry(tmp_path / "registry", (TEMPLATE, "bracketed", "owner/first, owner/second"))


def test_the_first_repository_that_serves_the_template_is_enough(hub: LoopbackHub, root: Path) -> None:
    hub.commit("owner/first", {JINJA: TEMPLATE})
    report = check_registry(root)
    assert (report.findings, report.exit_code()) == ((), 0)
    assert [subject.name for subject in report.subjects] == [f"registered template v0 {sha256(TEMPLATE)[:12]}"]
    assert hub.requests_for("owner/second") == []


def test_another_repository_may_serve_it_when_the_first_has_moved_on(hub: LoopbackHub, root: Path) -> None:
    hub.commit("owner/first", {JINJA: BREAKING})
    hub.commit("owner/second", {JINJA: TEMPLATE})
    assert check_registry(root).findings == ()


def test_a_template_that_no_repository_serves_any_more_is_judged(hub: LoopbackHub, root: Path) -> None:
    hub.commit("owner/first", {JINJA: COMPATIBLE})
    hub.commit("owner/second", {JINJA: BREAKING})
    report = check_registry(root)
    (finding,) = report.findings
    assert kinds(report) == [("template-not-served", "compatible")]
    assert f"{sha256(TEMPLATE)[:12]} is no longer served by owner/first, owner/second" in finding.message
    assert f"owner/first serves {sha256(COMPATIBLE)[:12]}, not registered" in finding.message
    hub.commit("owner/first", {JINJA: BREAKING})
    assert kinds(check_registry(root)) == [("template-not-served", "breaking")]


def test_a_successor_that_is_registered_for_the_same_schema_needs_no_proof(hub: LoopbackHub, tmp_path: Path) -> None:
    root = write_registry(
        tmp_path / "registry", (TEMPLATE, "bracketed", "owner/model"), (COMPATIBLE, "bracketed", "owner/model")
    )
    hub.commit("owner/model", {JINJA: COMPATIBLE})
    report = check_registry(root)
    assert kinds(report) == [("template-not-served", "compatible")]
    assert report.findings[0].evidence is None


def test_a_repository_is_asked_at_the_revision_that_it_is_named_with(hub: LoopbackHub, tmp_path: Path) -> None:
    commit = hub.commit("owner/model", {JINJA: TEMPLATE})
    hub.commit("owner/model", {JINJA: BREAKING})
    root = write_registry(tmp_path / "registry", (TEMPLATE, "bracketed", f"owner/model@{commit}"))
    assert check_registry(root).findings == ()


def test_repositories_that_are_gone_are_findings_of_their_own(hub: LoopbackHub, root: Path) -> None:
    hub.commit("owner/second", {JINJA: TEMPLATE})
    report = check_registry(root)
    assert kinds(report) == [("repository-missing", "compatible")]
    hub.delete("owner/second")
    report = check_registry(root)
    assert kinds(report) == [("repository-missing", "breaking"), ("repository-missing", "breaking")]
    assert report.exit_code() == 1


def test_what_cannot_be_read_leaves_the_template_undecided(hub: LoopbackHub, root: Path) -> None:
    hub.commit("owner/first", {JINJA: TEMPLATE}, gated=True)
    hub.commit("owner/second", {JINJA: BREAKING})
    report = check_registry(root)
    assert kinds(report) == [("repository-gated", "unknown"), ("template-not-served", "unknown")]
    assert [subject.outcome for subject in report.subjects] == ["failed"]
    assert report.exit_code() == 3


def test_a_hub_that_is_down_is_not_asked_for_every_repository(hub: LoopbackHub, root: Path) -> None:
    hub.inject(Fault(FaultKind.STATUS, "/api/", status=503))
    report = check_registry(root)
    assert kinds(report) == [("repository-unreachable", "unknown")]
    assert (report.counts["failed"], report.exit_code()) == (1, 3)
    assert hub.requests_for("owner/second") == []


def test_a_template_without_a_repository_is_skipped_and_not_clean(tmp_path: Path) -> None:
    report = check_registry(write_registry(tmp_path / "registry", (TEMPLATE, "bracketed", "")))
    (subject,) = report.subjects
    assert (subject.outcome, subject.reason) == ("skipped", "no repository is named for it")
    assert report.exit_code() == 3


def test_only_the_families_that_are_asked_for(hub: LoopbackHub, root: Path) -> None:
    hub.commit("owner/first", {JINJA: TEMPLATE})
    assert check_registry(root, "brackets").exit_code() == 0
    with pytest.raises(UsageError, match="no template of the family 'bracket' is registered — did you mean brackets"):
        check_registry(root, "bracket")


def test_a_large_registry_is_checked_in_time_and_always_the_same(hub: LoopbackHub, tmp_path: Path) -> None:
    names = [f"owner/model-{number}" for number in range(300)]
    templates = [(f"{TEMPLATE}{{# {name} #}}", "bracketed", name) for name in names]
    for text, _, name in templates:
        hub.commit(name, {JINJA: text, "tokenizer_config.json": "{}"})
    for name in names[::50]:
        hub.delete(name)
    root = write_registry(tmp_path / "registry", *templates)
    hub.latency = 0.05
    with in_time(hub, seconds=15.0):
        report = check_registry(root)
    assert report.counts["checked"] == 300
    assert len(report.findings) == 6
    assert check_registry(root) == report
