"""What holds for every command: what strangers wrote never reaches a log raw, and what is unknown is never clean."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from commands.conftest import HOSTILE, KIOSK, Outcome, Rgw, assert_harmless
from rgw.app import application

TEMPLATE = "{{ raise_exception(message) }}" + HOSTILE

# With strangers' text in every place that the command reads; MODEL is a directory whose name and template are hostile.
HOSTILE_ARGUMENTS: dict[str, list[str]] = {
    "apply": ["MODEL", "OTHER", "--conversations", "1"],
    "check": ["--lock", "hostile.lock", *KIOSK, "--conversations", "1"],
    "detect": ["MODEL", "MISSING", *KIOSK],
    "diff": ["MODEL", "OTHER"],
    "explain": ["HOSTILE"],
    "export": ["HOSTILE", "--engine", "vllm"],
    "infer": ["MODEL", "--conversations", "1"],
    "lint": ["MODEL", "MISSING"],
    "lock": ["MODEL", *KIOSK],
    "parse": ["output.txt", "--schema", "qwen3"],
    "prove": ["MODEL", "--schema", "qwen3", "--conversations", "1"],
    "register": ["MODEL", "--schema", "qwen3", "--registry", "overlay", "--conversations", "1"],
    "registry check": ["--registry", "MISSING"],
    "registry list": ["--registry", "MISSING"],
    "registry show": ["HOSTILE"],
    "resync": ["--trl-source", "MISSING"],
}

# Where the answer cannot be known. No command may exit 0 then.
UNKNOWN_ARGUMENTS: dict[str, list[str]] = {
    "apply": ["MODEL", "MODEL", "--conversations", "1"],
    "check": ["--lock", "hostile.lock", *KIOSK, "--fail-on", "breaking", "--conversations", "1"],
    "detect": ["MODEL", *KIOSK],
    "diff": ["MODEL", "MISSING"],
    "explain": ["no-such-rule"],
    "export": ["no-such-schema", "--engine", "vllm"],
    "infer": ["MODEL", "--conversations", "1"],
    "lint": ["MISSING"],
    "lock": ["MODEL", *KIOSK],
    "parse": ["output.txt", "--schema", "no-such-schema"],
    "prove": ["MODEL"],
    "register": ["MODEL", "--schema", "qwen3", "--registry", "overlay", "--conversations", "1"],
    "registry check": ["--registry", "MISSING"],
    "registry list": ["--registry", "MISSING"],
    "registry show": ["no-such-schema"],
    "resync": ["--trl-source", "MISSING", "--check"],
}


def commands(group: typer.Typer, prefix: str = "") -> Iterator[str]:
    for command in group.registered_commands:
        yield f"{prefix}{command.name}"
    for subgroup in group.registered_groups:
        assert subgroup.typer_instance is not None
        yield from commands(subgroup.typer_instance, f"{prefix}{subgroup.name} ")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("MODEL", "OTHER"):
        directory = tmp_path / named(name)
        directory.mkdir()
        (directory / "chat_template.jinja").write_text(f"{TEMPLATE}{name}", "utf-8")
    (tmp_path / "output.txt").write_text(f"{HOSTILE}<think>{HOSTILE}</think><tool_call>{HOSTILE}", "utf-8")
    (tmp_path / "overlay").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def named(argument: str) -> str:
    """What an argument stands for."""
    return HOSTILE + argument if argument in {"MODEL", "OTHER", "MISSING", "HOSTILE"} else argument


def run(rgw: Rgw, command: str, arguments: list[str], project: Path) -> Outcome:
    if command == "check":
        assert rgw("lock", named("MODEL"), *KIOSK, "--file", "hostile.lock").code == 1
        (project / named("MODEL") / "chat_template.jinja").write_text(TEMPLATE + HOSTILE, "utf-8")
    return rgw(*command.split(), *map(named, arguments))


def test_every_command_is_here() -> None:
    assert set(commands(application)) == set(HOSTILE_ARGUMENTS) == set(UNKNOWN_ARGUMENTS)


@pytest.mark.parametrize("mode", [[], ["--json"], ["--quiet"]], ids=["human", "json", "quiet"])
@pytest.mark.parametrize("command", HOSTILE_ARGUMENTS)
def test_what_strangers_wrote_never_reaches_a_log_raw(command: str, mode: list[str], rgw: Rgw, project: Path) -> None:
    assert_harmless(run(rgw, command, [*HOSTILE_ARGUMENTS[command], *mode], project))


@pytest.mark.parametrize("command", UNKNOWN_ARGUMENTS)
def test_what_is_unknown_is_never_clean(command: str, rgw: Rgw, project: Path) -> None:
    outcome = run(rgw, command, UNKNOWN_ARGUMENTS[command], project)
    assert outcome.code in {1, 2, 3}
    assert outcome.out + outcome.err
