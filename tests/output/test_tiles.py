"""The rows of a raw output: every character in its place and kind, every issue under what it points at."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from rgw.model import Issue, IssueCode, ParsedOutput, Segment, SegmentKind, Severity
from rgw.output.tiles import Note, Omission, Row, Tiles, coverage, place, visible

REASONING, TEXT, LAYOUT = SegmentKind.REASONING, SegmentKind.TEXT, SegmentKind.LAYOUT


def turn(*segments: tuple[SegmentKind, int], issues: tuple[Issue, ...] = ()) -> ParsedOutput:
    """A derendered output whose segments have these kinds and lengths."""
    tiling, start = [], 0
    for kind, length in segments:
        tiling.append(Segment(kind, start, start + length))
        start += length
    return ParsedOutput(segments=tuple(tiling), issues=issues)


def error(start: int, end: int, message: str = "wrong") -> Issue:
    return Issue(IssueCode.INVALID_JSON, Severity.ERROR, start, end, message)


@st.composite
def derendered(draw: st.DrawFn) -> tuple[str, ParsedOutput]:
    """Any text, tiled anyhow, with issues anywhere."""
    text = draw(st.text(st.characters(codec=None, categories=None), max_size=300))
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=5)))
    kinds = draw(st.lists(st.sampled_from(SegmentKind), min_size=len(cuts) + 1, max_size=len(cuts) + 1))
    edges = [0, *cuts, len(text)]
    segments = tuple(
        Segment(kind, start, end) for kind, start, end in zip(kinds, edges[:-1], edges[1:], strict=True) if end > start
    )
    spans = draw(st.lists(st.tuples(st.integers(0, len(text)), st.integers(0, len(text))), max_size=5))
    issues = tuple(error(*sorted(span)) for span in sorted(spans, key=min))
    return text, ParsedOutput(segments=segments, issues=issues)


def test_each_line_is_a_row_with_its_number_and_its_pieces() -> None:
    rows = list(Tiles("ab\ncd", turn((REASONING, 1), (TEXT, 4))).rows())
    assert rows == [
        Row(1, (("a", REASONING), ("b⏎", TEXT)), ()),
        Row(2, (("cd", TEXT),), ()),
    ]


def test_a_line_wider_than_the_width_goes_on_without_a_number() -> None:
    rows = list(Tiles("abcdefghijk\nl", turn((TEXT, 13))).rows(10))
    assert rows == [
        Row(1, (("abcdefghij", TEXT),), ()),
        Row(None, (("k⏎", TEXT),), ()),
        Row(2, (("l", TEXT),), ()),
    ]


def test_the_newline_of_a_line_that_just_fits_does_not_wrap() -> None:
    rows = list(Tiles("abcdefghij\n", turn((TEXT, 11))).rows(10))
    assert rows == [Row(1, (("abcdefghij⏎", TEXT),), ())]


def test_wide_characters_count_double_and_escapes_by_what_is_shown() -> None:
    rows = list(Tiles("日日日日日日\x1b", turn((TEXT, 7))).rows(10))
    assert rows == [Row(1, (("日日日日日", TEXT),), ()), Row(None, (("日\\x1b", TEXT),), ())]


def test_an_issue_stands_under_its_place() -> None:
    [row] = Tiles("日 {bad}", turn((TEXT, 7), issues=(error(3, 6),))).rows()
    assert row == Row(1, (("日 {bad}", TEXT),), (Note(4, "^^^", Severity.ERROR, "error[invalid_json] wrong"),))


def test_something_missing_at_the_end_has_one_caret_past_the_last_character() -> None:
    [row] = Tiles("abc", turn((TEXT, 3), issues=(error(3, 3),))).rows()
    assert row.notes == (Note(3, "^", Severity.ERROR, "error[invalid_json] wrong"),)


def test_an_issue_over_several_rows_says_where_it_ends() -> None:
    first, second = Tiles("ab\ncd", turn((TEXT, 5), issues=(error(1, 4), error(2, 5)))).rows()
    assert first.notes == (
        Note(1, "^^", Severity.ERROR, "error[invalid_json] wrong (up to line 2, column 2)"),
        Note(2, "^", Severity.ERROR, "error[invalid_json] wrong (up to the end)"),
    )
    assert second.notes == ()


def test_an_issue_of_an_empty_output_is_shown() -> None:
    [row] = Tiles("", turn(issues=(error(0, 0),))).rows()
    assert row.notes == (Note(0, "^", Severity.ERROR, "error[invalid_json] wrong"),)


def test_what_a_message_quotes_is_escaped() -> None:
    [row] = Tiles("a", turn((TEXT, 1), issues=(error(0, 1, "not \x1b[31m"),))).rows()
    assert row.notes[0].words == r"error[invalid_json] not \x1b[31m"


def test_the_middle_of_a_long_segment_is_left_out_and_said_to_be() -> None:
    text = "start\n" + "x" * 10_000 + "\nend"
    rows = list(Tiles(text, turn((REASONING, len(text)))).rows())
    [omission] = [row for row in rows if isinstance(row, Omission)]
    assert omission.words.endswith("characters of reasoning left out, from line 2 on")
    assert rows[0] == Row(1, (("start⏎", REASONING),), ())
    assert rows[-1] == Row(3, (("end", REASONING),), ())


def test_an_issue_in_the_middle_of_a_long_segment_is_shown() -> None:
    text = "x" * 5_000 + "!" + "x" * 5_000
    rows = list(Tiles(text, turn((TEXT, len(text)), issues=(error(5_000, 5_001),))).rows())
    noted = [row for row in rows if isinstance(row, Row) and row.notes]
    assert ["!" in row.pieces[0][0] for row in noted] == [True]


def test_the_line_number_after_an_omission_is_right() -> None:
    lines = [f"line {number}" for number in range(1, 1001)]
    text = "\n".join(lines)
    rows = [row for row in Tiles(text, turn((TEXT, len(text)))).rows() if isinstance(row, Row)]
    assert all(row.pieces[0][0].rstrip("⏎") == f"line {row.number}" for row in rows)
    assert rows[-1].number == 1000
    assert len(rows) < 20


def test_many_issues_are_counted_when_not_all_are_shown() -> None:
    text = "x" * 100
    rows = list(Tiles(text, turn((TEXT, 100), issues=tuple(error(at, at + 1) for at in range(100)))).rows())
    assert rows[-1] == Omission("60 more issues are not shown here; the JSON document has them")


@given(derendered(), st.integers(10, 80))
def test_whole_rows_show_every_character_once_and_in_order(case: tuple[str, ParsedOutput], width: int) -> None:
    text, parsed = case
    rows = [row for row in Tiles(text, parsed, whole=True).rows(width) if isinstance(row, Row)]
    shown = "".join(piece for row in rows for piece, _ in row.pieces)
    assert shown == "".join(visible(text[segment.start : segment.end], segment.kind) for segment in parsed.segments)


@given(derendered(), st.integers(10, 80))
def test_no_row_is_wider_than_asked_for(case: tuple[str, ParsedOutput], width: int) -> None:
    for row in Tiles(*case, whole=True).rows(width):
        assert isinstance(row, Row)
        assert sum(cell_len(character) for piece, _ in row.pieces for character in piece.rstrip("⏎")) <= width


@given(derendered())
def test_every_issue_is_noted_once(case: tuple[str, ParsedOutput]) -> None:
    text, parsed = case
    notes = [note for row in Tiles(text, parsed, whole=True).rows() if isinstance(row, Row) for note in row.notes]
    assert len(notes) == len(parsed.issues)


@pytest.mark.parametrize(
    ("offset", "words"),
    [
        (0, "line 1, column 1"),
        (1, "line 1, column 2"),
        (2, "line 1, column 3"),
        (3, "line 2, column 1"),
        (5, "line 2, column 3"),
    ],
)
def test_places_count_from_one(offset: int, words: str) -> None:
    assert place("ab\ncd", offset) == words


def test_coverage_counts_the_characters_of_each_kind_in_the_order_of_the_kinds() -> None:
    assert coverage(turn((LAYOUT, 2), (REASONING, 3), (LAYOUT, 4))) == [(REASONING, 3), (LAYOUT, 6)]


def test_blanks_of_layout_are_dots() -> None:
    assert visible("a \n", LAYOUT) == "a·⏎"
    assert visible("a \n", TEXT) == "a ⏎"
