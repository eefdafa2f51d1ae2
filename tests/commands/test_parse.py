"""`rgw parse` reads raw output, shows it in every mode, and its exit code says whether all of it could be read."""

from __future__ import annotations

import json
import typing
from pathlib import Path
from typing import Any

import pytest

from commands.conftest import EXAMPLES, KIOSK, Outcome, Rgw
from rgw.commands import parse as command
from rgw.derender.policy import BuiltinTool, CallInReasoning, CutCall, TextAfterCall, Tolerance, UnclosedValue

CALL = '<tool_call>\n{"name": "go", "arguments": {"to": "Paris"}}\n</tool_call>'
CLEAN = f"<think>\nWhy\n</think>\n\nSo\n{CALL}<|im_end|>"
CUT = '<tool_call>\n{"name": "go", "argum'
TOOLS = [
    {
        "type": "function",
        "function": {"name": "go", "parameters": {"type": "object", "properties": {"to": {"type": "integer"}}}},
    }
]


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    return written(tmp_path / "clean.txt", CLEAN)


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    return written(tmp_path / "cut.txt", CUT)


def written(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def lines(path: Path, *records: object) -> Path:
    return written(path, "".join(f"{json.dumps(record)}\n" for record in records))


def result(outcome: Outcome) -> dict[str, Any]:
    [only] = outcome.document["results"]
    return typing.cast(dict[str, Any], only)


def test_a_clean_output_in_json(clean: Path, rgw: Rgw) -> None:
    outcome = rgw("parse", clean, "--schema", "qwen3", "--json")
    assert (outcome.code, outcome.err, outcome.document["version"]) == (0, "", 1)
    parsed = result(outcome)
    assert parsed["id"] == str(clean)
    assert parsed["schema"] == "qwen3"
    assert "transformers" in parsed["engine"]
    assert (parsed["reasoning"], parsed["text"]) == ("Why", "So")
    assert parsed["tool_uses"] == [{"name": "go", "input": {"to": "Paris"}}]
    assert (parsed["ill_formed"], parsed["end_of_turn"], parsed["issues"]) == (False, True, [])
    assert parsed["segments"][0] == {"kind": "delimiter", "start": 0, "end": 7}
    assert parsed["transformers"]["agrees"] is True


def test_a_clean_output_for_people(clean: Path, rgw: Rgw) -> None:
    outcome = rgw("parse", clean, "--schema", "qwen3")
    assert (outcome.code, outcome.err) == (0, "")
    for part in ("✓ clean", "╭─ reasoning ─", "╭─ text ─", "╭─ tool call: go ─", '{"to": "Paris"}', "raw output"):
        assert part in outcome.out
    assert "transformers' own parse_response returns the same" in outcome.out


def test_a_clean_output_for_scripts(clean: Path, rgw: Rgw) -> None:
    assert rgw("parse", clean, "--schema", "qwen3", "-q") == (0, "clean\n", "")


def test_an_ill_formed_output_is_a_finding_in_every_mode(cut: Path, rgw: Rgw) -> None:
    shown = rgw("parse", cut, "--schema", "qwen3")
    assert (shown.code, shown.err) == (1, "")
    assert "ILL-FORMED" in shown.out
    as_json = rgw("parse", cut, "--schema", "qwen3", "--json")
    assert as_json.code == 1
    assert result(as_json)["ill_formed"] is True
    assert (result(as_json)["text"], result(as_json)["tool_uses"]) == (CUT, [])
    assert as_json.err == f"error: {cut}: ill-formed: unclosed_call\n"
    quiet = rgw("parse", cut, "--schema", "qwen3", "-q")
    assert quiet == (1, "ill-formed\n", f"error: {cut}: ill-formed: unclosed_call\n")


def test_the_schema_of_a_model_or_a_template_file(rgw: Rgw) -> None:
    sample, model = EXAMPLES / "outputs" / "complete.txt", EXAMPLES / "model"
    for choice in (["--model", model], ["--template", model / "chat_template.jinja"]):
        parsed = result(rgw("parse", sample, *choice, *KIOSK, "--json"))
        assert (parsed["schema"], len(parsed["tool_uses"])) == ("kiosk", 2)


def test_a_model_that_is_not_recognised_is_a_finding_and_nothing_is_guessed(clean: Path, rgw: Rgw) -> None:
    outcome = rgw("parse", clean, "--model", EXAMPLES / "edited-model", *KIOSK)
    assert (outcome.code, outcome.out) == (1, "")
    assert "is not registered" in outcome.err
    assert outcome.err.count("\n") == 1


def test_an_output_on_standard_input(clean: Path, rgw: Rgw) -> None:
    parsed = result(rgw("parse", "-", "--schema", "qwen3", "--json", stdin=clean))
    assert (parsed["id"], parsed["text"]) == ("-", "So")


def test_tools_type_the_arguments(clean: Path, rgw: Rgw, tmp_path: Path) -> None:
    tools = written(tmp_path / "tools.json", json.dumps(TOOLS))
    parsed = result(rgw("parse", clean, "--schema", "qwen3", "--tools", tools, "--json"))
    assert [issue["code"] for issue in parsed["issues"]] == ["argument_type"]


def test_the_prompt_says_what_was_written_before_the_output(rgw: Rgw, tmp_path: Path) -> None:
    rest = written(tmp_path / "rest.txt", "Why\n</think>\n\nSo<|im_end|>")
    prompt = "<|im_start|>assistant\n<think>\n"
    as_file = f"@{written(tmp_path / 'prompt.txt', prompt)}"
    for value in (prompt, as_file):
        parsed = result(rgw("parse", rest, "--schema", "qwen3", "--prompt", value, "--json"))
        assert (parsed["reasoning"], parsed["text"], parsed["ill_formed"]) == ("Why", "So", False)


def test_every_policy_is_an_option_with_the_policys_own_choices() -> None:
    choices = {
        command.CallInReasoningChoice: CallInReasoning,
        command.TextAfterCallChoice: TextAfterCall,
        command.CutCallChoice: CutCall,
        command.UnclosedValueChoice: UnclosedValue,
        command.BuiltinToolChoice: BuiltinTool,
        command.ToleranceChoice: Tolerance,
    }
    for literal, enum in choices.items():
        assert typing.get_args(literal) == tuple(member.value for member in enum)


@pytest.mark.parametrize(
    ("output", "option", "value", "code"),
    [
        (f"{CALL}\nAfter<|im_end|>", "--text-after-call", "keep", 0),
        (f"{CALL}\nAfter<|im_end|>", "--text-after-call", "error", 1),
        (f"{CALL}<|im_end|>", "--undeclared-tool", "warn", 0),
        (f"{CALL}<|im_end|>", "--undeclared-tool", "error", 1),
        (f"{CALL}\n{CUT}", "--cut-call", "degrade", 1),
        (f"{CALL}\n{CUT}", "--cut-call", "keep_complete", 0),
    ],
)
def test_a_policy_decides(output: str, option: str, value: str, code: int, rgw: Rgw, tmp_path: Path) -> None:
    sample, tools = written(tmp_path / "sample.txt", output), written(tmp_path / "tools.json", "[]")
    assert rgw("parse", sample, "--schema", "qwen3", "--tools", tools, option, value, "-q").code == code


def test_a_mistyped_argument_can_be_an_error(clean: Path, rgw: Rgw, tmp_path: Path) -> None:
    tools = written(tmp_path / "tools.json", json.dumps(TOOLS))
    options = ["--schema", "qwen3", "--tools", tools, "-q", "--argument-type"]
    assert rgw("parse", clean, *options, "warn").code == 0
    assert rgw("parse", clean, *options, "error").code == 1


def test_a_call_in_a_cut_thought_can_be_an_error(rgw: Rgw, tmp_path: Path) -> None:
    sample = written(tmp_path / "sample.txt", f"<think>\nWhy {CALL}")
    options = ["--schema", "qwen3", "--json", "--call-in-reasoning"]
    assert result(rgw("parse", sample, *options, "reasoning"))["reasoning"] != ""
    assert result(rgw("parse", sample, *options, "error"))["reasoning"] == ""


def test_without_a_schema_all_are_compared_and_none_is_detected(clean: Path, rgw: Rgw) -> None:
    shown = rgw("parse", clean)
    assert shown.code == 0
    assert "A comparison, not a detection" in shown.out
    assert "rgw detect" in shown.err
    document = rgw("parse", clean, "--json").document
    by_schema = {entry["schema"]: entry for entry in document["comparison"]}
    assert document["version"] == 1
    assert by_schema["qwen3"]["clean"] is True
    assert by_schema["qwen3"]["tool_uses"] == [{"name": "go", "input": {"to": "Paris"}}]
    assert by_schema["llama3"]["clean"] is False
    best = document["comparison"][0]
    assert (best["clean"], best["tool_uses"]) == (True, [{"name": "go", "input": {"to": "Paris"}}])


def test_pictures_are_written_and_stand_alone(clean: Path, rgw: Rgw, tmp_path: Path) -> None:
    html, svg = tmp_path / "turn.html", tmp_path / "turn.svg"
    assert rgw("parse", clean, "--schema", "qwen3", "--html", html, "--svg", svg).code == 0
    assert html.read_text("utf-8").startswith("<!doctype html>")
    assert svg.read_text("utf-8").startswith("<svg")


def test_a_picture_that_cannot_be_written_loses_no_result(clean: Path, rgw: Rgw, tmp_path: Path) -> None:
    outcome = rgw("parse", clean, "--schema", "qwen3", "--html", tmp_path / "missing" / "turn.html", "--json")
    assert outcome.code == 3
    assert result(outcome)["text"] == "So"
    assert "turn.html" in outcome.err


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--schema", "qwen3", "--model", "x"], "exclude each other"),
        (["--schema", "nonsense"], "there is no schema 'nonsense'"),
        (["--html", "x.html"], "--html and --svg"),
        (["--schema", "qwen3", "--jsonl", "--svg", "x.svg"], "--html and --svg"),
    ],
)
def test_requests_that_cannot_be_meant(options: list[str], part: str, clean: Path, rgw: Rgw) -> None:
    outcome = rgw("parse", clean, *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert part in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("{", "tools.json, line 1"),
        ('{"a": 1}', "no list of objects"),
        ("[1]", "no list of objects"),
        ("[" * 100_000, "tools.json"),
    ],
)
def test_tools_that_are_none(content: str, part: str, clean: Path, rgw: Rgw, tmp_path: Path) -> None:
    tools = written(tmp_path / "tools.json", content)
    outcome = rgw("parse", clean, "--schema", "qwen3", "--tools", tools)
    assert (outcome.code, outcome.out) == (2, "")
    assert part in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(("content", "part"), [(b"\xff\xfe\x00", "is no UTF-8 text: byte 0"), (None, "Is a directory")])
