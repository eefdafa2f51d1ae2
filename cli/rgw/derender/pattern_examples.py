"""A short text that a regular expression matches, to build inputs from a schema's own patterns."""

from __future__ import annotations

from collections.abc import Iterable
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import regex

_NAME = regex.compile(r"\(\?P<\w+>")
"""Group names, of which only the `regex` module allows the same one twice."""

_CANDIDATES = "a1 _-.\n<>\"'{"


def example_of(pattern: str) -> str:
    """The shortest text that the pattern obviously matches.

    Args:
        pattern: A regular expression; one that only the `regex` module understands has no example.

    Returns:
        The text; empty when none was found.
    """
    try:
        example = _sequence(parser.parse(_NAME.sub("(", pattern), parser.SRE_FLAG_DOTALL))
        matches = regex.match(pattern, example, regex.DOTALL) is not None
    except (parser.error, regex.error, RecursionError, OverflowError):
        return ""
    return example if matches else ""


def _sequence(nodes: Iterable[tuple[Any, Any]]) -> str:
    return "".join(_node(code, argument) for code, argument in nodes)


def _node(code: Any, argument: Any) -> str:  # noqa: PLR0911 - one line for each kind of node
    if code is codes.LITERAL:
        return chr(argument)
    if code in (codes.NOT_LITERAL, codes.ANY):
        return "b" if argument == ord("a") else "a"
    if code is codes.IN:
        return _member(argument)
    if code is codes.BRANCH:
        return _sequence(argument[1][0])
    if code is codes.SUBPATTERN:
        return _sequence(argument[-1])
    if code is codes.ATOMIC_GROUP:
        return _sequence(argument)
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        least, _, repeated = argument
        return _sequence(repeated) * min(int(least), 8)
    return ""


def _member(members: list[tuple[Any, Any]]) -> str:
    """A character of a class."""
    for candidate in _CANDIDATES:
        negated = members[0][0] is codes.NEGATE
        if any(_is_in(candidate, code, argument) for code, argument in members) is not negated:
            return candidate
    code, argument = members[0]
    return chr(argument) if code is codes.LITERAL else chr(argument[0]) if code is codes.RANGE else ""


def _is_in(character: str, code: Any, argument: Any) -> bool:
    if code is codes.LITERAL:
        return ord(character) == int(argument)
    if code is codes.RANGE:
        return bool(argument[0] <= ord(character) <= argument[1])
    tests = {
        codes.CATEGORY_DIGIT: character.isdigit(),
        codes.CATEGORY_NOT_DIGIT: not character.isdigit(),
        codes.CATEGORY_SPACE: character.isspace(),
        codes.CATEGORY_NOT_SPACE: not character.isspace(),
        codes.CATEGORY_WORD: character.isalnum() or character == "_",
        codes.CATEGORY_NOT_WORD: not (character.isalnum() or character == "_"),
    }
    return bool(code is codes.CATEGORY and tests.get(argument, False))
