"""The literals of a whole turn: what opens and closes reasoning, text and calls, and what ends the turn.

Works on the stretches between the parts of the sightings; each literal is the part of a stretch that comes back in
every surrounding. Knows nothing of notations inside calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple

from rgw.inference.calls import CallForm, Unfit, is_called
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

_MIRRORED: Mapping[str, str] = {"]": "[", "}": "{", ")": "(", ">": "<"}


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
        endings: What ends a turn behind text, as sequences of markers with the white space before each.
        call_endings: What else ends a turn behind calls.
        prefill: What the generation prompt writes of the turn by default.
        separator: What stands between two calls and is part of neither.
        repeats_header: Each part but the first begins with the header again.
        header_again: Some turns begin with the header although their prompt has written it.
        closes_unopened: A turn without reasoning begins with what closes it.
        hidden_thought: Reasoning was never seen between its delimiters.
        behind_empty_thought: The white space behind reasoning that is empty; `None`: as behind any other.
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
    call_endings: tuple[str, ...] = ()
    prefill: str = ""
    separator: str = ""
    repeats_header: bool = False
    header_again: bool = False
    closes_unopened: bool = False
    hidden_thought: bool = False
    behind_empty_thought: str | None = None


def stretches(sightings: Iterable[Sighting], form: CallForm | None) -> list[Stretch]:
    """What stands between the parts of every sighting."""
    found = []
    for sighting in sightings:
        if sighting.follower is not None or sighting.after_tool or not sighting.plain:
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
    """Finds the literals of a turn in the stretches.

    Args:
        sightings: What was seen.
        form: The notation of the calls, if there are any.
        anchors: What the header of an assistant's turn ends with, the usual one first; the turns begin behind it.
        closers: Literals behind which the template looks for the answer in a text that holds them.
    """

    def __init__(
        self,
        sightings: Sequence[Sighting],
        form: CallForm | None,
        anchors: Sequence[str],
        closers: Sequence[str] = (),
    ) -> None:
        self._sightings = sightings
        self._anchors = tuple(anchors)
        self._stretches = [self._without_header(each) for each in stretches(sightings, form)]
        self._closers = tuple(closers)

    def form(self) -> TurnForm:
        """The literals of a turn."""
        header_again = any(each.output.startswith(self._anchors) for each in self._behind_results())
        turn = TurnForm(self._anchors, prefill=self._sightings[0].prefill, header_again=header_again)
        turn = self._with_reasoning(turn)
        self._take_thoughts_out_of_text(turn)
        turn = self._with_text(turn)
        turn = self._with_calls(turn)
        return self._with_endings(turn)

    def _behind_results(self) -> list[Sighting]:
        """The turns that answer a tool, where their prompt ends as any other does."""
        prefills = {each.prefill for each in self._sightings if not each.after_tool}
        return [each for each in self._sightings if each.after_tool and each.prefill in prefills]

    def _without_header(self, stretch: Stretch) -> Stretch:
        """The stretch at the start of a turn without a header that the prompt has written already."""
        anchor = next((anchor for anchor in self._anchors if stretch.literal.startswith(anchor)), "")
        if stretch.before is not Part.START or not anchor:
            return stretch
        return stretch._replace(literal=stretch.literal.removeprefix(anchor))

    # -- looking up -------------------------------------------------------------------------------------------------

    def _between(self, before: Iterable[Part], behind: Iterable[Part]) -> list[Stretch]:
        befores, behinds = set(before), set(behind)
        return [each for each in self._stretches if each.before in befores and each.behind in behinds]

    def _literals(self, before: Part, behind: Part) -> list[str]:
        return sorted({each.literal for each in self._between([before], [behind])})

    # -- reasoning --------------------------------------------------------------------------------------------------

    def _with_reasoning(self, turn: TurnForm) -> TurnForm:
        before = self._between([Part.START, Part.TEXT, Part.CALL], [Part.REASONING])
        if not before:
            return self._with_hidden_thought(turn)
        shared_open = common_suffix(each.literal for each in before)
        opened = Delimiter(*ends(shared_open), seen_in=_labels(before))
        closed, repeats = self._reasoning_close()
        if not opened.core or not closed.core:
            return turn
        starts = [each.literal.strip() for each in self._between([Part.START], [Part.TEXT, Part.CALL, Part.END])]
        unopened = any(start.startswith(closed.core) for start in starts)
        return replace(
            turn,
            reasoning_open=opened,
            reasoning_close=closed,
            repeats_header=repeats,
            closes_unopened=unopened and not opened.core.startswith(closed.core),
            behind_empty_thought=self._behind_empty_thought(closed),
        )

    def _with_hidden_thought(self, turn: TurnForm) -> TurnForm:
        """Delimiters of reasoning that the template only ever writes around nothing, or leaves to the model."""
        starts = [each.literal for each in self._between([Part.START], [Part.TEXT])]
        prefills = [sighting.prefill for sighting in self._sightings if not sighting.after_tool]
        found = _thought_delimiters(starts, prefills, self._closers)
        if found is None:
            return turn
        opened, closed = found
        unopened = any(start.strip().startswith(closed.core) for start in starts)
        return replace(
            turn, reasoning_open=opened, reasoning_close=closed, closes_unopened=unopened, hidden_thought=True
        )

    def _behind_empty_thought(self, closed: Delimiter) -> str | None:
        """The white space before text behind an empty thought, where it is other than behind any other thought."""
        starts = [each.literal for each in self._between([Part.START], [Part.TEXT]) if closed.core in each.literal]
        behind = {ends(_behind_core(start, closed.core)).before for start in starts}
        return behind.pop() if len(behind) == 1 and behind != {closed.behind} else None

    def _take_thoughts_out_of_text(self, turn: TurnForm) -> None:
        """Text between the delimiters of reasoning is reasoning to whoever reads it."""
        if turn.reasoning_open is None:
            return
        opener = turn.reasoning_open.core
        labels = {each.seen_in for each in self._between([Part.START], [Part.TEXT]) if each.literal.strip() == opener}
        self._stretches = [
            each._replace(before=_as_thought(each.before), behind=_as_thought(each.behind))
            if each.seen_in in labels
            else each
            for each in self._stretches
        ]

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
        return next((anchor for anchor in self._anchors if message_end.endswith(anchor)), "")

    def _cut_before_call(self, literal: str) -> str:
        """Without a turn that goes on with text, the closer ends where a call may begin."""
        openers = self._literals(Part.START, Part.CALL)
        for opener in openers:
            core = opener.strip()
            if core and literal.rstrip().endswith(core):
                return literal[: literal.rindex(core)]
        positions = [at for at in range(1, len(literal) + 1) if boundary(literal, at) == 3]
        return literal[: positions[0]] if positions else literal

    # -- text -------------------------------------------------------------------------------------------------------

    def _with_text(self, turn: TurnForm) -> TurnForm:
        starts = [self._without_empty_thought(turn, each) for each in self._between([Part.START], [Part.TEXT])]
        if not starts:
            return turn
        shared = ends(common_suffix(starts))
        if not shared.core:
            return replace(turn, before_turn=self._before_turn())
        seen = _labels(self._between([Part.START], [Part.TEXT]))
        opened = Delimiter(*shared, seen_in=seen)
        goes_on = self._between([Part.TEXT], [Part.CALL, Part.REASONING])
        closes = [before for each in goes_on for before in [self._before_anchor(each.literal)] if before is not None]
        closed = Delimiter(*ends(common_prefix(closes)), seen_in=_labels(goes_on))
        return replace(turn, text_open=opened, text_close=closed)

    def _before_anchor(self, literal: str) -> str | None:
        """What stands before the header, in a literal that holds it."""
        return next((literal.partition(anchor)[0] for anchor in self._anchors if anchor in literal), None)

    def _before_turn(self) -> str:
        """The white space that text begins with when nothing else does."""
        blank = {each.literal for each in self._between([Part.START], [Part.TEXT]) if not each.literal.strip()}
        return blank.pop() if len(blank) == 1 else ""

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
        behind = closed.behind if turn.behind_empty_thought is None else turn.behind_empty_thought
        return rest.removeprefix(common_prefix([rest, behind]))

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
            self._section_layout(literal, call_open.core) for literal, before in openers if before is Part.TEXT
        ]
        layouts = before_text or [self._section_layout(literal, call_open.core) for literal, _ in openers]
        seen = _labels(self._between([Part.START, Part.TEXT, Part.REASONING, Part.CALL], [Part.CALL]))
        return replace(
            turn,
            section_open=Delimiter(longest(layouts), section, ends(section).behind, seen),
            call_open=Delimiter(longest(layouts), call_open.core, call_open.behind, seen),
            call_close=self._call_close(split, call_close.core, closers),
            separator=split.between.strip(),
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
        return next((anchor for anchor in self._anchors if literal.lstrip().startswith(anchor)), "")

    def _split_calls(self, turn: TurnForm, openers: Sequence[str], closers: Sequence[str]) -> Split:
        between = self._literals(Part.CALL, Part.CALL)
        if between and turn.repeats_header:
            for anchor in self._anchors:
                before, found, behind = between[0].partition(anchor)
                if found:
                    return Split(_whole_markers(common_prefix([before, *closers]), before), "", behind)
        if between:
            begun = [closer.lstrip() for closer in closers]
            splits = [split_between(literal.lstrip(), begun, openers) for literal in between]
            return min(splits, key=lambda split: len(split.between.strip()))
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
        behind_text = [each.literal for each in self._between([Part.TEXT], [Part.END])]
        if turn.reasoning_close is not None and not turn.repeats_header:
            core = turn.reasoning_close.core
            behind_text += [_behind_core(each.literal, core) for each in self._between([Part.REASONING], [Part.END])]
        sections, behind_calls = [], []
        for each in self._between([Part.CALL], [Part.END]):
            rest = _behind_core(each.literal, turn.call_close.core)
            section, ending = self._section_and_ending(turn, rest, behind_text)
            sections.append(section)
            behind_calls.append(ending)
        if turn.repeats_header:
            behind_calls += [
                _behind_core(message, turn.call_close.core)
                for literal in self._literals(Part.CALL, Part.CALL)
                if (message := self._before_anchor(literal)) is not None
            ]
        section = longest(sections)
        turn = replace(
            turn,
            endings=_nonblank(behind_text) or self._next_markers(turn, calls=False),
            section_close=Delimiter("", section.strip(), "", _labels(self._between([Part.CALL], [Part.END]))),
        )
        return replace(turn, call_endings=self._call_endings(turn, behind_calls))

    def _call_endings(self, turn: TurnForm, behind_calls: Sequence[str]) -> tuple[str, ...]:
        written = any(each.literal.strip() for each in self._between([Part.TEXT], [Part.END]))
        found = _nonblank(behind_calls) or (() if written else self._next_markers(turn, calls=True))
        text_reads_them = turn.text_open is None
        return tuple(ending for ending in dict.fromkeys(found) if not (text_reads_them and ending in turn.endings))

    def _section_and_ending(self, turn: TurnForm, rest: str, endings: Sequence[str]) -> tuple[str, str]:
        for ending in sorted(set(endings), key=len, reverse=True):
            if ending and rest.endswith(ending):
                return rest.removesuffix(ending), ending
        if not turn.section_open.core:
            return "", rest
        size = _size_of_closer(turn.section_open.core, rest)
        return rest[:size], rest[size:]

    def _next_markers(self, turn: TurnForm, *, calls: bool) -> tuple[str, ...]:
        """The first marker of what follows a turn, where the turn itself writes none."""
        found = []
        for sighting in self._sightings:
            if sighting.follower is None or bool(sighting.turn.calls) is not calls:
                continue
            rest = sighting.follower
            if calls:
                rest = _behind_core(rest, turn.section_close.core or turn.call_close.core)
            found += [marker for marker in markers(rest)[:1] if not marker[0].isalnum()]
        return tuple(dict.fromkeys(found))


def _whole_markers(beginning: str, text: str) -> str:
    """The beginning of a text without a marker that is cut off in it."""
    return text[: max(at for at in range(len(beginning) + 1) if boundary(text, at) == 3)]


def _size_of_closer(opener: str, rest: str) -> int:
    """How much of `rest` closes what an opener opened: brackets that mirror its own, a marker that shares a word."""
    size = 0
    for marker in markers(rest):
        shares_word = bool(words(marker) & words(opener))
        if not shares_word and not all(
            character in _MIRRORED and _MIRRORED[character] in opener for character in marker
        ):
            break
        size = rest.index(marker, size) + len(marker)
        if shares_word:
            break
    return size


def _nonblank(literals: Iterable[str]) -> tuple[str, ...]:
    return tuple(literal for literal in dict.fromkeys(literals) if literal.strip())


def _as_thought(part: Part) -> Part:
    return Part.REASONING if part is Part.TEXT else part


def _thought_delimiters(
    starts: Sequence[str], prefills: Sequence[str], closers: Sequence[str]
) -> tuple[Delimiter, Delimiter] | None:
    """An opener and a closer that share a word: both in one literal, or the opener at the end of a prefill.

    Args:
        starts: What turns begin with.
        prefills: What generation prompts write of turns.
        closers: Literals behind which the template looks for the answer in a text that holds them.
    """
    for literal in [*starts, *prefills]:
        found = markers(literal)
        if len(found) == 2 and found[0] != found[1] and words(found[0]) & words(found[1]):
            between = literal[literal.index(found[0]) + len(found[0]) : literal.rindex(found[1])]
            behind = literal[literal.rindex(found[1]) + len(found[1]) :]
            half = len(between) // 2
            return Delimiter("", found[0], between[:half]), Delimiter(between[half:], found[1], behind)
    begun = [marker for start in starts for marker in markers(start)[:1]]
    for prefill in prefills:
        opener = ends(prefill[-len((markers(prefill) or [""])[-1]) - len(ends(prefill).behind) :])
        for closer in [*closers, *begun]:
            if opener.core and opener.core not in {closer, *closers} and words(closer) & words(opener.core):
                return Delimiter(*opener), Delimiter(opener.behind, closer, "")
    return None


def _labels(found: Iterable[Stretch]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.seen_in for each in found))


def _behind_core(literal: str, core: str) -> str:
    place = literal.find(core) if core else -1
    return literal[place + len(core) :] if place >= 0 else literal


def _is_closing(shared: str, opener: str) -> bool:
    """Whether what precedes text only closes an empty thought, as in a template that always writes one."""
    return opener.strip() == shared.strip()
