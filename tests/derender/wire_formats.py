"""One small writer for each registered schema: a turn, written as the family's template writes it.

The writers know nothing of the schemas, so that they can say what an output means: the turn that they write it for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Turn:
    """What a model meant. `reasoning` is `None` where there is no block of it; `ended`: the end marker is written."""

    reasoning: str | None = None
    text: str = ""
    calls: tuple[Call, ...] = ()
    ended: bool = True


@dataclass(frozen=True)
class WireFormat:
    """How a family writes turns, and what its turns hold.

    `anchor` begins an assistant's turn; `normal` turns other forms that models of the family legitimately write into
    the one that `write` writes; `carries` says which turns the format can tell from others.
    """

    write: Callable[[Turn], str]
    anchor: str
    thinks: bool = True
    most_calls: int = 3
    text_with_calls: bool = True
    normal: Callable[[str], str] = str
    carries: Callable[[Turn], bool] = lambda _: True


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _json_unless_text(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)


def _ended(turn: Turn, marker: str) -> str:
    return marker if turn.ended else ""


def _thought(turn: Turn, before: str, after: str, *, without: str = "") -> str:
    return without if turn.reasoning is None else before + turn.reasoning + after


def _qwen3(turn: Turn) -> str:
    calls = [
        f'<tool_call>\n{{"name": "{name}", "arguments": {_json(arguments)}}}\n</tool_call>'
        for name, arguments in turn.calls
    ]
    body = "\n".join([turn.text] * bool(turn.text) + calls)
    return _thought(turn, "<think>\n", "\n</think>\n\n") + body + _ended(turn, "<|im_end|>")


def _qwen_xml(
    behind_thought: str,
    behind_text: str,
    *,
    before_thought: str = "<think>\n",
    tag: str = "tool_call",
    line: str = "\n",
    value: Callable[[Any], str] = _json_unless_text,
    between: str = "\n",
    behind_calls: str = "",
    ending: str = "<|im_end|>",
) -> Callable[[Turn], str]:
    """Calls as functions with parameters, the value of each between two `line`s."""

    def call(name: str, arguments: dict[str, Any]) -> str:
        parameters = "".join(
            f"<parameter={key}>{line}{value(each)}{line}</parameter>\n" for key, each in arguments.items()
        )
        return f"<{tag}>\n<function={name}>\n{parameters}</function>\n</{tag}>"

    def write(turn: Turn) -> str:
        calls = between.join(call(*each) for each in turn.calls) + (behind_calls if turn.calls else "")
        text = turn.text + (behind_text if turn.text and calls else "")
        return _thought(turn, before_thought, behind_thought) + text + calls + _ended(turn, ending)

    return write


def _glm(
    opening: str,
    closing: str,
    line: str,
    *,
    without_thought: str = "",
    ending: str = "",
    behind_calls: str = "",
    written: Callable[[Any], str] | None = None,
) -> Callable[[Turn], str]:
    """Calls as keys and values; the default ending says whose turn it is."""

    def call(name: str, arguments: dict[str, Any]) -> str:
        pairs = "".join(
            f"<arg_key>{key}</arg_key>{line}<arg_value>{(written or _json_unless_text)(value)}</arg_value>{line}"
            for key, value in arguments.items()
        )
        return f"{line}<tool_call>{name}{line}{pairs}</tool_call>"

    def write(turn: Turn) -> str:
        next_turn = "<|observation|>" if turn.calls else "<|user|>"
        calls = "".join(call(*each) for each in turn.calls) + (behind_calls if turn.calls else "")
        thought = _thought(turn, opening, closing, without=without_thought)
        return thought + turn.text + calls + _ended(turn, ending or next_turn)

    return write


def _harmony(turn: Turn) -> str:
    def messages() -> Iterator[str]:
        if turn.reasoning is not None:
            yield f"<|channel|>analysis<|message|>{turn.reasoning}<|end|>"
        if turn.text and turn.calls:
            yield f"<|channel|>commentary<|message|>{turn.text}<|end|>"
        for number, (name, arguments) in enumerate(turn.calls, start=1):
            header = f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>"
            yield header + _json(arguments) + ("<|call|>" if turn.ended or number < len(turn.calls) else "")
        if turn.text and not turn.calls:
            yield f"<|channel|>final<|message|>{turn.text}{_ended(turn, '<|return|>')}"

    return "<|start|>assistant".join(messages())


def _llama3(turn: Turn) -> str:
    calls = (f'{{"name": "{name}", "parameters": {_json(arguments)}}}' for name, arguments in turn.calls)
    between = "<|python_tag|>" if turn.text and turn.calls else ""
    return turn.text + between + "".join(calls) + _ended(turn, "<|eot_id|>")


def _literal(value: Any) -> str:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
        return f"'{escaped}'"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return repr(value)


def _call_list(calls: tuple[Call, ...]) -> str:
    written = (
        f"{name}({', '.join(f'{key}={_literal(value)}' for key, value in arguments.items())})"
        for name, arguments in calls
    )
    return "[" + ", ".join(written) + "]"


def _unescaped_call_list(calls: tuple[Call, ...]) -> str:
    def value(argument: Any) -> str:
        return f"'{argument}'" if isinstance(argument, str) else _json(argument)

    written = (
        f"{name}({', '.join(f'{key}={value(argument)}' for key, argument in arguments.items())})"
        for name, arguments in calls
    )
    return "[" + ", ".join(written) + "]"


def _llama4(turn: Turn) -> str:
    calls = f"<|python_start|>{_call_list(turn.calls)}<|python_end|>" if turn.calls else ""
    return turn.text + calls + _ended(turn, "<|eot|>")


def _llama4_json(turn: Turn) -> str:
    calls = "".join(f'{{"name": "{name}", "parameters": {_json(arguments)}}}' for name, arguments in turn.calls)
    text = f"<|python_start|>{turn.text}<|python_end|>" if turn.calls else turn.text
    return text + calls + _ended(turn, "<|eot|>")


def _lfm(write_calls: Callable[[tuple[Call, ...]], str]) -> Callable[[Turn], str]:
    def write(turn: Turn) -> str:
        calls = f"<|tool_call_start|>{write_calls(turn.calls)}<|tool_call_end|>" if turn.calls else ""
        return _thought(turn, "<think>", "</think>") + turn.text + calls + _ended(turn, "<|im_end|>")

    return write


def _holds_no_quoted_comma(turn: Turn) -> bool:
    texts = (value for _, arguments in turn.calls for value in arguments.values() if isinstance(value, str))
    return not any("'," in text for text in texts)


def _holds_no_list(turn: Turn) -> bool:
    return not any(isinstance(value, list) for _, arguments in turn.calls for value in arguments.values())


def _in_section(
    ending: str,
    opening: str,
    closing: str,
    call: Callable[[int, str, dict[str, Any]], str],
    *,
    between: str = "",
    behind_text: str = "",
    thought: tuple[str, str] = ("<think>", "</think>"),
) -> Callable[[Turn], str]:
    """Thought, text and one section of calls."""

    def write(turn: Turn) -> str:
        calls = between.join(call(number, *each) for number, each in enumerate(turn.calls))
        section = opening + calls + closing if turn.calls else ""
        text = turn.text + (behind_text if turn.text and section else "")
        return _thought(turn, *thought) + text + section + _ended(turn, ending)

    return write


def _pairs(arguments: dict[str, Any], form: str) -> str:
    """The arguments, each as `form` says with `{0}` for its name and `{1}` for its value."""
    return "".join(form.format(key, _json_unless_text(value)) for key, value in arguments.items())


def _dsml_call(_: int, name: str, arguments: dict[str, Any]) -> str:
    parameters = "\n".join(
        f'<｜DSML｜parameter name="{key}" string="{str(isinstance(value, str)).lower()}">{_json_unless_text(value)}'
        "</｜DSML｜parameter>"
        for key, value in arguments.items()
    )
    return f'<｜DSML｜invoke name="{name}">\n{parameters}\n</｜DSML｜invoke>'


def _kimi_k3(turn: Turn) -> str:
    def argument(key: str, value: Any) -> str:
        kinds = {str: "string", int: "number", list: "array"}
        return (
            f'<|open|>argument key="{key}" type="{kinds[type(value)]}"<|sep|>{_json_unless_text(value)}'
            "<|close|>argument<|sep|>"
        )

    def call(number: int, name: str, arguments: dict[str, Any]) -> str:
        body = "".join(argument(*each) for each in arguments.items())
        return f'<|open|>call tool="{name}" index="{number}"<|sep|>{body}<|close|>call<|sep|>'

    calls = "".join(call(number, *each) for number, each in enumerate(turn.calls, start=1))
    tools = f"<|open|>tools<|sep|>{calls}<|close|>tools<|sep|>" if calls else ""
    thought = _thought(turn, "<|open|>think<|sep|>", "<|close|>think<|sep|>")
    text = f"<|open|>response<|sep|>{turn.text}<|close|>response<|sep|>"
    return thought + text + tools + _ended(turn, "<|close|>message<|sep|>")


def _minimax_m3_call(_: int, name: str, arguments: dict[str, Any]) -> str:
    mark = "]<]minimax[>["
    return f'{mark}<invoke name="{name}">{_pairs(arguments, f"{mark}<{{0}}>{{1}}{mark}</{{0}}>")}{mark}</invoke>'


def _olmo_3_call(_: int, name: str, arguments: dict[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={_json(value)}' for key, value in arguments.items())})"


def _solar_open(turn: Turn) -> str:
    def messages() -> Iterator[str]:
        if turn.reasoning is not None:
            yield f"<|think|>{turn.reasoning}<|end|>"
        if turn.calls:
            calls = "".join(
                f"<|tool_call:begin|>c{number}<|tool_call:name|>{name}<|tool_call:args|>{_json(arguments)}"
                "<|tool_call:end|>"
                for number, (name, arguments) in enumerate(turn.calls)
            )
            yield f"<|tool_calls|>{calls}{_ended(turn, '<|calls|>')}"
        else:
            yield f"<|content|>{turn.text}{_ended(turn, '<|end|>')}"

    return "<|begin|>assistant".join(messages())


def _muse(turn: Turn) -> str:
    def call(name: str, arguments: dict[str, Any]) -> str:
        parameters = _pairs(arguments, '<atem:parameter name="{0}">{1}</atem:parameter>\n')
        block = f'<atem:invoke name="{name}">\n{parameters}</atem:invoke>'
        return f" to={name}<|message|><atem:function_calls>\n{block}\n</atem:function_calls>"

    def messages() -> Iterator[str]:
        if turn.reasoning is not None:
            yield f" to=self<|message|>{turn.reasoning}"
        yield from [call(*each) for each in turn.calls] or [f" to=user<|message|>{turn.text}"]

    return "<|eom|><|start|>assistant".join(messages()) + _ended(turn, "<|eot|>")


def _hyperclovax(turn: Turn) -> str:
    def messages() -> Iterator[str]:
        if turn.reasoning is not None:
            yield f"/think\n{turn.reasoning}"
        if turn.text or not turn.calls:
            yield f"\n{turn.text}"
        if turn.calls:
            yield f" -> tool/function_call\n[{', '.join(_json_call(*each) for each in turn.calls)}]"

    ending = "<|stop|>" if turn.calls else "<|endofturn|>"
    return "<|im_end|>\n<|im_start|>assistant".join(messages()) + "<|im_end|>" + _ended(turn, ending)


def _gemma(turn: Turn) -> str:
    def value(argument: Any) -> str:
        if isinstance(argument, str):
            return f'<|"|>{argument}<|"|>'
        if isinstance(argument, list):
            return "[" + ",".join(map(value, argument)) + "]"
        return _json(argument)

    def call(name: str, arguments: dict[str, Any]) -> str:
        pairs = ",".join(f"{key}:{value(argument)}" for key, argument in arguments.items())
        return f"<|tool_call>call:{name}{{{pairs}}}<tool_call|>"

    calls = "".join(call(*each) for each in turn.calls)
    thought = _thought(turn, "<|channel>thought\n", "\n<channel|>")
    return thought + turn.text + calls + _ended(turn, "<|tool_response>" if turn.calls else "<turn|>")


def _json_call(name: str, arguments: dict[str, Any]) -> str:
    return f'{{"name": "{name}", "arguments": {_json(arguments)}}}'


def _tagged(
    ending: str,
    *,
    call: str = "<tool_call>\n{}\n</tool_call>",
    form: Callable[[str, dict[str, Any]], str] = _json_call,
    before_call: str = "",
    between: str = "\n",
    begin: str = "",
    thought: tuple[str, str] = ("<think>\n", "\n</think>\n\n"),
    without_thought: str = "",
) -> Callable[[Turn], str]:
    """Thought, text and tagged calls, which are JSON unless `form` says otherwise, with a family's own line breaks."""

    def write(turn: Turn) -> str:
        calls = between.join(call.format(form(*each)) for each in turn.calls)
        text = turn.text + (before_call if turn.text and calls else "")
        return begin + _thought(turn, *thought, without=without_thought) + text + calls + _ended(turn, ending)

    return write