def test_a_file_that_is_no_text(content: bytes | None, part: str, rgw: Rgw, tmp_path: Path) -> None:
    sample = tmp_path / "sample"
    sample.mkdir() if content is None else sample.write_bytes(content)
    outcome = rgw("parse", sample, "--schema", "qwen3")
    assert (outcome.code, outcome.out) == (3, "")
    assert part in outcome.err


def test_an_output_over_the_limit_names_the_limit(rgw: Rgw, tmp_path: Path) -> None:
    sample = tmp_path / "huge"
    with sample.open("wb") as file:
        file.truncate(64 * 1024 * 1024 + 1)
    outcome = rgw("parse", sample, "--schema", "qwen3")
    assert outcome.code == 3
    assert "over the limit of 64 MiB" in outcome.err


def test_line_ends_are_read_as_they_are(rgw: Rgw, tmp_path: Path) -> None:
    sample = written(tmp_path / "sample", "a\r\nb\n<|im_end|>")
    assert result(rgw("parse", sample, "--schema", "qwen3", "--json"))["text"] == "a\r\nb\n"


def test_a_stream_gives_one_result_a_line_in_order(rgw: Rgw, tmp_path: Path) -> None:
    stream = lines(
        tmp_path / "stream",
        {"id": "first", "output": CLEAN},
        {"output": "two<|im_end|>"},
        {"id": 33, "output": "three<|end|>", "model": str(EXAMPLES / "model")},
        {"output": "Why\n</think>\n\nSo<|im_end|>", "prompt": "<|im_start|>assistant\n<think>\n", "schema": "qwen3"},
        {"output": CLEAN, "tools": TOOLS},
    )
    outcome = rgw("parse", stream, "--jsonl", "--schema", "qwen3", *KIOSK)
    assert outcome.code == 0
    assert [record["id"] for record in outcome.records] == ["first", 2, 33, 4, 5]
    assert [record["schema"] for record in outcome.records] == ["qwen3", "qwen3", "kiosk", "qwen3", "qwen3"]
    assert [record["text"] for record in outcome.records] == ["So", "two", "three", "So", "So"]
    assert outcome.records[3]["reasoning"] == "Why"
    assert [issue["code"] for issue in outcome.records[4]["issues"]] == ["argument_type"]
    assert outcome.err == "hint: 5 read, 0 ill-formed, 0 bad lines\n"


