"""Where one literal ends and the next begins, and what the patterns for them match."""

from __future__ import annotations

import pytest
import regex

from rgw.inference.literals import (
    Ends,
    Split,
    boundary,
    common_suffix,
    ends,
    layout_pattern,
    literal_pattern,
    markers,
    merged,
    split_between,
    words,
)


def test_the_outer_white_space_is_taken_off() -> None:
    assert ends("\n<a> b\n\n") == Ends("\n", "<a> b", "\n\n")
    assert ends(" \n") == Ends(" \n", "", "")


def test_a_common_end() -> None:
    assert common_suffix(["<x>\n<call>", "\n<call>"]) == "\n<call>"
    assert common_suffix(["a", "b"]) == ""


@pytest.mark.parametrize(
    ("text", "closes", "opens", "split"),
    [
        # A separator that neither side has elsewhere is between them.
        ("\n</do>\n<do>\n", ["\n</do><end>"], ["<do>\n"], Split("\n</do>", "\n", "<do>\n")),
        (", ", ["]<end>"], ["["], Split("", ", ", "")),
        # `<` begins what follows on either side: the marker is not cut in two.
        ("</do><do>", ["</do><end>"], ["<do>"], Split("</do>", "", "<do>")),
        ("[/DO][DO]", ["[/DO][END]"], ["[ALL][DO]"], Split("[/DO]", "", "[DO]")),
        # Nothing closes a call that the next one's opener ends.
        ("[DO]", ["<end>"], ["[DO]"], Split("", "", "[DO]")),
    ],
)
def test_what_stands_between_two_calls_is_split(text: str, closes: list[str], opens: list[str], split: Split) -> None:
    assert split_between(text, closes, opens) == split


def test_markers_end_where_brackets_or_white_space_do() -> None:
    assert markers("<a>\n<b>") == ["<a>", "<b>"]
    assert markers("[/A][B]x") == ["[/A]", "[B]x"]
    assert markers(" \n") == []
    assert boundary("<a><b>", 3) > boundary("<a><b>", 2) > boundary("ab", 1)


def test_words_have_two_letters() -> None:
    assert words("<|think_end|> a 1") == {"think", "end"}


@pytest.mark.parametrize("literal", ["<a.b>(*)", "say it", "\n<do>\n", "｜x▁y｜", "a\\b"])
def test_a_literal_is_matched_by_its_pattern(literal: str) -> None:
    assert regex.fullmatch(literal_pattern(literal), literal)


def test_words_do_not_run_together() -> None:
    pattern = literal_pattern('{"name": x y')
    assert regex.fullmatch(pattern, '{"name":x  y')
    assert not regex.fullmatch(pattern, '{"name": xy')


def test_layout_may_be_missing_but_is_never_more_than_what_was_seen() -> None:
    for written in ("", "\n", "\n\n", "\r\n\n"):
        assert regex.fullmatch(layout_pattern("\n\n"), written)
    assert not regex.fullmatch(layout_pattern("\n\n"), "\n\n\n")
    assert regex.fullmatch(layout_pattern("  "), "  ")
    assert layout_pattern("") == ""


def test_literals_that_differ_in_a_number_or_in_white_space_are_one() -> None:
    numbered = merged([":0<args>", ":1<args>", ":12<args>"])
    assert numbered is not None
    assert regex.fullmatch(numbered, ":7<args>")
    assert not regex.fullmatch(numbered, ":x<args>")
    spaced = merged([">\n<x", ">\n\n<x"])
    assert spaced is not None
    assert regex.fullmatch(spaced, "><x")
    assert merged(["<a>", "<b>"]) is None
