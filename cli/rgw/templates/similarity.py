"""How alike two chat templates are, for pointing at the nearest registered one. It never identifies anything.

A fingerprint keeps a short hash of each piece of a template, so that no template text need be stored or shipped.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from rgw.templates.identity import sha256_of

_HEX_DIGITS = 4
_SHORT_HASH = re.compile("." * _HEX_DIGITS)
_PIECE_ENDS = re.compile(r"\n|\r|(?<=%\})|(?<=\}\})")
_BYTE_ORDER_MARK = "\ufeff"


def line_fingerprint(text: str) -> str:
    """One short hash for each non-blank piece of the template, in order, joined into one string of hex digits.

    A piece ends with a line or with a Jinja tag, so templates written on one line can be compared as well. White space
    around a piece does not count.
    """
    pieces = (piece.strip() for piece in _PIECE_ENDS.split(text))
    return "".join(_short_hash(piece) for piece in pieces if piece)


def similarity(first: str, second: str) -> float:
    """The share of pieces that two fingerprints have in common, from 0.0 to 1.0 (the Dice coefficient)."""
    return similarities(first, {"": second})[""]


def similarities(fingerprint: str, others: Mapping[str, str]) -> dict[str, float]:
    """The similarity of a fingerprint to each of the others, which keep their keys."""
    ours = _pieces(fingerprint)
    return {key: _share_in_common(ours, _pieces(other)) for key, other in others.items()}


def layout_variants(text: str) -> dict[str, str]:
    """The same template laid out otherwise (byte-order mark, line ends, edges): sha256 -> what differs.

    Looking these up in a registry tells exactly whether an unknown template differs in nothing else.
    """
    found: dict[str, str] = {sha256_of(text): ""}
    for mark, marked in _byte_order_marks(text):
        for ends, converted in _line_ends(marked):
            for edges, trimmed in _edges(converted):
                differences = " and ".join(filter(None, (mark, ends, edges)))
                found.setdefault(sha256_of(trimmed), differences)
    del found[sha256_of(text)]
    return found


def _byte_order_marks(text: str) -> Iterator[tuple[str, str]]:
    yield "", text
    bare = text.removeprefix(_BYTE_ORDER_MARK)
    yield "a byte-order mark", bare if bare != text else _BYTE_ORDER_MARK + text


def _line_ends(text: str) -> Iterator[tuple[str, str]]:
    yield "", text
    unix = text.replace("\r\n", "\n").replace("\r", "\n")
    yield "line ends", unix
    yield "line ends", unix.replace("\n", "\r\n")


def _edges(text: str) -> Iterator[tuple[str, str]]:
    yield "", text
    ended = text.rstrip("\r\n")
    yield "the final newline", ended
    yield "the final newline", ended + "\n"
    yield "surrounding white space", text.strip()
    yield "surrounding white space", text.strip() + "\n"


def _short_hash(piece: str) -> str:
    return hashlib.sha256(piece.encode("utf-8")).hexdigest()[:_HEX_DIGITS]


def _pieces(fingerprint: str) -> Counter[str]:
    return Counter(_SHORT_HASH.findall(fingerprint))


def _share_in_common(ours: Counter[str], theirs: Counter[str]) -> float:
    total = ours.total() + theirs.total()
    return 2 * (ours & theirs).total() / total if total else 1.0