def _listed(
    ending: str, opening: str, closing: str, *, begin: str = "", before: str = "", nested: bool = False
) -> Callable[[Turn], str]:
    """Text and one list of calls, each bare or as the `function` of an object."""

    def call(name: str, arguments: dict[str, Any]) -> str:
        function = _json_call(name, arguments)
        return f'{{"type": "function", "function": {function}}}' if nested else function

    def write(turn: Turn) -> str:
        calls = opening + ", ".join(call(*each) for each in turn.calls) + closing if turn.calls else ""
        text = turn.text + (before if turn.text and calls else "")
        return begin + text + calls + _ended(turn, ending)

    return write


def _mistral(thought: tuple[str, str] = ("[THINK]", "[/THINK]")) -> Callable[[Turn], str]:
    def write(turn: Turn) -> str:
        calls = "".join(f"[TOOL_CALLS]{name}[ARGS]{_json(arguments)}" for name, arguments in turn.calls)
        return _thought(turn, *thought) + turn.text + calls + _ended(turn, "</s>")

    return write


def _functiongemma(turn: Turn) -> str:
    def value(argument: Any) -> str:
        if isinstance(argument, str):
            return f"<escape>{argument}<escape>"
        if isinstance(argument, list):
            return "[" + ",".join(map(value, argument)) + "]"
        return _json(argument)

    def call(name: str, arguments: dict[str, Any]) -> str:
        pairs = ",".join(f"{key}:{value(argument)}" for key, argument in arguments.items())
        return f"<start_function_call>call:{name}{{{pairs}}}<end_function_call>"

    calls = "".join(call(*each) for each in turn.calls)
    return turn.text + calls + _ended(turn, "<start_function_response>" if turn.calls else "<end_of_turn>")