def test_bad_lines_become_errors_in_place_and_lose_no_other(rgw: Rgw, tmp_path: Path) -> None:
    stream = tmp_path / "stream"
    stream.write_bytes(
        b"\n".join(
            [
                b'\xef\xbb\xbf{"id": "a", "output": "one<|im_end|>"}',
                b"not JSON",
                b"",
                b"[1]",
                b'{"id": "b"}',
                b'{"id": "c", "output": 1}',
                b'{"output": "\xff"}',
                b'{"output": "x", "tools": {}}',
                b'{"output": "x", "schema": "qwen3", "model": "m"}',
                b'{"output": "x", "schema": "nonsense"}',
                b"[" * 100_000,
                b'{"output": "x", "schema": 3}',
                b'{"output": "x", "prompt": 3}',
                b'{"id": [1], "output": "x"}',
                b'{"id": NaN, "output": "x"}',
                b'{"id": true, "output": "x"}',
                b'{"output": "x", "output": "y"}',
                b'{"id": "z", "output": "last<|im_end|>"}',
            ]
        )
    )
    outcome = rgw("parse", stream, "--jsonl", "--schema", "qwen3")
    assert outcome.code == 2
    assert [record["id"] for record in outcome.records] == [
        "a",
        2,
        4,
        "b",
        "c",
        7,
        8,
        9,
        10,
        11,
        12,
        13,
        14,
        15,
        16,
        17,
        "z",
    ]
    assert [record.get("line") for record in outcome.records] == [
        None,
        *[2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17],
        None,
    ]
    assert all(set(record) == {"id", "line", "error"} for record in outcome.records[1:-1])
    assert (outcome.records[0]["text"], outcome.records[-1]["text"]) == ("one", "last")
    told = outcome.err.splitlines()
    assert told[0].startswith("error: line 2: invalid JSON at column 1")
    assert told[-1] == "hint: 2 read, 0 ill-formed, 15 bad lines"
    assert len(told) == 11  # the first ten, then the count


