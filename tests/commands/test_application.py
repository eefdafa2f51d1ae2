"""However a command fails, there is one line on stderr and an exit code that says what kind of failure it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from commands.conftest import EXAMPLES, KIOSK, Outcome, Rgw, ended, start
from rgw import __version__

HEAVY = ("transformers", "huggingface_hub", "numpy", "rich", "jmespath", "jinja2", "yaml")
MODEL = EXAMPLES / "model"


def modules_after(*arguments: object) -> set[str]:
    """Which heavy modules a command has loaded when it ends."""
    script = (
        "import sys; from rgw.app import run; run(sys.argv[1:]);"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    command = [sys.executable, "-c", script, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(eval(result.stderr.splitlines()[-1]))


def assert_one_line(outcome: Outcome, code: int, *parts: str) -> None:
    assert outcome.code == code, outcome.err
    assert outcome.err.count("\n") == 1
    assert outcome.err.startswith("error: ")
    for part in parts:
        assert part in outcome.err


def test_help_loads_nothing_heavy() -> None:
    assert modules_after("--help") == set()


def test_detecting_a_directory_loads_neither_transformers_nor_the_hub_client() -> None:
    assert modules_after("detect", MODEL, *KIOSK, "--json") <= {"yaml"}
    assert modules_after("detect", MODEL, *KIOSK) <= {"yaml", "rich"}


def test_version(rgw: Rgw) -> None:
    assert rgw("--version") == (0, f"rgw {__version__}\n", "")


def test_without_a_command_there_is_help_and_a_usage_error(rgw: Rgw) -> None:
    outcome = rgw()
    assert outcome.code == 2
    assert outcome.out.startswith("Usage: rgw")


@pytest.mark.parametrize(
    "command", [[], ["check"], ["detect"], ["lock"], ["parse"], ["resync"], ["registry"], ["registry", "list"]]
)
def test_every_command_has_help(command: list[str], rgw: Rgw) -> None:
    for flag in ("--help", "-h"):
        outcome = rgw(*command, flag)
        assert (outcome.code, outcome.err) == (0, "")
        assert outcome.out.startswith(f"Usage: {' '.join(['rgw', *command])}")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["detct"], "Did you mean 'detect'?"),
        (["detect"], "Missing argument"),
        (["detect", "--nonsense", "x"], "No such option: --nonsense"),
        (["parse", "x", "--cut-call", "mend"], "--cut-call"),
        (["registry", "lst"], "rgw registry --help"),
        (["export", "qwen3"], "Choose from: transformers, vllm, sglang"),
    ],
)
def test_usage_errors_are_one_line_that_names_the_help(arguments: list[str], part: str, rgw: Rgw) -> None:
    assert_one_line(rgw(*arguments), 2, part, "--help'")


def test_a_foreseen_failure_has_no_traceback_unless_asked_for(rgw: Rgw, tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    assert_one_line(rgw("parse", missing, "--schema", "qwen3"), 3, str(missing))
    outcome = rgw("parse", missing, "--schema", "qwen3", "--debug")
    assert outcome.code == 3
    assert outcome.err.startswith("Traceback")
    assert "error: " in outcome.err.splitlines()[-1]


def test_an_unforeseen_failure_asks_for_a_report(rgw: Rgw, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise LookupError("first \x1b[31m line\nsecond line")

    monkeypatch.setattr("rgw.registry.loader.load_registry", broken)
    outcome = rgw("registry", "list")
    assert_one_line(outcome, 3, r"unexpected LookupError: first \x1b[31m line", "report it", "--debug")
    assert "second line" not in outcome.err


def test_a_failure_of_the_system_is_told_by_its_own_words(rgw: Rgw, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "/registry")

    monkeypatch.setattr("rgw.registry.loader.load_registry", refused)
    assert_one_line(rgw("registry", "list"), 3, "/registry: Permission denied")


def test_a_registry_that_does_not_validate_is_one_line(rgw: Rgw, tmp_path: Path) -> None:
    (tmp_path / "templates.yaml").write_text("templates: 3\n", encoding="utf-8")
    assert_one_line(rgw("registry", "list", "--registry", tmp_path), 3, "templates.yaml")


def test_the_environment_names_the_overlay(rgw: Rgw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RGW_REGISTRY", str(EXAMPLES / "registry"))
    assert rgw("detect", MODEL, "-q") == (0, "kiosk\n", "")


@pytest.mark.parametrize("arguments", [["registry", "list"], ["registry", "list", "--json"], ["--help"]])
def test_a_reader_that_has_gone_ends_the_command_quietly(arguments: list[str]) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    process = start(*arguments, stdout=write_end)
    os.close(write_end)
    assert ended(process, 141) == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["registry", "list"], ["registry", "list", "--json"], ["--version"], ["--help"]])
def test_a_full_disk_is_one_line(arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        said = ended(start(*arguments, stdout=full), 3)
    assert said.startswith("error: ")
    assert "No space left on device" in said
    assert said.count("\n") == 1


def test_a_closed_stdout_is_one_line() -> None:
    said = ended(start("registry", "list", preexec_fn=lambda: os.close(1)), 3)
    assert said == "error: the result could not be written: standard output is closed — redirect it to a file\n"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_stream_that_cannot_carry_a_character_is_no_failure(encoding: str, tmp_path: Path) -> None:
    sample = tmp_path / "日.txt"
    sample.write_text("日本 ⏎ é<|im_end|>", encoding="utf-8")
    for mode in ([], ["--json"]):
        process = start(
            "parse", sample, "--schema", "qwen3", *mode, env={"PYTHONIOENCODING": encoding}, stdout=subprocess.PIPE
        )
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        out.decode(encoding)


def test_an_interrupt_ends_the_command_quietly(tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    os.mkfifo(lines)
    process = start("parse", lines, "--jsonl", "--schema", "qwen3", stdout=subprocess.PIPE)
    with lines.open("wb", buffering=0) as writer:
        writer.write(b'{"output": "one<|im_end|>"}\n')
        assert process.stdout is not None
        first = process.stdout.readline()  # it now waits for the second line
        process.send_signal(signal.SIGINT)
        assert b'"text": "one"' in first
        assert ended(process, 130) == ""
