"""`rgw lock` writes down which models a project uses, all of what was asked or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from commands.conftest import EXAMPLES, KIOSK, Rgw
from loopback_hub import LoopbackHub

MODEL = EXAMPLES / "model"
EDITED = EXAMPLES / "edited-model"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def locked(project: Path) -> list[str]:
    return [Path(model["ref"]).name for model in yaml.safe_load((project / "rgw.lock").read_text("utf-8"))["models"]]


def test_a_model_is_locked_with_its_schema(rgw: Rgw, project: Path) -> None:
    outcome = rgw("lock", MODEL, *KIOSK)
    assert (outcome.code, outcome.err) == (0, "")
    assert "kiosk" in outcome.out
    assert "1 model locked in rgw.lock" in outcome.out
    assert locked(project) == ["model"]


def test_for_programs_and_scripts(rgw: Rgw) -> None:
    outcome = rgw("lock", MODEL, *KIOSK, "--json")
    assert (outcome.document["version"], outcome.document["models"][0]["templates"][0]["schema"]) == (1, "kiosk")
    assert rgw("lock", MODEL, *KIOSK, "--quiet") == (0, f"{MODEL}\n", "")
    assert rgw("lock", MODEL, *KIOSK, "--query", "length(models)").out == "1\n"


def test_a_model_without_a_schema_is_locked_and_told(rgw: Rgw, project: Path) -> None:
    outcome = rgw("lock", MODEL, EDITED, *KIOSK)
    assert outcome.code == 1
    assert outcome.err.startswith(f"warning: {EDITED}: no schema is registered for its chat template")
    assert "no schema" in outcome.out
    assert locked(project) == ["edited-model", "model"]


def test_a_further_model_is_added_and_all_are_locked_anew_without_a_ref(rgw: Rgw, project: Path) -> None:
    rgw("lock", MODEL, *KIOSK)
    rgw("lock", EDITED, *KIOSK)
    assert locked(project) == ["edited-model", "model"]
    before = (project / "rgw.lock").read_bytes()
    assert rgw("lock", *KIOSK).code == 1
    assert (project / "rgw.lock").read_bytes() == before


def test_one_model_that_cannot_be_read_leaves_the_file_alone(rgw: Rgw, project: Path) -> None:
    rgw("lock", MODEL, *KIOSK)
    before = (project / "rgw.lock").read_bytes()
    outcome = rgw("lock", MODEL, project / "missing", *KIOSK)
    assert outcome.code == 3
    assert outcome.err.startswith("error: not locked: ")
    assert outcome.err.count("\n") == 1
    assert (project / "rgw.lock").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        ([], 3, "rgw.lock: no such file — write it with `rgw lock REF...`"),
        (["--revision", "v1"], 2, "--revision needs to know of which models"),
        ([str(MODEL), "--revision", "v1"], 2, "is local and has no revisions"),
        ([str(MODEL), "--file", "missing/rgw.lock"], 3, "could not be written"),
    ],
)
def test_what_cannot_be_done_is_one_line(arguments: list[str], code: int, part: str, rgw: Rgw) -> None:
    outcome = rgw("lock", *arguments, *KIOSK)
    assert outcome.code == code
    assert part in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_revision_is_followed(rgw: Rgw, project: Path, hub: LoopbackHub) -> None:
    template = (MODEL / "chat_template.jinja").read_text("utf-8")
    first = hub.commit("owner/model", {"chat_template.jinja": template}, branch="v1")
    hub.commit("owner/model", {"chat_template.jinja": "other"})
    assert rgw("lock", "owner/model@v1", *KIOSK).code == 0
    (model,) = yaml.safe_load((project / "rgw.lock").read_text("utf-8"))["models"]
    assert (model["ref"], model["revision"], model["commit"]) == ("owner/model", "v1", first)
    assert rgw("check", *KIOSK).code == 0
