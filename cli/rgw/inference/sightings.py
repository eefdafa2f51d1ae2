"""What a template writes for a turn whose every name, key, value, text and thought is known and like nothing else.

Probe conversations are rendered, their assistant turns cut out against the generation prompt, and the known words found
in them: a sighting. What stands between the words is the template's own. What it means is for others to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from random import Random
from typing import Any, NamedTuple

from rgw.inference.literals import boundary, common_prefix, words
from rgw.proof.model import Call, Conversation, Role, Turn
from rgw.proof.shapes import PROBE_DATE, Shape
from rgw.templates.rendering import Rendered, Renderer, RenderRequest

_WORD = re.compile(r"[a-z]{10}|[0-9]{9}")
_LETTERS = "bcdfghjklmnpqrstvwxz"
_STATES_TRIED = 4


class SlotKind(Enum):
    """What of a turn a word stands for."""

    REASONING = "reasoning"
    TEXT = "text"
    NAME = "name"
    KEY = "key"
    VALUE = "value"
    ID = "id"


class Slot(NamedTuple):
    """A place in a turn: which call, and which of its arguments."""

    kind: SlotKind
    call: int = 0
    argument: int = 0


class Mark(NamedTuple):
    """A word of a slot, found in the output."""

    slot: Slot
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Sighting:
    """A cut-out turn with its known words.

    Attributes:
        label: What was probed, in words for people.
        turn: What was meant.
        output: What the template wrote for it behind the header of an assistant's turn.
        marks: Where the known words stand, in order.
        header: What stands before `output`, back to the last known word.
        prefill: What the generation prompt writes behind the header.
        follower: What the template writes between the turn and the next message; `None` when the turn is the last.
        after_tool: The turn follows the result of a tool, and others do not.
        plain: All values are words or numbers; otherwise they hold what a notation may have to quote.
    """

    label: str
    turn: Turn
    output: str
    marks: tuple[Mark, ...]
    header: str
    prefill: str
    follower: str | None = None
    after_tool: bool = False
    plain: bool = True

    @property
    def end(self) -> int:
        """Where the turn ends in `output`."""
        return len(self.output) if self.follower is None else len(self.output) - len(self.follower)

    def cut_behind(self, anchor: str) -> Sighting:
        """The sighting with the rest of the header, behind an anchor in it, as a part of the turn."""
        place = self.header.rfind(anchor)
        rest = self.header[place + len(anchor) :]
        if place < 0 or not rest:
            return self
        marks = tuple(Mark(mark.slot, mark.start + len(rest), mark.end + len(rest)) for mark in self.marks)
        header = self.header.removesuffix(rest)
        return replace(self, output=rest + self.output, marks=marks, header=header, prefill=rest + self.prefill)


class Words:
    """Random words, numbers and names that are unlike each other and unlike anything in a template."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - nothing secret

    def word(self) -> str:
        """A word of ten consonants."""
        return "".join(self._random.choice(_LETTERS) for _ in range(10))

    def number(self) -> int:
        """A number of nine digits without a zero."""
        return int("".join(self._random.choice("123456789") for _ in range(9)))


@dataclass(frozen=True, slots=True)
class _Probe:
    label: str
    conversation: Conversation
    messages: Sequence[Mapping[str, Any]]
    position: int
    variables: Mapping[str, Any]
    is_after_result: bool
    plain: bool = True

    @property
    def turn(self) -> Turn:
        return self.conversation.turns[self.position]

    @property
    def asked(self) -> str:
        """The text right before the turn."""
        return self.conversation.turns[self.position - 1].text


_CALLS: tuple[tuple[str, tuple[tuple[type, ...], ...]], ...] = (
    ("no call", ()),
    ("a call", ((str, str),)),
    ("a call without arguments", ((),)),
    ("two calls", ((str, str), (str,))),
    ("three calls", ((str,), (), (str, str, str))),
)
_TYPED: tuple[tuple[str, tuple[tuple[type, ...], ...]], ...] = (
    ("a call with a number", ((str, int, str, int),)),
    ("a call with numbers", ((int, int),)),
)


@dataclass(frozen=True, slots=True)
class Observation:
    """What was seen of a template.

    Attributes:
        sightings: The turns that continue the generation prompt, those of the default state first.
        writes_calls: The template writes the names of calls, in turns that continue its prompt or not.
    """

    sightings: list[Sighting]
    writes_calls: bool


def observe(pool: Renderer, template: str, shape: Shape, *, seed: int) -> Observation:
    """Probe a template in each of its states.

    Where no turn continues its prompt unless the result of a tool stands before it, all turns are probed there.
    """
    seen = _observe(pool, template, shape, seed=seed)
    if shape.tool_results and all(each.after_tool or each.follower is not None for each in seen.sightings):
        behind = _observe(pool, template, shape, seed=seed, behind_result=True)
        return behind if behind.sightings else seen
    return seen


