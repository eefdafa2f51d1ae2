"""The examples are what they claim to be: the template writes the whole turn, and each sample output reads as shown."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rgw.app import run
from rgw.templates.rendering import Rendered, RenderPool, RenderRequest

EXAMPLES = Path(__file__).parents[1] / "examples"
PROGRAMS = Path(sys.executable).parent
THOUGHT = "The visitor wants oolong tea. I look up the shelf and the price."
ANSWER = "Let me check that for you."
FIND = {"name": "find_item", "arguments": {"item": "oolong tea"}}
PRICE = {"name": "get_price", "arguments": {"item": "oolong tea", "grams": 100}}

pytestmark = pytest.mark.both_engines


def output(name: str) -> str:
    return (EXAMPLES / "outputs" / name).read_text("utf-8")


Parse = Callable[[str, int], dict[str, Any]]


@pytest.fixture
def parse(capfd: pytest.CaptureFixture[str]) -> Parse:
    """Read a sample output with the command line, which must end with the exit code that is expected."""

    def parse(name: str, exit_code: int) -> dict[str, Any]:
        options = {"--model": "model", "--registry": "registry", "--tools": "tools.json"}
        command = ["parse", str(EXAMPLES / "outputs" / name), "--json"]
        command += [word for option, path in options.items() for word in (option, str(EXAMPLES / path))]
        code = run(command)
        out, err = capfd.readouterr()
        assert code == exit_code, err
        (parsed,) = json.loads(out)["results"]
        return parsed

    return parse


def issue_codes(parsed: dict[str, Any]) -> list[str]:
    return [issue["code"] for issue in parsed["issues"]]


def test_the_template_writes_the_complete_output() -> None:
    turn = {
        "role": "assistant",
        "reasoning_content": THOUGHT,
        "content": ANSWER,
        "tool_calls": [{"type": "function", "function": call} for call in (FIND, PRICE)],
    }
    question = {"role": "user", "content": "Do you have oolong tea?"}
    template = (EXAMPLES / "model" / "chat_template.jinja").read_text("utf-8")
    with RenderPool() as pool:
        rendered = pool.render(template, [RenderRequest([question, turn])])
    expected = f"<|user|>Do you have oolong tea?<|end|>\n<|assistant|>{output('complete.txt')}\n"
    assert rendered == [Rendered(expected)]


def test_the_complete_output_is_read_whole(parse: Parse) -> None:
    parsed = parse("complete.txt", 0)
    assert (parsed["schema"], parsed["ill_formed"], parsed["end_of_turn"]) == ("kiosk", False, True)
    assert (parsed["reasoning"], parsed["text"]) == (THOUGHT, ANSWER)
    assert parsed["tool_uses"] == [{"name": call["name"], "input": call["arguments"]} for call in (FIND, PRICE)]
    assert issue_codes(parsed) == []


def test_the_cut_output_gives_no_call_at_all(parse: Parse) -> None:
    parsed = parse("cut-off.txt", 1)
    assert (parsed["ill_formed"], parsed["end_of_turn"]) == (True, False)
    assert (parsed["reasoning"], parsed["text"], parsed["tool_uses"]) == ("", output("cut-off.txt"), [])
    # The legacy dialect is one pattern for the whole turn: where it does not match, nothing says how far it would have.
    cause = "unclosed_call" if parsed["engine"].startswith("response_template") else "unclaimed_text"
    assert issue_codes(parsed) == [cause]


def test_the_output_in_another_format_is_pointed_out(parse: Parse) -> None:
    parsed = parse("other-format.txt", 1)
    assert parsed["tool_uses"] == []
    assert issue_codes(parsed) == ["looks_like_call"]


def test_the_demo_runs_to_its_end() -> None:
    path = str(PROGRAMS) + os.pathsep + os.environ["PATH"]
    script = ["sh", EXAMPLES / "demo.sh"]
    result = subprocess.run(script, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("\n$ rgw ") == 5
