"""Where two texts differ: whole words, at their places, in bounded time."""

from __future__ import annotations

import time
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgw.differences.changes import changes_between, text_difference
from rgw.differences.model import Change, TextDifference


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("", "", []),
        ("same\n", "same\n", []),
        ("", "new", [Change("", "new", 0, 0)]),
        ("old", "", [Change("old", "", 0, 0)]),
        ("say hello now", "say goodbye now", [Change("hello", "goodbye", 4, 4)]),
        ("a\nb\nc\n", "a\nB\nc\n", [Change("b", "B", 2, 2)]),
        ("one two\n", "one\ntwo\n", [Change(" ", "\n", 3, 3)]),
        ("x\ny", "x\ny\n", [Change("", "\n", 3, 3)]),
        ("a b c d", "A b c D", [Change("a", "A", 0, 0), Change("d", "D", 6, 6)]),
        # The signs between two words are a part of what changes.
        ("done<turn|>", "done<|tool>", [Change("turn|", "|tool", 5, 5)]),
        # Moved along by what came before.
        ("a\nmid\nend", "aaa\nmid\nEND", [Change("a", "aaa", 0, 0), Change("end", "END", 6, 8)]),
    ],
)
def test_the_words_that_differ(before: str, after: str, expected: list[Change]) -> None:
    assert changes_between(before, after) == expected


PIECES = st.lists(st.sampled_from(["a", "bc", " ", "\n", "<", "|", ">", "é"]), max_size=40).map("".join)


@given(PIECES, PIECES)
def test_replacing_what_changed_makes_the_other_text(before: str, after: str) -> None:
    made, position = "", 0
    for change in changes_between(before, after):
        assert before[change.before_start :].startswith(change.before)
        assert after[change.after_start :].startswith(change.after)
        assert change.before != change.after
        made += before[position : change.before_start] + change.after
        position = change.before_start + len(change.before)
    assert made + before[position:] == after


@pytest.mark.parametrize("alphabet", ["a\n", "ab \n", "<|>\n"])
def test_hostile_texts_cannot_take_minutes(alphabet: str) -> None:
    random = Random(0)
    before, after = ("".join(random.choices(alphabet, k=200_000)) for _ in range(2))
    started = time.process_time()
    assert changes_between(before, after)
    assert text_difference(before, after).added
    assert time.process_time() - started < 10


def test_a_unified_diff_counts_the_lines() -> None:
    assert text_difference("a\nb\nc\n", "a\nx\ny\nc\n") == TextDifference(
        "--- before\n+++ after\n@@ -1,3 +1,4 @@\n a\n-b\n+x\n+y\n c", added=2, removed=1
    )


def test_long_texts_are_compared_between_what_they_have_in_common() -> None:
    common = "".join(f"{number}\n" for number in range(5_000))
    assert text_difference(common + "a\n" + common, common + "b\n" + common) == TextDifference(
        "--- before\n+++ after\n@@ -1 +1 @@\n-a\n+b", added=1, removed=1
    )
    old, new = (f"{word}\n" * 1 + "".join(f"{word}{number}\n" for number in range(3_000)) for word in ("a", "b"))
    assert text_difference(old, new) == TextDifference("3,001 lines became 3,001 lines", added=3_001, removed=3_001)
