"""`rgw detect` on GGUF files: the embedded template is identified like any other and compared with the base model."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commands.conftest import EXAMPLES, KIOSK, Rgw, ended, start
from templates.gguf_files import LITTLE

KEY = "tokenizer.chat_template"
MODEL = EXAMPLES / "model"
KIOSK_TEXT = (MODEL / "chat_template.jinja").read_text(encoding="utf-8")
BASE = LITTLE.text("general.base_model.0.repo_url", "https://huggingface.co/owner/base")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A GGUF file with the template of the example model."""
    path = tmp_path / "model-Q4.gguf"
    path.write_bytes(LITTLE.file(BASE, LITTLE.text(KEY, KIOSK_TEXT)))
    return path


def test_the_embedded_template_has_a_schema(rgw: Rgw, model: Path) -> None:
    outcome = rgw("detect", model, *KIOSK, "--json")
    [result] = outcome.document["results"]
    assert (outcome.code, outcome.err) == (0, "")
    assert (result["schema"]["name"], result["templates"][0]["source"]) == ("kiosk", KEY)
    told = "not compared: a local file asks no hub — add --base-model owner/base"
    assert result["base_model"] == {"ref": "owner/base", "sha256": None, "equal": None, "message": told}


def test_it_is_compared_with_the_base_model_that_is_named(rgw: Rgw, model: Path) -> None:
    same = rgw("detect", model, *KIOSK, "--base-model", MODEL)
    assert same.code == 0
    assert "equal to its template" in same.out
    other = rgw("detect", model, *KIOSK, "--base-model", EXAMPLES / "edited-model", "--json")
    assert other.document["results"][0]["base_model"]["equal"] is False


def test_a_base_model_that_cannot_be_read_is_an_error(rgw: Rgw, model: Path, tmp_path: Path) -> None:
    outcome = rgw("detect", model, *KIOSK, "--base-model", tmp_path / "missing")
    assert (outcome.code, outcome.out) == (3, "")
    assert outcome.err.startswith(f"error: {tmp_path}/missing: no such file or directory")


def test_a_file_that_is_damaged_is_one_line(rgw: Rgw, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(LITTLE.file(count=2**60))
    outcome = rgw("detect", path, "--json")
    assert outcome.code == 3
    assert outcome.document["results"][0]["status"] == "error"
    assert outcome.err.count("\n") == 1
    assert "claims 1,152,921,504,606,846,976 metadata entries" in outcome.err


def test_names_in_the_metadata_cannot_reach_the_terminal_raw(rgw: Rgw, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(LITTLE.file(LITTLE.text(f"{KEY}.\x1b[2J", "text")))
    for mode in ((), ("--json",), ("--quiet",)):
        outcome = rgw("detect", path, *mode)
        assert outcome.code == 1
        assert "\x1b" not in outcome.out + outcome.err


def test_neither_the_gguf_library_nor_numpy_is_imported(model: Path) -> None:
    """The file is read by a process in which importing them fails."""
    blocked = model.parent / "blocked"
    blocked.mkdir()
    for name in ("gguf", "numpy", "huggingface_hub", "transformers"):
        (blocked / f"{name}.py").write_text("raise SystemExit('imported')", encoding="utf-8")
    path = os.pathsep.join(filter(None, [str(blocked), os.environ.get("PYTHONPATH")]))
    ended(start("detect", model, *KIOSK, "--quiet", env={"PYTHONPATH": path}), 0)
