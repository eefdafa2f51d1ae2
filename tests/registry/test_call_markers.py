"""What warns of a call that stayed in the text: it knows each format that is in use, and stays fast and quiet."""

from __future__ import annotations

import csv
import re
import time
from pathlib import Path

import pytest

from rgw.registry.loader import load_registry

MARKER = re.compile("|".join(load_registry().call_markers))

# By the names that the index of the corpus gives the formats.
CALLS = {
    "apertus": '<|tools_prefix|>[{"go": {"to": "Rome"}}]<|tools_suffix|>',
    "apriel": '<tool_calls>[{"go": {"to": "Rome"}}]</tool_calls>',
    "atem-xml": '<atem:function_calls>\n<atem:invoke name="go">',
    "cohere-action": '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "go", "parameters": {"to": "Rome"}}]',
    "command-r-action": 'Action:\n```json\n[\n    {\n        "tool_name": "go",\n        "parameters": {}\n    }\n]```',
    "deepseek-v3": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>go",
    "deepseek-v3.1": "<｜tool▁call▁begin｜>go<｜tool▁sep｜>{}",
    "dsml": '<｜DSML｜function_calls>\n<｜DSML｜invoke name="go">',
    "firefunction": 'functools[{"name": "go", "arguments": {"to": "Rome"}}]',
    "function-call-json": '<function_call> {"go": {"to": "Rome"}}',
    "function-eq-xml": "<function=go><parameter=to>Rome</parameter></function>",
    "functionary-v2": '<|recipient|>go\n<|content|>{"to": "Rome"}',
    "functionary-v3": '<function=go>{"to": "Rome"}</function>',
    "functionary-v3.2": '>>>go\n{"to": "Rome"}',
    "gemma4-call": "<|tool_call>call:go{to:Rome}<tool_call|>",
    "gigachat": '<|function_call|>{"go": {"to": "Rome"}}',
    "glm-argkv": "go\n<arg_key>to</arg_key>\n<arg_value>Rome</arg_value>",
    "glm4-name-newline": '<|CALL_START|>function\ngo\n{"to": "Rome"}<|CALL_END|>',
    "granite-json": '<|tool_call|> {"go": {}}',
    "granite-json-list": '<|tool_call|>[{"go": {}}]',
    "harmony": '<|channel|>commentary to=functions.go <|constrain|>json<|message|>{"to": "Rome"}',
    "hermes-json": '<tool_call>\n{"name": "go", "arguments": {"to": "Rome"}}\n</tool_call>',
    "hermes-json-id": '{"id": "1", "name": "go", "arguments": {"to": "Rome"}}',
    "hermes-list": '<tool_call>[{"name": "go", "arguments": {"to": "Rome"}}]</tool_call>',
    "hunyuan-xml": "<tool_calls>\n<tool_call>go<tool_sep>",
    "hy3-xml": "<tool_call>go<tool_sep>\n<arg_key>to</arg_key>",
    "hyperclovax": ' -> tool/function_call\n[{"go": {"to": "Rome"}}]',
    "jamba-list": '<tool_calls>[\n{"name": "go", "arguments": "{}"}\n]</tool_calls>',
    "json-list": '[{"name": "go", "arguments": {"to": "Rome"}}]',
    "kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.go:0",
    "kimi-k3-xml": '<|open|>call tool="go" index="1"<|sep|>',
    "lfm-pythonic": "<|tool_call_start|>[go()]<|tool_call_end|>",
    "llama3-json-parameters": '{"name": "go", "parameters": {"to": "Rome"}}',
    "longcat-json": "<longcat_tool_call>\n{}\n</longcat_tool_call>",
    "longcat-xml": "<longcat_tool_call>go\n<longcat_arg_key>to</longcat_arg_key>",
    "minicpm-function-xml": '<function name="go"><param name="to">Rome</param></function>',
    "minimax-m2-xml": '<minimax:tool_call>\n<invoke name="go">',
    "minimax-m3": ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="go">',
    "mistral-args": '[TOOL_CALLS]go[ARGS]{"to": "Rome"}',
    "mistral-json-array": '[TOOL_CALLS] [{"go": {}}]',
    "nemotron-TOOLCALL": '<TOOLCALL>[{"go": {}}]</TOOLCALL>',
    "python-repr-args": "functools[{'name': 'go', 'arguments': {'to': 'Rome'}}]",
    "pythonic": '[go(to="Rome")]',
    "qwen3-coder-xml": "<function=go>\n<parameter=to>\nRome\n</parameter>\n</function>",
    "seed-xml": "<seed:tool_call><function=go>",
    "solar-tokens": "<|tool_call:begin|>1<|tool_call:name|>go<|tool_call:args|>{}",
}

MORE_CALLS = [
    '<|python_tag|>go.call(to="Rome")',
    "<|python_start|>[go()]<|python_end|>",
    "<function_calls>\ngo()\n</function_calls>",
    "<start_function_call>call:go{}<end_function_call>",
    '<|action_start|><|plugin|>{"go": {}}',
    '✿FUNCTION✿: go\n✿ARGS✿: {"to": "Rome"}',
    "<zyphra_tool_call><go></zyphra_tool_call>",
    '```json\n{\n  "name": "go",\n  "arguments": {"to": "Rome"}\n}\n```',
    '{"arguments": {"to": "Rome"}, "name": "go"}',
    "{'name': 'go', 'parameters': {'to': 'Rome'}}",
    'One moment.\n[go(to="Rome"), go(to="Oslo")]',
]

ANSWERS = [
    "The answer is 42.",
    "Call `go(to='Rome')` and then [read on](https://example.org/go).",
    'A person is {"name": "Ada", "age": 36}; its "parameters" are two.',
    "Use f(x=1) where x > 0 and a<b; see [1], [2] and [f(x)].",
    "To reach functions, write to=all or >>> print(1)",
    "<p>A tool call</p> is a function call.\n>>>all\nHello",
    "Action: none.\n```json\n{}\n```",
]

# The beginning of each pattern, again and again: what would make a careless one take the square of the time.
ADVERSARIES = [
    '"name"',
    '"name" : ',
    '"name":"',
    "'name':'",
    "{ ",
    '{"arguments"',
    '"tool_name" ',
    ">>>a",
    "[a",
    "\n[a(",
    "Action: ",
]


@pytest.mark.parametrize("call", [*CALLS.values(), *MORE_CALLS])
def test_a_call_is_noticed(call: str) -> None:
    assert MARKER.search(f"Let me see.\n{call}")
    assert MARKER.search(call)


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_is_not_taken_for_a_call(answer: str) -> None:
    assert MARKER.search(answer) is None


@pytest.mark.parametrize("marker", load_registry().call_markers)
def test_every_marker_notices_a_call(marker: str) -> None:
    assert [call for call in [*CALLS.values(), *MORE_CALLS] if re.search(marker, call)] != []


def test_each_format_of_the_corpus_is_covered(corpus: Path) -> None:
    with (corpus / "index.tsv").open(encoding="utf-8", newline="") as file:
        formats = {row["tool_format"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)}
    assert formats - CALLS.keys() == {"", "none", "no-render"}


@pytest.mark.parametrize("repeated", ADVERSARIES)
def test_searching_takes_time_in_proportion_to_the_text(repeated: str) -> None:
    def seconds(length: int) -> float:
        text = repeated * (length // len(repeated)) + " " * length
        started = time.process_time()
        assert MARKER.search(text) is None
        return time.process_time() - started

    # A square would make the factor 64, and 2 MB minutes.
    assert seconds(1_600_000) < 20 * max(seconds(200_000), 0.002)
