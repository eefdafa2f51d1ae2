"""How alike templates are, and how it is known that only their layout differs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgw.templates.identity import sha256_of
from rgw.templates.similarity import layout_variants, line_fingerprint, similarity

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)


def test_white_space_around_pieces_and_blank_lines_do_not_count() -> None:
    assert line_fingerprint("  a\n\n\tb  \r\n") == line_fingerprint("a\nb")


def test_a_template_on_one_line_has_a_piece_for_each_tag() -> None:
    assert line_fingerprint("{% if a %}{{ b }}{% endif %}") == line_fingerprint("{% if a %}\n{{ b }}\n{% endif %}")


def test_a_fingerprint_has_four_digits_for_each_piece() -> None:
    assert len(line_fingerprint("a\nb\nc")) == 12
    assert line_fingerprint(" \n ") == ""


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("a\nb\nc\nd", "a\nb\nc\nd", 1.0),
        ("a\nb\nc\nd", "a\nb\nc\nx", 0.75),  # 3 shared of 4 and 4
        ("a\nb\nc", "a", 0.5),  # 1 shared of 3 and 1
        ("a\na", "a", 2 / 3),  # repeated pieces count as often as they occur
        ("a\nb", "b\na", 1.0),
        ("a", "b", 0.0),
        ("", "b", 0.0),
        ("", "", 1.0),
    ],
)
def test_similarity_is_the_share_of_common_pieces(first: str, second: str, expected: float) -> None:
    assert similarity(line_fingerprint(first), line_fingerprint(second)) == pytest.approx(expected)


@given(TEXTS, TEXTS)
def test_similarity_is_symmetric_and_bounded(first: str, second: str) -> None:
    ours, theirs = line_fingerprint(first), line_fingerprint(second)
    assert 0.0 <= similarity(ours, theirs) == similarity(theirs, ours) <= 1.0
    assert similarity(ours, ours) == 1.0


@pytest.mark.parametrize(
    ("unknown", "registered", "difference"),
    [
        ("a\nb", "a\nb\n", "the final newline"),
        ("a\nb\n", "a\nb", "the final newline"),
        ("a\r\nb\r\n", "a\nb\n", "line ends"),
        ("a\nb\n", "a\r\nb\r\n", "line ends"),
        ("\ufeffa", "a", "a byte-order mark"),
        ("a", "\ufeffa", "a byte-order mark"),
        ("\n a\n\n", "a", "surrounding white space"),
        ("a\r\nb\r\n", "a\nb", "line ends and the final newline"),
        ("\ufeffa\r\nb", "a\nb\n", "a byte-order mark and line ends and the final newline"),
    ],
)
def test_a_layout_variant_is_found_by_its_identity(unknown: str, registered: str, difference: str) -> None:
    assert layout_variants(unknown)[sha256_of(registered)] == difference


@pytest.mark.parametrize(("unknown", "registered"), [("a b", "a  b"), ("a\n\nb", "a\nb"), ("a", "b"), ("a", "a")])
def test_another_text_is_no_layout_variant(unknown: str, registered: str) -> None:
    assert sha256_of(registered) not in layout_variants(unknown)
