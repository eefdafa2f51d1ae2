"""YAML as the registry reads it: plain JSON-like data, and a line for everything that is wrong."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from rgw.errors import RegistryError
from rgw.registry.yaml_reading import Located, read_yaml


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def read_text(text: str | bytes) -> Located:
        path = tmp_path / "file"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_yaml(path, "some.yaml")

    return read_text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        ("~", None),
        ("k:", {"k": None}),
        ("true", True),
        ("false", False),
        ("-12", -12),
        ("123456789012345678901234567890", 123456789012345678901234567890),
        ("1.5", 1.5),
        ("-2.0e+3", -2000.0),
        ("1e3", 1000.0),
        ("-.inf", float("-inf")),
        ("[a, {b: 1}]", ["a", {"b": 1}]),
        ("a: |\n  x\n  y\n", {"a": "x\ny\n"}),
        ("'5'", "5"),
        ('"\\ud7ff\\U0001F600"', "\ud7ff\U0001f600"),
    ],
)
def test_values_are_what_they_look_like(read: Any, text: str, value: object) -> None:
    assert repr(read(text).plain()) == repr(value)


@pytest.mark.parametrize(
    "text",
    ["yes", "no", "on", "Null", "TRUE", "2026-11-30", "12:30", "017", "0x1f", "1_000", "+5", ".5", "5.", "=", "<<"],
)
def test_what_only_yaml_takes_for_something_else_is_text(read: Any, text: str) -> None:
    assert read(text).plain() == text


def test_a_byte_order_mark_and_foreign_line_ends_are_no_content(read: Any) -> None:
    assert read(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n").plain() == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "some.yaml:1: the file is empty"),
        ("# only a remark\n", "some.yaml:1: the file is empty"),
        (b"a: 1\nb: \xff\n", "some.yaml:2: not UTF-8"),
        (b"a: 1\nb: x\x07y\n", "some.yaml:2: a control character stands unescaped"),
        ("\n\na: 1\nb: 2\na: 3\n", "some.yaml:5: the key 'a' stands twice — remove one of the two"),
        ("a:\n  b:\n    c: 1\n    'c': 2\n", "some.yaml:4: the key 'c' stands twice — remove one of the two"),
        ("a: 1\n2: b\n", "some.yaml:2: the key '2' must be text — quote it"),
        ("a: 1\n? [b]\n: c\n", "some.yaml:2: a key must be text"),
        ("a: 1\nb: !thing c\n", "some.yaml:2: the tag '!thing' has no meaning here — remove it"),
        ("a: 1\nb: !!int c\n", "some.yaml:2: 'c' cannot be read as int"),
        ("a: &x [1]\nb: *x\n", "some.yaml:1: an alias refers to this value — write the value out wherever it is used"),
        ("a: &x [*x]\n", "some.yaml:1: an alias refers to this value — write the value out wherever it is used"),
    ],
)
def test_what_is_wrong_is_pointed_at(read: Any, text: str | bytes, message: str) -> None:
    with pytest.raises(RegistryError) as raised:
        read(text).plain()
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("text", "line"),
    [("a: 1\nb: [1, 2\nc: 3\n", 3), ("a: 1\n\tb: 2\n", 2), ("a: 1\n---\nb: 2\n", 2), ("a: 1\nb: *c\n", 2)],
)
def test_what_is_not_yaml_is_pointed_at(read: Any, text: str, line: int) -> None:
    with pytest.raises(RegistryError, match=rf"^some\.yaml:{line}: not valid YAML: \w+") as raised:
        read(text)
    assert "\n" not in str(raised.value)


def test_a_number_too_long_to_be_meant_is_an_error(read: Any) -> None:
    with pytest.raises(RegistryError, match=r"^some\.yaml:2: '9{40}' cannot be read as int$"):
        read("a:\n  " + "9" * 5000).plain()


def test_an_unreadable_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match=r"^some\.yaml: cannot be read: Is a directory$"):
        read_yaml(tmp_path, "some.yaml")


def test_nesting_without_end_is_an_error(read: Any) -> None:
    with pytest.raises(RegistryError, match=r"^some\.yaml"):
        read("[" * 100_000)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda v: v["number"].text(), "some.yaml:1: 'number' must be text, not 5 — quote it"),
        (lambda v: v["nothing"].text(), "some.yaml:2: 'nothing' must be text, not nothing"),
        (lambda v: v["list"].text(), "some.yaml:4: 'list' must be text, not a list"),
        (lambda v: v["mapping"].text(), "some.yaml:6: 'mapping' must be text, not a mapping"),
        (lambda v: v["blank"].nonempty_text(), "some.yaml:7: 'blank' must not be blank"),
        (lambda v: v["blank"].items(), "some.yaml:7: 'blank' must be a list, not '  '"),
        (lambda v: v["word"].entries(), "some.yaml:8: 'word' must be a mapping, not 'green'"),
        (lambda v: v["word"].flag(), "some.yaml:8: 'word' must be true or false, not 'green'"),
        (lambda v: v["list"].flag(), "some.yaml:4: 'list' must be true or false, not a list"),
        (lambda v: v["word"].member(Colour), "some.yaml:8: 'word' must be one of red, blue, not 'green'"),
        (lambda v: v["word"].matching("[0-9]+", "digits"), "some.yaml:8: 'word' must be digits, not 'green'"),
        (lambda v: v["list"].texts(), "some.yaml:4: an item of 'list' must be text, not 1 — quote it"),
        (lambda v: v["mapping"].record(required=("a", "b")), "some.yaml:6: 'b' is missing"),
        (lambda v: v["mapping"].record(optional=("b", "c")), "some.yaml:6: unknown key 'a' — known keys: b, c"),
    ],
)
def test_a_value_of_the_wrong_kind_is_pointed_at(read: Any, call: Any, message: str) -> None:
    document = read("number: 5\nnothing:\nlist:\n  - 1\nmapping:\n  a: x\nblank: '  '\nword: green\n")
    with pytest.raises(RegistryError) as raised:
        call(document.entries())
    assert str(raised.value) == message


def test_an_unknown_key_is_answered_with_the_known_one_that_is_meant(read: Any) -> None:
    with pytest.raises(RegistryError, match=r"^some\.yaml:2: unknown key 'titel' — did you mean 'title'\?$"):
        read("name: a\ntitel: b\n").record(required=("name", "title"))


def test_control_characters_of_a_key_do_not_reach_the_terminal(read: Any) -> None:
    with pytest.raises(RegistryError) as raised:
        read('"\\e[31mred": 1\n').record(optional=("a",))
    assert str(raised.value) == "some.yaml:1: unknown key '\\x1b[31mred' — known keys: a"


def test_an_optional_key_without_a_value_is_left_out(read: Any) -> None:
    assert read("a: null\nb: null\n").record(required=("a",), optional=("b",)).keys() == {"a"}


def test_values_of_the_right_kind_are_read(read: Any) -> None:
    values = read("flag: true\nword: red\nlist: [a, b]\n").entries()
    assert values["flag"].flag() is True
    assert values["word"].member(Colour) is Colour.RED
    assert values["list"].texts() == ("a", "b")
    assert values["list"].line == 3
