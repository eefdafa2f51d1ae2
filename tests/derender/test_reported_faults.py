"""The kinds of faults that people have reported of tool-call parsers, each in wording and values of our own.

A kind is either read as it was meant, or the turn is flagged; a call is never altered, invented or dropped in silence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from derender.derender_schemas import findings, registered, text_after_calls

CHATML = "<|im_start|>assistant\n"
THINKING = CHATML + "<think>\n"
NO_THOUGHT = CHATML + "<think>\n\n</think>\n\n"
HARMONY = "<|start|>assistant"


def tool(name: str, **properties: Any) -> dict[str, Any]:
    """A tool with the JSON Schema of each argument."""
    parameters = {"type": "object", "properties": properties}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


TOOLS = [
    tool("rename", old={"type": "string"}, new={"type": "string"}),
    tool("count", start={"type": "integer"}, steps={"type": "array"}, options={"type": "object"}),
    tool("label", mark={"anyOf": [{"type": "string"}, {"type": "null"}]}),
    tool("tick"),
]


@dataclass(frozen=True)
class Read:
    """A turn that is read: what it means, and the warnings that it carries."""

    kind: str
    schema: str
    output: str
    reasoning: str = ""
    text: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    warnings: tuple[str, ...] = ()
    prompt: str = ""


@dataclass(frozen=True)
class Flagged:
    """A turn that is not read: its first error and what it points at."""

    kind: str
    schema: str
    output: str
    code: str
    at: str
    prompt: str = ""


def json_call(content: str) -> str:
    return f"<tool_call>\n{content}\n</tool_call>"


def xml_call(name: str, *lines: str) -> str:
    return "\n".join(["<tool_call>", f"<function={name}>", *lines, "</function>", "</tool_call>"])


TICK = json_call('{"name": "tick", "arguments": {}}')
QUOTED = '<tool_call>{"name": "tick"}</tool_call>'

READ = [
    Read(
        "a call quoted in the thought (JSON)",
        "qwen3",
        f"<think>\nMaybe {QUOTED}?\n</think>\n\n{TICK}<|im_end|>",
        reasoning=f"Maybe {QUOTED}?",
        calls=(("tick", {}),),
        prompt=CHATML,
    ),
    Read(
        "a call quoted in the thought (XML)",
        "qwen3_coder",
        f"Not {xml_call('tick')} yet.\n</think>\n\n{xml_call('rename', '<parameter=old>', 'a', '</parameter>')}",
        reasoning=f"Not {xml_call('tick')} yet.",
        calls=(("rename", {"old": "a"}),),
        prompt=THINKING,
    ),
    Read(
        "the prompt opened the thought",
        "deepseek_r1_distill",
        "Count on.\n</think>\n\nFive.<｜end▁of▁sentence｜>",
        reasoning="Count on.",
        text="Five.",
        prompt="<｜Assistant｜><think>\n",
    ),
    Read(
        "no thought at all",
        "deepseek_r1_distill",
        '{"five": 5}<｜end▁of▁sentence｜>',
        text='{"five": 5}',
        prompt="<｜Assistant｜>",
    ),
    Read(
        "a thought and no call with a tool format that also closes with a tag",
        "qwen3_5",
        "No need.\n</think>\n\nHello you.<|im_end|>",
        reasoning="No need.",
        text="Hello you.",
        prompt=THINKING,
    ),
    Read("an empty thought", "qwen3", f"<think>\n\n</think>\n\n{TICK}<|im_end|>", calls=(("tick", {}),), prompt=CHATML),
    Read(
        "white space that the model wrote itself",
        "qwen3",
        "<think>\n a \n</think>\n\n b <|im_end|>",
        reasoning=" a ",
        text=" b ",
        prompt=CHATML,
    ),
    Read(
        "the closing tag inside a value (JSON)",
        "qwen3",
        json_call('{"name": "rename", "arguments": {"old": "</tool_call>"}}') + "\n" + TICK,
        calls=(("rename", {"old": "</tool_call>"}), ("tick", {})),
        prompt=NO_THOUGHT,
    ),
    Read(
        "the closing tags inside a value (XML)",
        "qwen3_5",
        xml_call("rename", "<parameter=old>", "</function> and </tool_call>", "</parameter>"),
        calls=(("rename", {"old": "</function> and </tool_call>"}),),
        prompt=NO_THOUGHT,
    ),
    Read(
        "braces inside a quoted value",
        "gemma4",
        '<|tool_call>call:rename{old:<|"|>}{ {<|"|>}<tool_call|><turn|>',
        calls=(("rename", {"old": "}{ {"}),),
    ),
    Read(
        "lists and objects inside each other",
        "gemma4",
        '<|tool_call>call:count{steps:[{at:<|"|>x,y<|"|>,by:[1,2]},{at:null}],start:3}<tool_call|><turn|>',
        calls=(("count", {"steps": [{"at": "x,y", "by": [1, 2]}, {"at": None}], "start": 3}),),
    ),
    Read(
        "a tag in prose opens no call",
        "qwen3_coder",
        "You may write <function=tick> in a file.<|im_end|>",
        text="You may write <function=tick> in a file.",
        warnings=("looks_like_call",),
        prompt=NO_THOUGHT,
    ),
    Read(
        "a call with the key that says its type",
        "llama3",
        '{"type": "function", "name": "count", "parameters": {"start": 1}}<|eot_id|>',
        calls=(("count", {"start": 1}),),
    ),
    Read(
        "JSON that is no call",
        "llama3",
        '{"name": "Ann", "born": 1990} is a record.<|eot_id|>',
        text='{"name": "Ann", "born": 1990} is a record.',
    ),
    Read(
        "a value that its tool declares otherwise",
        "qwen3_coder",
        xml_call("count", "<parameter=start>", "next week", "</parameter>"),
        calls=(("count", {"start": "next week"}),),
        warnings=("argument_type",),
        prompt=NO_THOUGHT,
    ),
    Read(
        "numbers where the wire carries no types",
        "nemotron_3",
        xml_call("count", "<parameter=start>", "12", "</parameter>", "<parameter=steps>", "[1, 2]", "</parameter>"),
        calls=(("count", {"start": 12, "steps": [1, 2]}),),
        prompt=NO_THOUGHT,
    ),
    Read(
        "numbers and lists where the wire carries no types",
        "glm4_7",
        "<tool_call>count<arg_key>start</arg_key><arg_value>12</arg_value><arg_key>steps</arg_key><arg_value>[]</arg_value>"
        "</tool_call><|observation|>",
        calls=(("count", {"start": 12, "steps": []}),),
    ),
    Read(
        "digits for a string",
        "qwen3_5",
        xml_call("rename", "<parameter=old>", "007", "</parameter>"),
        calls=(("rename", {"old": "007"}),),
        prompt=NO_THOUGHT,
    ),
    Read(
        "a union with a string in it",
        "qwen3_5",
        xml_call("label", "<parameter=mark>", "red", "</parameter>"),
        calls=(("label", {"mark": "red"}),),
        prompt=NO_THOUGHT,
    ),
    Read(
        "Python instead of JSON",
        "qwen3_coder",
        xml_call("count", "<parameter=options>", "{'fast': True}", "</parameter>"),
        calls=(("count", {"options": {"fast": True}}),),
        warnings=("argument_type",),
        prompt=NO_THOUGHT,
    ),
    Read(
        "indentation and blank lines of a value",
        "qwen3_coder",
        xml_call("rename", "<parameter=old>", "\tif a:\n\t\tb()\n\n", "</parameter>"),
        calls=(("rename", {"old": "\tif a:\n\t\tb()\n\n"}),),
        prompt=NO_THOUGHT,
    ),
    Read(
        "lines that end as on Windows",
        "qwen3_coder",
        xml_call("rename", "<parameter=old>", "a", "</parameter>").replace("\n", "\r\n"),
        calls=(("rename", {"old": "a"}),),
        prompt=NO_THOUGHT,
    ),
    Read("no argument (JSON)", "qwen3", json_call('{"name": "tick"}'), calls=(("tick", {}),), prompt=NO_THOUGHT),
    Read("no argument (XML)", "qwen3_coder", xml_call("tick"), calls=(("tick", {}),), prompt=NO_THOUGHT),
    Read(
        "no argument (GLM, older layout)",
        "glm4_moe",
        "<tool_call>tick\n</tool_call><|observation|>",
        calls=(("tick", {}),),
    ),
    Read(
        "a thought and the next role as the end",
        "glm4_moe",
        "\n<think></think>\nGood day.<|user|>",
        text="Good day.",
        prompt="<|assistant|>",
    ),
    Read(
        "several calls",
        "qwen3",
        TICK + "\n" + json_call('{"name": "label", "arguments": {"mark": null}}'),
        calls=(("tick", {}), ("label", {"mark": None})),
        prompt=NO_THOUGHT,
    ),
    Read(
        "objects inside arguments",
        "qwen3",
        json_call('{"name": "count", "arguments": {"options": {"a": [{"b": 1}]}}}'),
        calls=(("count", {"options": {"a": [{"b": 1}]}}),),
        prompt=NO_THOUGHT,
    ),
    Read(
        "a server that eats the stop token",
        "gpt_oss",
        "<|channel|>analysis<|message|>On.<|end|><|start|>assistant<|channel|>commentary to=functions.count"
        ' <|constrain|>json<|message|>{"start": 4}',
        reasoning="On.",
        calls=(("count", {"start": 4}),),
        prompt=HARMONY,
    ),
    Read(
        "a call in the format of another family",
        "qwen3_coder",
        "<|tool_call_start|>[tick()]<|tool_call_end|>",
        text="<|tool_call_start|>[tick()]<|tool_call_end|>",
        warnings=("looks_like_call",),
        prompt=NO_THOUGHT,
    ),
]

FLAGGED = [
    Flagged(
        "a mangled closing tag",
        "qwen3_5",
        xml_call("rename", "<parameter=old>", "a", "</parameter/>"),
        "missing_tag",
        "<",
        NO_THOUGHT,
    ),
    Flagged(
        "a quoted parameter name",
        "qwen3_5",
        xml_call("rename", '<parameter="old">', "a", "</parameter>"),
        "missing_tag",
        "<",
        NO_THOUGHT,
    ),
    Flagged(
        "a stray closing tag behind a key",
        "glm4_7",
        "<tool_call>rename<arg_key>old</arg_key></arg_key><arg_value>a</arg_value></tool_call>",
        "missing_tag",
        "<",
    ),
    Flagged(
        "a missing comma",
        "gemma4",
        '<|tool_call>call:rename{old:<|"|>a<|"|>new:<|"|>b<|"|>}<tool_call|>',
        "invalid_json",
        "n",
    ),
    Flagged(
        "a control character in a JSON string",
        "qwen3",
        json_call('{"name": "rename", "arguments": {"old": "\t"}}'),
        "invalid_json",
        "\t",
        NO_THOUGHT,
    ),
    Flagged(
        "a message without its marker",
        "gpt_oss",
        "<|channel|>final Nine.<|return|>",
        "unclaimed_text",
        "<|channel|>final Nine.<|return|>",
        HARMONY,
    ),
    Flagged(
        "a token behind a finished message",
        "gpt_oss",
        "<|channel|>final<|message|>Nine.<|end|><|return|>",
        "unclaimed_text",
        "<|return|>",
        HARMONY,
    ),
    Flagged(
        "the model speaks on as the next role",
        "qwen3",
        "Yes.<|im_end|>\n<|im_start|>user\nAnd?<|im_end|>",
        "text_after_end_of_turn",
        "<|im_start|>user\nAnd?<|im_end|>",
        NO_THOUGHT,
    ),
    Flagged(
        "complete calls before one that was cut off",
        "qwen3",
        f"{TICK}\n<tool_call>\n{{",
        "unclosed_call",
        "\n<tool_call>\n{",
        NO_THOUGHT,
    ),
    Flagged(
        "thousands of calls and a cut one",
        "qwen3",
        f"{TICK}\n" * 2_000 + "<tool_call>",
        "unclosed_call",
        "\n<tool_call>",
        NO_THOUGHT,
    ),
]


@pytest.mark.parametrize("case", READ, ids=lambda case: case.kind)
def test_a_reported_kind_is_read_as_it_was_meant(case: Read) -> None:
    parsed = registered(case.schema).parse(case.output, prompt=case.prompt, tools=TOOLS)
    assert [(use["name"], use["input"]) for use in parsed.tool_uses] == list(case.calls)
    assert (parsed.reasoning, parsed.text) == (case.reasoning, case.text)
    assert [(issue.code, issue.severity) for issue in parsed.issues] == [(code, "warning") for code in case.warnings]
    assert not parsed.ill_formed


@pytest.mark.parametrize("case", FLAGGED, ids=lambda case: case.kind)
def test_a_reported_kind_is_flagged_where_it_goes_wrong(case: Flagged) -> None:
    parsed = registered(case.schema).parse(case.output, prompt=case.prompt, tools=TOOLS)
    assert findings(case.output, parsed)[0] == (case.code, "error", case.at)
    assert (parsed.reasoning, parsed.text, parsed.tool_uses, parsed.ill_formed) == ("", case.output, [], True)


@text_after_calls
def test_text_behind_a_bare_call_is_kept() -> None:
    output = '{"name": "tick", "parameters": {}}\nDone.<|eot_id|>'
    parsed = registered("llama3").parse(output, prompt="", tools=TOOLS)
    assert parsed.tool_uses == [{"name": "tick", "input": {}}]
    assert (parsed.text, parsed.ill_formed) == ("\nDone.", False)
    assert findings(output, parsed) == [("text_after_call", "warning", "\nDone.")]


def test_a_thought_that_the_length_limit_cut_is_no_answer() -> None:
    parsed = registered("qwen3").parse("Three is prime, four", prompt=THINKING)
    assert (parsed.reasoning, parsed.text, parsed.ill_formed) == ("Three is prime, four", "", True)
    assert [issue.code for issue in parsed.issues] == ["unclosed_reasoning"]
