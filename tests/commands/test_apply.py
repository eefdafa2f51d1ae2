"""`rgw apply` writes what is proved into the model directory that has the template, and nothing else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from commands.conftest import EXAMPLES, KIOSK, Rgw

FEW = [*KIOSK, "--conversations", "20"]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLES / "model", tmp_path / "model"))


def test_a_proved_schema_is_written_and_the_rest_of_the_file_kept(rgw: Rgw, model: Path) -> None:
    before = (model / "tokenizer_config.json").read_text("utf-8")
    outcome = rgw("apply", EXAMPLES / "model", model, *FEW)
    assert outcome.code == 0, outcome.err
    assert "reads with kiosk" in outcome.out
    assert (model / "tokenizer_config.json.bak").read_text("utf-8") == before
    after = json.loads((model / "tokenizer_config.json").read_text("utf-8"))
    assert "tool_calls" in after.pop("response_template")["fields"]
    assert after == json.loads(before)
    detection = rgw("detect", model, *KIOSK, "--json").document["results"][0]
    assert detection["native_response_template"] is True


def test_the_document(rgw: Rgw, model: Path) -> None:
    document = rgw("apply", model, model, *FEW, "--json").document
    assert (document["version"], document["schema"]) == (1, "kiosk")
    assert document["backup"] == str(model / "tokenizer_config.json.bak")
    again = rgw("apply", model, model, *FEW, "--json").document
    assert again["backup"] is None


def test_an_unrecognised_template_is_not_written(rgw: Rgw, tmp_path: Path) -> None:
    edited = Path(shutil.copytree(EXAMPLES / "edited-model", tmp_path / "edited"))
    outcome = rgw("apply", edited, edited, *FEW)
    assert outcome.code == 1
    assert "nothing was written" in outcome.err
    assert not (edited / "tokenizer_config.json.bak").exists()


def test_only_a_directory_on_this_machine_is_written_to(rgw: Rgw, model: Path) -> None:
    outcome = rgw("apply", model, "owner/model", *FEW)
    assert outcome.code == 3
    assert outcome.err == "error: owner/model: no such directory — name the directory of a chat model\n"


def test_a_directory_with_another_template_is_refused(rgw: Rgw, model: Path) -> None:
    assert rgw("apply", EXAMPLES / "edited-model", model, *FEW).code == 2
