"""What a chat template wants its messages to look like, found by watching what it reads and what it then writes.

A probe conversation full of marks is rendered in every plausible form; the form that carries most of the marks is the
template's. Names of templates and models play no part.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import product
from typing import Any

from jinja2.defaults import DEFAULT_NAMESPACE

from rgw.proof.model import Call, Conversation, Role, Turn
from rgw.templates.rendering import PLACEHOLDER_TOKENS, FailureKind, Rendered, Renderer, RenderFailure, RenderRequest

PROBE_DATE = datetime(2024, 7, 26, tzinfo=UTC)
"""The date of every render of a proof: what a template writes must not depend on when it is asked."""


class ArgumentsForm(StrEnum):
    """How the arguments of a call are handed to a template."""

    OBJECT = "object"
    JSON_STRING = "json_string"


class ReasoningForm(StrEnum):
    """Where a message holds its reasoning."""

    REASONING_CONTENT = "reasoning_content"
    THINKING = "thinking"
    REASONING = "reasoning"
    THINKING_BLOCK = "thinking_block"
    NONE = "none"


class CallIds(StrEnum):
    """What the ids of calls look like."""

    NONE = "none"
    ALPHANUMERIC = "alphanumeric"
    NAMED = "named"


_CALL_ID = "call00001"
"""Every call's: an id says nothing that is to come back, and must not change when what is read is written again."""


class ContentForm(StrEnum):
    """Whether a message's text is a string or a list of blocks."""

    STRING = "string"
    BLOCKS = "blocks"


@dataclass(frozen=True, slots=True)
class Shape:
    """How a conversation is put to one template.

    Attributes:
        arguments: The form of call arguments.
        reasoning: The place of reasoning; `NONE` when the template never writes it.
        call_ids: The form of call ids.
        content: The form of texts.
        flat_tools: Tools are bare functions, without the `{"type": "function"}` around them.
        empty_tools: A conversation without tools offers an empty list of them.
        system: The template accepts a system message.
        tool_results: The template accepts tool results, and calls before the last turn with them.
        parallel_calls: The template accepts several calls in one turn.
        followed: The template takes a last turn for one to be continued, and writes it whole only before another.
        states: The assignments of extra variables that make distinct generation prompts, or have reasoning written that
            is not by default; the first is the default.
    """

    arguments: ArgumentsForm = ArgumentsForm.OBJECT
    reasoning: ReasoningForm = ReasoningForm.NONE
    call_ids: CallIds = CallIds.NONE
    content: ContentForm = ContentForm.STRING
    flat_tools: bool = False
    empty_tools: bool = False
    system: bool = True
    tool_results: bool = True
    parallel_calls: bool = True
    followed: bool = False
    states: tuple[Mapping[str, Any], ...] = field(default=({},))

    def adapt(self, conversation: Conversation) -> Conversation:
        """The conversation without what the template refuses."""
        turns = conversation.turns
        if not self.system:
            turns = tuple(turn for turn in turns if turn.role is not Role.SYSTEM)
        if not self.tool_results:
            turns = tuple(_without_tool_rounds(turns))
        if not self.parallel_calls:
            turns = tuple(_without_parallel_calls(turns))
        return replace(conversation, turns=turns)

    def messages(self, turns: Sequence[Turn]) -> list[dict[str, Any]]:
        """The turns as the template's messages."""
        if self.followed and turns[-1].role is Role.ASSISTANT:
            turns = (*turns, _FOLLOWING)
        numbers = iter(range(10**6))
        pending: list[tuple[str, str]] = []
        return [self._message(turn, numbers, pending) for turn in turns]

    def tools(self, conversation: Conversation) -> list[Any] | None:
        """The tools on offer, as the template wants them."""
        if conversation.tools is None:
            return [] if self.empty_tools else None
        return [tool["function"] if self.flat_tools else tool for tool in conversation.tools]

    def _message(self, turn: Turn, numbers: Iterator[int], pending: list[tuple[str, str]]) -> dict[str, Any]:
        message: dict[str, Any] = {"role": turn.role.value, "content": self._content(turn)}
        if turn.role is Role.TOOL:
            name, call_id = pending.pop(0) if pending else (turn.answers, "")
            message["name"] = name
            if call_id:
                message["tool_call_id"] = call_id
        if turn.reasoning and self.reasoning not in {ReasoningForm.NONE, ReasoningForm.THINKING_BLOCK}:
            message[self.reasoning.value] = turn.reasoning
        if turn.calls:
            message["tool_calls"] = [self._call(call, next(numbers)) for call in turn.calls]
            pending[:] = [(call["function"]["name"], call.get("id", "")) for call in message["tool_calls"]]
        return message

    def _content(self, turn: Turn) -> Any:
        thought = turn.reasoning if self.reasoning is ReasoningForm.THINKING_BLOCK else ""
        if self.content is ContentForm.STRING and not thought:
            return turn.text
        blocks = [{"type": "thinking", "thinking": thought}] if thought else []
        return [*blocks, {"type": "text", "text": turn.text}] if turn.text or not blocks else blocks

    def _call(self, call: Call, number: int) -> dict[str, Any]:
        as_string = self.arguments is ArgumentsForm.JSON_STRING
        arguments = json.dumps(call.arguments, ensure_ascii=False) if as_string else dict(call.arguments)
        message = {"type": "function", "function": {"name": call.name, "arguments": arguments}}
        if self.call_ids is CallIds.ALPHANUMERIC:
            message["id"] = _CALL_ID
        elif self.call_ids is CallIds.NAMED:
            message["id"] = f"functions.{call.name}:{number}"
        return message