def _observe(pool: Renderer, template: str, shape: Shape, *, seed: int, behind_result: bool = False) -> Observation:
    seen: list[Sighting] = []
    writes_calls = False
    for variables in shape.states[:_STATES_TRIED]:
        probes = _Probes(Words(seed), shape, variables, behind_result=behind_result).all()
        written = _written(pool, template, shape, list(probes))
        writes_calls = writes_calls or any(map(_writes_calls, written))
        asked = [each for each in written if not each.probe.is_after_result]
        answered = [each for each in written if each.probe.is_after_result]
        prefill = _prefill(asked)
        seen += _cut_all(shape, asked, prefill)
        prefilled = bool(prefill) and any(each.prompt.endswith(prefill) for each in answered)
        continued = not prefilled and any(each.full.startswith(each.prompt) for each in answered)
        seen += _cut_all(shape, answered, "" if continued else _prefill(answered))
    return Observation(seen, writes_calls)


QUOTED = "\n<&>'\"\\"
"""What stands between the two words of the values that a notation may have to quote, in the order of the arguments."""


CONSTANTS = (None, True)
"""The values of the probe that shows how constants are written."""


class _Probes:
    """The probe conversations of one state of a template, each behind the result of a tool if that is asked for."""

    def __init__(self, make: Words, shape: Shape, variables: Mapping[str, Any], *, behind_result: bool = False) -> None:
        self._make = make
        self._shape = shape
        self._variables = variables
        self._behind_result = behind_result

    def all(self) -> Iterator[_Probe]:
        """Every probe."""
        make = self._make
        for label, kinds in _CALLS:
            for thinks in (False, True):
                for says in (False, True):
                    if kinds or says:
                        what = ["reasoning"] * thinks + ["text"] * says + [label] * bool(kinds)
                        yield self._probe(" and ".join(what), _turn(make, kinds, thinks=thinks, says=says))
        for label, kinds in _TYPED:
            yield self._probe(label, _turn(make, kinds))
        yield replace(self._probe("a call with texts to quote", _quoting(make)), plain=False)
        yield replace(self._probe("a call with constants", _constant(make)), plain=False)
        answer = _turn(make, (), says=True)
        yield self._probe("text, then a question", answer, behind=(_user(make),))
        if self._shape.tool_results and not self._behind_result:
            yield from self._around_results(answer)

    def _around_results(self, answer: Turn) -> Iterator[_Probe]:
        make = self._make
        calling, again = _turn(make, ((str,),)), _turn(make, ((str,),))
        yield self._probe("a call, then its result", calling, behind=_round(make, calling))
        yield self._probe("text after a result", answer, before=(calling, *_round(make, calling)))
        yield self._probe("a call after a result", again, before=(calling, *_round(make, calling)))

    def _probe(self, label: str, turn: Turn, *, before: Sequence[Turn] = (), behind: Sequence[Turn] = ()) -> _Probe:
        if self._behind_result:
            calling = _turn(self._make, ((str,),))
            before = (calling, *_round(self._make, calling))
        turns = (_user(self._make), *before, turn, *behind)
        tools = [_tool(call) for each in turns for call in each.calls] or [_tool(Call(self._make.word(), {}))]
        state = "".join(f", {name}={value}" for name, value in self._variables.items())
        messages = _with_own_ids(self._shape.messages(turns), self._make)
        conversation = Conversation(turns, tuple(tools))
        follows = bool(before) and not self._behind_result
        return _Probe(f"{label}{state}", conversation, messages, 1 + len(before), self._variables, follows)


def _with_own_ids(messages: Sequence[dict[str, Any]], make: Words) -> list[dict[str, Any]]:
    """The messages with an id of its own for every call, where ids are just words."""
    answered: list[str] = []
    for message in messages:
        for call in message.get("tool_calls", ()):
            if "id" in call and call["function"]["name"] not in call["id"]:
                call["id"] = make.word()[:9]
                answered.append(call["id"])
        if answered and "tool_call_id" in message:
            message["tool_call_id"] = answered.pop(0)
    return list(messages)


def _turn(make: Words, kinds: Sequence[Sequence[type]], *, thinks: bool = False, says: bool = False) -> Turn:
    calls = tuple(
        Call(make.word(), {make.word(): make.word() if kind is str else make.number() for kind in call})
        for call in kinds
    )
    return Turn(Role.ASSISTANT, make.word() if says else "", make.word() if thinks else "", calls)


def _quoting(make: Words) -> Turn:
    values = [f"{make.word()}{character}{make.word()}" for character in QUOTED]
    return Turn(Role.ASSISTANT, calls=(Call(make.word(), {make.word(): value for value in values}),))


def _constant(make: Words) -> Turn:
    return Turn(Role.ASSISTANT, calls=(Call(make.word(), {make.word(): value for value in CONSTANTS}),))


def _user(make: Words) -> Turn:
    return Turn(Role.USER, make.word())


def _round(make: Words, calling: Turn) -> tuple[Turn, ...]:
    return tuple(Turn(Role.TOOL, make.word(), answers=call.name) for call in calling.calls)


