"""What a template writes between slots: where one literal ends and the next begins, and the patterns that match them.

Pure functions on text. Nothing here knows any notation; brackets and white space only decide between splits that the
renders allow alike.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple
from unicodedata import category

_OPENING = frozenset({"Ps", "Pi"})
_CLOSING = frozenset({"Pe", "Pf"})
"""The Unicode categories of brackets and quotation marks."""

_DIGITS = re.compile(r"\d+")


def common_prefix(texts: Iterable[str]) -> str:
    """The longest beginning that all texts share."""
    return os.path.commonprefix(list(texts))  # noqa: RUF071 - of texts, not of paths


def common_suffix(texts: Iterable[str]) -> str:
    """The longest end that all texts share."""
    return common_prefix(text[::-1] for text in texts)[::-1]


class Ends(NamedTuple):
    """A text without its outer white space, and that white space."""

    before: str
    core: str
    behind: str


def ends(text: str) -> Ends:
    """Take the outer white space off; text of nothing else is all `before`."""
    core = text.strip()
    if not core:
        return Ends(text, "", "")
    start = text.index(core)
    return Ends(text[:start], core, text[start + len(core) :])


class Split(NamedTuple):
    """What ends one thing, what stands between, and what begins the next."""

    close: str
    between: str
    open: str


def split_between(text: str, closes: Sequence[str], opens: Sequence[str]) -> Split:
    """Split the literal between two things alike.

    Args:
        text: What stands between them.
        closes: What else follows such a thing; `close` begins all of these.
        opens: What else precedes such a thing; `open` ends all of these.
    """
    longest_close = len(common_prefix([text, *closes]))
    longest_open = len(common_suffix([text, *opens]))
    earliest = len(text) - longest_open
    if earliest >= longest_close:
        return _without_partial_words(text, longest_close, earliest)
    position = max(range(earliest, longest_close + 1), key=lambda at: (boundary(text, at), at))
    return Split(text[:position], "", text[position:])


def _without_partial_words(text: str, close_end: int, open_start: int) -> Split:
    """A literal does not end inside a word or a marker that only happens to begin like what follows elsewhere."""
    if text[close_end:open_start].strip():
        close_end = max((at for at in range(close_end + 1) if boundary(text, at) >= 2), default=close_end)
        open_start = min((at for at in range(open_start, len(text) + 1) if boundary(text, at) >= 2), default=open_start)
    return Split(text[:close_end], text[close_end:open_start], text[open_start:])


def boundary(text: str, at: int) -> int:
    """How much a position looks like the end of one marker and the beginning of the next; 0 to 3."""
    if at in (0, len(text)):
        return 3
    left, right = text[at - 1], text[at]
    if left.isspace() or right.isspace():
        return 3
    closes, opens = left == ">" or category(left) in _CLOSING, right == "<" or category(right) in _OPENING
    if closes and opens:
        return 3
    if closes or opens:
        return 2
    return int(left.isalnum() != right.isalnum())


def markers(text: str) -> list[str]:
    """The markers of a literal: `<a> <b>x` gives `<a>` and `<b>x`."""
    cuts = [0, *(at for at in range(1, len(text)) if boundary(text, at) == 3), len(text)]
    return [part for start, end in pairwise(cuts) if (part := text[start:end].strip())]


def words(text: str) -> set[str]:
    """The words of a literal, of at least two letters."""
    return set(re.findall(r"[^\W\d_]{2,}", text.lower()))


def merged(literals: Sequence[str]) -> str | None:
    """One pattern for literals that are the same, but for numbers and the white space between their parts."""
    patterns = list(dict.fromkeys(literal_pattern(literal) for literal in literals))
    if len(patterns) == 1:
        return patterns[0]
    numbered = {_DIGITS.sub("0", literal) for literal in literals}
    if len(numbered) == 1:
        return _numbers_open(literals[0])
    squeezed = {re.sub(r"\s+", " ", literal) for literal in literals}
    if len(squeezed) == 1:
        return literal_pattern(squeezed.pop())
    return None


def _numbers_open(literal: str) -> str:
    parts = _DIGITS.split(literal)
    return r"\d{1,9}".join(literal_pattern(part) for part in parts)


def literal_pattern(literal: str) -> str:
    """A pattern for a literal; inner white space may be a little more, or less where no words would run together."""
    parts = re.split(r"(\s+)", literal)
    return "".join(_part_pattern(parts, number) for number in range(len(parts)))


def _part_pattern(parts: Sequence[str], number: int) -> str:
    part = parts[number]
    if number % 2 == 0:
        return escaped(part)
    left, right = parts[number - 1][-1:], parts[number + 1][:1]
    return r"\s{1,8}" if left.isalnum() and right.isalnum() else r"\s{0,8}"


def escaped(literal: str) -> str:
    """A literal as a pattern, with nothing escaped that need not be."""
    return re.sub(r"([\\.^$*+?{}\[\]|()])", r"\\\1", literal).replace("\n", "\\n")


def layout_pattern(white_space: str) -> str:
    """A pattern for white space that may be missing, but is never more than what the template writes."""
    if not white_space:
        return ""
    if set(white_space) == {"\n"}:
        return r"(?:\r?\n)?" if len(white_space) == 1 else rf"(?:\r?\n){{0,{len(white_space)}}}"
    return f"(?:{escaped(white_space)})?"


def set_off(before: str, core: str) -> str:
    """A pattern for the white space before a literal; a word does not begin inside another, nor elsewhere in a line.

    The white space may be missing, as at the beginning of a turn, but where it sets a word off, text may hold the word.
    """
    if not core[:1].isalnum():
        return layout_pattern(before)
    if "\n" in before:
        return layout_pattern(before) + r"(?<![^\n])"
    return layout_pattern(before) + (r"(?<!\S)" if before else r"(?<!\w)")


def alternatives(patterns: Iterable[str]) -> str:
    """A pattern that matches any of several; not grouped."""
    return "|".join(dict.fromkeys(patterns))


def longest(white_spaces: Iterable[str]) -> str:
    """The longest of some stretches of white space."""
    return max(white_spaces, key=len, default="")
