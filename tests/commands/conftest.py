"""What the tests of the commands share: running a command in this process or as a person would."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rgw.app import run

EXAMPLES = Path(__file__).parents[2] / "examples"
KIOSK = ["--registry", str(EXAMPLES / "registry")]
"""The overlay that knows the example model."""


HOSTILE = "\x1b]0;owned\x07\x1b[2J\n::error::owned\n  ::stop-commands::owned\n##[error]owned\u202e[bold red]x"
"""What a stranger may write: escapes that a terminal obeys, commands that a CI log obeys, markup that Rich obeys."""

_LOG_COMMAND = re.compile(r"^\s*::|##\[", re.MULTILINE)
_CONTROL = {"Cc", "Cf", "Cs", "Zl", "Zp"}


class Outcome(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)

    @property
    def records(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Rgw = Callable[..., Outcome]


def assert_harmless(outcome: Outcome) -> None:
    """Something was shown, and nothing of it is obeyed by a terminal or a CI log."""
    shown = outcome.out + outcome.err
    assert shown
    assert not _CONTROL & {unicodedata.category(character) for character in shown if character not in "\n\t"}
    assert not _LOG_COMMAND.search(shown)


@pytest.fixture
def rgw(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Rgw:
    """Run a command in this process; `stdin` is what it finds there."""

    def call(*arguments: object, stdin: Path | None = None) -> Outcome:
        if stdin is not None:
            monkeypatch.setattr("sys.stdin", stdin.open(encoding="utf-8"))
        capfd.readouterr()
        code = run([str(argument) for argument in arguments])
        return Outcome(code, *capfd.readouterr())

    return call


def start(*arguments: object, **options: Any) -> subprocess.Popen[bytes]:
    """Start a command in a process of its own."""
    command = [sys.executable, "-c", "from rgw.app import main; main()", *map(str, arguments)]
    environment = os.environ | options.pop("env", {})
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, **options)


def ended(process: subprocess.Popen[bytes], expected: int) -> str:
    """What a process said on stderr, once it has ended with the expected code."""
    _, err = process.communicate(timeout=60)
    assert process.returncode == expected, err.decode()
    return err.decode()
