"""A legacy response schema, compiled to nodes that read a stretch of text and claim all of it.

Each node does what transformers' `recursive_parse` does for the keywords that it stands for, and keeps the spans.
What leaves no spans is refused here. Knows nothing of prompts, policies or the end of a turn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

from rgw.derender.json_values import ReadValue, read_json, skip_white_space, value_reader
from rgw.derender.reading import ContentError, RawValue, Reading
from rgw.errors import RegistryError
from rgw.model import IssueCode, SegmentKind

_READERS: Mapping[str, ReadValue] = {
    "json": read_json,
    "gemma4-tool-call": value_reader({"string_delims": [['<|"|>', '<|"|>']], "unquoted_keys": True}),
}
_WHITE_SPACE = re.compile(r"\s*")


class Account:
    """The text of one turn and what has been claimed of it. Positions are into the text.

    Args:
        text: What is read: the prefill and the output, or the output without a start anchor that it repeats.
        shift: How far a position of the text lies before the same position of the output.
    """

    def __init__(self, text: str, shift: int) -> None:
        self.text = text
        self.reading = Reading()
        self._shift = shift

    @property
    def visible(self) -> int:
        """Where the output begins in the text."""
        return max(0, self._shift)

    def to_output(self, position: int) -> int:
        """A position in the output; what lies in the prefill is its beginning."""
        return max(0, position - self._shift)

    def claim(self, kind: SegmentKind, start: int, end: int) -> None:
        """Say what a stretch is."""
        self.reading.claim(kind, self.to_output(start), self.to_output(end))

    def claim_delimiter(self, start: int, end: int) -> None:
        """Claim what a pattern matches outside its groups: its outer white space is layout."""
        stretch = self.text[start:end]
        content_end = start + len(stretch.rstrip())
        content_start = min(start + len(stretch) - len(stretch.lstrip()), content_end)
        self.claim(SegmentKind.LAYOUT, start, content_start)
        self.claim(SegmentKind.DELIMITER, content_start, content_end)
        self.claim(SegmentKind.LAYOUT, content_end, end)

    def error(self, code: IssueCode, start: int, end: int, message: str) -> None:
        """Record what makes the turn ill-formed."""
        self.reading.error(code, self.to_output(start), self.to_output(end), message)


class Node(Protocol):
    """Reads a value."""

    def read(self, account: Account, start: int, end: int) -> Any:
        """The value of `account.text[start:end]`, every character of it claimed.

        Raises:
            ContentError: It does not read; what has been claimed of it is then void.
        """
        ...


@dataclass(frozen=True, slots=True)
class Text:
    """A string that the wire gives no type."""

    def read(self, account: Account, start: int, end: int) -> RawValue:
        """See `Node.read`."""
        account.claim(SegmentKind.TOOL_CALL, start, end)
        return RawValue(account.text[start:end], account.to_output(start), account.to_output(end))


@dataclass(frozen=True, slots=True)
class Value:
    """`x-parser`: one value, and nothing behind it."""

    read_value: ReadValue
    transform: Callable[[Any], Any] | None

    def read(self, account: Account, start: int, end: int) -> Any:
        """See `Node.read`."""
        body = account.text[start:end]
        begin = skip_white_space(body, 0)
        try:
            value, value_end = self.read_value(body, begin)
            _refuse_rest(body, value_end)
        except ContentError as error:
            raise ContentError(error.code, error.message, start + error.position) from None
        account.claim(SegmentKind.LAYOUT, start, start + begin)
        account.claim(SegmentKind.TOOL_CALL, start + begin, start + value_end)
        account.claim(SegmentKind.LAYOUT, start + value_end, end)
        return value if self.transform is None else self.transform(value)


def _refuse_rest(body: str, value_end: int) -> None:
    rest = skip_white_space(body, value_end)
    if rest == len(body):
        return
    if body[rest] in "{[":
        raise ContentError(IssueCode.SEVERAL_CALLS, "a second value before the call is closed", rest)
    raise ContentError(IssueCode.INVALID_ARGUMENTS, "text after the call's content, before its closing marker", rest)


@dataclass(frozen=True, slots=True)
class Groups:
    """What one match captures: the values of its named groups, or of its only group."""

    named: Mapping[str, Node]
    only: Node | None

    def read_match(self, account: Account, match: re.Match[str], offset: int) -> Any:
        """The value of a match that was found in a part of the text which begins at `offset`."""
        values: dict[str, Any] = {}
        position = offset + match.start()
        for name, start, end in group_spans(match, offset):
            account.claim_delimiter(position, start)
            values[name] = (self.only or self.named[name]).read(account, start, end)
            position = end
        account.claim_delimiter(position, offset + match.end())
        return values if self.only is None else values.get("")


@dataclass(frozen=True, slots=True)
class Search:
    """`x-regex`: a match that covers the stretch, white space aside."""

    pattern: re.Pattern[str]
    groups: Groups

    def read(self, account: Account, start: int, end: int) -> Any:
        """See `Node.read`."""
        body = account.text[start:end]
        match = self.pattern.search(body)
        if match is None or body[: match.start()].strip() or body[match.end() :].strip():
            raise ContentError(IssueCode.MISSING_TAG, "the call lacks a delimiter of its form", start)
        account.claim(SegmentKind.LAYOUT, start, start + match.start())
        value = self.groups.read_match(account, match, start)
        account.claim(SegmentKind.LAYOUT, start + match.end(), end)
        return value


@dataclass(frozen=True, slots=True)
class Pairs:
    """`x-regex-key-value`: keys and values, with nothing but layout between them."""

    pattern: re.Pattern[str]
    value: Node
    between: re.Pattern[str]

    def read(self, account: Account, start: int, end: int) -> dict[str, Any]:
        """See `Node.read`."""
        arguments: dict[str, Any] = {}
        body = account.text[start:end]
        position = 0
        for match in matches_in_sequence(self.pattern, body, self.between):
            account.claim(SegmentKind.LAYOUT, start + position, start + match.start())
            self._pair(account, match, start, arguments)
            position = match.end()
        if not self.between.fullmatch(body, position):
            raise ContentError(
                IssueCode.MISSING_TAG, "neither a whole parameter nor the end of the call", start + position
            )
        account.claim(SegmentKind.LAYOUT, start + position, end)
        return arguments

    def _pair(self, account: Account, match: re.Match[str], offset: int, arguments: dict[str, Any]) -> None:
        if match["key"] in arguments:
            message = f"the parameter {match['key']!r} appears twice in one call"
            raise ContentError(IssueCode.REPEATED_PARAMETER, message, offset + match.start())
        groups = Groups({"key": Text(), "value": self.value}, None)
        values = groups.read_match(account, match, offset)
        arguments[match["key"]] = values["value"]


@dataclass(frozen=True, slots=True)
class Calls:
    """`x-regex-iterator`: the calls of a turn."""

    pattern: re.Pattern[str]
    groups: Groups

    def matches(self, body: str) -> Iterator[re.Match[str]]:
        """The calls' matches, up to the first stretch that is neither a call nor white space."""
        return matches_in_sequence(self.pattern, body, _WHITE_SPACE)