def _in_cdata(value: Any) -> str:
    quoted = isinstance(value, str) and any(mark in value for mark in "<&\n")
    return f"<![CDATA[{value}]]>" if quoted else str(value)


def _elements(
    ending: str,
    function: tuple[str, str],
    parameter: tuple[str, str],
    *,
    value: Callable[[Any], str] = str,
    between: str = "\n",
    closing: str = "",
) -> Callable[[Turn], str]:
    """Calls as function and parameter elements, `{}` for their names; `closing` stands even before a missing ending."""

    def call(name: str, arguments: dict[str, Any]) -> str:
        parameters = (parameter[0].format(key) + value(each) + parameter[1] for key, each in arguments.items())
        return function[0].format(name) + "".join(parameters) + function[1]

    def write(turn: Turn) -> str:
        calls = between.join(call(*each) for each in turn.calls)
        text = turn.text + (between if turn.text and calls else "")
        return _thought(turn, "<think>\n", "\n</think>\n\n") + text + calls + closing + _ended(turn, ending)

    return write


def _llada2(turn: Turn) -> str:
    calls = "".join(
        f"<|tool_call_begin|>functions.{name}:{number}<|tool_call_argument_begin|>{_json(arguments)}<|tool_call_end|>"
        for number, (name, arguments) in enumerate(turn.calls)
    )
    section = f"<|tool_calls_section_begin|>{calls}<|tool_calls_section_end|>" if calls else ""
    return turn.text + section + _ended(turn, "<|role_end|>")


