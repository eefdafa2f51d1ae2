"""Made-up conversations: Hypothesis strategies for what people, models and tools say to each other.

They know no template and no schema, so that one list of conversations serves every pair. In hostile conversations,
placeholder characters stand where the delimiters of whichever schema is tried go; `with_delimiters` puts them there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import seed as with_seed
from hypothesis import strategies as st
from hypothesis.errors import FlakyFailure

from rgw.proof.model import Call, Conversation, Role, Turn
from rgw.proof.reproducible import backend

_PLACEHOLDERS = [chr(0xE000 + number) for number in range(12)]

_SHRINKING_TRIES = 500
_LISTS_KEPT = 8

_WORDS = (
    "yes",
    "Paris",
    "The weather is fine.",
    "Let me see…\n\nFirst, the date.",
    "naïve 日本語 🙂 مرحبا",
    'l\'été "quoted" \\ back\\slash',
    "def f(x):\n    return {'a': [x < 1, x > 2 & 3]}\n",
    '{"a": [1, 2], "b": null}',
    '<div class="x">&amp; 1 < 2</div>',
    "```python\nprint('hi')\n```",
    "# Title\n- one\n- two\n\n| a | b |",
    "https://example.org/?q=a&b=%20#c",
    "f(x=1, y=[2, 3])",
    "key: value; [tag] (note) {brace}",
    "$5.00, 50% off!",
    "a\tb",
    "line one\nline two",
    "C:\\new\\table\\0",
)
_WHITE_SPACE = (
    " x",
    "x ",
    "\nx",
    "x\n",
    "\n\n  x  \n\n",
    "    indented",
    "\tx\t",
    "x\r\ny",
    "\u00a0x\u3000",
    " ",
    "\n",
    "\n\n",
)
_LOOKALIKES = (
    "true",
    "False",
    "null",
    "None",
    "42",
    "007",
    "02139",
    "1.0",
    "1e5",
    "-0",
    "NaN",
    "[]",
    "{}",
    '"x"',
    "[1, 2]",
)

_NAMES = ("get_weather", "search", "f", "run-code", "getUserInfo", "math.add", "tool_2", "fs_read_file")
_KEYS = ("city", "q", "x", "max_results", "user-id", "fromDate", "type", "name", "arguments", "value2")

_ALPHABET = "aZ09 _-.,:;!?'\"\\/()[]{}<>=&%$#@*+~^|`éßıñ日本한🙂🏽\u200d\u0301\u200b\u202e\ufeff\u2028\U00080e4c"

_words = st.sampled_from(_WORDS)
_free_text = st.text(_ALPHABET, max_size=12)
_ordinary_text = st.one_of(_words, _words, _free_text, st.sampled_from(_WHITE_SPACE))
_ordinary_string = st.one_of(
    _words, _free_text, st.sampled_from(_WHITE_SPACE), st.sampled_from(_LOOKALIKES), st.just("")
)

_hostile_fragment = st.one_of(st.sampled_from(_PLACEHOLDERS), st.sampled_from(_PLACEHOLDERS), _words, st.just("\n"))
_hostile_text = st.lists(_hostile_fragment, min_size=1, max_size=4).map("".join)

_integers = st.one_of(st.integers(-10, 1000), st.sampled_from((2**53 + 1, -(2**63), 10**24)))
_numbers = st.one_of(_integers, st.sampled_from((0.5, -1.25, 3.0, 1e-9, 1.5e300, 0.1)))


def _values(strings: st.SearchStrategy[str]) -> Mapping[str, st.SearchStrategy[Any]]:
    """Values by the JSON type that a tool declares."""
    scalars = st.one_of(strings, _integers, st.booleans(), st.none(), st.just(0.5))
    objects = st.dictionaries(st.sampled_from(_KEYS), scalars, max_size=3)
    nested = st.one_of(scalars, objects, st.lists(scalars, max_size=3))
    return {
        "string": strings,
        "integer": _integers,
        "number": _numbers,
        "boolean": st.booleans(),
        "null": st.none(),
        "array": st.lists(nested, max_size=3),
        "object": st.dictionaries(st.sampled_from(_KEYS), nested, max_size=3),
        "any": nested,
    }


_PROPERTIES: tuple[tuple[Mapping[str, Any], tuple[str, ...]], ...] = (
    ({"type": "string"}, ("string",)),
    ({"type": "integer"}, ("integer",)),
    ({"type": "number"}, ("number",)),
    ({"type": "boolean"}, ("boolean",)),
    ({"type": "array", "items": {}}, ("array",)),
    ({"type": "object", "properties": {}, "additionalProperties": True}, ("object",)),
    ({"type": "null"}, ("null",)),
    ({"type": ["string", "null"]}, ("string", "null")),
    ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, ("integer", "string")),
    ({"type": "string", "enum": ["celsius", "1", "true"]}, ("enum",)),
    ({}, ("any",)),
)


@st.composite
def _tools(draw: st.DrawFn) -> list[tuple[dict[str, Any], dict[str, tuple[str, ...]]]]:
    """Tool schemas, each with the kinds of value that its arguments take."""
    return [_tool(name, draw(_parameters)) for name in draw(_tool_names)]


_tool_names = st.lists(st.sampled_from(_NAMES), min_size=1, max_size=3, unique=True)
_parameters = st.dictionaries(st.sampled_from(_KEYS), st.sampled_from(_PROPERTIES), max_size=4)


def _tool(
    name: str, parameters: Mapping[str, tuple[Mapping[str, Any], tuple[str, ...]]]
) -> tuple[dict[str, Any], dict[str, tuple[str, ...]]]:
    properties = {key: {**schema, "description": f"The {key}."} for key, (schema, _) in parameters.items()}
    function = {
        "name": name,
        "description": f"Does {name}.",
        "parameters": {"type": "object", "properties": properties, "required": []},
    }
    return {"type": "function", "function": function}, {key: kinds for key, (_, kinds) in parameters.items()}


class _Contents(NamedTuple):
    """What the last turn may hold: text and reasoning, and values by the JSON type that a tool declares."""

    text: st.SearchStrategy[str]
    values: Mapping[str, st.SearchStrategy[Any]]


def _contents(text: st.SearchStrategy[str], strings: st.SearchStrategy[str]) -> _Contents:
    return _Contents(text, {**_values(strings), "enum": st.sampled_from(("celsius", "1", "true"))})


# Strategies are made once and not in each draw: making one costs more than drawing from it.
_ORDINARY = _contents(_ordinary_text, _ordinary_string)
_MIXED = _contents(st.one_of(_ordinary_text, _hostile_text), st.one_of(_ordinary_string, _hostile_text))
_offered_tools = st.one_of(_tools(), _tools(), st.just([]))
_coin = st.booleans()
_one_in_three = st.integers(0, 2)
_one_in_six = st.integers(0, 5)
_earlier_rounds = st.sampled_from((0, 0, 1, 2))
_earlier_calls = st.sampled_from((1, 2))
_last_calls = st.sampled_from((1, 0, 1, 2, 3))
_one_of_tools = {count: st.sampled_from(range(count)) for count in (1, 2, 3)}
_one_of_kinds = {kinds: st.sampled_from(kinds) for _, kinds in _PROPERTIES}


@st.composite
def _conversations(draw: st.DrawFn, contents: _Contents) -> Conversation:
    offered = draw(_offered_tools)

    def call() -> Call:
        tool, parameters = offered[draw(_one_of_tools[len(offered)])]
        arguments = {}
        for key, kinds in parameters.items():
            if draw(_one_in_six) == 5:
                continue
            arguments[key] = draw(contents.values[draw(_one_of_kinds[kinds])])
        return Call(tool["function"]["name"], arguments)

    def calls(number: st.SearchStrategy[int]) -> tuple[Call, ...]:
        return tuple(call() for _ in range(draw(number))) if offered else ()

    def said() -> str:
        return draw(contents.text) if draw(_one_in_three) else ""

    turns = [Turn(Role.SYSTEM, draw(_words))] if draw(_coin) else []
    turns.append(Turn(Role.USER, draw(_words)))
    for _ in range(draw(_earlier_rounds)):
        earlier = calls(_earlier_calls) if draw(_coin) else ()
        turns.append(Turn(Role.ASSISTANT, "" if earlier else draw(_words), draw(_words), earlier))
        turns += [Turn(Role.TOOL, draw(_words), answers=answered.name) for answered in earlier]
        turns += [] if earlier else [Turn(Role.USER, draw(_words))]
    last_calls = calls(_last_calls)
    answer = said() if last_calls else draw(contents.text)
    turns.append(Turn(Role.ASSISTANT, answer, said(), last_calls))
    return Conversation(tuple(turns), tuple(tool for tool, _ in offered) if offered else None)


BENIGN = _conversations(_ORDINARY)
"""Ordinary conversations: what a correct schema must bring back."""

HOSTILE = _conversations(_MIXED)
"""Conversations with placeholders for delimiters in text, reasoning and values: what may be refused, never misread."""


@lru_cache(maxsize=_LISTS_KEPT)
def conversations(*, count: int, seed: int, hostile: bool) -> tuple[Conversation, ...]:
    """`count` conversations, the same ones for the same arguments."""
    collected: list[Conversation] = []
    _run(HOSTILE if hostile else BENIGN, collected.append, _settings(count, seed, shrink=False), seed)
    return tuple(collected[:count])


Found = TypeVar("Found")


def smallest(
    strategy: st.SearchStrategy[Conversation],
    failing: Callable[[Conversation], Found | None],
    *,
    count: int,
    seed: int,
) -> Found | None:
    """Find the first of the same conversations that fails, and make it as small as a bounded number of tries can.

    Returns:
        What `failing` said of the smallest one; `None` when none failed.
    """
    smallest_failure: Found | None = None
    smallest_size = sys.maxsize
    tries_left = count + _SHRINKING_TRIES

    def fail_if_failing(conversation: Conversation) -> None:
        nonlocal smallest_failure, smallest_size, tries_left
        tries_left -= 1
        failure = failing(conversation) if tries_left > 0 else None
        if failure is None:
            return
        if (size := len(repr(conversation))) < smallest_size:
            smallest_failure, smallest_size = failure, size
        raise _Failing

    with suppress(_Failing, FlakyFailure):
        _run(strategy, fail_if_failing, _settings(count, seed, shrink=True), seed)
    return smallest_failure


class _Failing(Exception):
    """Tells Hypothesis that a conversation is one to make smaller."""


def _settings(count: int, seed: int, *, shrink: bool) -> settings:
    return settings(
        max_examples=count,
        phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
        backend=backend(seed),
        database=None,
        deadline=None,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )


def _run(
    strategy: st.SearchStrategy[Conversation],
    visit: Callable[[Conversation], None],
    configuration: settings,
    seed: int,
) -> None:
    @with_seed(seed)
    @configuration
    @given(strategy)
    def visit_each(conversation: Conversation) -> None:
        visit(conversation)

    visit_each()


def with_delimiters(conversation: Conversation, delimiters: Sequence[str]) -> Conversation:
    """Put a schema's delimiters where a hostile conversation has placeholders."""
    if not delimiters:
        return conversation
    table = {ord(placeholder): delimiters[number % len(delimiters)] for number, placeholder in enumerate(_PLACEHOLDERS)}
    last = conversation.last
    calls = tuple(Call(call.name, _translated(call.arguments, table)) for call in last.calls)
    return conversation.with_last(
        replace(last, text=last.text.translate(table), reasoning=last.reasoning.translate(table), calls=calls)
    )


def _translated(value: Any, table: Mapping[int, str]) -> Any:
    if isinstance(value, str):
        return value.translate(table)
    if isinstance(value, Mapping):
        return {key: _translated(item, table) for key, item in value.items()}
    if isinstance(value, list):
        return [_translated(item, table) for item in value]
    return value