def matches_in_sequence(pattern: re.Pattern[str], body: str, between: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """The matches that follow each other with nothing but `between` in between; never searches ahead."""
    position = 0
    while position < len(body):
        gap = between.match(body, position)
        match = pattern.match(body, position) or (pattern.match(body, gap.end()) if gap else None)
        if match is None or match.end() == position:
            return
        yield match
        position = match.end()


def group_spans(match: re.Match[str], offset: int) -> list[tuple[str, int, int]]:
    """The groups that took part, in the order of the text; an only group that has no name is called ""."""
    names: list[str | int] = list(match.re.groupindex) or [1]
    spans = [(match.start(name), match.end(name), name if isinstance(name, str) else "") for name in names]
    spans = sorted(span for span in spans if span[0] >= 0)
    for before, after in pairwise(spans):
        if after[0] < before[1]:
            message = f"the groups {before[2]!r} and {after[2]!r} of the schema's pattern overlap"
            raise ContentError(IssueCode.ENGINE_FAILURE, message, offset + after[0])
    return [(name, offset + start, offset + end) for start, end, name in spans]


class Compiler:
    """Compiles one schema's dialect.

    Args:
        owner: What the schema is called in messages.
        between_arguments: The layout between the arguments of a call.

    Every method raises `RegistryError`, which names the place in the schema, for what cannot be compiled.
    """

    def __init__(self, owner: str, between_arguments: str) -> None:
        self._owner = owner
        self._between_arguments = re.compile(between_arguments)

    def turn(self, dialect: Mapping[str, Any]) -> tuple[re.Pattern[str], Calls | None]:
        """The pattern whose named groups are the fields of a turn, and the node of its calls."""
        self._refuse(dialect, "")
        properties = dialect.get("properties", {})
        pattern = self._pattern(dialect.get("x-regex", ""), "x-regex")
        if not pattern.groupindex:
            raise self._error("", "needs an x-regex with a named group for each field")
        unknown = pattern.groupindex.keys() - properties.keys() - {code.value for code in IssueCode}
        if unknown:
            raise self._error("x-regex", f"its groups must be properties or issue codes, not {sorted(unknown)}")
        calls = properties.get("tool_calls")
        return pattern, self._calls(calls, "properties.tool_calls") if calls is not None else None

    def _calls(self, schema: Mapping[str, Any], path: str) -> Calls:
        self._refuse(schema, path)
        if "x-regex-iterator" not in schema or "x-regex" in schema:
            raise self._error(path, "the calls are read by an x-regex-iterator alone")
        pattern = self._pattern(schema["x-regex-iterator"], f"{path}.x-regex-iterator")
        return Calls(pattern, self._groups(pattern, schema.get("items", {}), f"{path}.items"))

    def _groups(self, pattern: re.Pattern[str], schema: Mapping[str, Any], path: str) -> Groups:
        """What the groups of a match mean; `schema` is that of the captured value."""
        self._refuse(schema, path)
        if not pattern.groupindex:
            if pattern.groups != 1:
                raise self._error(path, f"a pattern without named groups needs exactly one, not {pattern.groups}")
            return Groups({}, self._node(schema, path))
        properties, additional = schema.get("properties", {}), schema.get("additionalProperties", {})
        children = {name: properties.get(name, additional) for name in pattern.groupindex}
        unread = [name for name, child in children.items() if not isinstance(child, Mapping)]
        if unread:
            raise self._error(path, f"has no property {unread[0]!r}, which its pattern captures")
        nodes = {name: self._node(child, f"{path}.properties.{name}") for name, child in children.items()}
        return Groups(nodes, None)

    def _node(self, schema: Mapping[str, Any], path: str) -> Node:
        """The node that reads text."""
        self._refuse(schema, path)
        if "x-regex" in schema:
            inner = {key: value for key, value in schema.items() if key != "x-regex"}
            pattern = self._pattern(schema["x-regex"], f"{path}.x-regex")
            return Search(pattern, self._groups(pattern, inner, path))
        if "x-regex-key-value" in schema:
            return self._pairs(schema, path)
        if "x-parser" in schema:
            return self._parser(schema, path)
        if schema.get("properties") or schema.get("type") in ("object", "array"):
            raise self._error(path, "gets text, and has neither a pattern with named groups nor a parser to read it")
        return Text()

    def _pairs(self, schema: Mapping[str, Any], path: str) -> Node:
        pattern = self._pattern(schema["x-regex-key-value"], f"{path}.x-regex-key-value")
        if pattern.groupindex.keys() != {"key", "value"}:
            raise self._error(f"{path}.x-regex-key-value", "needs the named groups key and value")
        if schema.get("properties"):
            raise self._error(path, "has both x-regex-key-value and properties")
        values = schema.get("additionalProperties", {})
        if not isinstance(values, Mapping):
            raise self._error(path, "its additionalProperties say nothing about the values")
        return Pairs(pattern, self._node(values, f"{path}.additionalProperties"), self._between_arguments)

    def _parser(self, schema: Mapping[str, Any], path: str) -> Node:
        arguments = schema.get("x-parser-args", {})
        if arguments.get("allow_non_json"):
            return Text()
        name = schema["x-parser"]
        if name not in _READERS:
            raise self._error(path, f"unknown x-parser {name!r} (known: {', '.join(_READERS)})")
        transform = arguments.get("transform")
        return Value(_READERS[name], self._transform(transform, path) if transform is not None else None)

    def _transform(self, expression: str, path: str) -> Callable[[Any], Any]:
        import jmespath

        try:
            compiled = jmespath.compile(expression)
        except jmespath.exceptions.JMESPathError as error:
            raise self._error(path, f"its transform is not JMESPath: {str(error).splitlines()[0]}") from None
        if not _keeps_all(compiled.parsed):
            raise self._error(path, f"its transform {expression!r} picks from the value: what it leaves is lost")
        search: Callable[[Any], Any] = compiled.search
        return search

    def _pattern(self, pattern: Any, path: str) -> re.Pattern[str]:
        try:
            return re.compile(pattern, re.DOTALL)
        except (re.error, TypeError) as error:
            raise self._error(path, f"not a regular expression: {error}") from None

    def _refuse(self, schema: Any, path: str) -> None:
        if not isinstance(schema, Mapping):
            raise self._error(path, "not a mapping")
        for keyword in ("x-regex-substitutions", "prefixItems"):
            if keyword in schema:
                raise self._error(path, f"{keyword} cannot be accounted for: where its parts came from is lost")

    def _error(self, path: str, message: str) -> RegistryError:
        place = f"response_schema.{path}" if path else "response_schema"
        return RegistryError(f"schema {self._owner}: {place}: {message}")


def _keeps_all(expression: Mapping[str, Any]) -> bool:
    """Whether a JMESPath expression only wraps the value: literals around `@`."""
    if expression["type"] in ("multi_select_dict", "key_val_pair"):
        return all(map(_keeps_all, expression["children"]))
    return expression["type"] in ("literal", "raw_string", "current")