def _normal_llama3(output: str) -> str:
    return (
        output.replace("<|python_tag|>", "")
        .replace('"type": "function", ', "")
        .replace('"arguments": ', '"parameters": ')
    )


def _normal_llama4(output: str) -> str:
    """The list of calls may also stand bare."""
    return output.replace("<|python_start|>", "").replace("<|python_end|>", "")


def _normal_lfm(output: str) -> str:
    """The turn may also end as a document does."""
    return output.removesuffix("<|endoftext|>")


def _normal_tiny_aya(output: str) -> str:
    """A turn that is cut off has not come to the end of its response."""
    return output.removesuffix("<|END_RESPONSE|>")


def _normal_muse(output: str) -> str:
    """The space behind a header is part of the delimiter, not white space that may as well be missing."""
    return output.replace("<|start|>assistant to=", "<|start|>assistant_to=")


def _normal_laguna(output: str) -> str:
    """Where there is no thought, its closer may stand in the prompt already."""
    return output.removeprefix("</think>")


def _hunyuan_3(suffix: str) -> Callable[[Turn], str]:
    def call(_: int, name: str, arguments: dict[str, Any]) -> str:
        key, value = f"<arg_key{suffix}>{{0}}</arg_key{suffix}>", f"<arg_value{suffix}>{{1}}</arg_value{suffix}>"
        pairs = _pairs(arguments, f"{key}\n{value}\n")
        return f"<tool_call{suffix}>{name}<tool_sep{suffix}>\n{pairs}</tool_call{suffix}>"

    return _in_section(
        f"<｜hy_eos{suffix}｜>",
        f"<tool_calls{suffix}>\n",
        f"\n</tool_calls{suffix}>",
        call,
        between="\n",
        thought=(f"<think{suffix}>", f"</think{suffix}>"),
    )


def _listed_call(_: int, name: str, arguments: dict[str, Any]) -> str:
    return _json_call(name, arguments)


_APRIEL_THOUGHT = ("Here are my reasoning steps:\n", "\n[BEGIN FINAL RESPONSE]\n")

CHATML = "<|im_start|>assistant\n"
LLAMA_3 = "<|start_header_id|>assistant<|end_header_id|>\n\n"

