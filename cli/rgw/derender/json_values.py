"""Strict JSON values inside raw output: read where they start, say where they end, and refuse what is not JSON.

Two notations: JSON itself, through the standard library's scanner, and the relaxed notation that the `json` content
parser of transformers reads with `string_delims` and `unquoted_keys`. Knows nothing of calls or schemas.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

from rgw.derender.reading import ContentError
from rgw.model import IssueCode

MAXIMUM_DEPTH = 100
"""How deep lists and objects may nest, the same bound that transformers sets for its call lists."""

MAXIMUM_DIGITS = 400
"""How many characters an integer may have: beyond the largest double, and long before conversion becomes slow."""

ReadValue: TypeAlias = Callable[[str, int], tuple[Any, int]]
"""Reads the value that starts at a position; returns it and the position behind it; raises `ContentError`."""

_WHITE_SPACE = re.compile(r"[ \t\n\r]*")
_UNFINISHED = re.compile(r"(?:t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?|-|\.|[eE][+-]?|\\|\\?u[0-9a-fA-F]{0,4})?")


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s",:\[\]{}]+', re.DOTALL)
"""A string, or whatever stands between the punctuation of JSON."""


class _Refusal(Exception):
    """JSON that is not accepted; `token` is the number or word that it is about, if it is about one."""

    def __init__(self, code: IssueCode, message: str, token: str = "") -> None:
        self.code = code
        self.message = message
        self.token = token


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        repeated = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise _Refusal(IssueCode.DUPLICATE_KEY, f"the key {repeated!r} appears twice in one object")
    return result


def _integer(digits: str) -> int:
    if len(digits) > MAXIMUM_DIGITS:
        raise _Refusal(IssueCode.OVERSIZED_NUMBER, f"an integer of {len(digits)} characters", digits)
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        message = f"the number {digits[:40]} is too large for a double"
        raise _Refusal(IssueCode.OVERSIZED_NUMBER, message, digits)
    return value


def _constant(name: str) -> NoReturn:
    raise _Refusal(IssueCode.NONSTANDARD_CONSTANT, f"{name} is not JSON", name)


_SCAN = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer, parse_float=_float
).raw_decode


def read_json(text: str, start: int) -> tuple[Any, int]:
    """Read the JSON value (RFC 8259) that starts at `start`, leading white space skipped.

    Args:
        text: The scanned text.
        start: Where to begin.

    Returns:
        The value and the position behind it. Integers are exact.

    Raises:
        ContentError: The value is not JSON, repeats a key, holds NaN or Infinity, nests deeper than `MAXIMUM_DEPTH`,
            holds a number beyond `MAXIMUM_DIGITS` or a double, or a lone surrogate. The error's position is the end of
            the text when the value was cut off there.
    """
    start = skip_white_space(text, start)
    try:
        value, end = _SCAN(text, start)
    except _Refusal as refusal:
        raise ContentError(refusal.code, refusal.message, _position_of(refusal.token, text, start)) from None
    except json.JSONDecodeError as error:
        position = len(text) if _is_cut_off(text, error) else error.pos
        raise ContentError(IssueCode.INVALID_JSON, f"not JSON: {error.msg}", position) from None
    except RecursionError:
        raise ContentError(IssueCode.TOO_DEEP, f"nested deeper than {MAXIMUM_DEPTH} levels", start) from None
    if text.count("[", start, end) + text.count("{", start, end) > MAXIMUM_DEPTH:
        _check_depth(value, start)
    if text.find("\\u", start, end) >= 0:
        _check_surrogates(value, start)
    return value, end


def _position_of(token: str, text: str, start: int) -> int:
    """Where a refused number or word stands: the decoder refuses the first, and does not say where it is."""
    return next((match.start() for match in _TOKEN.finditer(text, start) if token and match[0] == token), start)


def _is_cut_off(text: str, error: json.JSONDecodeError) -> bool:
    """Whether the value would have gone on had the text: an open string, half a word, number or escape."""
    return error.msg.startswith("Unterminated string") or _UNFINISHED.fullmatch(text, error.pos) is not None


def skip_white_space(text: str, start: int) -> int:
    """The position of the first character at or after `start` that is not JSON white space."""
    match = _WHITE_SPACE.match(text, start)
    return match.end() if match else start


def _check_depth(value: Any, start: int) -> None:
    level = [value]
    for _ in range(MAXIMUM_DEPTH):
        level = [child for node in level for child in _children(node)]
        if not level:
            return
    if any(isinstance(node, dict | list) for node in level):
        raise ContentError(IssueCode.TOO_DEEP, f"nested deeper than {MAXIMUM_DEPTH} levels", start)


def _children(node: Any) -> list[Any]:
    if isinstance(node, dict):
        return list(node.values())
    return node if isinstance(node, list) else []


def _check_surrogates(value: Any, start: int) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        message = "a string holds a lone surrogate, which is no character"
        raise ContentError(IssueCode.LONE_SURROGATE, message, start) from None


def value_reader(content_arguments: Mapping[str, Any]) -> ReadValue:
    """The reader for a `json` content parser with these `content_args` (transformers' `chat_parsing`)."""
    delimiters = content_arguments.get("string_delims") or []
    unquoted_keys = bool(content_arguments.get("unquoted_keys"))
    if not delimiters and not unquoted_keys:
        return read_json
    return _RelaxedReader([(opening, closing) for opening, closing in delimiters], unquoted_keys).read


_PYTHON_CONSTANTS: Mapping[str, bool | None] = {"True": True, "False": False, "None": None}
"""Templates that write relaxed JSON piece by piece print constants as Python does."""


class _RelaxedReader:
    """JSON whose strings may stand between custom delimiters and whose keys may be bare."""

    def __init__(self, delimiters: Sequence[tuple[str, str]], unquoted_keys: bool) -> None:
        self._delimiters = delimiters
        self._unquoted_keys = unquoted_keys
        self._bare_key = re.compile(r"[^{}\[\],:\"]+")
        self._scalar = re.compile(r"(?:true|false|null|True|False|None|NaN|-?Infinity|-?[0-9][0-9.eE+-]*)(?![\w.])")

    def read(self, text: str, start: int) -> tuple[Any, int]:
        return self._value(text, skip_white_space(text, start), 0)

    def _value(self, text: str, position: int, depth: int) -> tuple[Any, int]:
        string = self._string(text, position)
        if string is not None:
            return string
        if text.startswith(("{", "["), position):
            if depth >= MAXIMUM_DEPTH:
                raise ContentError(IssueCode.TOO_DEEP, f"nested deeper than {MAXIMUM_DEPTH} levels", position)
            if text[position] == "{":
                return self._object(text, position + 1, depth + 1)
            return self._array(text, position + 1, depth + 1)
        scalar = self._scalar.match(text, position)
        if scalar is None:
            raise ContentError(IssueCode.INVALID_JSON, "expected a value", position)
        if scalar[0] in _PYTHON_CONSTANTS:
            return _PYTHON_CONSTANTS[scalar[0]], scalar.end()
        value, end = read_json(text, position)
        if end != scalar.end():
            raise ContentError(IssueCode.INVALID_JSON, f"{scalar[0][:40]!r} is not a number", position)
        return value, end

    def _string(self, text: str, position: int) -> tuple[str, int] | None:
        for opening, closing in self._delimiters:
            if text.startswith(opening, position):
                end = text.find(closing, position + len(opening))
                if end < 0:
                    raise ContentError(IssueCode.INVALID_JSON, f"string not closed by {closing}", len(text))
                return text[position + len(opening) : end], end + len(closing)
        if text.startswith('"', position):
            value, end = read_json(text, position)
            return str(value), end
        return None

    def _array(self, text: str, position: int, depth: int) -> tuple[list[Any], int]:
        items: list[Any] = []
        position = skip_white_space(text, position)
        if text.startswith("]", position):
            return items, position + 1
        while True:
            item, position = self._value(text, skip_white_space(text, position), depth)
            items.append(item)
            position = skip_white_space(text, position)
            if text.startswith("]", position):
                return items, position + 1
            position = self._comma(text, position, "]")

    def _object(self, text: str, position: int, depth: int) -> tuple[dict[str, Any], int]:
        result: dict[str, Any] = {}
        position = skip_white_space(text, position)
        if text.startswith("}", position):
            return result, position + 1
        while True:
            start = skip_white_space(text, position)
            key, position = self._key(text, start)
            if key in result:
                raise ContentError(IssueCode.DUPLICATE_KEY, f"the key {key!r} appears twice in one object", start)
            position = skip_white_space(text, position)
            if not text.startswith(":", position):
                raise ContentError(IssueCode.INVALID_JSON, "expected ':' after a key", position)
            result[key], position = self._value(text, skip_white_space(text, position + 1), depth)
            position = skip_white_space(text, position)
            if text.startswith("}", position):
                return result, position + 1
            position = self._comma(text, position, "}")

    def _key(self, text: str, position: int) -> tuple[str, int]:
        string = self._string(text, position)
        if string is not None:
            return string
        match = self._bare_key.match(text, position) if self._unquoted_keys else None
        key = match[0].rstrip() if match else ""
        if not key:
            raise ContentError(IssueCode.INVALID_JSON, "expected a key", position)
        return key, position + len(key)

    def _comma(self, text: str, position: int, closing: str) -> int:
        if not text.startswith(",", position):
            raise ContentError(IssueCode.INVALID_JSON, f"expected ',' or '{closing}'", position)
        return position + 1
