"""Where an assistant's turn begins: the anchor at the end of its header, and what of the header belongs to the turn.

A generation prompt may write the beginning of the turn, such as the opener of reasoning, and in some states of a
template every turn repeats it: then only what comes later tells the header from the turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rgw.inference.literals import boundary, common_prefix, common_suffix, markers, words
from rgw.inference.sightings import Sighting, SlotKind


class Headed(NamedTuple):
    """Sightings that all begin behind one of the anchors."""

    sightings: list[Sighting]
    anchors: tuple[str, ...]


def behind_header(sightings: Sequence[Sighting]) -> Headed:
    """Cut all sightings at the same place of the header: behind the marker that names the assistant."""
    followers = [sighting.follower for sighting in sightings if sighting.follower]
    sightings = [sighting for sighting in sightings if words(sighting.header)]
    asked = [_own_part(sighting.header, followers) for sighting in sightings if not sighting.after_tool]
    usual = min((anchor for anchor in asked if anchor.strip()), key=len, default="")
    if not usual:
        return Headed(list(sightings), ())
    usual = _shared_part(usual, [sighting.header for sighting in sightings])
    cut = [sighting.cut_behind(usual) for sighting in sightings]
    opener = _opener_in(usual, cut)
    if opener:
        usual = usual.removesuffix(opener)
        cut = [sighting.cut_behind(usual) for sighting in sightings]
    return Headed(cut, (usual, *_anchors_behind_results(usual, cut)))


def _own_part(header: str, followers: Iterable[str]) -> str:
    """The header without the end of the message before it: from the marker that differs from another speaker's."""
    shared = max((_end_of_shared_marker(header, follower) for follower in followers), default=0)
    start = max((at for at in range(shared) if boundary(header, at) == 3), default=0)
    return header[start:].lstrip()


def _end_of_shared_marker(header: str, follower: str) -> int:
    """Where the last words end with which both go on alike from the beginning of some marker."""
    ends = [0]
    for start in _cuts(header):
        for other in _cuts(follower):
            shared = common_prefix([header[start:], follower[other:]])
            if words(shared):
                ends.append(start + len(shared))
    return max(ends)


def _cuts(literal: str) -> list[int]:
    return [at for at in range(len(literal)) if boundary(literal, at) == 3]


def _shared_part(anchor: str, headers: Sequence[str]) -> str:
    """The longest part of the anchor, of whole markers, that every header holds; all of it when there is none."""
    cuts = [at for at in range(len(anchor) + 1) if boundary(anchor, at) == 3]
    parts = (anchor[start:end] for start in cuts for end in cuts if start < end)
    held = [part for part in parts if words(part) and all(part in header for header in headers)]
    return max(held, key=len, default=anchor).lstrip()


def _opener_in(anchor: str, sightings: Sequence[Sighting]) -> str:
    """The end of the anchor that opens the reasoning which all turns begin with, or which some prompts close at once.

    It shares a word with what closes reasoning, and begins with the same character.
    """
    for sighting in sightings:
        if not sighting.marks or sighting.marks[0].slot.kind is not SlotKind.REASONING:
            continue
        if sighting.output[: sighting.marks[0].start].strip():
            return ""
        following = sighting.marks[1].start if len(sighting.marks) > 1 else sighting.end
        closer = sighting.output[sighting.marks[0].end : following].strip()
        return _end_like(anchor, closer)
    closed = [marker for sighting in sightings for marker in markers(sighting.prefill)[:1]]
    return next((opener for closer in closed if (opener := _end_like(anchor, closer))), "")


def _end_like(header: str, closer: str) -> str:
    shared = words(closer)
    places = [at for at in range(1, len(header)) if closer and header[at] == closer[0]]
    return next((header[at:] for at in reversed(places) if shared & words(header[at:])), "")


def _anchors_behind_results(usual: str, sightings: Sequence[Sighting]) -> list[str]:
    """What turns begin behind when they answer a tool, where that is something else; ids in it differ."""
    asked = {sighting.prefill for sighting in sightings if not sighting.after_tool}
    others = [each for each in sightings if each.after_tool and not each.header.endswith(usual)]
    headers = [each.header for each in others if each.prefill in asked]
    headers = headers or [each.header for each in others if not each.prefill]
    shared = common_suffix(headers)
    start = min((at for at in range(len(shared)) if boundary(shared, at) == 3), default=0)
    anchor = shared[start:].lstrip()
    return [anchor] if words(anchor) else []
