"""Rules that render: conversations full of marks, and what becomes of the marks.

A rule whose conversation the template refuses for another reason says nothing.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice, takewhile
from typing import Any

from rgw.fitness.model import Finding, Rule
from rgw.fitness.rules import (
    DEPENDS_ON_DATE,
    DOUBLE_ENCODES_ARGUMENTS,
    DROPS_PARALLEL_CALLS,
    DROPS_REASONING,
    DROPS_TOOL_CALLS,
    DROPS_TOOL_RESULTS,
    NO_GENERATION_MARKERS,
    PREFIX_BROKEN_BY_TOOL,
    PREFIX_BROKEN_BY_USER,
    PRINTS_NONE,
    READS_EXTRA_VARIABLES,
    REFUSES_PARALLEL_CALLS,
    REJECTS_OBJECT_ARGUMENTS,
    REQUIRES_CALL_IDS,
    STOP_TOKEN_OUTSIDE_GENERATION,
    TEXT_WITHOUT_SOURCE,
)
from rgw.fitness.source import assigned_names
from rgw.proof.model import Call, Conversation, Role, Turn
from rgw.proof.shapes import PROBE_DATE, ArgumentsForm, CallIds, ReasoningForm, Shape, extra_variables
from rgw.templates.rendering import Rendered, Renderer, RenderFailure, RenderRequest

Tokenize = Callable[[str], Sequence[int]]
"""The ids of a text."""

_LATER_DATE = datetime(2031, 11, 3, tzinfo=PROBE_DATE.tzinfo)
_PROSE = re.compile(r"[A-Za-z][\w'’-]*(?:[,;:]? +[A-Za-z][\w'’-]*){3,}[.!?]?")
_SHOWN = 60
_TEXTS_SHOWN = 3

_TOOL = {
    "type": "function",
    "function": {
        "name": "markname",
        "description": "Does it.",
        "parameters": {
            "type": "object",
            "properties": {"markkey": {"type": "string", "description": "A text."}},
            "required": [],
        },
    },
}
_SYSTEM = Turn(Role.SYSTEM, "MARKSYSTEM")
_USER = Turn(Role.USER, "MARKQUESTION")
_ANSWER = Turn(Role.ASSISTANT, "MARKANSWER", "MARKTHOUGHT")
_AGAIN = Turn(Role.USER, "MARKAGAIN")
_CALLING = Turn(Role.ASSISTANT, "", "MARKTHOUGHT", (Call("markname", {"markkey": "MARKVALUE"}),))
_BOTH = replace(_CALLING, calls=(*_CALLING.calls, Call("markname", {"markkey": "MARKSECOND"})))
_RESULT = Turn(Role.TOOL, "MARKRESULT", answers="markname")


@dataclass(frozen=True, slots=True)
class Examination:
    """One template under examination.

    Attributes:
        renderer: Renders, and raises `ShapeError` for a template that exceeds a limit.
        template: The template.
        shape: How it wants its messages.
        tokenize: The model's tokenizer, when it is known.
    """

    renderer: Renderer
    template: str
    shape: Shape
    tokenize: Tokenize | None = None

    def findings(self) -> Iterator[Finding]:
        """What rendering shows."""
        yield from self._calls()
        yield from self._arguments()
        yield from self._reasoning()
        yield from self._prefixes()
        yield from self._generation()
        yield from self._surroundings()

    # -- tools --------------------------------------------------------------------------------------------------

    def _calls(self) -> Iterator[Finding]:
        calling = self._render(_USER, _CALLING, tools=True)
        if isinstance(calling, RenderFailure):
            yield Finding(DROPS_TOOL_CALLS, f"a tool call is refused: {calling.message}")
            return
        if "MARKVALUE" not in calling.text:
            yield Finding(DROPS_TOOL_CALLS, "the arguments of a call stand nowhere in the rendered conversation")
        results = self._render(_USER, _CALLING, _RESULT, _ANSWER, tools=True)
        if isinstance(results, RenderFailure):
            yield Finding(DROPS_TOOL_RESULTS, f"a tool's result is refused: {results.message}")
        elif "MARKRESULT" not in results.text:
            yield Finding(DROPS_TOOL_RESULTS, "a tool's result stands nowhere in the rendered conversation")
        if "MARKVALUE" in calling.text:
            yield from self._parallel_calls()
            yield from self._call_ids()

    def _parallel_calls(self) -> Iterator[Finding]:
        both = self._render(_USER, _BOTH, tools=True)
        if isinstance(both, RenderFailure):
            yield Finding(REFUSES_PARALLEL_CALLS, both.message)
        elif missing := [mark for mark in ("MARKVALUE", "MARKSECOND") if mark not in both.text]:
            which = "first" if missing[0] == "MARKVALUE" else "second"
            yield Finding(DROPS_PARALLEL_CALLS, f"of two calls the {which} is missing")

    def _call_ids(self) -> Iterator[Finding]:
        without = replace(self.shape, call_ids=CallIds.NONE)
        answers = [
            self._render(*turns, tools=True, shape=without) for turns in ((_USER, _CALLING), (_USER, _CALLING, _RESULT))
        ]
        refused = [answer for answer in answers if isinstance(answer, RenderFailure)]
        if refused and self.shape.call_ids is not CallIds.NONE:
            yield Finding(REQUIRES_CALL_IDS, refused[0].message)

    def _arguments(self) -> Iterator[Finding]:
        as_object, as_text = (
            self._render(_USER, _CALLING, tools=True, shape=replace(self.shape, arguments=form))
            for form in ArgumentsForm
        )
        if isinstance(as_text, RenderFailure) or "MARKVALUE" not in as_text.text:
            return
        if r"\"markkey\"" in _answer_in(as_text):
            yield Finding(DOUBLE_ENCODES_ARGUMENTS, _around(_answer_in(as_text), r"\"markkey\""))
        if isinstance(as_object, RenderFailure):
            yield Finding(REJECTS_OBJECT_ARGUMENTS, as_object.message)
        elif "'markkey'" in _answer_in(as_object):
            yield Finding(REJECTS_OBJECT_ARGUMENTS, _around(_answer_in(as_object), "'markkey'"))

    # -- turns --------------------------------------------------------------------------------------------------

    def _reasoning(self) -> Iterator[Finding]:
        if self.shape.reasoning is ReasoningForm.NONE:
            yield Finding(DROPS_REASONING, "reasoning stands nowhere in the rendered conversation")

    def _prefixes(self) -> Iterator[Finding]:
        yield from self._prefix(PREFIX_BROKEN_BY_TOOL, (_USER, _CALLING), _RESULT, tools=True)
        yield from self._prefix(PREFIX_BROKEN_BY_USER, (_USER, _ANSWER), _AGAIN, tools=False)

    def _prefix(self, rule: Rule, turns: tuple[Turn, ...], appended: Turn, *, tools: bool) -> Iterator[Finding]:
        before = self._render(*turns, tools=tools)
        after = self._render(*turns, appended, tools=tools)
        if isinstance(before, RenderFailure) or isinstance(after, RenderFailure) or after.text.startswith(before.text):
            return
        place = len(os.path.commonprefix([before.text, after.text]))  # noqa: RUF071 - of texts, not of paths
        token = f", token {self._common_tokens(before.text, after.text)}" if self.tokenize else ""
        was, becomes = before.text[place : place + _SHOWN], after.text[place : place + _SHOWN]
        yield Finding(rule, f"from character {place}{token} on, {was!r} becomes {becomes!r}")

    def _common_tokens(self, before: str, after: str) -> int:
        assert self.tokenize is not None
        pairs = zip(self.tokenize(before), self.tokenize(after), strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    def _generation(self) -> Iterator[Finding]:
        request = replace(self._request((_USER, _ANSWER), tools=False), mark_generation=True)
        (answer,) = self.renderer.render(self.template, [request])
        if isinstance(answer, RenderFailure):
            return
        if not answer.generation_spans:
            yield Finding(NO_GENERATION_MARKERS, "there is no {% generation %} around the assistant's turn")
            return
        outside = answer.text[answer.generation_spans[-1][1] :].strip()
        if outside:
            yield Finding(STOP_TOKEN_OUTSIDE_GENERATION, f"{outside[:_SHOWN]!r} stands behind what is marked")

    # -- what is no part of the conversation --------------------------------------------------------------------

    def _surroundings(self) -> Iterator[Finding]:
        yield from self._null_content()
        yield from self._date()
        yield from self._variables()
        yield from self._texts()

    def _null_content(self) -> Iterator[Finding]:
        request = self._request((_USER, _CALLING), tools=True)
        messages = [*request.messages[:-1], {**request.messages[-1], "content": None}]
        empty, null = self.renderer.render(self.template, [request, replace(request, messages=messages)])
        if isinstance(empty, RenderFailure) or "MARKVALUE" not in empty.text:
            return
        if isinstance(null, RenderFailure):
            yield Finding(PRINTS_NONE, f"content that is null is refused: {null.message}")
        elif null.text.count("None") > empty.text.count("None"):
            yield Finding(PRINTS_NONE, _around(null.text, "None"))

    def _date(self) -> Iterator[Finding]:
        for turns, tools in (((_USER,), False), ((_SYSTEM, _USER), True)):
            today = self._request(turns, tools=tools)
            answers = self.renderer.render(self.template, [today, replace(today, now=_LATER_DATE)])
            texts = [answer.text for answer in answers if isinstance(answer, Rendered)]
            if len(set(texts)) == 2:
                place = len(os.path.commonprefix(texts))  # noqa: RUF071 - of texts, not of paths
                yield Finding(DEPENDS_ON_DATE, f"{texts[0][max(place - 20, 0) : place + 20]!r}")
                return

    def _variables(self) -> Iterator[Finding]:
        requests = [
            replace(
                self._request(turns, tools=True),
                observe=True,
                add_generation_prompt=True,
            )
            for turns in ((_USER,), (_SYSTEM, _USER, _CALLING, _RESULT))
        ]
        answers = self.renderer.render(self.template, requests)
        reads = {read for answer in answers if isinstance(answer, Rendered) for read in answer.reads}
        if names := sorted(extra_variables(reads, self.template) - assigned_names(self.template)):
            yield Finding(READS_EXTRA_VARIABLES, ", ".join(names))

    def _texts(self) -> Iterator[Finding]:
        seen: dict[str, None] = {}
        for turns in ((_USER,), (_USER, _ANSWER, _AGAIN), (_SYSTEM, _USER, _ANSWER)):
            answer = self._render(*turns, tools=False)
            if isinstance(answer, Rendered):
                said = re.sub(r"MARK[A-Z]+", "\n", answer.text)
                seen.update(dict.fromkeys(match[0] for match in _PROSE.finditer(said)))
        if seen:
            more = f" and {len(seen) - _TEXTS_SHOWN} more" if len(seen) > _TEXTS_SHOWN else ""
            shown = (text if len(text) <= 2 * _SHOWN else f"{text[: 2 * _SHOWN]}…" for text in seen)
            yield Finding(TEXT_WITHOUT_SOURCE, "; ".join(map(repr, islice(shown, _TEXTS_SHOWN))) + more)

    # -- rendering ----------------------------------------------------------------------------------------------

    def _render(self, *turns: Turn, tools: bool, shape: Shape | None = None) -> Rendered | RenderFailure:
        return self.renderer.render(self.template, [self._request(turns, tools=tools, shape=shape)])[0]

    def _request(self, turns: Sequence[Turn], *, tools: bool, shape: Shape | None = None) -> RenderRequest:
        shape = shape or self.shape
        offered: tuple[Mapping[str, Any], ...] | None = (_TOOL,) if tools else None
        return RenderRequest(
            shape.messages(turns), tools=shape.tools(Conversation(tuple(turns), offered)), now=PROBE_DATE
        )


def _answer_in(rendered: Rendered) -> str:
    """What stands behind the question."""
    return rendered.text[rendered.text.rfind(_USER.text) :]


def _around(text: str, mark: str) -> str:
    place = text.find(mark)
    return repr(text[max(place - 20, 0) : place + _SHOWN])
