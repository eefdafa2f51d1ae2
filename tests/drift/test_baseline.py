"""A baseline accepts findings, each for a reason, and no entry outlives its finding unseen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rgw.drift.baseline import apply_baseline, read_baseline, write_baseline
from rgw.drift.model import Finding, FindingKind, Outcome, Place, Severity, Subject
from rgw.errors import RegistryError, UsageError

PLACE = Place("rgw.lock", 3)
FINDING = Finding(FindingKind.TEMPLATE_CHANGED, Severity.BREAKING, "owner/model", "changed", PLACE, identity=("a", "b"))
SUBJECT = Subject("owner/model", PLACE)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "baseline.yaml"


@pytest.fixture
def baseline(path: Path) -> Path:
    write_baseline(path, (), [FINDING], "known until 2.3")
    return path


def test_what_is_accepted_is_no_finding_and_keeps_its_reason(baseline: Path) -> None:
    left, accepted = apply_baseline(read_baseline(baseline), [FINDING], [SUBJECT])
    assert left == []
    assert [(entry.finding, entry.reason) for entry in accepted] == [(FINDING, "known until 2.3")]


@pytest.mark.parametrize(
    "change", [{"message": "otherwise"}, {"place": Place("other", 99)}, {"severity": Severity.UNKNOWN}, {"diff": "-a"}]
)
def test_a_finding_stays_accepted_whatever_its_words_and_place(change: dict[str, object], baseline: Path) -> None:
    found = replace(FINDING, **change)  # type: ignore[arg-type]
    left, accepted = apply_baseline(read_baseline(baseline), [found], [SUBJECT])
    assert (left, len(accepted)) == ([], 1)


@pytest.mark.parametrize(
    "change", [{"identity": ("a", "c")}, {"subject": "owner/other"}, {"kind": FindingKind.TEMPLATE_ADDED}]
)
def test_another_finding_is_not_accepted(change: dict[str, object], baseline: Path) -> None:
    found = replace(FINDING, **change)  # type: ignore[arg-type]
    left, accepted = apply_baseline(read_baseline(baseline), [found], [])
    assert (left, accepted) == ([found], [])


def test_an_entry_whose_finding_no_longer_occurs_is_a_finding(baseline: Path) -> None:
    left, _ = apply_baseline(read_baseline(baseline), [], [SUBJECT])
    (stale,) = left
    assert (stale.kind, stale.severity, stale.subject) == ("stale-acceptance", "cosmetic", "owner/model")
    assert FINDING.fingerprint in stale.message
    assert (stale.place.file, stale.place.line) == (str(baseline), 3)


@pytest.mark.parametrize("subjects", [[], [replace(SUBJECT, outcome=Outcome.FAILED)]])
def test_an_entry_about_what_was_not_checked_is_left_alone(subjects: list[Subject], baseline: Path) -> None:
    assert apply_baseline(read_baseline(baseline), [], subjects) == ([], [])


def test_entries_are_added_to_those_that_stand(baseline: Path) -> None:
    other = replace(FINDING, subject="owner/other")
    stale = replace(FINDING, kind=FindingKind.STALE_ACCEPTANCE)
    write_baseline(baseline, read_baseline(baseline), [other, stale], "also known")
    assert [(entry.subject, entry.reason) for entry in read_baseline(baseline)] == [
        ("owner/model", "known until 2.3"),
        ("owner/other", "also known"),
    ]


@pytest.mark.parametrize("reason", ["", "  "])
def test_nothing_is_accepted_without_a_reason(reason: str, path: Path) -> None:
    with pytest.raises(UsageError, match="without a reason"):
        write_baseline(path, (), [FINDING], reason)
    assert not path.exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("reason: known until 2.3", "reason: ''", r"baseline\.yaml:6: 'reason' must not be blank"),
        ("  reason: known until 2.3\n", "", r"baseline\.yaml:3: 'reason' is missing"),
        ("kind: template-changed", "kind: changed", r"baseline\.yaml:4: 'kind' must be one of"),
        ("fingerprint: ", "fingerprint: x", r"baseline\.yaml:3: 'fingerprint' must be the 16"),
    ],
)
def test_what_is_not_valid_is_named_with_its_line(old: str, new: str, message: str, baseline: Path) -> None:
    text = baseline.read_text("utf-8").replace("'", "")
    assert old in text
    baseline.write_text(text.replace(old, new), "utf-8")
    with pytest.raises(RegistryError, match=message):
        read_baseline(baseline)


def test_an_entry_that_stands_twice_is_refused(baseline: Path) -> None:
    text = baseline.read_text("utf-8")
    baseline.write_text(text + text.partition("accepted:\n")[2], "utf-8")
    with pytest.raises(RegistryError, match="stands in line 3 already"):
        read_baseline(baseline)
