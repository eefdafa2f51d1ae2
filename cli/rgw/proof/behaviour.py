"""What a chat template does, as a fingerprint: short hashes of what it writes for a fixed suite of probes.

Two texts with the same fingerprint render the probes identically, however they are written. It never identifies a
template: only the sha256 of the text does.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rgw.proof.shapes import PROBE_DATE
from rgw.registry.model import RegisteredTemplate
from rgw.templates.rendering import FailureKind, Rendered, Renderer, RenderFailure, RenderRequest

SUITE = 1
"""The version of the suite; fingerprints of different suites cannot be compared."""

_HEX_DIGITS = 8
_WRITTEN = re.compile(rf"(\d+)-((?:[0-9a-f]{{{_HEX_DIGITS}}})+)")
_REFUSED = "0" * _HEX_DIGITS

_WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "The city."},
                "days": {"type": "integer", "description": "How many days.", "enum": [1, 3, 7]},
            },
            "required": ["city"],
        },
    },
}
_NOTE = {
    "type": "function",
    "function": {
        "name": "take_note",
        "description": "Take a note.",
        "parameters": {"type": "object", "properties": {"note": {"type": "object"}}, "required": []},
    },
}
_TOOLS = (_WEATHER, _NOTE)
_SYSTEM = {"role": "system", "content": "Be brief."}
_USER = {"role": "user", "content": "What is the weather in Paris?"}
_ANSWER = {"role": "assistant", "content": "It is fine."}
_RESULT = {"role": "tool", "name": "get_weather", "tool_call_id": "call00001", "content": '{"sky": "blue"}'}
_THOUGHT = "I look outside."
_CITY = {"city": "Paris", "days": 3}
_VALUES = {"note": {"text": ' a <b> & "c" é🙂\n', "list": [1, 2.5, True, None, "1"], "empty": {}}}


def _call(name: str, arguments: Any, number: int) -> dict[str, Any]:
    return {"type": "function", "id": f"call{number:05d}", "function": {"name": name, "arguments": arguments}}


def _calling(*calls: Mapping[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": list(calls)}


def _probe(
    *messages: Mapping[str, Any],
    tools: Sequence[Mapping[str, Any]] | None = None,
    prompt: bool = False,
    variables: Mapping[str, Any] | None = None,
) -> RenderRequest:
    return RenderRequest(messages, tools=tools, add_generation_prompt=prompt, variables=variables or {}, now=PROBE_DATE)


_THINKING_OFF = {"enable_thinking": False, "thinking": False, "reasoning_effort": "low"}
_TWO_CALLS = [_call("get_weather", _CITY, 1), _call("take_note", {}, 2)]
_IN_BLOCKS = {"role": "user", "content": [{"type": "text", "text": "Hello"}]}

PROBES: Mapping[str, RenderRequest] = {
    "a question": _probe(_USER),
    "a prompt": _probe(_USER, prompt=True),
    "a prompt with tools": _probe(_USER, tools=_TOOLS, prompt=True),
    "a prompt without thinking": _probe(_USER, prompt=True, variables=_THINKING_OFF),
    "a system message": _probe(_SYSTEM, _USER, _ANSWER),
    "a system message with tools": _probe(_SYSTEM, _USER, _ANSWER, tools=_TOOLS),
    "white space": _probe(_USER, {**_ANSWER, "content": "\n  fine \n\n"}),
    "reasoning": _probe(_USER, {**_ANSWER, "reasoning_content": _THOUGHT}),
    "reasoning under other names": _probe(_USER, {**_ANSWER, "thinking": _THOUGHT, "reasoning": _THOUGHT}),
    "reasoning in an earlier turn": _probe(_USER, {**_ANSWER, "reasoning_content": _THOUGHT}, _USER, _ANSWER),
    "a call": _probe(_USER, _calling(_call("get_weather", _CITY, 1)), tools=_TOOLS),
    "a call with its arguments as JSON": _probe(
        _USER, _calling(_call("get_weather", json.dumps(_CITY), 1)), tools=_TOOLS
    ),
    "two calls behind a text": _probe(_USER, {**_calling(*_TWO_CALLS), "content": "Both."}, tools=_TOOLS),
    "values of every type": _probe(_USER, _calling(_call("take_note", _VALUES, 1)), tools=_TOOLS),
    "a tool's result": _probe(
        _USER, _calling(_call("get_weather", _CITY, 1)), _RESULT, _ANSWER, _USER, tools=_TOOLS, prompt=True
    ),
    "content in blocks": _probe(_IN_BLOCKS, _ANSWER),
}
"""The suite: one conversation for each thing that templates do in their own ways."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """A fingerprint, as it stands in the registry: the suite, and a hash for each of its probes."""

    suite: int
    hashes: tuple[str, ...]

    @classmethod
    def read(cls, written: str) -> Behaviour | None:
        """The fingerprint that was written down; `None` when that is none."""
        match = _WRITTEN.fullmatch(written)
        if match is None:
            return None
        digits = match[2]
        hashes = tuple(digits[start : start + _HEX_DIGITS] for start in range(0, len(digits), _HEX_DIGITS))
        return cls(int(match[1]), hashes)

    def __str__(self) -> str:
        return f"{self.suite}-{''.join(self.hashes)}"

    def is_comparable(self, other: Behaviour) -> bool:
        """Whether the two are of the same suite."""
        return self.suite == other.suite and len(self.hashes) == len(other.hashes)

    def differences(self, other: Behaviour) -> list[str]:
        """The names of the probes that are rendered differently, in the order of the suite."""
        return [name for name, one, another in zip(PROBES, self.hashes, other.hashes, strict=True) if one != another]


@dataclass(frozen=True, slots=True)
class Resemblance:
    """The registered template that behaves most like another one.

    Attributes:
        template: The registered template.
        probes: How many probes there are.
        differences: The names of those that are rendered differently.
    """

    template: RegisteredTemplate
    probes: int
    differences: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form of the command line's contract."""
        return {
            "sha256": self.template.sha256,
            "variant": self.template.variant,
            "schema": self.template.schema,
            "probes": self.probes,
            "alike": self.probes - len(self.differences),
            "differences": list(self.differences),
        }