def _without_tool_rounds(turns: Sequence[Turn]) -> Iterator[Turn]:
    for position, turn in enumerate(turns):
        is_last = position == len(turns) - 1
        if turn.role is not Role.TOOL and (is_last or not turn.calls):
            yield turn


def _without_parallel_calls(turns: Sequence[Turn]) -> Iterator[Turn]:
    answered = 0
    for turn in turns:
        answered = answered + 1 if turn.role is Role.TOOL else 0
        if answered < 2:
            yield replace(turn, calls=turn.calls[:1])


class ShapeError(Exception):
    """The template cannot be put to the proof: no form of the simplest conversation renders, or a limit is exceeded.

    The message is the renderer's, in one untrusted line.
    """

    def __init__(self, failure: RenderFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


_NAME, _KEY, _VALUE, _TEXT, _THOUGHT, _RESULT, _SYSTEM = (
    "markname",
    "markkey",
    "MARKVALUE",
    "MARKTEXT",
    "MARKTHOUGHT",
    "MARKRESULT",
    "MARKSYSTEM",
)
_SECOND_NAME = "othername"
_ARGUMENTS = {_KEY: _VALUE, "count": 7}
_TOOLS = tuple(
    {
        "type": "function",
        "function": {
            "name": name,
            "description": "Does it.",
            "parameters": {
                "type": "object",
                "properties": {
                    _KEY: {"type": "string", "description": "A text."},
                    "count": {"type": "integer", "description": "A number."},
                },
                "required": [],
            },
        },
    }
    for name in (_NAME, _SECOND_NAME)
)
_USER = Turn(Role.USER, "Hello")
_CALLING = Turn(Role.ASSISTANT, "", "", (Call(_NAME, _ARGUMENTS),))
_ANSWERING = Turn(Role.ASSISTANT, _TEXT, _THOUGHT)
_FOLLOWING = Turn(Role.USER, "Go on.")
_RESULT_TURN = Turn(Role.TOOL, _RESULT, answers=_NAME)


def discover(pool: Renderer, template: str) -> Shape:
    """Find the shape of a template.

    Raises:
        ShapeError: It renders not even the simplest conversation in any form.
        EngineError: Templates cannot be rendered here at all.
    """
    probes = _Probes(pool, template)
    shape = probes.simplest()
    shape = replace(shape, system=probes.writes(shape, (Turn(Role.SYSTEM, _SYSTEM), _USER, _ANSWERING), _SYSTEM))
    shape = probes.best_for_calls(shape)
    shape = probes.best_for_reasoning(shape)
    results = (_USER, _CALLING, _RESULT_TURN, _ANSWERING)
    shape = replace(shape, tool_results=probes.renders(shape, results))
    parallel = replace(_CALLING, calls=(*_CALLING.calls, Call(_SECOND_NAME, _ARGUMENTS)))
    shape = replace(shape, parallel_calls=probes.renders(shape, (_USER, parallel)))
    shape = replace(shape, states=probes.states(shape))
    return shape if shape.reasoning is not ReasoningForm.NONE else probes.with_thinking_state(shape)


class _Probes:
    """Renders probe conversations with one template and looks for their marks."""

    def __init__(self, pool: Renderer, template: str) -> None:
        self._pool = pool
        self._template = template

    def simplest(self) -> Shape:
        """The first form of texts, and of having no tools, in which a question and an answer render."""
        candidates = [Shape(content=form, empty_tools=empty) for form in ContentForm for empty in (False, True)]
        answers = self._render(candidates, (_USER, _ANSWERING), None)
        rendered = [
            (candidate, answer.text)
            for candidate, answer in zip(candidates, answers, strict=True)
            if isinstance(answer, Rendered)
        ]
        if rendered:
            return next((candidate for candidate, text in rendered if _TEXT in text), rendered[0][0])
        assert isinstance(answers[0], RenderFailure)
        raise ShapeError(answers[0])

    def best_for_calls(self, shape: Shape) -> Shape:
        """The form of calls, ids and tools that carries most of a call; the plainest among equals."""
        candidates = [
            replace(shape, arguments=arguments, call_ids=ids, flat_tools=flat)
            for flat, ids, arguments in product((False, True), self._id_forms(shape), ArgumentsForm)
        ]
        candidates += [replace(candidate, followed=True) for candidate in candidates]
        answers = self._render(candidates, (_USER, _CALLING), _TOOLS)
        scores = [_call_score(answer) for answer in answers]
        return candidates[scores.index(max(scores))]

    def best_for_reasoning(self, shape: Shape) -> Shape:
        """The place from which reasoning is written, if any is."""
        candidates = [replace(shape, reasoning=form) for form in ReasoningForm if form is not ReasoningForm.NONE]
        for turns in ((_USER, _ANSWERING), (_USER, replace(_CALLING, reasoning=_THOUGHT))):
            answers = self._render(candidates, turns, _TOOLS)
            for candidate, answer in zip(candidates, answers, strict=True):
                if isinstance(answer, Rendered) and _THOUGHT in answer.text and _is_faithful(answer.text):
                    return candidate
        return shape

    def states(self, shape: Shape) -> tuple[Mapping[str, Any], ...]:
        """The default, and each yes or no of a variable that the template reads and that changes how a turn begins."""
        prompt = self._request(shape, (_USER,), None, {})
        observed = self._pool.render(self._template, [replace(prompt, observe=True)])[0]
        names = sorted(extra_variables(observed.reads, self._template)) if isinstance(observed, Rendered) else []
        candidates: list[Mapping[str, Any]] = [{}, *({name: value} for name in names for value in (True, False))]
        answers = self._pool.render(self._template, [replace(prompt, variables=variables) for variables in candidates])
        distinct: dict[str, Mapping[str, Any]] = {}
        for variables, answer in zip(candidates, answers, strict=True):
            if isinstance(answer, Rendered) and not _prints(answer, variables, answers[0]):
                distinct.setdefault(_behind_question(answer), variables)
        return tuple(distinct.values()) or ({},)

    def with_thinking_state(self, shape: Shape) -> Shape:
        """A shape whose reasoning is written only where some variable asks for it, with that state; or the same."""
        turns = (_USER, _ANSWERING)
        plain = replace(self._request(shape, turns, None, {}), add_generation_prompt=False)
        observed = self._pool.render(self._template, [replace(plain, observe=True)])[0]
        names = sorted(extra_variables(observed.reads, self._template)) if isinstance(observed, Rendered) else []
        forms = [form for form in ReasoningForm if form is not ReasoningForm.NONE]
        tries = [(form, {name: value}) for name in names for value in (True, False) for form in forms]
        requests = [
            replace(self._request(replace(shape, reasoning=form), turns, None, variables), add_generation_prompt=False)
            for form, variables in tries
        ]
        for (form, variables), answer in zip(tries, self._pool.render(self._template, requests), strict=True):
            if isinstance(answer, Rendered) and _THOUGHT in answer.text and _is_faithful(answer.text):
                states = shape.states if variables in shape.states else (*shape.states, variables)
                return replace(shape, reasoning=form, states=states)
        return shape

    def renders(self, shape: Shape, turns: Sequence[Turn]) -> bool:
        """Whether the turns render at all."""
        return isinstance(self._render([shape], turns, _TOOLS)[0], Rendered)

    def writes(self, shape: Shape, turns: Sequence[Turn], mark: str) -> bool:
        """Whether the turns render, the mark included."""
        answer = self._render([shape], turns, None)[0]
        return isinstance(answer, Rendered) and mark in answer.text

    def _id_forms(self, shape: Shape) -> Sequence[CallIds]:
        """Ids are given to a template that reads them."""
        request = replace(self._request(shape, (_USER, _CALLING), _TOOLS, {}), observe=True)
        answer = self._pool.render(self._template, [request])[0]
        if isinstance(answer, Rendered) and "messages[].tool_calls[].id" not in answer.reads:
            return (CallIds.NONE,)
        return (CallIds.ALPHANUMERIC, CallIds.NAMED, CallIds.NONE)

    def _render(
        self, shapes: Iterable[Shape], turns: Sequence[Turn], tools: tuple[Mapping[str, Any], ...] | None
    ) -> list[Rendered | RenderFailure]:
        requests = [replace(self._request(shape, turns, tools, {}), add_generation_prompt=False) for shape in shapes]
        return self._pool.render(self._template, requests)

    def _request(
        self,
        shape: Shape,
        turns: Sequence[Turn],
        tools: tuple[Mapping[str, Any], ...] | None,
        variables: Mapping[str, Any],
    ) -> RenderRequest:
        return RenderRequest(
            shape.messages(turns),
            tools=shape.tools(Conversation(tuple(turns), tools)),
            add_generation_prompt=True,
            variables=variables,
            now=PROBE_DATE,
        )


def _call_score(answer: Rendered | RenderFailure) -> int:
    """How much of the probe call was written, and whether it was written as a call rather than as Python or twice."""
    if isinstance(answer, RenderFailure):
        return -1 if answer.kind is FailureKind.TEMPLATE_ERROR else -2
    turn = _behind_question(answer)
    marks = sum(mark in turn for mark in (_NAME, _KEY, _VALUE))
    return 2 * marks + _is_faithful(turn)


def _behind_question(answer: Rendered) -> str:
    return answer.text[answer.text.rfind(_USER.text) :]


def _prints(answer: Rendered, variables: Mapping[str, Any], default: Rendered | RenderFailure) -> bool:
    """Whether a prompt spells out the yes or no of a variable that is no switch but a text, such as a marker."""
    usual = default.text.lower() if isinstance(default, Rendered) else ""
    words = (str(value).lower() for value in variables.values())
    return any(answer.text.lower().count(word) > usual.count(word) for word in words)


def _is_faithful(text: str) -> bool:
    """Whether no mapping was printed as Python would, no JSON encoded twice, and nothing absent given a name."""
    return str(_ARGUMENTS) not in text and rf"\"{_KEY}\"" not in text and not _PRINTED_BLOCK.search(text)


_PRINTED_BLOCK = re.compile(r"""['"]type['"]:\s*['"](?:thinking|text)['"]""")

_KNOWN_VARIABLES = (
    frozenset(PLACEHOLDER_TOKENS)
    | frozenset(DEFAULT_NAMESPACE)
    | {
        "messages",
        "tools",
        "documents",
        "add_generation_prompt",
        "continue_final_message",
        "raise_exception",
        "strftime_now",
        "loop",
        "caller",
    }
)
_BOUND = re.compile(r"\{%[-+]?\s*(?:for\s+(\w+)(?:\s*,\s*(\w+))?\s+in|macro\s+(\w+)\s*\(([^)]*)\))")


def extra_variables(reads: Iterable[str], template: str) -> set[str]:
    """The variables that a template reads, that are no part of every request and no loop's or macro's own."""
    bound = {name for groups in _BOUND.findall(template) for group in groups for name in re.findall(r"\w+", group)}
    return {read for read in reads if read.isidentifier()} - _KNOWN_VARIABLES - bound
