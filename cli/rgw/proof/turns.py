"""Cutting the last assistant turn out of a rendered conversation, as the model would have had to write it.

The cut is made against the generation prompt of the same conversation, with what that prompt pre-writes of the turn.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from rgw.derender import Derenderer
from rgw.model import IssueCode
from rgw.proof.model import Call, Conversation, Role, Turn
from rgw.proof.shapes import PROBE_DATE, Shape
from rgw.templates.rendering import Rendered, Renderer, RenderFailure, RenderRequest


@dataclass(frozen=True, slots=True)
class CutTurn:
    """The last turn of a conversation as raw output.

    Attributes:
        conversation: What was meant.
        variables: The extra variables that it was rendered with.
        prompt: The text that the model continues.
        output: What the model would write.
        head: What stands before `output` in the rendered conversation.
    """

    conversation: Conversation
    variables: Mapping[str, Any]
    prompt: str
    output: str
    head: str


@dataclass(frozen=True, slots=True)
class NoTurn:
    """A conversation that gives no turn: the template refuses it, or does not continue its own generation prompt."""

    conversation: Conversation
    reason: str
    refused: bool


class _Prefill(NamedTuple):
    """What a generation prompt writes of a turn, and what a finished turn without reasoning writes there instead."""

    text: str = ""
    opening: str = ""


_QUESTION = Turn(Role.USER, "Hello")
_PROBES = (
    Turn(Role.ASSISTANT, "Answer"),
    Turn(Role.ASSISTANT, "Other answer", "Thought"),
    Turn(Role.ASSISTANT, calls=(Call("f", {"x": "y"}),)),
)


_BEGUN_MARKER = re.compile(r"<[^<>\s]*\Z")
"""Two different markers are not cut where their common beginning ends."""


class Studio:
    """Renders conversations with one template, in its shape, and cuts their last turns out.

    Args:
        pool: Where templates are rendered.
        template: The chat template.
        shape: What the template wants.
        derenderer: Only asked whether what a prompt pre-writes leaves reasoning open.
        tokens: The special tokens, where the schema knows better than the pool.

    Some templates write no end of the turn: what begins the next turn ends it. Their turns are completed with the
    schema's own marker, as the model would write it. Others write the next generation prompt even when they are not
    asked to: their turns end where the model would stop.
    """

    def __init__(
        self,
        pool: Renderer,
        template: str,
        shape: Shape,
        derenderer: Derenderer,
        *,
        tokens: Mapping[str, str] | None = None,
    ) -> None:
        self.shape = shape
        self._pool = pool
        self._template = template
        self._tokens = tokens or {}
        self._prefills = [self._prefill(variables) for variables in shape.states]
        self._is_closed = [_leaves_nothing_open(derenderer, prefill.text) for prefill in self._prefills]
        self._markers = derenderer.schema.turn.end
        self._behind = [self._behind_answer(variables) for variables in shape.states]

    def turns(self, conversations: Sequence[Conversation]) -> Iterator[CutTurn | NoTurn]:
        """The last turn of each conversation in each state of the template."""
        adapted = [self.shape.adapt(conversation) for conversation in conversations]
        pairs = [(conversation, state) for conversation in adapted for state in range(len(self.shape.states))]
        requests = [
            self._request(conversation, self.shape.states[state], prompt=prompt)
            for conversation, state in pairs
            for prompt in (True, False)
        ]
        answers = iter(self._pool.render(self._template, requests))
        for (conversation, state), prompted, full in zip(pairs, answers, answers, strict=True):
            yield self._cut(conversation, state, prompted, full)

    def write(self, conversations: Sequence[tuple[Conversation, Mapping[str, Any]]]) -> list[str | None]:
        """Whole conversations as text; `None` where the template refuses."""
        requests = [self._request(conversation, variables, prompt=False) for conversation, variables in conversations]
        return [
            self._finished(answer.text, self.shape.states.index(variables), conversation.last)
            if isinstance(answer, Rendered)
            else None
            for answer, (conversation, variables) in zip(
                self._pool.render(self._template, requests), conversations, strict=True
            )
        ]

    def begins_answers_with(self, delimiter: str) -> bool:
        """Whether the template writes a delimiter before the text of an answer to a question, in some state.

        It may be the prompt that writes it there.
        """
        turns = [turn for turn in self.turns([Conversation((_QUESTION, _PROBES[0]))]) if isinstance(turn, CutTurn)]
        openings = {turn.head + delimiter for turn in turns}
        return any(turn.output.startswith(delimiter) or turn.prompt.rstrip() in openings for turn in turns)

    def _cut(
        self, conversation: Conversation, state: int, prompted: Rendered | RenderFailure, full: Rendered | RenderFailure
    ) -> CutTurn | NoTurn:
        for answer in (full, prompted):
            if isinstance(answer, RenderFailure):
                return NoTurn(conversation, answer.message, refused=True)
        assert isinstance(prompted, Rendered)
        assert isinstance(full, Rendered)
        variables = self.shape.states[state]
        finished = self._finished(full.text, state, conversation.last)
        if finished.startswith(prompted.text) and not self._says_prompt(conversation, state, prompted.text, finished):
            output = finished.removeprefix(prompted.text)
            return CutTurn(conversation, variables, prompted.text, output, prompted.text)
        return self._cut_before_prefill(conversation, state, prompted.text, finished)

    def _says_prompt(self, conversation: Conversation, state: int, prompt: str, finished: str) -> bool:
        """Whether only what the turn says looks like the end of its prompt, which other words would not continue."""
        output = finished.removeprefix(prompt)
        said = (conversation.last.text, conversation.last.text.strip(), conversation.last.reasoning.strip())
        if not any(_reaches_into(part, prompt, output) for part in said):
            return False
        last = replace(conversation.last, text=_PROBES[1].text, reasoning=_PROBES[1].reasoning)
        (other,) = self._pool.render(
            self._template, [self._request(conversation.with_last(last), self.shape.states[state], prompt=False)]
        )
        return isinstance(other, Rendered) and not other.text.startswith(prompt)

    def _cut_before_prefill(self, conversation: Conversation, state: int, prompt: str, full: str) -> CutTurn | NoTurn:
        """The turn of a template that does not repeat in a finished turn what its prompt pre-wrote.

        A turn without reasoning continues a prompt that leaves none open. Any other turn continues the bare header.
        """
        prefill = self._prefills[state]
        header = prompt.removesuffix(prefill.text)
        continues_prefill = self._is_closed[state] and not conversation.last.reasoning
        head = header + prefill.opening if continues_prefill and prefill.text.endswith(prefill.opening) else header
        if header == prompt or not full.startswith(head):
            return NoTurn(conversation, "the finished turn does not continue the generation prompt", refused=False)
        output = full.removeprefix(head)
        return CutTurn(conversation, self.shape.states[state], prompt if continues_prefill else header, output, head)

    def _prefill(self, variables: Mapping[str, Any]) -> _Prefill:
        """What the generation prompt writes beyond what every finished turn begins with.

        Empty when they have nothing in common behind the question, since then the turns do not continue the prompt.
        """
        conversations = [Conversation((_QUESTION, probe)) for probe in _PROBES]
        requests = [self._request(conversation, variables, prompt=False) for conversation in conversations]
        requests.append(self._request(conversations[0], variables, prompt=True))
        *finished, prompted = self._pool.render(self._template, requests)
        if not isinstance(prompted, Rendered):
            return _Prefill()
        texts = [answer.text for answer in finished if isinstance(answer, Rendered)]
        common = os.path.commonprefix([prompted.text, *texts])  # noqa: RUF071 - of texts, not of paths
        common = _BEGUN_MARKER.sub("", common)
        if common.rstrip().endswith(_QUESTION.text):
            return _Prefill()
        opening, _, _ = texts[0].removeprefix(common).partition(_PROBES[0].text) if texts else ("", "", "")
        return _Prefill(prompted.text.removeprefix(common), opening)

    def _behind_answer(self, variables: Mapping[str, Any]) -> str:
        """What a finished conversation holds behind the text of its last turn."""
        answered = Conversation((_QUESTION, _PROBES[0]))
        (answer,) = self._pool.render(self._template, [self._request(answered, variables, prompt=False)])
        return answer.text.rpartition(_PROBES[0].text)[2] if isinstance(answer, Rendered) else ""

    def _finished(self, text: str, state: int, last: Turn) -> str:
        """A rendered conversation up to the end of its last turn, which is `last`: a marker in its text is no end."""
        behind = self._behind[state]
        end = max((behind.rfind(marker) + len(marker) for marker in self._markers if marker in behind), default=0)
        if end and not behind[end:].isspace():
            text = text.removesuffix(behind[end:])
        says_marker = (last.text or last.reasoning).rstrip().endswith(self._markers)
        if behind.strip() or not self._markers or (text.rstrip().endswith(self._markers) and not says_marker):
            return text
        return text + self._markers[0]

    def _request(self, conversation: Conversation, variables: Mapping[str, Any], *, prompt: bool) -> RenderRequest:
        turns = conversation.turns[:-1] if prompt else conversation.turns
        return RenderRequest(
            self.shape.messages(turns),
            tools=self.shape.tools(conversation),
            add_generation_prompt=prompt,
            variables={**self._tokens, **variables},
            now=PROBE_DATE,
        )


def _reaches_into(said: str, prompt: str, output: str) -> bool:
    """Whether something that was said does not stand in the output, but ends there or where the prompt ends."""
    return bool(said) and said not in output and said in prompt[-len(said) :] + output[: len(said) - 1]


def _leaves_nothing_open(derenderer: Derenderer, prefill: str) -> bool:
    codes = {issue.code for issue in derenderer.parse(prefill, prompt="").issues}
    return IssueCode.UNCLOSED_REASONING not in codes
