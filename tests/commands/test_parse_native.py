"""`rgw parse --native` reads with what a model ships: only on request, measured first, bounded, and never unnoticed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from commands.conftest import EXAMPLES, KIOSK, Rgw
from rgw.registry.loader import load_registry
from rgw.registry.model import Dialect

OUTPUT = EXAMPLES / "outputs" / "complete.txt"
NATIVE = load_registry(EXAMPLES / "registry").schema("kiosk").dialects[Dialect.RESPONSE_TEMPLATE]
SLOW = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<bot>",
    "fields": {"content": {"close_pattern": "(?:(a|b|ab)*)*c<end>", "content": "text"}},
}


def model(tmp_path: Path, native: Any) -> Path:
    """The example model, with a response template of its own."""
    directory = tmp_path / "model"
    shutil.copytree(EXAMPLES / "model", directory)
    path = directory / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "response_template": native}), "utf-8")
    return directory


def test_it_reads_as_the_same_schema_does_from_a_registry(rgw: Rgw, tmp_path: Path) -> None:
    directory = model(tmp_path, NATIVE)
    native = rgw("parse", OUTPUT, "--model", directory, "--native", "--json")
    registered = rgw("parse", OUTPUT, "--model", directory, *KIOSK, "--no-compare", "--json")
    assert native.code == registered.code == 0
    [one], [other] = native.document["results"], registered.document["results"]
    assert one.pop("schema") == f"native:{directory}"
    assert other.pop("schema") == "kiosk"
    assert one["tool_uses"][0]["name"] == "find_item"
    assert {**one, "end_of_turn": True} == other


def test_it_is_said_wherever_it_is_shown(rgw: Rgw, tmp_path: Path) -> None:
    directory = model(tmp_path, NATIVE)
    outcome = rgw("parse", OUTPUT, "--model", directory, "--native")
    assert f"read with native:{directory}" in outcome.out.replace("\n", "")
    assert outcome.err == "hint: read with what the model itself ships, which is in no registry and proved by nobody\n"


def test_it_is_never_used_unasked(rgw: Rgw, tmp_path: Path) -> None:
    """Without the overlay the template is not registered."""
    outcome = rgw("parse", OUTPUT, "--model", model(tmp_path, NATIVE))
    assert (outcome.code, outcome.out) == (1, "")
    assert "is not registered" in outcome.err


def test_a_stream_reads_with_it_too(rgw: Rgw, tmp_path: Path) -> None:
    records = tmp_path / "outputs.jsonl"
    text = OUTPUT.read_text("utf-8")
    records.write_text(json.dumps({"output": text}) + "\n" + json.dumps({"output": text, "schema": "qwen3"}), "utf-8")
    outcome = rgw("parse", records, "--jsonl", "--model", model(tmp_path, NATIVE), "--native")
    assert outcome.code == 2
    good, bad = outcome.records
    assert good["tool_uses"][0]["name"] == "find_item"
    assert bad["error"].startswith("a schema's name is not native")


def test_one_that_takes_minutes_is_refused_before_it_reads(rgw: Rgw, tmp_path: Path) -> None:
    outcome = rgw("parse", OUTPUT, "--model", model(tmp_path, SLOW), "--native")
    assert (outcome.code, outcome.out) == (3, "")
    assert "rewrite the pattern" in outcome.err


@pytest.mark.parametrize("native", [{}, {"fields": {}}, {"start_anchor": "x", "fields": {"other": {"open": "a"}}}])
def test_one_that_is_not_valid_is_one_line(rgw: Rgw, tmp_path: Path, native: Any) -> None:
    outcome = rgw("parse", OUTPUT, "--model", model(tmp_path, native), "--native", "--quiet")
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (3, "", 1)


def test_a_model_that_ships_none_is_told(rgw: Rgw) -> None:
    outcome = rgw("parse", OUTPUT, "--model", EXAMPLES / "model", "--native", "--quiet")
    assert outcome.code == 3
    assert "ships no response_template of its own" in outcome.err


@pytest.mark.parametrize(
    "arguments", [["--native"], ["--native", "--schema", "qwen3"], ["--native", "--compare", "--model", "x"]]
)
def test_what_cannot_be_meant_is_a_usage_error(rgw: Rgw, arguments: list[str]) -> None:
    outcome = rgw("parse", OUTPUT, *arguments)
    assert (outcome.code, outcome.out) == (2, "")