def behaviour_of(renderer: Renderer, template: str) -> Behaviour | None:
    """The fingerprint of a template; `None` when it does not compile, exceeds a limit or renders no probe.

    Args:
        renderer: Where to render, with the placeholder tokens.
        template: The chat template.
    """
    answers = renderer.render(template, list(PROBES.values()))
    if not any(isinstance(answer, Rendered) for answer in answers) or any(map(_is_fatal, answers)):
        return None
    return Behaviour(SUITE, tuple(map(_hash, answers)))


def most_alike(behaviour: Behaviour, templates: Iterable[RegisteredTemplate]) -> Resemblance | None:
    """The registered template that renders most probes the same way; one with a schema before one without."""
    resemblances = [
        Resemblance(template, len(behaviour.hashes), tuple(behaviour.differences(known)))
        for template in templates
        if (known := Behaviour.read(template.behaviour or "")) and known.is_comparable(behaviour)
    ]
    return min(
        resemblances,
        key=lambda found: (len(found.differences), found.template.schema is None, found.template.sha256),
        default=None,
    )


def _is_fatal(answer: Rendered | RenderFailure) -> bool:
    return isinstance(answer, RenderFailure) and answer.kind is not FailureKind.TEMPLATE_ERROR


def _hash(answer: Rendered | RenderFailure) -> str:
    """A refusal counts as one, whatever its words."""
    if isinstance(answer, RenderFailure):
        return _REFUSED
    return hashlib.sha256(answer.text.encode("utf-8", "surrogatepass")).hexdigest()[:_HEX_DIGITS]
