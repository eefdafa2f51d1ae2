"""The walk over one turn: finds every region of a grammar with its exact span, in a single pass.

The rules are those of transformers' `ResponseParser` (`utils/chat_parsing/response_parser.py`): outside the explicit
regions the earliest delimiter wins, the longest among equals, an opening before a closing. What differs is the account:
every character is claimed once, content says itself where it ends, and "closed by its delimiter" is not "closed by the
end of the output".
"""

from __future__ import annotations

from typing import Any

import regex

from rgw.derender.content import Content
from rgw.derender.grammar import DEVIATION, Field, Grammar, Role, Watched
from rgw.derender.reading import Call, ContentError, RawValue, Reading
from rgw.model import IssueCode, SegmentKind

_WHITE_SPACE = regex.compile(r"\s*")

_LONGEST_OPENER = 512
"""How far from the end of the output an unfinished opener is looked for."""


class Walk:
    """One pass over a text.

    Positions are into that text; what is recorded is shifted to the raw output, which begins at `shift`.

    Args:
        grammar: The compiled response template.
        text: What the prompt pre-wrote of the turn, followed by the raw output.
        shift: Where the raw output begins in `text`.
        start: Where the turn begins in `text`; what stands before it is prefill that the output repeats.
    """

    def __init__(self, grammar: Grammar, text: str, shift: int, start: int) -> None:
        self._grammar = grammar
        self._text = text
        self._shift = shift
        self._position = start
        self._reading = Reading()
        self._reading.claim(SegmentKind.PREFILL, 0, start)
        self._upcoming: dict[str, regex.Match[str] | None] = {}
        self._seen: set[str] = set()
        self._stopped = False
        self._prompt_has_thought = False

    def run(self) -> Reading:
        """Walk to the end of the text."""
        self._layout_at_start()
        while not self._stopped and self._position < len(self._text):
            self._step()
        for field in self._grammar.fields:
            if not field.optional and field.name not in self._seen:
                self._error(IssueCode.MISSING_FIELD, len(self._text), len(self._text), f"no {field.name} in the turn")
        return self._reading

    def _layout_at_start(self) -> None:
        """Claim the white space that every turn of the format begins with."""
        layout = self._grammar.turn_start.match(self._text, self._position)
        if layout is not None:
            self._claim(SegmentKind.LAYOUT, *layout.span())
            self._position = layout.end()

    # -- finding the next region --------------------------------------------------------------------------------

    def _step(self) -> None:
        """Read the leftovers up to the next delimiter, and what the delimiter begins or ends."""
        start = self._position
        found = self._next_delimiter()
        if found is None:
            self._position = len(self._text)
            self._leftovers(start, len(self._text))
            return
        watched, match = found
        self._leftovers(start, match.start())
        self._position = match.end()
        if not watched.opens:
            self._delimiter(match)
            self._end_of_turn_in(match, final=True)
        else:
            self._reading.end_of_turn = False
            self._region(watched.field, match)
        if self._position == start:
            self._upcoming[watched.field.name] = watched.pattern.search(self._text, start + 1)

    def _region(self, field: Field, opening: regex.Match[str]) -> None:
        if field.role is Role.BUILTIN_TOOL:
            self._builtin_tool(field, opening)
            return
        self._delimiter(opening)
        if field.role is Role.TOOL_CALLS:
            self._tool_calls(field, opening)
        else:
            self._thought_or_text(field, opening)

    def _next_delimiter(self) -> tuple[Watched, regex.Match[str]] | None:
        best: tuple[Watched, regex.Match[str]] | None = None
        best_key: tuple[int, int, bool, str] | None = None
        for watched in self._grammar.watched:
            match = self._search(watched)
            if match is None:
                continue
            start, end = match.span()
            key = (start, start - end, not watched.opens, watched.field.name)
            if best_key is None or key < best_key:
                best, best_key = (watched, match), key
        return best

    def _search(self, watched: Watched) -> regex.Match[str] | None:
        """The delimiter's next match from here, remembered so that no stretch is searched twice."""
        name = watched.field.name
        if name in self._upcoming:
            match = self._upcoming[name]
            if match is None or match.start() >= self._position:
                return match
        match = watched.pattern.search(self._text, self._position)
        self._upcoming[name] = match
        return match

    # -- reasoning and text -------------------------------------------------------------------------------------

    def _leftovers(self, start: int, end: int) -> None:
        """What stands outside every explicit region: the implicit field's, layout, or nobody's."""
        if start >= end:
            return
        implicit = self._grammar.implicit
        if implicit is None:
            self._unclaimed(start, end)
            return
        cut = self._cut_opener(start) if end == len(self._text) else end
        self._content(implicit, start, cut, closed=True)
        if cut < end:
            self._claim(SegmentKind.UNCLAIMED, cut, end)
            self._cut_call(cut)

    def _unclaimed(self, start: int, end: int) -> None:
        if self._grammar.between_regions.fullmatch(self._text, start, end):
            self._claim(SegmentKind.LAYOUT, start, end)
            return
        self._claim(SegmentKind.UNCLAIMED, start, end)
        if end == len(self._text) and self._cut_opener(start) == start:
            self._cut_call(start)
        else:
            self._error(IssueCode.UNCLAIMED_TEXT, start, end, "text that belongs to no part of a turn")

    def _thought_or_text(self, field: Field, opening: regex.Match[str]) -> None:
        start = opening.end()
        closing = field.close.search(self._text, start) if field.close is not None else None
        closed = closing is not None or field.close is None
        if not closed and self._grammar.final_marker is not None:
            closing = self._grammar.final_marker.search(self._text, start)
        end = closing.start() if closing is not None else len(self._text)
        if not closed and field.role is Role.REASONING and self._grammar.calls_end_reasoning:
            call = self._first_call(start, end)
            if call is not None:
                closed, closing, end = True, None, call.start()
                self._call_ends_reasoning(call)
        self._position = end
        self._content(field, start, end, closed=closed)
        if closing is not None:
            self._closed_by(closing)

    def _first_call(self, start: int, end: int) -> regex.Match[str] | None:
        """The first opener of a call in a stretch."""
        openers = (watched.pattern for watched in self._grammar.watched if watched.field.role is Role.TOOL_CALLS)
        found = [match for opener in openers if (match := opener.search(self._text, start, end)) is not None]
        return min(found, key=lambda match: match.start(), default=None)

    def _call_ends_reasoning(self, call: regex.Match[str]) -> None:
        self._reading.call_ended_reasoning = True
        start, end = self._stripped(*call.span())
        message = "a tool call ended the reasoning, which is not closed"
        self._reading.warning(IssueCode.CALL_IN_REASONING, self._to_output(start), self._to_output(end), message)

    def _content(self, field: Field, start: int, end: int, *, closed: bool) -> None:
        """Claim a stretch of reasoning or text."""
        content_start, content_end = self._stripped(start, end) if field.strip else (start, end)
        self._claim(SegmentKind.LAYOUT, start, content_start)
        self._claim(field.role.value, content_start, content_end)
        self._claim(SegmentKind.LAYOUT, content_end, end)
        self._seen.add(field.name)
        visible = self._text[max(content_start, self._shift) : content_end]
        if field.role is Role.TEXT:
            self._text_content(visible, max(content_start, self._shift))
        else:
            self._reasoning_content(visible, start, end, closed)
            self._stray_delimiters(
                self._grammar.reserved_in_reasoning, visible, max(content_start, self._shift), "reasoning"
            )

    def _text_content(self, value: str, start: int) -> None:
        if not value:
            return
        self._reading.text.append((value, self._to_output(start)))
        self._stray_delimiters(self._grammar.reserved, value, start, "text")

    def _stray_delimiters(self, reserved: regex.Pattern[str] | None, value: str, start: int, where: str) -> None:
        for stray in reserved.finditer(value) if reserved is not None else ():
            message = f"{stray[0]!r} stands in the {where}, where it opens and closes nothing"
            self._error(IssueCode.STRAY_DELIMITER, start + stray.start(), start + stray.end(), message)

    def _reasoning_content(self, value: str, start: int, end: int, closed: bool) -> None:
        if closed and end < self._shift:
            self._prompt_has_thought = True
            return
        is_repeated = bool(self._reading.reasoning) or self._prompt_has_thought
        if is_repeated and not self._grammar.turn.repeated_reasoning:
            self._error(IssueCode.REPEATED_REASONING, start, end, "a second block of reasoning in one turn")
        elif not self._grammar.turn.repeated_reasoning and self._said_something():
            message = "reasoning behind text or a call, which were to follow it"
            self._error(IssueCode.LATE_REASONING, start, end, message)
        if not closed:
            self._reading.unclosed_reasoning = self._to_output(start)
            message = "the reasoning is not closed: the output was cut off, or the closing marker is missing"
            self._error(IssueCode.UNCLOSED_REASONING, start, end, message)
        self._reading.reasoning.append(value)

    def _said_something(self) -> bool:
        """Whether text that is not blank, or a call, was read."""
        return bool(self._reading.calls) or any(not text.isspace() for text, _ in self._reading.text)

    # -- tool calls ---------------------------------------------------------------------------------------------

    def _tool_calls(self, field: Field, opening: regex.Match[str]) -> None:
        """Read the calls of a region whose opening has been claimed."""
        start = opening.end()
        try:
            content = field.read_content(self._text, start, field.close)
            closing = self._closing(field, content)
        except ContentError as error:
            self._unreadable_call(field, opening, error)
            return
        self._call_content(content, start, closing.start() if closing is not None else content.end)
        for key, position in content.unclosed:
            message = f"the value of {key!r} has no closing tag: it was read up to the next tag"
            self._reading.warning(IssueCode.MISSING_TAG, self._to_output(position), self._to_output(position), message)
        if closing is not None:
            self._closed_by(closing)
        if field.shape.is_list and field.name in self._seen:
            message = "read in spite of a deviation from the format: a second list of calls, where one holds them all"
            begin, end = self._to_output(opening.start()), self._to_output(self._position)
            self._reading.warning(IssueCode.TOLERATED_DELIMITER, begin, end, message)
        self._seen.add(field.name)
        try:
            calls = field.shape.calls(content.value, _captures(opening, closing), start)
        except ContentError as error:
            self._error(error.code, opening.start(), self._position, error.message)
            return
        span = self._to_output(opening.start()), self._to_output(self._position)
        if not calls:
            self._reading.warning(IssueCode.EMPTY_CALL_LIST, *span, "a list of calls that holds none")
        self._reading.calls += [Call(name, self._shifted(arguments), *span) for name, arguments in calls]

    def _builtin_tool(self, field: Field, opening: regex.Match[str]) -> None:
        """Leave a message to a built-in tool unclaimed."""
        closing = field.close.search(self._text, opening.end()) if field.close is not None else None
        self._position = closing.start() if closing is not None else len(self._text)
        self._claim(SegmentKind.UNCLAIMED, opening.start(), self._position)
        message = f"a message to the built-in tool {opening['name']!r}, which is no call of a function"
        self._error(IssueCode.BUILTIN_TOOL, opening.start(), self._position, message)
        if closing is not None:
            self._closed_by(closing)

    def _call_content(self, content: Content, start: int, end: int) -> None:
        if content.segments is None:
            value_start = min(self._behind_white_space(start), content.end)
            self._claim(SegmentKind.LAYOUT, start, value_start)
            self._claim(SegmentKind.TOOL_CALL, value_start, content.end)
        else:
            for segment in content.segments:
                self._claim(*segment)
        self._claim(SegmentKind.LAYOUT, content.end, end)
        self._position = end

    def _closing(self, field: Field, content: Content) -> regex.Match[str] | None:
        """The closing delimiter that must follow the content, white space between them skipped.

        All of it, or all up to the last line end, which may be the delimiter's own.
        """
        if field.close is None:
            return None
        end = self._behind_white_space(content.end)
        for start in (content.end, self._last_line_end(content.end, end), end):
            closing = field.close.match(self._text, start)
            if closing is not None:
                return closing
        raise self._not_closed(field, end)

    def _last_line_end(self, start: int, end: int) -> int:
        """Where the last line end within a span begins; the end of the span where there is none."""
        found = self._text.rfind("\n", start, end)
        if found < 0:
            return end
        return found - 1 if self._text.endswith("\r", start, found) else found

    def _not_closed(self, field: Field, position: int) -> ContentError:
        """Why a call whose content was read whole is not one."""
        if position >= len(self._text):
            return ContentError(IssueCode.UNCLOSED_CALL, "the output ends inside a call", position)
        if field.open is not None and field.open.match(self._text, position):
            return ContentError(IssueCode.UNCLOSED_CALL, "another call begins before this one is closed", position)
        if self._text[position] in "{[":
            return ContentError(IssueCode.SEVERAL_CALLS, "a second value before the call is closed", position)
        message = "text after the content of a call, before its closing marker"
        return ContentError(IssueCode.INVALID_ARGUMENTS, message, position)

    def _unreadable_call(self, field: Field, opening: regex.Match[str], error: ContentError) -> None:
        """A call that does not read makes the turn ill-formed; nothing behind it is read."""
        self._stop_at(opening.end())
        closing = field.close.search(self._text, error.position) if field.close is not None else None
        if error.position >= len(self._text) or closing is None:
            self._cut_call(opening.start())
            return
        code, position, message = error.code, error.position, error.message
        second = self._second_call(opening, position, closing.end())
        if second is not None:
            code, position, message = IssueCode.SEVERAL_CALLS, second, "a second call before the first one is closed"
        self._error(code, position, position + 1, message)

    def _second_call(self, opening: regex.Match[str], start: int, end: int) -> int | None:
        """Where, between `start` and `end`, what introduces a call's name stands once more: a tag, or else a word."""
        if "name" not in opening.re.groupindex:
            return None
        introduction = self._text[opening.start() : opening.start("name")].strip()
        tag = introduction.rfind("<")
        introduced = introduction[tag:] if tag >= 0 else "".join(introduction.split()[-1:])
        found = self._text.find(introduced, start, end) if introduced else -1
        return found if found >= 0 else None

    def _cut_call(self, start: int) -> None:
        self._reading.cut_call = self._to_output(start)
        self._error(IssueCode.UNCLOSED_CALL, start, len(self._text), "the output ends inside a call")

    def _cut_opener(self, start: int) -> int:
        """Where, at the end of the text, an opener of a call begins that the output does not finish.

        One character of an opener is not taken for one: any text may end in it.
        """
        end = len(self._text)
        begin = max(start, self._shift, end - _LONGEST_OPENER)
        cuts = [
            match.start()
            for watched in self._grammar.watched
            if watched.opens
            and watched.field.role is Role.TOOL_CALLS
            and (match := watched.pattern.search(self._text, begin, partial=True)) is not None
            and len(match[0].strip()) > 1
        ]
        return min(cuts, default=end)

    # -- the end of a region and of the turn --------------------------------------------------------------------

    def _closed_by(self, closing: regex.Match[str]) -> None:
        self._position = closing.end()
        self._delimiter(closing)
        self._end_of_turn_in(closing, final=False)

    def _end_of_turn_in(self, closing: regex.Match[str], *, final: bool) -> None:
        """Take note of an end-of-turn marker in a closing delimiter. A final delimiter ends the turn in any case."""
        turn = self._grammar.turn
        marker = next((literal for literal in turn.end if literal in closing[0]), None)
        self._reading.end_of_turn = marker is not None or (final and bool(closing[0]))
        if marker in turn.resumable or (marker is None and not final):
            return
        rest = self._behind_white_space(closing.end())
        self._claim(SegmentKind.LAYOUT, closing.end(), rest)
        self._stop_at(rest)
        if rest < len(self._text):
            message = "the output goes on after the end of the turn"
            self._error(IssueCode.TEXT_AFTER_END_OF_TURN, rest, len(self._text), message)

    def _stop_at(self, position: int) -> None:
        """End the walk; what follows `position` is nobody's, though the marker at its end may still end the turn."""
        self._claim(SegmentKind.UNCLAIMED, position, len(self._text))
        if position < len(self._text):
            self._reading.end_of_turn |= self._text[position:].rstrip().endswith(self._grammar.turn.end)
        self._position = len(self._text)
        self._stopped = True

    # -- recording ----------------------------------------------------------------------------------------------

    def _delimiter(self, match: regex.Match[str]) -> None:
        """Claim a delimiter: its outer white space is layout, what it captures is part of the call."""
        start, end = match.span()
        position, content_end = self._stripped(start, end)
        self._claim(SegmentKind.LAYOUT, start, position)
        for name in match.re.groupindex:
            capture_start, capture_end = match.span(name)
            if capture_start < position:
                continue
            if name.startswith(DEVIATION):
                what = name.removeprefix(DEVIATION).strip("_").replace("_", " ")
                message = f"read in spite of a deviation from the format: {what}"
                self._reading.warning(
                    IssueCode.TOLERATED_DELIMITER,
                    self._to_output(capture_start),
                    self._to_output(max(capture_end, content_end)),
                    message,
                )
                continue
            self._claim(SegmentKind.DELIMITER, position, capture_start)
            self._claim(SegmentKind.TOOL_CALL, capture_start, capture_end)
            position = capture_end
        self._claim(SegmentKind.DELIMITER, position, content_end)
        self._claim(SegmentKind.LAYOUT, max(position, content_end), end)

    def _stripped(self, start: int, end: int) -> tuple[int, int]:
        """The span without its outer white space."""
        stretch = self._text[start:end]
        kept = stretch.lstrip()
        begin = end - len(kept)
        return begin, begin + len(kept.rstrip())

    def _behind_white_space(self, position: int) -> int:
        match = _WHITE_SPACE.match(self._text, position)
        return match.end() if match is not None else position

    def _to_output(self, position: int) -> int:
        return max(0, position - self._shift)

    def _claim(self, kind: SegmentKind, start: int, end: int) -> None:
        if end > start:
            self._reading.claim(kind, self._to_output(start), self._to_output(end))

    def _error(self, code: IssueCode, start: int, end: int, message: str) -> None:
        self._reading.error(code, self._to_output(start), self._to_output(end), message)

    def _shifted(self, arguments: Any) -> Any:
        """Inline argument values with their spans moved to the output."""
        if not self._shift or not isinstance(arguments, dict):
            return arguments
        return {
            key: RawValue(value.text, self._to_output(value.start), self._to_output(value.end))
            if isinstance(value, RawValue)
            else value
            for key, value in arguments.items()
        }


def _captures(opening: regex.Match[str], closing: regex.Match[str] | None) -> dict[str, str]:
    """The named groups of both delimiters; the closing one's win, as in transformers."""
    captures = dict(opening.groupdict())
    if closing is not None:
        captures.update(closing.groupdict())
    return {name: value for name, value in captures.items() if value is not None}