def test_an_ill_formed_line_is_a_finding(rgw: Rgw, tmp_path: Path) -> None:
    stream = lines(tmp_path / "stream", {"output": CUT}, {"output": "two<|im_end|>"})
    outcome = rgw("parse", stream, "--jsonl", "--schema", "qwen3")
    assert outcome.code == 1
    assert [record["ill_formed"] for record in outcome.records] == [True, False]
    assert "1 read, 1 ill-formed, 0 bad lines" in outcome.err


def test_a_line_whose_model_cannot_be_read_could_not_be_done(rgw: Rgw, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    stream = lines(tmp_path / "stream", {"output": "x", "model": missing}, {"output": "y", "schema": "qwen3"})
    outcome = rgw("parse", stream, "--jsonl")
    assert outcome.code == 3
    assert missing in outcome.records[0]["error"]
    assert outcome.records[1]["text"] == "y"


def test_a_line_that_nothing_says_how_to_read(rgw: Rgw, tmp_path: Path) -> None:
    outcome = rgw("parse", lines(tmp_path / "stream", {"output": "x"}), "--jsonl")
    assert outcome.code == 2
    assert "nothing says what reads it" in outcome.records[0]["error"]


def test_a_query_selects_from_each_line(rgw: Rgw, tmp_path: Path) -> None:
    stream = lines(tmp_path / "stream", {"id": 1, "output": CUT}, {"id": 2, "output": "two<|im_end|>"})
    outcome = rgw("parse", stream, "--jsonl", "--schema", "qwen3", "--query", "[id, ill_formed]")
    assert outcome.records == [[1, True], [2, False]]


FOREIGN = "Let me look.\n<function=go>\n<parameter=to>\nParis\n</parameter>\n</function><|im_end|>"


def test_a_call_in_another_format_is_never_clean(rgw: Rgw, tmp_path: Path) -> None:
    foreign = written(tmp_path / "foreign.txt", FOREIGN)
    outcome = rgw("parse", foreign, "--schema", "qwen3", "-q")
    assert (outcome.code, outcome.out) == (1, "looks-like-call\n")
    assert outcome.err.startswith(f"error: {foreign}: what looks like a tool call was read as text")
    stream = rgw(
        "parse", lines(tmp_path / "stream", {"output": FOREIGN}, {"output": CLEAN}), "--jsonl", "--schema", "qwen3"
    )
    assert stream.code == 1
    assert "1 read, 0 ill-formed, 1 with what looks like a call" in stream.err


def test_a_very_long_output_is_compared_with_transformers_only_when_asked(rgw: Rgw, tmp_path: Path) -> None:
    long = written(tmp_path / "long.txt", "word " * 20_001 + "<|im_end|>")
    outcome = rgw("parse", long, "--schema", "qwen3", "--json")
    assert "transformers" not in result(outcome)
    assert "not compared with transformers" in outcome.err
    assert result(rgw("parse", long, "--schema", "qwen3", "--json", "--compare"))["transformers"]["agrees"] is True


def test_a_stream_for_scripts_is_only_an_exit_code(rgw: Rgw, tmp_path: Path) -> None:
    stream = lines(tmp_path / "stream", {"output": CUT})
    assert rgw("parse", stream, "--jsonl", "--schema", "qwen3", "-q") == (1, "", "")


def test_a_stream_is_compared_with_transformers_only_when_asked(rgw: Rgw, tmp_path: Path) -> None:
    stream = lines(tmp_path / "stream", {"output": CLEAN})
    options = ["--jsonl", "--schema", "qwen3"]
    assert "transformers" not in rgw("parse", stream, *options).records[0]
    assert rgw("parse", stream, *options, "--compare").records[0]["transformers"]["agrees"] is True


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity", "1e999", "1" * 5_000])
def test_whatever_number_a_model_writes_the_document_is_json(constant: str, rgw: Rgw, tmp_path: Path) -> None:
    call = f'<tool_call>\n{{"name": "go", "arguments": {{"to": {constant}}}}}\n</tool_call><|im_end|>'
    outcome = rgw("parse", written(tmp_path / "sample", call), "--schema", "qwen3", "--json")
    assert outcome.code == 1

    def refuse(name: str) -> None:
        raise AssertionError(name)

    json.loads(outcome.out, parse_constant=refuse)


@pytest.mark.parametrize("depth", [101, 300, 900, 940, 960, 980, 100_000])
def test_deep_nesting_is_a_finding_and_no_failure(depth: int, rgw: Rgw, tmp_path: Path) -> None:
    deep = f'<tool_call>\n{{"name": "go", "arguments": {{"to": {"[" * depth + "]" * depth}}}}}\n</tool_call><|im_end|>'
    sample = written(tmp_path / "sample", deep)
    for mode in ([], ["--json"]):
        outcome = rgw("parse", sample, "--schema", "qwen3", *mode)
        assert outcome.code == 1, outcome.err
    assert [issue["code"] for issue in result(outcome)["issues"]] == ["too_deep"]


def test_a_single_output_is_compared_unless_told_not_to(clean: Path, rgw: Rgw) -> None:
    assert "transformers" not in result(rgw("parse", clean, "--schema", "qwen3", "--no-compare", "--json"))


def test_surrogates_and_control_characters_survive_in_json(rgw: Rgw, tmp_path: Path) -> None:
    hostile = "\ud800 \x1b[31m \u202e \x7f"
    outcome = rgw("parse", lines(tmp_path / "stream", {"output": hostile}), "--jsonl", "--schema", "qwen3")
    assert outcome.records[0]["text"] == hostile
    assert not set("\x1b\u202e\x7f") & set(outcome.out)
