"""Nothing that a hub, a template or a model wrote can move the cursor, reorder text or hide."""

from __future__ import annotations

import io
import json
import re
import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from rgw.output.escape import escape_block, escape_commands, escape_json, escape_line
from rgw.output.text import Escaped

COMMAND = re.compile(r"^\s*::|##\[", re.MULTILINE)
COMMAND_LIKE = st.text(st.sampled_from(":#[]\n\t a\xa0")) | st.text()
ANY_TEXT = st.text(st.characters(codec=None, categories=None))
UNSAFE_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\x1b]8;;http://a\x07link", r"\x1b]8;;http://a\x07link"),
        ("\x9b2J", r"\x9b2J"),
        ("a\rb", r"a\rb"),
        ("a\u202eb", r"a\u202eb"),
        ("a\u200bb", r"a\u200bb"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
        ("[bold]markup[/bold]", "[bold]markup[/bold]"),
        ("日本語 ｜▁", "日本語 ｜▁"),
        ("two\n\tlines", "two\\n\\tlines"),
    ],
)
def test_a_line_shows_what_is_unsafe_as_its_escape(text: str, shown: str) -> None:
    assert escape_line(text) == shown


def test_a_block_keeps_its_newlines_and_tabs() -> None:
    assert escape_block("a\n\tb\r\n\x00") == "a\n\tb\\r\n\\x00"


def test_exactly_the_unsafe_characters_of_unicode_are_escaped() -> None:
    also_unsafe = {0xFFFE, 0xFFFF, *range(0xE0000, 0xE1000)}  # no characters in XML; the whole block of tags
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        unsafe = unicodedata.category(character) in UNSAFE_CATEGORIES or code in also_unsafe
        escaped = escape_line(character) != character
        if unsafe or unicodedata.category(character) != "Cn":
            assert escaped == unsafe, hex(code)


@given(ANY_TEXT)
def test_nothing_unsafe_is_left_for_any_text(text: str) -> None:
    assert not UNSAFE_CATEGORIES & {unicodedata.category(character) for character in escape_line(text)}


@given(ANY_TEXT)
def test_escaping_twice_changes_nothing(text: str) -> None:
    assert escape_block(escape_block(text)) == escape_block(text)


@given(
    st.recursive(st.none() | st.integers() | ANY_TEXT, lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner))
)
@example("\x7f\x9b\u2028\ud800\U000e0001")
def test_json_is_exact_for_a_program_and_safe_on_a_terminal(value: object) -> None:
    encoded = escape_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(encoded) == value
    assert not UNSAFE_CATEGORIES & {unicodedata.category(character) for character in encoded}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::x", r"\x3a:error::x"),
        ("  ::error::x", r"  \x3a:error::x"),
        ("a\n\t::stop-commands::x", "a\n\t\\x3a:stop-commands::x"),
        ("std::vector", "std::vector"),
        (": :", ": :"),
        ("see ##[error]x", r"see #\x23[error]x"),
        ("## [a](b)", "## [a](b)"),
    ],
)
def test_what_a_ci_log_would_obey_is_shown_as_its_escape(text: str, shown: str) -> None:
    assert escape_commands(text) == shown


@given(COMMAND_LIKE)
def test_no_text_is_a_command_to_a_ci_log(text: str) -> None:
    assert not COMMAND.search(escape_commands(text))
    assert json.loads(escape_json(json.dumps(text, ensure_ascii=False))) == text
    assert "##[" not in escape_json(json.dumps(text, ensure_ascii=False))


@given(st.lists(st.tuples(COMMAND_LIKE, st.sampled_from(["", "red", "bold"]))), st.integers(1, 30))
@example([(":", "red"), (":error::x", "")], 20)
@example([("##", "red"), ("[error]x", "")], 20)
@example([("a long line ::error::x", "")], 12)
def test_no_view_is_a_command_to_a_ci_log_wherever_it_wraps_or_changes_colour(
    parts: list[tuple[str, str]], width: int
) -> None:
    stream = io.StringIO()
    Console(file=stream, width=width, color_system=None).print(Escaped(Text.assemble(*parts)))
    assert not COMMAND.search(stream.getvalue())
