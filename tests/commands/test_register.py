"""`rgw register` writes what it can prove to a project's own registry, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands.conftest import EXAMPLES, Rgw

MODEL = EXAMPLES / "model"
EDITED = EXAMPLES / "edited-model"
KIOSK_FILE = EXAMPLES / "registry" / "schemas" / "kiosk.yaml"
AS_KIOSK = ["--schema", "kiosk", "--as-file", KIOSK_FILE, "--conversations", "20"]


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    return tmp_path / "project" / "registry"


def test_a_new_schema_and_its_template_are_recognised_afterwards(rgw: Rgw, overlay: Path) -> None:
    outcome = rgw("register", EDITED, *AS_KIOSK, "--registry", overlay)
    assert outcome.code == 0
    assert outcome.out.startswith("✓ proved")
    assert "registered as edited-model" in outcome.out
    detection = rgw("detect", EDITED, "--registry", overlay, "--json")
    assert (detection.code, detection.document["results"][0]["schema"]["name"]) == (0, "kiosk")
    reading = rgw("parse", EXAMPLES / "outputs" / "complete.txt", "--model", EDITED, "--registry", overlay, "--json")
    assert (reading.code, len(reading.document["results"][0]["tool_uses"])) == (0, 2)


def test_the_entry_says_what_was_proved(rgw: Rgw, overlay: Path) -> None:
    document = rgw("register", EDITED, *AS_KIOSK, "--registry", overlay, "--variant", "mine", "--json").document
    entry, attempt = document["registered"], document["attempt"]
    assert (entry["variant"], entry["family"], entry["schema"]) == ("mine", "kiosk", "kiosk")
    assert entry["sha256"] == attempt["sha256"]
    assert entry["certificate"] == attempt["certificate_digest"]
    assert entry["behaviour"].startswith("1-")
    assert entry["seen_in"] == [str(EDITED)]


def test_more_templates_join_and_the_same_one_is_replaced(rgw: Rgw, overlay: Path) -> None:
    rgw("register", EDITED, *AS_KIOSK, "--registry", overlay)
    by_name = ["--schema", "kiosk", "--conversations", "20", "--registry", overlay]
    assert rgw("register", MODEL, *by_name).code == 0
    assert rgw("register", EDITED, *by_name, "--variant", "again").code == 0
    listed = rgw("registry", "list", "--registry", overlay, "--json").document["templates"]
    assert sorted(entry["variant"] for entry in listed if entry["layer"] == "overlay") == ["again", "model"]


def test_a_pair_that_does_not_prove_is_refused_with_its_counterexample(rgw: Rgw, overlay: Path) -> None:
    outcome = rgw("register", MODEL, "--schema", "qwen3", "--conversations", "20", "--registry", overlay)
    assert outcome.code == 1
    assert "counterexample" in outcome.out
    assert "nothing was written" in outcome.out
    assert not overlay.exists()


def test_a_slow_schema_is_refused(rgw: Rgw, overlay: Path, tmp_path: Path) -> None:
    slow = tmp_path / "kiosk.yaml"
    slow.write_text(
        KIOSK_FILE.read_text("utf-8").replace("open: <|think|>", r"open_pattern: <\|think\|>(?=.*<\|/think\|>)"),
        "utf-8",
    )
    outcome = rgw("register", MODEL, "--schema", "kiosk", "--as-file", slow, "--registry", overlay, "--json")
    assert outcome.code == 1
    assert outcome.document["registered"] is None
    [finding] = outcome.document["attempt"]["certificate"]["findings"]
    assert finding["kind"] == "superlinear"
    assert "not registered" in outcome.err
    assert not overlay.exists()


def test_a_schema_that_does_not_validate_is_named_with_its_line(rgw: Rgw, overlay: Path, tmp_path: Path) -> None:
    broken = tmp_path / "kiosk.yaml"
    broken.write_text(KIOSK_FILE.read_text("utf-8").replace("dialects:", "dialect:"), "utf-8")
    outcome = rgw("register", MODEL, "--schema", "kiosk", "--as-file", broken, "--registry", overlay)
    assert (outcome.code, outcome.out) == (3, "")
    assert "kiosk.yaml:6" in outcome.err
    assert not overlay.exists()


def test_a_name_that_is_taken_is_not_given_to_another_schema(rgw: Rgw, overlay: Path, tmp_path: Path) -> None:
    other = tmp_path / "qwen3.yaml"
    other.write_text(KIOSK_FILE.read_text("utf-8").replace("name: kiosk", "name: qwen3"), "utf-8")
    outcome = rgw("register", MODEL, "--schema", "qwen3", "--as-file", other, "--registry", overlay)
    assert (outcome.code, outcome.out) == (2, "")
    assert "another schema 'qwen3'" in outcome.err


@pytest.mark.parametrize("arguments", [[MODEL, "--schema", "kiosk"], [MODEL, "--registry", "x"]])
def test_schema_and_registry_must_be_named(arguments: list[object], rgw: Rgw) -> None:
    assert rgw("register", *arguments).code == 2
