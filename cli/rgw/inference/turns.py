"""The literals of a whole turn: what opens and closes reasoning, text and calls, and what ends the turn.

Works on the stretches between the parts of the sightings; each literal is the part of a stretch that comes back in every
surrounding. Knows nothing of notations inside calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple

from rgw.inference.forms import CallForm, Unfit, is_called
from rgw.inference.literals import (
    Split,
    boundary,
    common_prefix,
    common_suffix,
    ends,
    longest,
    markers,
    split_between,
    words,
)
from rgw.inference.sightings import Sighting, SlotKind


class Part(Enum):
    """What of a turn stands on one side of a stretch."""

    START = "the header"
    REASONING = "reasoning"
    TEXT = "text"
    CALL = "a call"
    END = "the end"


class Stretch(NamedTuple):
    """What a template writes between two parts, and the label of a probe where it was seen."""

    before: Part
    behind: Part
    literal: str
    seen_in: str


@dataclass(frozen=True, slots=True)
class Delimiter:
    """A literal with the white space that the template writes around it.

    Attributes:
        before: White space that belongs to it, before it.
        core: The literal itself.
        behind: White space that belongs to it, behind it.
        seen_in: The labels of probes that show it.
    """

    before: str = ""
    core: str = ""
    behind: str = ""
    seen_in: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnForm:
    """Everything between the parts of a turn.

    Attributes:
        anchors: What the header of an assistant's turn ends with; any of these.
        before_turn: White space that the template writes before everything else.
        reasoning_open: What opens reasoning; `None` when there is none.
        reasoning_close: What closes it.
        text_open: What opens text, where text has an opener.
        text_close: What closes text before a call or other part, where it has an opener.
        section_open: What stands before the first call only.
        call_open: What opens each call, up to its unit.
        call_close: What closes each call.
        section_close: What stands behind the last call only.
        endings: What ends a turn, as sequences of markers with the white space before each.
        prefill: What the generation prompt writes of the turn by default.
        repeats_header: Each part but the first begins with the header again.
    """

    anchors: tuple[str, ...]
    before_turn: str = ""
    reasoning_open: Delimiter | None = None
    reasoning_close: Delimiter | None = None
    text_open: Delimiter | None = None
    text_close: Delimiter | None = None
    section_open: Delimiter = field(default_factory=Delimiter)
    call_open: Delimiter = field(default_factory=Delimiter)
    call_close: Delimiter = field(default_factory=Delimiter)
    section_close: Delimiter = field(default_factory=Delimiter)
    endings: tuple[str, ...] = ()
    prefill: str = ""
    repeats_header: bool = False


def stretches(sightings: Iterable[Sighting], form: CallForm | None) -> list[Stretch]:
    """What stands between the parts of every sighting."""
    found = []
    for sighting in sightings:
        if sighting.follower is not None:
            continue
        try:
            parts = _parts(sighting, form)
        except Unfit:
            continue
        position, before = 0, Part.START
        for part, start, end in parts:
            found.append(Stretch(before, part, sighting.output[position:start], sighting.label))
            position, before = end, part
        found.append(Stretch(before, Part.END, sighting.output[position : sighting.end], sighting.label))
    return found


def _parts(sighting: Sighting, form: CallForm | None) -> list[tuple[Part, int, int]]:
    kinds = {SlotKind.REASONING: Part.REASONING, SlotKind.TEXT: Part.TEXT}
    parts = [(kinds[mark.slot.kind], mark.start, mark.end) for mark in sighting.marks if mark.slot.kind in kinds]
    if sighting.turn.calls:
        if form is None or not is_called(sighting):
            raise Unfit
        parts += [(Part.CALL, unit.start, unit.end) for unit in form.units(sighting)]
    return sorted(parts, key=lambda part: part[1])


class TurnReader:
    """Finds the literals of a turn in the stretches."""

    def __init__(self, sightings: Sequence[Sighting], form: CallForm | None) -> None:
        self._sightings = sightings
        self._stretches = stretches(sightings, form)
        self._header = _header(sightings)

    def form(self) -> TurnForm:
        """The literals of a turn."""
        turn = TurnForm(anchors=(), prefill=_default_prefill(self._sightings))
        turn = self._with_anchor(turn)
        turn = self._with_reasoning(turn)
        turn = self._with_text(turn)
        turn = self._with_calls(turn)
        return self._with_endings(turn)

    # -- looking up -------------------------------------------------------------------------------------------------

    def _between(self, before: Iterable[Part], behind: Iterable[Part]) -> list[Stretch]:
        befores, behinds = set(before), set(behind)
        return [each for each in self._stretches if each.before in befores and each.behind in behinds]

    def _literals(self, before: Part, behind: Part) -> list[str]:
        return sorted({each.literal for each in self._between([before], [behind])})

    # -- the header -------------------------------------------------------------------------------------------------

    def _with_anchor(self, turn: TurnForm) -> TurnForm:
        """The header's last marker: what does not also stand before another speaker's message."""
        anchors = [self._own_part(header) for header in self._header]
        first = anchors[0] if anchors else ""
        others = [anchor for anchor in anchors[1:] if not anchor.endswith(first)]
        return replace(turn, anchors=tuple(dict.fromkeys(anchor for anchor in (first, *others) if anchor.strip())))

    def _own_part(self, header: str) -> str:
        followers = [sighting.follower for sighting in self._sightings if sighting.follower]
        shared = max((len(common_prefix([header, follower])) for follower in followers), default=0)
        starts = [at for at in range(shared) if boundary(header, at) == 3]
        start = max(starts, default=0)
        return header[start:].lstrip()

    # -- reasoning --------------------------------------------------------------------------------------------------

    def _with_reasoning(self, turn: TurnForm) -> TurnForm:
        before = self._between([Part.START, Part.TEXT, Part.CALL], [Part.REASONING])
        if not before:
            return turn
        shared_open = common_suffix(each.literal for each in before)
        opened = Delimiter(*ends(shared_open), seen_in=_labels(before))
        closed, repeats = self._reasoning_close()
        turn = replace(turn, reasoning_open=opened, reasoning_close=closed, repeats_header=repeats)
        if not opened.core:
            turn = self._opened_by_header(turn, closed)
        return turn

    def _reasoning_close(self) -> tuple[Delimiter, bool]:
        """What follows reasoning, whatever comes next; and whether the header follows it."""
        behind = self._between([Part.REASONING], [Part.TEXT, Part.CALL, Part.END])
        to_text = self._literals(Part.REASONING, Part.TEXT)
        bare = {each.literal for each in self._between([Part.START], [Part.TEXT, Part.CALL])}
        messages = [
            each.literal.removesuffix(opener)
            for each in behind
            for opener in bare
            if opener.strip() and each.literal.endswith(opener) and self._is_message_end(each.literal, opener)
        ]
        if messages:
            anchor = self._repeated_anchor(messages[0])
            if anchor:
                return Delimiter(*ends(messages[0].removesuffix(anchor)), seen_in=_labels(behind)), True
        literals = to_text or [common_prefix(each.literal for each in behind)]
        shared = common_prefix(literals)
        openers = sorted(literal for literal in self._literals(Part.START, Part.TEXT) if literal.strip())
        for opener in openers:
            if shared.endswith(opener) and shared != opener and not _is_closing(shared, opener):
                shared = shared.removesuffix(opener)
        if not to_text:
            shared = self._cut_before_call(shared)
        return Delimiter(*ends(shared), seen_in=_labels(behind)), False

    def _is_message_end(self, literal: str, opener: str) -> bool:
        return bool(self._repeated_anchor(literal.removesuffix(opener)))

    def _repeated_anchor(self, message_end: str) -> str:
        headers = [self._own_part(header) for header in self._header]
        return next((header for header in headers if header.strip() and message_end.endswith(header)), "")

    def _cut_before_call(self, literal: str) -> str:
        """Without a turn that goes on with text, the closer ends where a call may begin."""
        openers = self._literals(Part.START, Part.CALL)
        for opener in openers:
            core = opener.strip()
            if core and literal.rstrip().endswith(core):
                return literal[: literal.rindex(core)]
        positions = [at for at in range(1, len(literal) + 1) if boundary(literal, at) == 3]
        return literal[: positions[0]] if positions else literal

    def _opened_by_header(self, turn: TurnForm, closed: Delimiter) -> TurnForm:
        """Reasoning that the header opens: the opener is the part of the header that shares a word with the closer."""
        anchor = turn.anchors[0] if turn.anchors else ""
        opener = _marker_like(anchor, closed.core)
        if not opener:
            return replace(turn, reasoning_open=None, reasoning_close=None)
        opened = Delimiter(*ends(opener), seen_in=("the generation prompt",))
        anchors = tuple(each.removesuffix(opener) for each in turn.anchors)
        return replace(turn, anchors=anchors, reasoning_open=opened, prefill=opener + turn.prefill)

    # -- text -------------------------------------------------------------------------------------------------------

    def _with_text(self, turn: TurnForm) -> TurnForm:
        starts = [self._without_empty_thought(turn, each) for each in self._between([Part.START], [Part.TEXT])]
        if not starts:
            return turn
        shared = ends(common_suffix(starts))
        if not shared.core:
            blank = common_prefix(start for start in starts) if not any(start.strip() for start in starts) else ""
            return replace(turn, before_turn=blank)
        seen = _labels(self._between([Part.START], [Part.TEXT]))
        opened = Delimiter(*shared, seen_in=seen)
        closes = self._literals(Part.TEXT, Part.END)
        closed = Delimiter(*ends(common_prefix(closes)), seen_in=_labels(self._between([Part.TEXT], [Part.END])))
        return replace(turn, text_open=opened, text_close=closed)

    def _without_empty_thought(self, turn: TurnForm, stretch: Stretch) -> str:
        """The stretch without the delimiters of reasoning that is not there."""
        opened, closed = turn.reasoning_open, turn.reasoning_close
        literal = stretch.literal
        if closed is None or not closed.core:
            return literal
        place = literal.find(closed.core)
        if place < 0:
            return literal
        before = literal[:place].strip()
        if before and (opened is None or before != opened.core):
            return literal
        rest = literal[place + len(closed.core) :]
        return rest.removeprefix(common_prefix([rest, closed.behind]))

    # -- calls ------------------------------------------------------------------------------------------------------

    def _with_calls(self, turn: TurnForm) -> TurnForm:
        openers = self._openers(turn)
        if not openers:
            return turn
        closers = [each.literal for each in self._between([Part.CALL], [Part.END, Part.TEXT, Part.REASONING])]
        split = self._split_calls(turn, [literal for literal, _ in openers], closers)
        call_open, call_close = ends(split.open), ends(split.close)
        beginnings = [self._section_of(turn, literal, call_open.core) for literal, _ in openers]
        section = longest(beginnings)
        before_text = [
            self._section_layout(literal, call_open.core)
            for literal, before in openers
            if before is Part.TEXT
        ]
        layouts = before_text or [self._section_layout(literal, call_open.core) for literal, _ in openers]
        seen = _labels(self._between([Part.START, Part.TEXT, Part.REASONING, Part.CALL], [Part.CALL]))
        return replace(
            turn,
            section_open=Delimiter(longest(layouts), section, ends(section).behind, seen),
            call_open=Delimiter(longest(layouts), call_open.core, call_open.behind, seen),
            call_close=self._call_close(split, call_close.core, closers),
        )

    def _openers(self, turn: TurnForm) -> list[tuple[str, Part]]:
        """What precedes the first call, without what belongs to the part before it."""
        found = []
        for each in self._between([Part.START, Part.TEXT, Part.REASONING], [Part.CALL]):
            literal = each.literal
            if each.before is Part.START:
                literal = self._without_empty_thought(turn, each)
            elif each.before is Part.REASONING and turn.reasoning_close is not None:
                literal = _behind_core(literal, turn.reasoning_close.core)
            elif each.before is Part.TEXT and turn.text_close is not None and turn.text_open is not None:
                literal = self._behind_text(turn, literal)
            if turn.repeats_header and each.before is not Part.START:
                anchor = self._repeated_anchor_at_start(literal)
                literal = literal.lstrip().removeprefix(anchor) if anchor else literal
            found.append((literal, each.before))
        return found

    def _behind_text(self, turn: TurnForm, literal: str) -> str:
        for core in (turn.reasoning_close.core if turn.reasoning_close else "", turn.text_close.core):  # type: ignore[union-attr]
            if core and literal.lstrip().startswith(core):
                return literal.lstrip().removeprefix(core)
        return literal

    def _repeated_anchor_at_start(self, literal: str) -> str:
        headers = [self._own_part(header) for header in self._header]
        return next((header for header in headers if header and literal.lstrip().startswith(header)), "")

    def _split_calls(self, turn: TurnForm, openers: Sequence[str], closers: Sequence[str]) -> Split:
        between = self._literals(Part.CALL, Part.CALL)
        if between:
            literal = common_prefix(between) if len(between) > 1 else between[0]
            literal = between[0] if not literal else literal
            if turn.repeats_header:
                for header in (self._own_part(each) for each in self._header):
                    before, found, behind = literal.partition(header)
                    if header and found:
                        return Split(before, "", behind)
            return split_between(literal, closers, openers)
        opener = common_suffix(openers)
        closer = common_prefix(closers)
        endings = self._literals(Part.TEXT, Part.END)
        for ending in sorted(endings, key=len, reverse=True):
            if ending and closer.endswith(ending):
                return Split(closer.removesuffix(ending), "", opener)
        parts = markers(closer)
        return Split(closer if len(parts) < 2 else closer[: closer.index(parts[0]) + len(parts[0])], "", opener)

    def _section_of(self, turn: TurnForm, literal: str, core: str) -> str:
        return literal[: literal.rindex(core)].strip() if core and core in literal else ""

    def _section_layout(self, literal: str, core: str) -> str:
        return ends(literal).before if literal.strip() else literal

    def _call_close(self, split: Split, core: str, closers: Sequence[str]) -> Delimiter:
        behind = [ends(split.between).before, ends(split.close).behind]
        behind += [ends(_behind_core(closer, core)).before for closer in closers]
        seen = _labels(self._between([Part.CALL], [Part.CALL, Part.END]))
        return Delimiter("", core, longest(behind), seen)

    # -- the end ----------------------------------------------------------------------------------------------------

    def _with_endings(self, turn: TurnForm) -> TurnForm:
        """What ends a turn: the rest behind its last part, or else what the next message begins with."""
        endings = [each.literal for each in self._between([Part.TEXT], [Part.END])]
        sections = []
        for each in self._between([Part.CALL], [Part.END]):
            rest = _behind_core(each.literal, turn.call_close.core)
            section, ending = self._section_and_ending(turn, rest, endings)
            sections.append(section)
            endings.append(ending)
        endings += [_behind_core(each.literal, turn.reasoning_close.core) for each in self._between([Part.REASONING], [Part.END]) if turn.reasoning_close and not turn.repeats_header]
        section = longest(sections)
        found = [ending for ending in dict.fromkeys(endings) if ending.strip()]
        if not found:
            found = self._next_markers(turn)
        seen = _labels(self._between([Part.CALL], [Part.END]))
        return replace(
            turn,
            endings=tuple(found),
            section_close=Delimiter("", section.strip(), "", seen if section else ()),
        )

    def _section_and_ending(self, turn: TurnForm, rest: str, endings: Sequence[str]) -> tuple[str, str]:
        for ending in sorted(set(endings), key=len, reverse=True):
            if ending and rest.endswith(ending):
                return rest.removesuffix(ending), ""
        if not turn.section_open.core:
            return "", rest
        parts = markers(rest)
        closing = [part for part in parts[:1] if words(part) & words(turn.section_open.core)]
        return (closing[0], rest[rest.index(closing[0]) + len(closing[0]) :]) if closing else ("", rest)

    def _next_markers(self, turn: TurnForm) -> list[str]:
        """The first marker of what follows a turn, where the turn itself writes none."""
        found = []
        for sighting in self._sightings:
            if sighting.follower is None:
                continue
            rest = sighting.follower
            if sighting.turn.calls:
                rest = _behind_core(rest, turn.section_close.core or turn.call_close.core)
            first = markers(rest)[:1]
            found += [marker for marker in first if not marker[0].isalnum()]
        return list(dict.fromkeys(found))


def _labels(found: Iterable[Stretch]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.seen_in for each in found))


def _header(sightings: Iterable[Sighting]) -> list[str]:
    """The distinct headers, those behind a question first."""
    ordered = sorted(sightings, key=lambda sighting: sighting.after_tool)
    return list(dict.fromkeys(sighting.header for sighting in ordered))


def _default_prefill(sightings: Sequence[Sighting]) -> str:
    return sightings[0].prefill if sightings else ""


def _behind_core(literal: str, core: str) -> str:
    place = literal.find(core) if core else -1
    return literal[place + len(core) :] if place >= 0 else literal


def _is_closing(shared: str, opener: str) -> bool:
    """Whether what precedes text only closes an empty thought, as in a template that always writes one."""
    return opener.strip() == shared.strip()


def _marker_like(header: str, closer: str) -> str:
    """The end of a header that shares a word with a closer, back to the closer's first character."""
    shared = words(closer)
    if not closer or not shared:
        return ""
    for at in sorted((at for at in range(len(header)) if header[at] == closer[0]), reverse=True):
        if shared & words(header[at:]):
            return header[at:]
    return ""
