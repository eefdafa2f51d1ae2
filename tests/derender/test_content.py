"""Readers of call contents: where a content ends, what each part of it is, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
import regex

from derender.derender_schemas import TAG
from rgw.derender.content import Content, content_reader
from rgw.derender.reading import ContentError, RawValue
from rgw.model import IssueCode
from rgw.registry.model import LayoutRules

CLOSE = regex.compile(r"</call>")
TYPED_TAG = r'<arg=(?P<key>\w+) string="(?P<string>true|false)">(?P<value>.*?)</arg>'


def read(name: str, text: str, *, between: str = r"\s*", close: Any = CLOSE, **arguments: Any) -> Content:
    return content_reader(name, arguments, LayoutRules(between_arguments=between))(text, 0, close)


def refusal(name: str, text: str, **options: Any) -> tuple[IssueCode, int]:
    with pytest.raises(ContentError) as caught:
        read(name, text, **options)
    return caught.value.code, caught.value.position


def parts(text: str, content: Content) -> list[tuple[str, str]]:
    segments = [] if content.segments is None else content.segments
    return [(kind.value, text[start:end]) for kind, start, end in segments if end > start]


def test_json_ends_where_the_value_ends_not_where_a_closing_marker_stands_in_a_string() -> None:
    text = '{"a": "</call>"}</call>'
    content = read("json", text)
    assert (content.value, content.end, content.segments) == ({"a": "</call>"}, 16, None)


def test_arguments_may_stand_under_the_name_of_their_call() -> None:
    content = read("json", '[{"f": {"x": 1}}, {"g": {}}]</call>', named_by_key=True)
    assert content.value == [{"name": "f", "arguments": {"x": 1}}, {"name": "g", "arguments": {}}]
    assert content.end == 28


@pytest.mark.parametrize("wire", ['{"f": {}}', '["f"]', "[{}]", '[{"f": {}, "g": {}}]'])
def test_what_stands_under_no_single_name_is_no_call(wire: str) -> None:
    assert refusal("json", wire, named_by_key=True) == (IssueCode.INVALID_CALL, 0)


def test_inline_arguments_are_raw_values_with_their_spans() -> None:
    text = "<arg=city>\nParis\n</arg>\n<arg=n>3</arg></call>"
    content = read("xml-inline", text, tag_pattern=TAG)
    assert content.value == {"city": RawValue("Paris", 11, 16), "n": RawValue("3", 31, 32)}
    assert content.end == 38
    assert parts(text, content) == [
        ("delimiter", "<arg="),
        ("tool_call", "city"),
        ("delimiter", ">\n"),
        ("tool_call", "Paris"),
        ("delimiter", "\n</arg>"),
        ("layout", "\n"),
        ("delimiter", "<arg="),
        ("tool_call", "n"),
        ("delimiter", ">"),
        ("tool_call", "3"),
        ("delimiter", "</arg>"),
    ]


def test_no_argument_is_an_empty_call() -> None:
    assert read("xml-inline", "</call>", tag_pattern=TAG) == Content({}, 0, [])


@pytest.mark.parametrize(
    ("wire", "value"),
    [
        ("\nv\n", "v"),
        ("v", "v"),
        ("\n    indented\n\n", "    indented\n"),
        ("\n\n\n", "\n"),
        ("\n\n", ""),
        ("", ""),
        ("a < b </b>", "a < b </b>"),
    ],
)
def test_only_the_layout_that_the_tag_names_is_taken_off_a_value(wire: str, value: str) -> None:
    content = read("xml-inline", f"<arg=x>{wire}</arg></call>", tag_pattern=TAG)
    assert content.value["x"].text == value


def test_white_space_between_arguments_is_what_the_schema_allows() -> None:
    text = "<arg=a>1</arg>\n<arg=b>2</arg></call>"
    assert read("xml-inline", text, tag_pattern=TAG, between=r"\n?").end == 29
    assert refusal("xml-inline", text, tag_pattern=TAG, between="") == (IssueCode.MISSING_TAG, 14)


@pytest.mark.parametrize(
    ("text", "code", "position"),
    [
        ("<arg=a>1</arg>stray<arg=b>2</arg></call>", IssueCode.MISSING_TAG, 14),
        ("<arg=a>1</call>", IssueCode.MISSING_TAG, 0),
        ("<arg=a>1<arg=b>2</arg></call>", IssueCode.MISSING_TAG, 0),
        ("<arg=>1</arg></call>", IssueCode.MISSING_TAG, 0),
        ("a=1</call>", IssueCode.MISSING_TAG, 0),
        ("<arg=a>1</arg><arg=a>2</arg></call>", IssueCode.REPEATED_PARAMETER, 14),
        ("<arg=a>1</arg><arg=a>1</arg></call>", IssueCode.REPEATED_PARAMETER, 14),
    ],
)
def test_what_is_neither_an_argument_nor_the_end_is_refused(text: str, code: IssueCode, position: int) -> None:
    assert refusal("xml-inline", text, tag_pattern=TAG) == (code, position)


def test_the_tag_may_name_the_type_of_a_value() -> None:
    tag = r'<arg=(?P<key>\w+) type="(?:(?P<string>string)|number|null)">(?P<value>.*?)</arg>'
    text = '<arg=a type="string">02</arg><arg=b type="number">2</arg><arg=c type="null">null</arg></call>'
    assert read("xml-inline", text, tag_pattern=tag).value == {"a": "02", "b": 2, "c": None}


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("q&amp;a", "q&a"),
        ("say &quot;hi&quot;", 'say "hi"'),
        ("&lt;b&gt;", "<b>"),
        ("&amp;lt;", "&lt;"),
        ("a&b", "a&b"),
    ],
)
def test_keys_may_be_escaped_as_xml_attributes(written: str, key: str) -> None:
    tag = r'<arg key="(?P<key>[^"]+)">(?P<value>.*?)</arg>'
    text = f'<arg key="{written}">&amp;</arg></call>'
    (read_key,) = read("xml-inline", text, tag_pattern=tag, escaped_keys=True).value
    assert read_key == key
    assert list(read("xml-inline", text, tag_pattern=tag).value) == [written]


def test_a_key_that_is_escaped_in_two_ways_is_repeated() -> None:
    tag = r'<arg key="(?P<key>[^"]+)">(?P<value>.*?)</arg>'
    text = '<arg key="a&apos;">1</arg><arg key="a\'">2</arg></call>'
    assert refusal("xml-inline", text, tag_pattern=tag, escaped_keys=True) == (IssueCode.REPEATED_PARAMETER, 26)


def test_a_value_in_quotes_is_a_string_and_one_without_has_no_type() -> None:
    tag = r"<arg=(?P<key>\w+)>(?P<quoted><!\[CDATA\[)?(?P<value>.*?)(?(quoted)\]\]>)</arg>"
    text = "<arg=a><![CDATA[7]]></arg><arg=b>7</arg></call>"
    assert read("xml-inline", text, tag_pattern=tag).value == {"a": "7", "b": RawValue("7", 33, 34)}


def test_the_tag_itself_may_say_whether_a_value_is_a_string() -> None:
    text = '<arg=a string="true">02</arg><arg=b string="false">[1, null]</arg></call>'
    assert read("xml-inline", text, tag_pattern=TYPED_TAG).value == {"a": "02", "b": [1, None]}


@pytest.mark.parametrize(
    ("value", "code", "position"),
    [
        ("02139", IssueCode.INVALID_JSON, 23),
        ("word", IssueCode.INVALID_JSON, 22),
        ("NaN", IssueCode.NONSTANDARD_CONSTANT, 22),
        ('{"k":1,"k":2}', IssueCode.DUPLICATE_KEY, 22),
    ],
)
def test_a_value_that_its_tag_calls_json_must_be_json(value: str, code: IssueCode, position: int) -> None:
    text = f'<arg=b string="false">{value}</arg></call>'
    assert refusal("xml-inline", text, tag_pattern=TYPED_TAG) == (code, position)


def test_a_call_list_ends_at_its_closing_bracket() -> None:
    content = read("python-call-list", '[f(a="</call>")]</call>')
    assert (content.value, content.end) == ([{"name": "f", "arguments": {"a": "</call>"}}], 16)


def test_a_call_list_may_be_written_without_brackets_or_without_escapes() -> None:
    assert read("python-call-list", "f()\ng()</call>", brackets=False).end == 7
    (call,) = read("python-call-list", "[f(a='it's')]</call>", unescaped_strings=True).value
    assert call == {"name": "f", "arguments": {"a": "it's"}}
