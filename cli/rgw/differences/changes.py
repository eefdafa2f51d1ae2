"""Where two texts differ, in bounded time whatever the texts are. Pure functions; they know no templates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher, unified_diff
from itertools import takewhile

from rgw.differences.model import Change, TextDifference

_LINES = 2_000
_WORDS = 400
"""More lines or words than this on either side are one change: comparing them could take minutes."""

_CONTEXT = 2
_BETWEEN = re.compile(r"[^\w\s]{0,3}")
"""What may stand between two changes that are one, such as the signs of a delimiter."""

_WORD = re.compile(r"\w+|\n|[^\S\n]+|[^\w\s]")


def changes_between(before: str, after: str) -> list[Change]:
    """The stretches that differ, in order: whole words, as few as a comparison by lines and then by words finds."""
    found: list[Change] = []
    for lines in _blocks(before, after, before.splitlines(keepends=True), after.splitlines(keepends=True), _LINES):
        for words in _blocks(
            lines.before, lines.after, _WORD.findall(lines.before), _WORD.findall(lines.after), _WORDS
        ):
            start, other_start = lines.before_start + words.before_start, lines.after_start + words.after_start
            change = Change(words.before, words.after, start, other_start)
            if found and _BETWEEN.fullmatch(before, _end(found[-1]), start):
                change = _joined(before, after, found.pop(), change)
            found.append(change)
    return found


def _end(change: Change) -> int:
    return change.before_start + len(change.before)


def _joined(before: str, after: str, first: Change, second: Change) -> Change:
    """Two changes and what stands between them."""
    end, other_end = _end(second), second.after_start + len(second.after)
    start, other_start = first.before_start, first.after_start
    return Change(before[start:end], after[other_start:other_end], start, other_start)


def text_difference(before: str, after: str, *, layout: str = "") -> TextDifference:
    """A unified diff of two texts; of very long ones only the part between what they begin and end with."""
    old, new = before.splitlines(), after.splitlines()
    start, end = _common(old, new) if max(len(old), len(new)) > _LINES else (0, 0)
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    if max(len(old), len(new)) > _LINES:
        return TextDifference(f"{len(old):,} lines became {len(new):,} lines", len(new), len(old), layout)
    lines = list(unified_diff(old, new, "before", "after", lineterm="", n=_CONTEXT))
    signs = [line[:1] for line in lines[2:]]
    return TextDifference("\n".join(lines), signs.count("+"), signs.count("-"), layout)


def _blocks(before: str, after: str, old: Sequence[str], new: Sequence[str], limit: int) -> Iterator[Change]:
    """What differs between two texts, given in pieces; between their common ends all of it where that is too much."""
    start, end = _common(old, new)
    offset = sum(map(len, old[:start]))
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    if max(len(old), len(new)) > limit:
        yield Change("".join(old), "".join(new), offset, offset)
        return
    starts, other_starts = _offsets(old, offset), _offsets(new, offset)
    for kind, first, last, other_first, other_last in SequenceMatcher(
        None, old, new, autojunk=limit > _WORDS
    ).get_opcodes():
        if kind != "equal":
            old_text = before[starts[first] : starts[last]]
            new_text = after[other_starts[other_first] : other_starts[other_last]]
            yield Change(old_text, new_text, starts[first], other_starts[other_first])


def _offsets(pieces: Sequence[str], start: int) -> list[int]:
    """Where each piece begins, and where the last one ends."""
    offsets = [start]
    for piece in pieces:
        offsets.append(offsets[-1] + len(piece))
    return offsets


def _common(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many pieces two lists begin with in common, and how many of the others they end with."""
    start = _equal(old, new)
    return start, _equal(old[start:][::-1], new[start:][::-1])


def _equal(old: Sequence[str], new: Sequence[str]) -> int:
    """How many pieces two lists begin with in common."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
