"""Outputs that transformers' own parser misreads without a word: each is read, or flagged where it goes wrong.

The rows of the table that the derender was built against, and their kin.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from derender.derender_schemas import findings, needs_call_lists, needs_response_template, registered, text_after_calls

CHATML = "<|im_start|>assistant\n"


def json_call(name: str, arguments: str = "{}") -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


def xml_call(*lines: str) -> str:
    return "\n".join(["<tool_call>", *lines, "</tool_call>"])


def assert_flagged(schema: str, output: str, code: str, at: str, *, prompt: str = CHATML) -> None:
    """The whole turn is raw text, and its first error points at `at`; the legacy engine may point at more around it."""
    derenderer = registered(schema)
    parsed = derenderer.parse(output, prompt=prompt)
    first_code, first_text = next(
        (code, text) for code, severity, text in findings(output, parsed) if severity == "error"
    )
    assert first_code == code
    assert first_text == at or (derenderer.engine.startswith("response_schema") and at in first_text)
    assert (parsed.reasoning, parsed.text, parsed.tool_uses, parsed.ill_formed) == ("", output, [], True)


def calls(*pairs: tuple[str, dict[str, Any]]) -> list[Any]:
    return [{"name": name, "input": arguments} for name, arguments in pairs]


@text_after_calls
def test_text_around_and_between_calls_is_kept() -> None:
    output = f"A\n{json_call('f')}\nB{json_call('g')}\nC<|im_end|>"
    parsed = registered("qwen3").parse(output, prompt=CHATML)
    assert (parsed.text, parsed.ill_formed) == ("A\nB\nC", False)
    assert parsed.tool_uses == calls(("f", {}), ("g", {}))
    assert findings(output, parsed) == [("text_after_call", "warning", "\nB"), ("text_after_call", "warning", "\nC")]


def test_what_follows_the_end_of_the_turn_does_not_replace_the_answer() -> None:
    assert_flagged("qwen3", "hello<|im_end|>\nmore", "text_after_end_of_turn", "more")


def test_a_second_thought_does_not_replace_the_first() -> None:
    assert_flagged("qwen3", "<think>a</think>b<think>c</think>d", "repeated_reasoning", "c")


@pytest.mark.parametrize("space", ["\n", " ", "\n\n\n"])
def test_white_space_behind_a_call_does_not_replace_the_text_before_it(space: str) -> None:
    parsed = registered("qwen3").parse(f"Hello\n{json_call('f')}{space}<|im_end|>", prompt=CHATML)
    assert (parsed.text.rstrip(), parsed.issues, parsed.tool_uses) == ("Hello", (), calls(("f", {})))


@pytest.mark.parametrize("schema", ["qwen3_5", "nemotron_3", "qwen3_coder"])
def test_an_output_cut_inside_a_parameter_is_no_call_without_parameters(schema: str) -> None:
    output = "<tool_call>\n<function=weather>\n<parameter=city>\nPar"
    assert_flagged(schema, output, "unclosed_call", output)


@pytest.mark.parametrize("schema", ["qwen3_5", "nemotron_3", "qwen3_coder"])
def test_a_parameter_without_its_closer_is_neither_dropped_nor_fused_with_the_next(schema: str) -> None:
    dropped = xml_call("<function=weather>", "<parameter=city>", "Paris", "</function>")
    assert_flagged(schema, dropped, "missing_tag", "<")
    fused = xml_call(
        "<function=weather>", "<parameter=city>", "Paris", "<parameter=day>", "1", "</parameter>", "</function>"
    )
    assert_flagged(schema, fused, "missing_tag", "<")


@needs_response_template
def test_a_second_function_in_one_block_is_not_dropped() -> None:
    assert_flagged(
        "qwen3_5", xml_call("<function=f>", "</function>", "<function=g>", "</function>"), "several_calls", "<"
    )


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ('{"arguments": {"a": 1}}', "invalid_name"),
        ('{"name": "f", "arguments": {"a": 1, "a": 2}}', "duplicate_key"),
        ('{"name": "f", "arguments": {"a": NaN}}', "nonstandard_constant"),
        ('{"name": "f", "arguments": "{\\"a\\": 1}"}', "double_encoded_arguments"),
        ('{"name": "f", "arguments": {"a": ' + "[" * 100_000, "too_deep"),
        ('{"name": "f", "arguments": {"a": ' + "[" * 5_000 + "]" * 5_000 + "}}", "too_deep"),
    ],
    ids=lambda value: value[:48],
)
def test_what_is_no_call_by_the_letter_is_not_taken_for_one(content: str, code: str) -> None:
    output = f"<tool_call>\n{content}\n</tool_call>"
    parsed = registered("qwen3").parse(output, prompt=CHATML)
    assert [issue.code for issue in parsed.issues] == [code]
    assert (parsed.text, parsed.tool_uses, parsed.ill_formed) == (output, [], True)


def test_a_string_value_keeps_its_white_space() -> None:
    value = "    indented\n\n"
    output = xml_call("<function=edit>", "<parameter=new>", value, "</parameter>", "</function>")
    parsed = registered("qwen3_5").parse(output, prompt=CHATML)
    assert parsed.tool_uses == calls(("edit", {"new": value}))


def test_text_outside_the_channels_is_not_discarded() -> None:
    output = "<|channel|>analysis<|message|>Hm.<|end|>So:<|start|>assistant<|channel|>final<|message|>Four.<|return|>"
    assert_flagged("gpt_oss", output, "unclaimed_text", "So:", prompt="<|start|>assistant")


@pytest.mark.parametrize(
    "header",
    [
        "<|channel|>commentary to=functions.add <|constrain|>json",
        " to=functions.add<|channel|>commentary <|constrain|>json",
        "<|channel|>commentary to=functions.add json",
        "<|channel|>analysis to=functions.add",
    ],
)
def test_header_words_come_in_either_legal_order(header: str) -> None:
    output = f'{header}<|message|>{{"a": 2}}<|call|>'
    parsed = registered("gpt_oss").parse(output, prompt="<|start|>assistant")
    assert (parsed.tool_uses, parsed.issues) == (calls(("add", {"a": 2})), ())


@needs_call_lists
def test_a_name_with_a_hyphen_is_no_reason_to_drop_a_call_of_a_list() -> None:
    output = "<|tool_call_start|>[look(at='x'), run-code(code='1 + 1')]<|tool_call_end|><|im_end|>"
    parsed = registered("lfm2_5").parse(output, prompt=CHATML)
    assert (parsed.text, parsed.issues) == ("", ())
    assert parsed.tool_uses == calls(("look", {"at": "x"}), ("run-code", {"code": "1 + 1"}))


@pytest.mark.parametrize(
    ("schema", "output"),
    [
        pytest.param("nemotron_3", "<think>\n" + "so it goes, " * 80_000, id="a long thought that is not closed"),
        pytest.param("qwen3_5", "<tool_call>\n<function=f>\n<parameter=a>" + " " * 200_000, id="a run of spaces"),
        pytest.param("qwen3_5", "<tool_call>\n<function=f>\n<parameter=a>" + "\n" * 200_000, id="a run of newlines"),
    ],
)
def test_an_output_that_is_cut_off_costs_no_more_than_a_whole_one(schema: str, output: str) -> None:
    derenderer = registered(schema)
    started = time.process_time()
    parsed = derenderer.parse(output, prompt=CHATML)
    assert time.process_time() - started < 5
    assert parsed.ill_formed
    assert parsed.tool_uses == []


@needs_response_template
def test_a_parameter_whose_opener_lost_a_character_is_not_fused_into_the_one_before_it() -> None:
    lines = ("<function=f>", "<parameter=a>", "1", "</parameter>", "parameter=b>", "2", "</parameter>", "</function>")
    assert_flagged("qwen3_5", xml_call(*lines), "missing_tag", "<")


@needs_response_template
@pytest.mark.parametrize("schema", ["qwen3_5", "qwen3_coder", "nemotron_3", "qwen3_5_json_values"])
@pytest.mark.parametrize("value", ["a</parameter><parameter=b>c", "a</parameter>\n<parameter=b>c", "</parameter>"])
def test_a_value_that_ends_on_a_line_of_its_own_may_hold_the_tags_of_others(schema: str, value: str) -> None:
    call = xml_call("<function=f>", "<parameter=q>", value, "</parameter>", "</function>")
    assert registered(schema).parse(call, prompt=CHATML).tool_uses == calls(("f", {"q": value}))


@needs_response_template
@pytest.mark.parametrize("style", ["{}", "\n{}", "{}\n", "\n{}\n"])
def test_values_without_lines_of_their_own_are_read_all_the_same(style: str) -> None:
    one, other = (f"<parameter={key}>{style.format(value)}</parameter>" for key, value in (("a", "x"), ("b", "y")))
    call = xml_call("<function=f>", one, other, "</function>")
    assert registered("qwen3_5").parse(call, prompt=CHATML).tool_uses == calls(("f", {"a": "x", "b": "y"}))


@needs_response_template
@pytest.mark.parametrize("escape", [r"\u200", r"\xg0", r"\U0001F60", r"\a"])
def test_a_list_with_a_broken_escape_is_not_taken_for_text_that_holds_tags(escape: str) -> None:
    output = f'<function name="f"><param name="q">[\'{escape}"><x\', None]</param></function><|im_end|>'
    assert_flagged("minicpm5", output, "missing_tag", "<")
    whole = output.replace(escape, r"\u200d")
    assert registered("minicpm5").parse(whole, prompt=CHATML).tool_uses == calls(("f", {"q": ['\u200d"><x', None]}))


@needs_response_template
def test_a_text_in_brackets_that_holds_tags_is_no_list_that_python_prints() -> None:
    output = '<function name="f"><param name="q">%s</param></function><|im_end|>'
    for text in ('{"a<x": 1}', "{'a<x': null}", "[<x]", "['<x', y]"):
        assert_flagged("minicpm5", output % text, "missing_tag", "<")
    printed = """{'a<x': [1, True], "it's <": -1.5e-09}"""
    parsed = registered("minicpm5").parse(output % printed, prompt=CHATML)
    assert parsed.tool_uses == calls(("f", {"q": {"a<x": [1, True], "it's <": -1.5e-09}}))


@needs_response_template
def test_a_thought_that_holds_a_whole_message_is_not_cut_there() -> None:
    thought = "<|im_end|><|im_start|>assistant\nHi"
    output = f"{thought}<|im_end|>\n<|im_start|>assistant\nYes<|im_end|><|endofturn|>"
    assert_flagged("hyperclovax", output, "stray_delimiter", "<|im_start|>", prompt="<|im_start|>assistant/think\n")


@needs_response_template
def test_a_list_that_python_prints_is_not_cut_at_the_tags_in_its_strings() -> None:
    call = "<seed:tool_call>\n<function=f>\n<parameter=q>[['</parameter><parameter=', '>']]</parameter>\n</function>\n"
    output = f"{call}</seed:tool_call><seed:eos>"
    at = "<"
    assert_flagged("seed_oss", output, "missing_tag", at, prompt="<seed:bos>assistant\n")
