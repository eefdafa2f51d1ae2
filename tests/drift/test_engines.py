"""transformers against itself: what reads otherwise than recorded is a finding, what is unrecorded is not clean."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from drift.formats import TEMPLATE, write_registry
from rgw.derender import compare
from rgw.drift.checking import Wanted, check
from rgw.drift.engines import check_results, check_samples
from rgw.drift.model import Place, Report
from rgw.drift.recordings import read_recordings, record
from rgw.drift.samples import Recording, sample_results
from rgw.registry.loader import Registry, load_registry

PLACE = Place("registry/sample_results.yaml")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_registry(tmp_path / "registry", (TEMPLATE, "bracketed", "owner/model"))


def write_recordings(root: Path) -> Registry:
    registry = load_registry(packaged=root)
    (root / "sample_results.yaml").write_text(record(registry.schemas.values(), {}), "utf-8")
    return load_registry(packaged=root)


def check_transformers(registry: Registry) -> Report:
    return check(Wanted(samples=True), registry)


def test_what_is_recorded_and_has_not_changed_is_clean(root: Path) -> None:
    report = check_transformers(write_recordings(root))
    assert (report.findings, report.exit_code()) == ((), 0)
    assert [subject.outcome for subject in report.subjects] == ["checked"] * 4


def test_what_was_never_recorded_is_skipped_with_its_reason(root: Path) -> None:
    report = check_transformers(load_registry(packaged=root))
    skipped = [subject for subject in report.subjects if subject.outcome == "skipped"]
    assert [subject.name for subject in skipped] == [
        "parse_response with schema bracketed",
        "parse_response with schema tooled",
    ]
    assert {subject.reason for subject in skipped} == {"no result is recorded for its samples as they are now"}


def test_a_transformers_that_returns_something_else_is_breaking(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = write_recordings(root)
    monkeypatch.setattr(compare, "_parse", lambda *_: {"role": "assistant", "content": "all of it"})
    report = check_transformers(registry)
    assert [(finding.kind, finding.severity) for finding in report.findings] == [("parsing-changed", "breaking")] * 2
    assert "the sample 'a call'" in report.findings[0].message


def test_a_transformers_that_returns_the_same_otherwise_is_compatible(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = write_recordings(root)
    parse = compare._parse
    monkeypatch.setattr(compare, "_parse", lambda *given: {**parse(*given), "refusal": None})
    report = check_transformers(registry)
    assert [finding.severity for finding in report.findings] == ["compatible"] * 2


def test_a_transformers_that_raises_is_breaking(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = write_recordings(root)

    def fail(*_: object) -> object:
        raise ValueError("no such thing")

    monkeypatch.setattr(compare, "_parse", fail)
    assert [finding.severity for finding in check_transformers(registry).findings] == ["breaking"] * 2


def test_a_sample_that_is_misread_is_breaking(root: Path) -> None:
    schema = load_registry(packaged=root).schema("bracketed")
    (sample,) = schema.samples
    wrong = replace(schema, samples=(replace(sample, expected={"text": "something else"}),))
    [(subject, (finding,))] = list(check_samples([wrong], PLACE))
    assert (finding.kind, finding.severity, subject.name) == ("sample-misread", "breaking", finding.subject)
    assert "sample 'a call': reasoning is 'Look.', not ''" in finding.message


def test_a_schema_that_cannot_run_here_is_breaking(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = load_registry(packaged=root).schema("bracketed")
    monkeypatch.setattr("rgw.derender.engines.transformers_version", lambda: (5, 4))
    _, (finding,) = check_results(schema, [Recording("5.24.0", {})], PLACE)
    assert finding.severity == "breaking"
    assert "needs transformers >= 5.13" in finding.message


def test_a_result_is_only_compared_with_the_answer_to_the_same_question(root: Path) -> None:
    schema = load_registry(packaged=root).schema("bracketed")
    (result,) = sample_results(schema)
    edited = replace(schema, samples=(replace(schema.samples[0], output="[end]"),))
    recording = Recording("5.20.0", {result.question: "0" * 16})
    assert check_results(edited, [recording], PLACE)[0].outcome == "skipped"
    _, (finding,) = check_results(schema, [recording], PLACE)
    assert "than with 5.20.0" in finding.message


def test_recordings_of_other_versions_are_kept(root: Path) -> None:
    schemas = load_registry(packaged=root).schemas.values()
    old = {"bracketed": [Recording("5.12.1", {"a" * 16: "b" * 16})]}
    (root / "sample_results.yaml").write_text(record(schemas, old), "utf-8")
    recordings = read_recordings(root, "registry")
    assert recordings["bracketed"][0] == Recording("5.12.1", {"a" * 16: "b" * 16})
    assert len(recordings["bracketed"]) == 2