WIRE_FORMATS = {
    "apertus": WireFormat(
        _in_section(
            "<|assistant_end|>",
            "<|tools_prefix|>[",
            "]<|tools_suffix|>",
            lambda _, name, arguments: f'{{"{name}": {_json(arguments)}}}',
            between=", ",
            thought=("<|inner_prefix|>", "<|inner_suffix|>"),
        ),
        "<|assistant_start|>",
    ),
    "apriel": WireFormat(
        _in_section(
            "\n<|end|>", "\n<tool_calls>[", "]</tool_calls>", _listed_call, between=", ", thought=_APRIEL_THOUGHT
        ),
        "<|assistant|>\n",
        normal=lambda output: output.replace("[END FINAL RESPONSE]", ""),
    ),
    "apriel_1_6": WireFormat(
        _in_section(
            "<|end|>", "\n<tool_calls>[", "]</tool_calls>", _listed_call, between=", ", thought=_APRIEL_THOUGHT
        ),
        "<|begin_assistant|>\n",
    ),
    "apriel_nemotron": WireFormat(
        _in_section(
            "<|end|>", "\n<tool_calls>[", "]</tool_calls>", _listed_call, between=", ", thought=_APRIEL_THOUGHT
        ),
        "<|assistant|>\n",
    ),
    "ax_4": WireFormat(
        _tagged("<|im_end|>", call="<tool_call>{}</tool_call>", between=""), "<|im_start|><|assistant|>", thinks=False
    ),
    "cosmos_3": WireFormat(_qwen_xml("\n</think>\n", "\n"), CHATML),
    "deephat": WireFormat(_listed("<|im_end|>", "[", "]"), CHATML, thinks=False, text_with_calls=False),
    "deepseek_dsml": WireFormat(
        _in_section(
            "<｜end▁of▁sentence｜>",
            "\n\n<｜DSML｜tool_calls>\n",
            "\n</｜DSML｜tool_calls>",
            _dsml_call,
            between="\n",
        ),
        "<｜Assistant｜>",
    ),
    "deepseek_r1_distill": WireFormat(_tagged("<｜end▁of▁sentence｜>"), "<｜Assistant｜>", most_calls=0),
    "deepseek_v3": WireFormat(
        _in_section(
            "<｜end▁of▁sentence｜>",
            "<｜tool▁calls▁begin｜>",
            "<｜tool▁calls▁end｜>",
            lambda _, name, arguments: (
                f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{_json(arguments)}\n```<｜tool▁call▁end｜>"
            ),
            between="\n",
            thought=("<think>\n", "\n</think>\n\n"),
        ),
        "<｜Assistant｜>",
    ),
    "deepseek_v3_1": WireFormat(
        _in_section(
            "<｜end▁of▁sentence｜>",
            "<｜tool▁calls▁begin｜>",
            "<｜tool▁calls▁end｜>",
            lambda _, name, arguments: (
                f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{_json(arguments)}<｜tool▁call▁end｜>"
            ),
        ),
        "<｜Assistant｜>",
    ),
    "falcon3": WireFormat(
        _listed("<|endoftext|>", "<tool_call>\n[", "]\n</tool_call>", before="\n", nested=True),
        "<|assistant|>\n",
        thinks=False,
    ),
    "falcon_e": WireFormat(
        _tagged("<|im_end|>", begin="\n", before_call="\n", thought=("<think>", "</think>\n")), "<|im_start|>assistant"
    ),
    "falcon_h1": WireFormat(_tagged("\n<|im_end|>", before_call="\n"), CHATML, thinks=False),
    "frogboss": WireFormat(
        _elements("<|im_end|>", ("<function={}>\n", "</function>"), ("  <parameter={}>", "</parameter>\n")), CHATML
    ),
    "functiongemma": WireFormat(_functiongemma, "<start_of_turn>model\n", thinks=False),
    "gemma4": WireFormat(_gemma, "<|turn>model\n"),
    "glm4": WireFormat(_tagged("<|user|>", begin="\n"), "<|assistant|>", most_calls=0),
    "glm4_7": WireFormat(_glm("<think>", "</think>", ""), "<|assistant|>"),
    "glm4_moe": WireFormat(_glm("\n<think>", "</think>\n", "\n"), "<|assistant|>"),
    "gpt_oss": WireFormat(_harmony, "<|start|>assistant"),
    "granite_4": WireFormat(
        _tagged("<|end_of_text|>", before_call="\n"), "<|start_of_role|>assistant<|end_of_role|>", thinks=False
    ),
    "granite_4_think": WireFormat(
        _tagged("<|end_of_text|>", before_call="\n"), "<|start_of_role|>assistant<|end_of_role|>"
    ),
    "granite_4_vision": WireFormat(
        _tagged("<|end_of_text|>", begin=" " * 8, before_call="\n"),
        "<|start_of_role|>assistant<|end_of_role|>",
        thinks=False,
    ),
    "grug": WireFormat(
        _tagged(
            "<|eot_id|>",
            call="<|tool_call|>\n{}\n<|tool_call_end|>",
            before_call="\n",
            thought=("<|start_think|>\n", "\n<|end_think|>\n\n"),
        ),
        LLAMA_3,
    ),
    "hermes_llama3": WireFormat(
        _tagged("<|eot_id|>", before_call="\n", thought=("<think>\n", "\n</think>\n")), LLAMA_3
    ),
    "hunyuan": WireFormat(
        _in_section(
            "<｜hy_place▁holder▁no▁2｜>",
            "<tool_calls>",
            "</tool_calls>",
            lambda _, name, arguments: f"<tool_call>{name}\n```json\n{_json(arguments)}\n```</tool_call>",
            between="\n",
            thought=("<think>\n", "\n</think>\n"),
        ),
        "<｜hy_Assistant｜>",
    ),
    "hunyuan_3": WireFormat(_hunyuan_3(""), "<｜hy_Assistant｜>"),
    "hunyuan_3_opensource": WireFormat(_hunyuan_3(":opensource"), "<｜hy_Assistant:opensource｜>"),
    "hyperclovax": WireFormat(
        _hyperclovax, "<|im_start|>assistant", normal=lambda output: output.removesuffix("<|im_end|>")
    ),
    "intellect_3": WireFormat(_qwen_xml("</think>\n", "\n\n", before_thought="<think>"), CHATML),
    "iquest_coder": WireFormat(_qwen_xml("\n</think>\n\n", "\n"), CHATML),
    "jamba": WireFormat(
        _listed("<|eom|>", "<tool_calls>[\n    ", "\n]</tool_calls>", begin=" "), "<|bom|><|assistant|>", thinks=False
    ),
    "kanana": WireFormat(
        _in_section("<|eot_id|>", "", "", lambda _, name, arguments: f"<function={name}>{_json(arguments)}</function>"),
        LLAMA_3,
        thinks=False,
    ),
    "kimi_k2": WireFormat(
        _in_section(
            "<|im_end|>",
            "<|tool_calls_section_begin|>",
            "<|tool_calls_section_end|>",
            lambda number, name, arguments: (
                f"<|tool_call_begin|>functions.{name}:{number}<|tool_call_argument_begin|>{_json(arguments)}"
                "<|tool_call_end|>"
            ),
        ),
        "<|im_assistant|>assistant<|im_middle|>",
    ),
    "kimi_k3": WireFormat(_kimi_k3, '<|open|>message role="assistant"<|sep|>'),
    "laguna": WireFormat(
        _glm("<think>", "</think>", "", without_thought="</think>", ending="</assistant>"),
        "<assistant>",
        normal=_normal_laguna,
    ),
    "laguna_python_constants": WireFormat(
        _glm(
            "<think>",
            "</think>",
            "",
            without_thought="</think>",
            ending="</assistant>",
            written=lambda value: str(value) if isinstance(value, bool | None) else _json_unless_text(value),
        ),
        "<assistant>",
        normal=_normal_laguna,
    ),
    "laguna_xs_2": WireFormat(
        _glm(
            "<think>\n",
            "\n</think>\n",
            "\n",
            without_thought="</think>\n",
            ending="</assistant>",
            behind_calls="\n",
        ),
        "<assistant>\n",
        normal=_normal_laguna,
    ),
    "lfm2": WireFormat(_lfm(_call_list), CHATML, normal=_normal_lfm),
    "lfm2_5": WireFormat(_lfm(_unescaped_call_list), CHATML, normal=_normal_lfm, carries=_holds_no_quoted_comma),
    "ling": WireFormat(
        _tagged("<|role_end|>", before_call="\n", thought=("\n<think>\n", "\n</think>\n\n")), "<role>ASSISTANT</role>"
    ),
    "llada2": WireFormat(_llada2, "<role>assistant</role>", thinks=False),
    "llada_moe": WireFormat(
        _tagged("<|role_end|>", before_call="\n", thought=("\n<think>\n", "\n</think>\n\n")), "<role>ASSISTANT</role>"
    ),
    "llama3": WireFormat(
        _llama3,
        LLAMA_3,
        thinks=False,
        most_calls=1,
        normal=_normal_llama3,
    ),
    "llama4": WireFormat(_llama4, "<|header_start|>assistant<|header_end|>\n\n", thinks=False, normal=_normal_llama4),
    "llama4_json": WireFormat(_llama4_json, "<|header_start|>assistant<|header_end|>\n\n", thinks=False),
    "longcat": WireFormat(
        _tagged(
            "</longcat_s>",
            call="<longcat_tool_call>\n{}\n</longcat_tool_call>",
            between="",
            thought=("<longcat_think>\n", "\n</longcat_think>\n"),
        ),
        "ASSISTANT:",
    ),
    "longcat_xml": WireFormat(
        _in_section(
            "</longcat_s>",
            "",
            "",
            lambda _, name, arguments: (
                f"<longcat_tool_call>{name}\n"
                + _pairs(
                    arguments,
                    "<longcat_arg_key>{0}</longcat_arg_key>\n<longcat_arg_value>{1}</longcat_arg_value>\n",
                )
                + "</longcat_tool_call>\n"
            ),
            thought=("<longcat_think>\n", "\n</longcat_think>\n"),
        ),
        "<longcat_assistant>",
    ),
    "magiseek": WireFormat(
        _tagged("</s>", call="<tool_call>{}</tool_call>", between="", thought=("<thinking>", "</thinking>")),
        "[/INST]",
    ),
    "magistral": WireFormat(_mistral(("<think>\n", "\n</think>\n")), "[/INST]"),
    "mimo": WireFormat(_qwen_xml("</think>", "", before_thought="<think>", line="", between=""), CHATML),
    "minicpm5": WireFormat(
        _elements(
            "<|im_end|>",
            ('<function name="{}">', "</function>"),
            ('<param name="{}">', "</param>"),
            value=_in_cdata,
        ),
        CHATML,
    ),
    "minimax_m2": WireFormat(
        _in_section(
            "[e~[",
            "\n<minimax:tool_call>\n",
            "\n</minimax:tool_call>",
            lambda _, name, arguments: (
                f'<invoke name="{name}">\n' + _pairs(arguments, '<parameter name="{0}">{1}</parameter>\n') + "</invoke>"
            ),
            between="\n",
            thought=("<think>\n", "\n</think>\n\n"),
        ),
        "]~b]ai\n",
    ),
    "minimax_m3": WireFormat(
        _in_section(
            "[e~[",
            "]<]minimax[>[<tool_call>\n",
            "\n]<]minimax[>[</tool_call>",
            _minimax_m3_call,
            between="\n",
            thought=("<mm:think>", "</mm:think>"),
        ),
        "]~b]ai\n",
        carries=_holds_no_list,
    ),
    "mistral": WireFormat(_mistral(), "[/INST]", thinks=False),
    "mistral_list": WireFormat(_listed("</s>", "[TOOL_CALLS] [", "]"), "[/INST]", thinks=False),
    "mistral_think": WireFormat(_mistral(), "[/INST]"),
    "monostich": WireFormat(
        _listed("<|im_end|>", "<|tool_call|>\n[", "]", before="\n", nested=True), CHATML, thinks=False
    ),
    "motif": WireFormat(_tagged("<|endofturn|>"), "<|startofturn|><|assistant|>\n\n", thinks=False, most_calls=0),
    "muse": WireFormat(_muse, "<|start|>assistant", text_with_calls=False, normal=_normal_muse),
    "nanbeige4": WireFormat(_qwen_xml("\n</think>\n\n", "\n\n"), CHATML),
    "nemotron_3": WireFormat(_qwen_xml("\n</think>\n", "\n"), CHATML),
    "nemotron_3_ultra": WireFormat(_qwen_xml("</think>", "\n", behind_calls="\n"), CHATML),
    "nemotron_nano_v2": WireFormat(
        _in_section(
            "\n<SPECIAL_12>",
            "<TOOLCALL>[",
            "]</TOOLCALL>",
            _listed_call,
            between=", ",
            behind_text="\n",
            thought=("<think>\n", "\n</think>\n\n"),
        ),
        "<SPECIAL_11>Assistant\n",
    ),
    "nemotron_toolcall": WireFormat(
        _in_section(
            "<|eot_id|>",
            "<TOOLCALL>[",
            "]</TOOLCALL>",
            _listed_call,
            between=", ",
            thought=("<think>\n", "\n</think>\n\n"),
        ),
        LLAMA_3,
    ),
    "olmo_3": WireFormat(
        _in_section(
            "<|im_end|>",
            "<function_calls>",
            "</function_calls>",
            _olmo_3_call,
            between="\n",
            thought=("<think>\n", "\n</think>\n\n"),
        ),
        CHATML,
    ),
    "openbuddy": WireFormat(_tagged("<|end|>"), "<|role|>assistant<|says|>", most_calls=0),
    "qwen3": WireFormat(_qwen3, CHATML),
    "qwen3_5": WireFormat(_qwen_xml("\n</think>\n\n", "\n\n"), CHATML),
    "qwen3_5_json_values": WireFormat(_qwen_xml("\n</think>\n\n", "\n\n"), CHATML),
    "qwen3_coder": WireFormat(_qwen_xml("\n</think>\n\n", "\n\n"), CHATML),
    "qwen3_coder_next": WireFormat(_qwen_xml("\n</think>\n\n", "\n\n"), CHATML),
    "qwq": WireFormat(_tagged("<|im_end|>", before_call="\n"), CHATML),
    "ring_2_5": WireFormat(_tagged("<|role_end|>", begin="\n", before_call="\n"), "<role>ASSISTANT</role>"),
    "ring_2_6": WireFormat(
        _tagged(
            "<|role_end|>",
            begin="\n",
            before_call="\n",
            call="<tool_call>{}\n</tool_call>",
            form=lambda name, arguments: (
                f"{name}\n" + _pairs(arguments, "<arg_key>{0}</arg_key>\n<arg_value>{1}</arg_value>")
            ),
        ),
        "<role>ASSISTANT</role>",
    ),
    "rnj_1": WireFormat(_tagged("<|eot_id|>"), "<|start_header_id|>assistant<|end_header_id|>\n", thinks=False),
    "seed_coder": WireFormat(
        _tagged("<[end▁of▁sentence]>"), "<[begin▁of▁sentence]>assistant\n", thinks=False, most_calls=0
    ),
    "seed_oss": WireFormat(
        _qwen_xml(
            "</seed:think>\n",
            "\n\n",
            before_thought="<seed:think>",
            tag="seed:tool_call",
            line="",
            value=str,
            ending="<seed:eos>",
        ),
        "<seed:bos>assistant\n",
    ),
    "smolvlm": WireFormat(_tagged("<end_of_utterance>", begin=" "), "Assistant:", thinks=False, most_calls=0),
    "solar_open": WireFormat(_solar_open, "<|begin|>assistant", text_with_calls=False),
    "solar_open_2": WireFormat(
        _in_section(
            "<|im:end|>",
            "",
            "",
            lambda _, name, arguments: (
                f"<|tool_call:start|>{name}\n"
                + _pairs(arguments, "<|tool_arg:start|>{0}<|tool_arg:value|>{1}<|tool_arg:end|>\n")
                + "<|tool_call:end|>\n"
            ),
            thought=("<|think:start|>", "<|think:end|>"),
        ),
        "<|im:start|>assistant<|im:content|>",
    ),
    "step3_5": WireFormat(_qwen_xml("\n</think>\n", "", between=""), CHATML),
    "step3_vl": WireFormat(
        _in_section(
            "<|im_end|>",
            "\n<tool_calls>\n",
            "\n</tool_calls>",
            lambda _, name, arguments: f"<tool_call>\n{_json_call(name, arguments)}\n</tool_call>",
            between="\n",
            thought=("<think>\n", "\n</think>\n"),
        ),
        CHATML,
    ),
    "step_audio": WireFormat(
        _in_section(
            "<|EOT|>",
            "",
            "",
            lambda _, name, arguments: f"<|CALL_START|>function\n{name}\n{_json(arguments)}<|CALL_END|>",
            thought=("<think>\n", "\n</think>\n"),
        ),
        "<|BOT|>assistant\n",
    ),
    "step_rlvr": WireFormat(
        _tagged(
            "<|im_end|>",
            before_call="\n",
            form=lambda name, arguments: f'{{"tool_call_id": "c1", "name": "{name}", "arguments": {_json(arguments)}}}',
            thought=("<think>\n", "\n</think>\n"),
        ),
        CHATML,
    ),
    "strawberry_lemonade": WireFormat(_listed("<|eot_id|>", "[", "]"), LLAMA_3, thinks=False),
    "tiny_aya": WireFormat(
        _elements(
            "<|END_OF_TURN_TOKEN|>",
            ("<tool_call>\n<function={}>\n", "</function>\n</tool_call>"),
            ("<parameter={}>", "\n</parameter>\n"),
            value=_json_unless_text,
            between="",
            closing="<|END_RESPONSE|>",
        ),
        "<|CHATBOT_TOKEN|><|START_RESPONSE|>",
        thinks=False,
        normal=_normal_tiny_aya,
    ),
    "trinity": WireFormat(
        _tagged("<|im_end|>", before_call="\n", thought=("<think>\n", "\n</think>\n"), without_thought="\n"), CHATML
    ),
    "vaetki": WireFormat(
        _tagged("<|END|>", before_call="\n", thought=("\n<think>\n", "\n</think>\n\n")),
        "<|role_start|>assistant<|role_end|>\n",
    ),
    "xlam": WireFormat(_listed("<|im_end|>", "[", "]"), CHATML, thinks=False, text_with_calls=False),
    "youtu": WireFormat(_tagged("<|end_of_text|>", call="<tool_call>{}</tool_call>"), "<|Assistant|>"),
    "zephyr": WireFormat(_tagged("</s>"), "<|assistant|>\n", thinks=False, most_calls=0),
    "zyphra": WireFormat(_qwen_xml("\n</think>\n\n", "\n\n", tag="zyphra_tool_call"), CHATML),
}
"""The writer for each registered schema; a test keeps this complete."""
