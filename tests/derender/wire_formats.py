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
    the one that `write` writes.
    """

    write: Callable[[Turn], str]
    anchor: str
    thinks: bool = True
    most_calls: int = 3
    normal: Callable[[str], str] = str


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _json_unless_text(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)


def _ended(turn: Turn, marker: str) -> str:
    return marker if turn.ended else ""


def _thought(turn: Turn, before: str, after: str) -> str:
    return "" if turn.reasoning is None else before + turn.reasoning + after


def _qwen3(turn: Turn) -> str:
    calls = [
        f'<tool_call>\n{{"name": "{name}", "arguments": {_json(arguments)}}}\n</tool_call>'
        for name, arguments in turn.calls
    ]
    body = "\n".join([turn.text] * bool(turn.text) + calls)
    return _thought(turn, "<think>\n", "\n</think>\n\n") + body + _ended(turn, "<|im_end|>")


def _qwen_xml(behind_thought: str, behind_text: str) -> Callable[[Turn], str]:
    def call(name: str, arguments: dict[str, Any]) -> str:
        parameters = "".join(
            f"<parameter={key}>\n{_json_unless_text(value)}\n</parameter>\n" for key, value in arguments.items()
        )
        return f"<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>"

    def write(turn: Turn) -> str:
        calls = "\n".join(call(*each) for each in turn.calls)
        between = behind_text if turn.text and calls else ""
        return _thought(turn, "<think>\n", behind_thought) + turn.text + between + calls + _ended(turn, "<|im_end|>")

    return write


def _glm(opening: str, closing: str, line: str) -> Callable[[Turn], str]:
    def call(name: str, arguments: dict[str, Any]) -> str:
        pairs = "".join(
            f"<arg_key>{key}</arg_key>{line}<arg_value>{_json_unless_text(value)}</arg_value>{line}"
            for key, value in arguments.items()
        )
        return f"{line}<tool_call>{name}{line}{pairs}</tool_call>"

    def write(turn: Turn) -> str:
        ending = "<|observation|>" if turn.calls else "<|user|>"
        calls = "".join(call(*each) for each in turn.calls)
        return _thought(turn, opening, closing) + turn.text + calls + _ended(turn, ending)

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


def _llama4(turn: Turn) -> str:
    calls = f"<|python_start|>{_call_list(turn.calls)}<|python_end|>" if turn.calls else ""
    return turn.text + calls + _ended(turn, "<|eot|>")


def _lfm(turn: Turn) -> str:
    calls = f"<|tool_call_start|>{_call_list(turn.calls)}<|tool_call_end|>" if turn.calls else ""
    return _thought(turn, "<think>", "</think>") + turn.text + calls + _ended(turn, "<|im_end|>")


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


def _deepseek_r1(turn: Turn) -> str:
    return _thought(turn, "<think>\n", "\n</think>\n\n") + turn.text + _ended(turn, "<｜end▁of▁sentence｜>")


def _normal_llama3(output: str) -> str:
    return (
        output.replace("<|python_tag|>", "")
        .replace('"type": "function", ', "")
        .replace('"arguments": ', '"parameters": ')
    )


def _normal_llama4(output: str) -> str:
    """The list of calls may also stand bare."""
    return output.replace("<|python_start|>", "").replace("<|python_end|>", "")


CHATML = "<|im_start|>assistant\n"

WIRE_FORMATS = {
    "deepseek_r1_distill": WireFormat(_deepseek_r1, "<｜Assistant｜>", most_calls=0),
    "gemma4": WireFormat(_gemma, "<|turn>model\n"),
    "glm4_7": WireFormat(_glm("<think>", "</think>", ""), "<|assistant|>"),
    "glm4_moe": WireFormat(_glm("\n<think>", "</think>\n", "\n"), "<|assistant|>"),
    "gpt_oss": WireFormat(_harmony, "<|start|>assistant"),
    "lfm2_5": WireFormat(_lfm, CHATML),
    "llama3": WireFormat(
        _llama3,
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
        thinks=False,
        most_calls=1,
        normal=_normal_llama3,
    ),
    "llama4": WireFormat(_llama4, "<|header_start|>assistant<|header_end|>\n\n", thinks=False, normal=_normal_llama4),
    "nemotron_3": WireFormat(_qwen_xml("\n</think>\n", "\n"), CHATML),
    "qwen3": WireFormat(_qwen3, CHATML),
    "qwen3_5": WireFormat(_qwen_xml("\n</think>\n\n", "\n\n"), CHATML),
    "qwen3_coder": WireFormat(_qwen_xml("\n</think>\n\n", "\n\n"), CHATML),
}
"""The writer for each registered schema; a test keeps this complete."""