def _tool(call: Call) -> Mapping[str, Any]:
    properties = {
        key: {"type": "string" if isinstance(value, str) else "integer", "description": "A value."}
        for key, value in call.arguments.items()
    }
    parameters = {"type": "object", "properties": properties, "required": []}
    function = {"name": call.name, "description": "A tool.", "parameters": parameters}
    return {"type": "function", "function": function}


# -- rendering and cutting -----------------------------------------------------------------------------------------


class _Written(NamedTuple):
    probe: _Probe
    prompt: str
    full: str


def _written(pool: Renderer, template: str, shape: Shape, probes: Sequence[_Probe]) -> list[_Written]:
    probes = [probe for probe in probes if shape.parallel_calls or len(probe.turn.calls) < 2]
    requests = [
        request
        for probe in probes
        for request in (_request(shape, probe, prompt=True), _request(shape, probe, prompt=False))
    ]
    answers = iter(pool.render(template, requests))
    return [
        _Written(probe, prompt.text, full.text)
        for probe, prompt, full in zip(probes, answers, answers, strict=True)
        if isinstance(prompt, Rendered) and isinstance(full, Rendered)
    ]


def _writes_calls(written: _Written) -> bool:
    behind_question = written.full[written.full.rfind(written.probe.asked) :]
    return any(call.name in behind_question for call in written.probe.turn.calls)


def _request(shape: Shape, probe: _Probe, *, prompt: bool) -> RenderRequest:
    return RenderRequest(
        probe.messages[: probe.position] if prompt else probe.messages,
        tools=shape.tools(probe.conversation),
        add_generation_prompt=prompt,
        variables=probe.variables,
        now=PROBE_DATE,
    )


def _prefill(written: Iterable[_Written]) -> str:
    """What the generation prompt writes beyond what every finished turn begins with.

    Turns that begin with their text show where that is; others may begin like the prompt by chance, up to a marker.
    """
    exact, likely = [""], [""]
    for probe, prompt, full in written:
        common = common_prefix([prompt, full])
        start = common.rfind(probe.asked)
        header = common[start:]
        begins_with_text = bool(probe.turn.text) and full.startswith(probe.turn.text, len(common))
        if len(common) < len(prompt) and not begins_with_text:
            cuts = [at for at in range(len(header) + 1) if boundary(prompt, start + at) == 3]
            header = header[: max(cuts, default=0)]
        if start >= 0 and words(header[len(probe.asked) :]):
            (exact if begins_with_text else likely).append(prompt[start + len(header) :])
    return max(exact, key=len) or max(likely, key=len)


def _cut_all(shape: Shape, written: Iterable[_Written], prefill: str) -> list[Sighting]:
    return [sighting for each in written if (sighting := _cut(shape, each, prefill)) is not None]


def _cut(shape: Shape, written: _Written, prefill: str) -> Sighting | None:
    probe, prompt, full = written
    head = prompt.removesuffix(prefill)
    if not full.startswith(head):
        return None
    output = full.removeprefix(head)
    behind = probe.messages[probe.position + 1 :]
    follower = None
    if behind:
        next_word = output.rfind(str(behind[0]["content"]))
        if next_word < 0:
            return None
        output = output[:next_word]
        follower = ""
    marks = tuple(_marks(_slots(probe), output))
    if follower is not None:
        follower = None if shape.followed else output[marks[-1].end if marks else 0 :]
    return Sighting(
        label=probe.label,
        turn=probe.turn,
        output=output,
        marks=marks,
        header=head[head.rfind(probe.asked) + len(probe.asked) :],
        prefill=prefill,
        follower=follower,
        after_tool=probe.is_after_result,
        plain=probe.plain,
    )


def _slots(probe: _Probe) -> Mapping[str, Slot]:
    """The words of the turn and the slots that they stand for."""
    turn = probe.turn
    slots = {turn.reasoning: Slot(SlotKind.REASONING), turn.text: Slot(SlotKind.TEXT)}
    written = probe.messages[probe.position].get("tool_calls", ())
    for number, (call, message) in enumerate(zip(turn.calls, written, strict=True)):
        slots[call.name] = Slot(SlotKind.NAME, number)
        if (identity := message.get("id")) is not None and call.name not in identity:
            slots[identity] = Slot(SlotKind.ID, number)
        for position, (key, value) in enumerate(call.arguments.items()):
            slots[key] = Slot(SlotKind.KEY, number, position)
            for word in _WORD.findall(str(value)):
                slots[word] = Slot(SlotKind.VALUE, number, position)
    slots.pop("", None)
    return slots


def _marks(slots: Mapping[str, Slot], output: str) -> Iterator[Mark]:
    if not slots:
        return
    pattern = re.compile("|".join(map(re.escape, sorted(slots, key=len, reverse=True))))
    for match in pattern.finditer(output):
        yield Mark(slots[match[0]], match.start(), match.end())
