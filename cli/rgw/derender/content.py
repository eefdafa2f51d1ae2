"""Reading the content of a tool-call region: one reader for each content parser of transformers' response templates.

A reader is told where the content starts and finds out itself where it ends, so that a closing delimiter inside a
string value does not end a call. `json`, `xml-inline` and `python-call-list` are read strictly by readers of our own;
the others by transformers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import unescape

import regex

from rgw.derender.call_lists import CallListReader
from rgw.derender.json_values import ReadValue, read_json, skip_white_space, value_reader
from rgw.derender.reading import ContentError, RawValue
from rgw.model import IssueCode, Segment, SegmentKind
from rgw.registry.model import LayoutRules


@dataclass(frozen=True, slots=True)
class Content:
    """The content of one region.

    Attributes:
        value: What the content parser makes of it; inline arguments are `RawValue`s.
        end: The position behind it.
        segments: A tiling of the content; `None` when all of it is field content.
        unclosed: The arguments whose closing tag is missing: the name, and where the tag was to stand.
    """

    value: Any
    end: int
    segments: list[Segment] | None = None
    unclosed: tuple[tuple[str, int], ...] = ()


ReadContent = Callable[[str, int, "regex.Pattern[str] | None"], Content]
"""Reads content from a position; the third argument is the region's closing delimiter."""


def content_reader(
    name: str, arguments: Mapping[str, Any], layout: LayoutRules, *, closes_values: bool = False
) -> ReadContent:
    """The reader for a content parser of the response-template dialect.

    Args:
        name: The parser's name in the response template (`json`, `xml-inline`, `python-call-list`, …).
        arguments: Its `content_args`.
        layout: The schema's white-space allowances.
        closes_values: An argument tag whose closing part is missing ends where the next tag or the end of the call
            stands.

    Returns:
        A function that reads the content which starts at a position and raises `ContentError` when it does not read.
    """
    if name == "json":
        read_value = value_reader(arguments)
        return _ValueContent(_named_by_key(read_value) if arguments.get("named_by_key") else read_value).read
    if name == "xml-inline":
        return _InlineArguments(
            arguments["tag_pattern"],
            layout.between_arguments,
            escaped_keys=bool(arguments.get("escaped_keys")),
            closes_values=closes_values,
        ).read
    if name == "python-call-list":
        reader = CallListReader(
            brackets=bool(arguments.get("brackets", True)),
            unescaped_strings=bool(arguments.get("unescaped_strings")),
        )
        return _ValueContent(reader.read).read
    return _DelimitedContent(_transformers_parser(name, arguments)).read


def _transformers_parser(name: str, arguments: Mapping[str, Any]) -> Callable[[str], Any]:
    from transformers.utils.chat_parsing.content_parsers import parse_content

    return lambda body: parse_content(body, name, dict(arguments))


@dataclass(frozen=True, slots=True)
class _ValueContent:
    """Content that says itself where it ends."""

    read_value: ReadValue

    def read(self, text: str, start: int, close: regex.Pattern[str] | None) -> Content:
        value, end = self.read_value(text, start)
        return Content(value, end)


def _named_by_key(read_value: ReadValue) -> ReadValue:
    """Reads a list of objects that each hold the arguments of a call under its name: `[{"f": {"x": 1}}]`."""

    def read(text: str, start: int) -> tuple[Any, int]:
        items, end = read_value(text, start)
        if not isinstance(items, list) or not all(isinstance(item, dict) and len(item) == 1 for item in items):
            raise ContentError(IssueCode.INVALID_CALL, "not a list of calls, each under its name", start)
        return [{"name": name, "arguments": arguments} for item in items for name, arguments in item.items()], end

    return read


_QUOTES = {"&quot;": '"', "&apos;": "'"}


_CLOSING_TAG = regex.compile(r"\(\?P<closing_tag>((?:[^()\\]|\\.)++)\)")
"""The part of a tag pattern that closes a value."""


