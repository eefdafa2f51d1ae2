"""Lists of calls as Python writes them: read where they start, with keyword arguments only.

The grammar is that of transformers' `python-call-list` content parser, with integers of any size and all the escapes of
Python's `repr`. Some templates write it otherwise than Python would: without the brackets, or strings without escapes.
Knows nothing of regions or schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import regex

from rgw.derender.json_values import MAXIMUM_DEPTH, read_json, skip_white_space
from rgw.derender.reading import ContentError
from rgw.model import IssueCode

_NAME_PATTERN = r"[A-Za-z_][A-Za-z0-9_]*+(?:[-.][A-Za-z0-9_]+)*+"
_NAME = regex.compile(_NAME_PATTERN)
_STRING = regex.compile(r"""'((?:[^'\\\n\r]|\\.)*+)'|"((?:[^"\\\n\r]|\\.)*+)\"""", regex.DOTALL)
_CUT_STRING = regex.compile(r"""'(?:[^'\\\n\r]|\\.)*+\\?\Z|"(?:[^"\\\n\r]|\\.)*+\\?\Z""", regex.DOTALL)
_ESCAPE = regex.compile(
    r"\\(?:x(?P<code>[0-9a-fA-F]{2})|u(?P<code>[0-9a-fA-F]{4})|U(?P<code>00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4})|(?P<letter>.))",
    regex.DOTALL,
)
_ESCAPED = {"\\": "\\", "'": "'", '"': '"', "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_NUMBER = regex.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_CONSTANTS: Mapping[str, bool | None] = {
    "True": True,
    "true": True,
    "False": False,
    "false": False,
    "None": None,
    "null": None,
}
_BEHIND_STRING = rf"(?=\s{{0,8}}(?:,\s{{0,8}}{_NAME_PATTERN}\s{{0,8}}=|\)\s{{0,8}}(?:\]|,\s{{0,8}}{_NAME_PATTERN}\()))"
_CLOSING_QUOTES = {quote: regex.compile(quote + _BEHIND_STRING) for quote in "'\""}
"""A quote closes an unescaped string where the next argument, the next call or the end of the list follows."""

Item = TypeVar("Item")


class CallListReader:
    """Reads `[name(key=value, …), …]`.

    Args:
        brackets: The calls stand in brackets, with commas between them; otherwise one stands behind the other.
        unescaped_strings: A string that is an argument is written as it is, between quotes, whatever it holds. What
            stands in lists and dicts is escaped as usual. Needs brackets.
    """

    def __init__(self, *, brackets: bool = True, unescaped_strings: bool = False) -> None:
        self._brackets = brackets
        self._unescaped_strings = unescaped_strings and brackets

    def read(self, text: str, start: int) -> tuple[list[dict[str, Any]], int]:
        """Read the list that starts at `start`, leading white space skipped.

        Returns:
            The calls as `{"name", "arguments"}`, and the position behind the list.

        Raises:
            ContentError: There is no such list. The position is the end of the text when it was cut off there.
        """
        position = skip_white_space(text, start)
        if self._brackets:
            return _items(text, _behind(text, position, "["), "]", self._call)
        calls: list[dict[str, Any]] = []
        while _NAME.match(text, position) or not calls:
            call, end = self._call(text, position)
            calls.append(call)
            position = skip_white_space(text, end)
        return calls, end

    def _call(self, text: str, position: int) -> tuple[dict[str, Any], int]:
        name, position = _name(text, position, "the name of a function")
        position = _behind(text, position, "(")
        arguments, position = _items(text, position, ")", self._argument)
        return {"name": name, "arguments": _unique(arguments, position)}, position

    def _argument(self, text: str, position: int) -> tuple[tuple[str, Any], int]:
        key, position = _name(text, position, "a keyword argument")
        position = skip_white_space(text, _behind(text, position, "="))
        if self._unescaped_strings and text.startswith(("'", '"'), position):
            value, position = _unescaped_string(text, position)
        else:
            value, position = _value(text, position, 0)
        return (key, value), position


