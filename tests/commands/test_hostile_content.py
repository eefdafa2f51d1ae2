"""Every command at its work on models, schemas and outputs full of strangers' text: none of it is shown raw."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands.conftest import HOSTILE, Outcome, Rgw, assert_harmless
from commands.test_every_command import commands
from drift import formats
from rgw.app import application

WORKING = formats.TEMPLATE.replace("A small format.", HOSTILE).replace("You may call:", HOSTILE)
CHANGED = WORKING.replace(f"{HOSTILE} {{{{ tools", f"{HOSTILE}{HOSTILE} {{{{ tools")
OUTPUT = f"<think>{HOSTILE}</think>{HOSTILE}<call>" + json.dumps({"name": HOSTILE, "arguments": {HOSTILE: HOSTILE}})
TRL = f"""
from pathlib import Path

_CHAT_TEMPLATES_DIR = Path(__file__).parent / "chat_templates"

tea_schema = {{"x-regex": {"^(?P<content>.*)" + HOSTILE!r}, "type": "object", {HOSTILE!r}: {HOSTILE!r}}}

tea_chat_template = (_CHAT_TEMPLATES_DIR / "tea.jinja").read_text(encoding="utf-8")


def add_response_schema(tokenizer):
    if tokenizer.chat_template == tea_chat_template:
        tokenizer.response_schema = tea_schema
    return tokenizer
"""

FEW = ["--conversations", "10"]
OVERLAY = ["--registry", "overlay"]
WORK: dict[str, tuple[list[str], int]] = {
    "apply": (["WORKING", "WORKING", *OVERLAY, *FEW], 0),
    "check": (["--lock", "hostile.lock", *OVERLAY, *FEW], 1),
    "detect": (["WORKING", "CHANGED", "--prove", *OVERLAY], 1),
    "diff": (["WORKING", "CHANGED"], 1),
    "explain": ([], 0),
    "export": (["bracketed", "--engine", "transformers", *OVERLAY], 0),
    "infer": (["WORKING", *FEW], 0),
    "lint": (["WORKING"], 1),
    "lock": (["WORKING", *OVERLAY], 0),
    "parse": (["output.txt", "--model", "WORKING", *OVERLAY], 0),
    "prove": (["WORKING", *OVERLAY, *FEW], 0),
    "register": (["CHANGED", "--schema", "bracketed", *OVERLAY, *FEW], 0),
    "registry check": (OVERLAY, 0),
    "registry list": (OVERLAY, 0),
    "registry show": (["bracketed", *OVERLAY], 0),
    "resync": (["--trl-source", "TRL", "--registry", "new"], 0),
}


def named(argument: str) -> str:
    return HOSTILE + argument if argument in {"WORKING", "CHANGED", "TRL"} else argument


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (("WORKING", WORKING), ("CHANGED", CHANGED)):
        write_model(tmp_path / named(name), text)
    formats.write_registry(tmp_path / "overlay", (WORKING, "bracketed", ""), reserved=json.dumps(f"{HOSTILE}!"))
    for path in (tmp_path / "overlay" / "schemas").iterdir():
        text = path.read_text("utf-8")
        path.write_text(text.replace("title: Turns", f"title: {json.dumps(HOSTILE)} # Turns"), "utf-8")
    (tmp_path / "output.txt").write_text(f"{OUTPUT}</call>[end]", "utf-8")
    (tmp_path / "new").mkdir()
    (tmp_path / "NOTICE").write_text("TRL pin: none yet\n", "utf-8")
    trl = tmp_path / named("TRL")
    (trl / "trl" / "chat_templates").mkdir(parents=True)
    (trl / "VERSION").write_text("1.6.0\n", "utf-8")
    (trl / "trl" / "chat_templates" / "tea.jinja").write_text(WORKING, "utf-8")
    (trl / "trl" / "chat_template_utils.py").write_text(TRL, "utf-8")
    return tmp_path


def write_model(directory: Path, text: str) -> None:
    directory.mkdir(exist_ok=True)
    (directory / "chat_template.jinja").write_text(text, "utf-8")
    (directory / "tokenizer_config.json").write_text(json.dumps({"eos_token": "[end]"}), "utf-8")


def run(rgw: Rgw, command: str, mode: list[str], project: Path) -> Outcome:
    arguments, _ = WORK[command]
    if command == "check":
        assert rgw("lock", named("WORKING"), *OVERLAY, "--file", "hostile.lock").code == 0
        write_model(project / named("WORKING"), CHANGED)
    return rgw(*command.split(), *map(named, arguments), *mode)


def test_every_command_is_here() -> None:
    assert set(commands(application)) == set(WORK)


@pytest.mark.parametrize("mode", [[], ["--json"], ["--quiet"]], ids=["human", "json", "quiet"])
@pytest.mark.parametrize("command", WORK)
def test_what_strangers_wrote_never_reaches_a_log_raw(command: str, mode: list[str], rgw: Rgw, project: Path) -> None:
    outcome = run(rgw, command, mode, project)
    assert outcome.code == WORK[command][1], outcome.err
    if outcome.out or mode != ["--quiet"]:
        assert_harmless(outcome)