class _InlineArguments:
    """A sequence of tags that each hold a key and a value, with nothing but layout between them.

    A group named `string` in the tag pattern says whether the value is a string or JSON: it is one when the group
    captures `true` or `string`. One named `quoted` captures the quotes, such as CDATA, of a value that is a string. One
    named `closing_tag` is what closes a value. With `escaped_keys` the keys are XML attributes, `&amp;` and `&quot;`
    for `&` and `"`.

    With `closes_values` a value may lack its closing tag, if the pattern names that: it then ends at the first place
    that the pattern allows behind a closing tag, and holds no closing tag itself.
    """

    def __init__(
        self, tag_pattern: str, between: str, *, escaped_keys: bool = False, closes_values: bool = False
    ) -> None:
        self._tag = regex.compile(tag_pattern, regex.DOTALL)
        self._between = regex.compile(between)
        self._says_string = "string" in self._tag.groupindex
        self._may_quote = "quoted" in self._tag.groupindex
        self._escaped_keys = escaped_keys
        self._unclosed_tag: regex.Pattern[str] | None = None
        if closes_values and (closing := set(_CLOSING_TAG.findall(tag_pattern))):
            self._unclosed_tag = regex.compile(_CLOSING_TAG.sub(r"\g<0>?", tag_pattern), regex.DOTALL)
            self._closing_tag = regex.compile("|".join(sorted(closing)))

    def read(self, text: str, start: int, close: regex.Pattern[str] | None) -> Content:
        arguments: dict[str, Any] = {}
        segments: list[Segment] = []
        unclosed: list[tuple[str, int]] = []
        position = start
        while True:
            gap = self._between.match(text, position)
            tag_start = gap.end() if gap else position
            tag = self._next_tag(text, tag_start)
            if tag is None:
                self._check_end(text, position, tag_start, close)
                return Content(arguments, position, segments, tuple(unclosed))
            key_start, key_end = tag.span("key")
            value_start, value_end = tag.span("value")
            key = unescape(tag["key"], _QUOTES) if self._escaped_keys else tag["key"]
            if key in arguments:
                message = f"the parameter {key!r} appears twice in one call"
                raise ContentError(IssueCode.REPEATED_PARAMETER, message, tag_start)
            arguments[key] = self._value(tag, value_start, value_end)
            if self._is_unclosed(tag):
                unclosed.append((key, value_end))
            segments += (
                Segment(SegmentKind.LAYOUT, position, tag_start),
                Segment(SegmentKind.DELIMITER, tag_start, key_start),
                Segment(SegmentKind.TOOL_CALL, key_start, key_end),
                Segment(SegmentKind.DELIMITER, key_end, value_start),
                Segment(SegmentKind.TOOL_CALL, value_start, value_end),
                Segment(SegmentKind.DELIMITER, value_end, tag.end()),
            )
            position = tag.end()

    def _next_tag(self, text: str, start: int) -> regex.Match[str] | None:
        if self._unclosed_tag is None:
            return self._tag.match(text, start)
        tag = self._unclosed_tag.match(text, start)
        if tag is not None and self._is_unclosed(tag) and self._closing_tag.search(tag["value"]):
            return self._tag.match(text, start)
        return tag

    def _is_unclosed(self, tag: regex.Match[str]) -> bool:
        return self._unclosed_tag is not None and tag["closing_tag"] is None

    def _value(self, tag: regex.Match[str], start: int, end: int) -> Any:
        """The value's text; where the tag itself says whether it is a string, the value."""
        if self._may_quote and tag["quoted"] is not None:
            return tag["value"]
        if not self._says_string:
            return RawValue(tag["value"], start, end)
        if tag["string"] in ("true", "string"):
            return tag["value"]
        try:
            value, behind = read_json(tag["value"], 0)
        except ContentError as error:
            raise ContentError(error.code, error.message, start + error.position) from None
        if skip_white_space(tag["value"], behind) != end - start:
            raise ContentError(IssueCode.INVALID_JSON, "text after the JSON of a value", start + behind)
        return value

    @staticmethod
    def _check_end(text: str, position: int, tag_start: int, close: regex.Pattern[str] | None) -> None:
        """What is not a tag must be the end of the call."""
        if close is not None and (close.match(text, position) or close.match(text, tag_start)):
            return
        if tag_start >= len(text):
            return
        raise ContentError(IssueCode.MISSING_TAG, "neither a whole parameter nor the end of the call", tag_start)


@dataclass(frozen=True, slots=True)
class _DelimitedContent:
    """Content that only its closing delimiter ends."""

    parse: Callable[[str], Any]

    def read(self, text: str, start: int, close: regex.Pattern[str] | None) -> Content:
        closing = close.search(text, start) if close is not None else None
        end = closing.start() if closing else len(text)
        return Content(_guarded(self.parse, text[start:end], start), end)


def _guarded(parse: Callable[[str], Any], body: str, start: int) -> Any:
    """Run a content parser of transformers; whatever it raises is a fault of the content."""
    try:
        return parse(body)
    except RecursionError:
        raise ContentError(IssueCode.TOO_DEEP, "nested too deep", start) from None
    except Exception as error:  # noqa: BLE001 - a content parser of transformers may raise anything
        message = str(error).partition("\n")[0][:200]
        raise ContentError(IssueCode.INVALID_ARGUMENTS, message, start) from None