def _items(
    text: str, position: int, closing: str, read_item: Callable[[str, int], tuple[Item, int]]
) -> tuple[list[Item], int]:
    """The items up to the closing bracket, with commas between them."""
    items: list[Item] = []
    position = skip_white_space(text, position)
    if text.startswith(closing, position):
        return items, position + 1
    while True:
        item, position = read_item(text, skip_white_space(text, position))
        items.append(item)
        position = skip_white_space(text, position)
        if text.startswith(closing, position):
            return items, position + 1
        position = _behind(text, position, ",")


def _behind(text: str, position: int, expected: str) -> int:
    position = skip_white_space(text, position)
    if not text.startswith(expected, position):
        raise ContentError(IssueCode.INVALID_ARGUMENTS, f"expected {expected!r}", position)
    return position + 1


def _name(text: str, position: int, what: str) -> tuple[str, int]:
    match = _NAME.match(text, position)
    if match is None:
        raise ContentError(IssueCode.INVALID_ARGUMENTS, f"expected {what}", position)
    return match[0], match.end()


def _unique(pairs: Iterable[tuple[str, Any]], position: int) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ContentError(IssueCode.DUPLICATE_KEY, f"the name {key!r} appears twice", position)
        result[key] = value
    return result


def _value(text: str, position: int, depth: int) -> tuple[Any, int]:
    if text.startswith(("'", '"'), position):
        return _string(text, position)
    if text.startswith(("[", "{"), position):
        if depth >= MAXIMUM_DEPTH:
            raise ContentError(IssueCode.TOO_DEEP, f"nested deeper than {MAXIMUM_DEPTH} levels", position)
        if text[position] == "[":
            return _items(text, position + 1, "]", lambda text, position: _value(text, position, depth + 1))
        pairs, end = _items(text, position + 1, "}", lambda text, position: _pair(text, position, depth + 1))
        return _unique(pairs, end), end
    if _NUMBER.match(text, position):
        return read_json(text, position)
    constant = _NAME.match(text, position)
    if constant is not None and constant[0] in _CONSTANTS:
        return _CONSTANTS[constant[0]], constant.end()
    message = "expected a string, a number, a list, a dict, True, False or None"
    raise ContentError(IssueCode.INVALID_ARGUMENTS, message, position)


def _pair(text: str, position: int, depth: int) -> tuple[tuple[str, Any], int]:
    key, position = _string(text, position)
    value, position = _value(text, skip_white_space(text, _behind(text, position, ":")), depth)
    return (key, value), position


def _string(text: str, position: int) -> tuple[str, int]:
    match = _STRING.match(text, position)
    if match is None:
        position = len(text) if _CUT_STRING.match(text, position) else position
        raise ContentError(IssueCode.INVALID_ARGUMENTS, "expected a string that ends on its line", position)
    body = match[1] if match[1] is not None else match[2]
    value = _ESCAPE.sub(lambda escape: _unescaped(escape, position), body) if "\\" in body else body
    try:
        value.encode()
    except UnicodeEncodeError:
        value = _joined_surrogates(value, position)
    return value, match.end()


def _unescaped(escape: regex.Match[str], position: int) -> str:
    if escape["code"] is not None:
        return chr(int(escape["code"], 16))
    if escape["letter"] not in _ESCAPED:
        raise ContentError(IssueCode.INVALID_ARGUMENTS, f"unsupported escape {escape[0]!r}", position)
    return _ESCAPED[escape["letter"]]


def _joined_surrogates(value: str, position: int) -> str:
    try:
        return value.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        message = "a string holds a lone surrogate, which is no character"
        raise ContentError(IssueCode.LONE_SURROGATE, message, position) from None


def _unescaped_string(text: str, position: int) -> tuple[str, int]:
    closing = _CLOSING_QUOTES[text[position]].search(text, position + 1)
    if closing is None:
        raise ContentError(IssueCode.INVALID_ARGUMENTS, "the string is not closed", len(text))
    return text[position + 1 : closing.start()], closing.end()
