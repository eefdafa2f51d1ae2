"""The engine for the legacy `response_schema` dialect (transformers 5.0 to 5.14).

Walks the schema as transformers' `recursive_parse` does, with the spans of its regular expressions: named groups are
fields, the rest of a match is delimiter, and what no match covers is unclaimed. `recursive_parse` itself then reads
every turn that this account finds nothing wrong with, and has to agree.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import regex

from rgw.derender.call_shape import CallShape
from rgw.derender.grammar import ROLE_OF_FIELD, Role
from rgw.derender.reading import Call, ContentError, RawValue, Reading
from rgw.derender.schema_nodes import Account, Calls, Compiler, group_spans
from rgw.errors import EngineError, RegistryError
from rgw.model import IssueCode, SegmentKind, Severity
from rgw.registry.model import Dialect, Schema

_MESSAGES = {
    IssueCode.UNCLOSED_CALL: "the output ends inside a call",
    IssueCode.REPEATED_REASONING: "a second reasoning block in one turn",
}
_ROLE_OF_GROUP = {
    **ROLE_OF_FIELD,
    IssueCode.TEXT_AFTER_CALL.value: Role.TEXT,
    IssueCode.UNCLOSED_REASONING.value: Role.REASONING,
}
"""What the groups of the top-level pattern are; two of the issue codes name a second place of text and reasoning."""

_CALL = CallShape(None, each=False)


class ResponseSchemaEngine:
    """Reads turns with a schema's legacy dialect.

    Args:
        schema: A schema that has the dialect. Its top-level `x-regex` has a named group for each field; a group that
            is named like an `IssueCode` instead says what is wrong with the stretch that it matches.

    Raises:
        EngineError: The installed transformers has no engine for the dialect.
        RegistryError: The dialect uses what leaves no spans, or it has a field that is no part of a turn.
    """

    def __init__(self, schema: Schema) -> None:
        import transformers

        try:
            from transformers.utils.chat_parsing_utils import recursive_parse
        except ImportError:
            message = f"transformers {transformers.__version__} does not read the response_schema dialect"
            raise EngineError(message, "install it with: pip install 'transformers>=5.0,<5.15'") from None
        self.name = f"response_schema (transformers {transformers.__version__})"
        self._recursive_parse = recursive_parse
        self._dialect = dict(schema.dialects[Dialect.RESPONSE_SCHEMA])
        _check_fields(schema.name, self._dialect)
        compiler = Compiler(schema.name, schema.layout.between_arguments)
        self._pattern, self._calls = compiler.turn(self._dialect)
        self._turn = schema.turn
        self._start_anchor = _start_anchor(schema)
        self._reserved = _any_of(schema.turn.reserved)
        self._reserved_in_reasoning = _any_of(schema.turn.reserved_in_reasoning)
        self._final_marker = _any_of(schema.turn.end, r"(?=\s*\Z)")
        self._between_regions = re.compile(schema.layout.between_regions)

    def read(self, output: str, prompt: str | None) -> Reading:
        """See `Engine.read`."""
        if not prompt and self._start_anchor is not None and (anchor := self._start_anchor.match(output)):
            walk = _Walk(self, output[anchor.end() :], -anchor.end())
        else:
            prefill = self._turn.prefill if prompt is None else self._prefill_of(prompt)
            walk = _Walk(self, prefill + output, len(prefill))
        reading = walk.run()
        if _is_plain(reading) and (difference := self._difference(walk, reading)):
            reading.error(IssueCode.ENGINE_FAILURE, 0, len(output), difference)
        return reading

    def _prefill_of(self, prompt: str) -> str:
        """What the prompt already wrote of the turn: all behind its last start anchor.

        Without an anchor, only the usual prefill can be told from the rest of a prompt.
        """
        if self._start_anchor is None:
            return self._turn.prefill if prompt.endswith(self._turn.prefill) else ""
        end = 0
        for match in self._start_anchor.finditer(prompt):
            end = match.end()
        return prompt[end:]

    def _difference(self, walk: _Walk, reading: Reading) -> str | None:
        """What transformers reads otherwise; `None` when it agrees."""
        try:
            message = self._recursive_parse(walk.text, self._dialect)
        except Exception as error:  # noqa: BLE001 - whatever it raises is a finding
            return f"recursive_parse of transformers raised {type(error).__name__}"
        if not isinstance(message, dict):
            return "recursive_parse of transformers finds no turn here"
        for name, value in walk.fields.items():
            if str(message.get(name) or "").strip() != value.strip():
                return f"recursive_parse of transformers reads another {name}"
        calls = message.get("tool_calls") or []
        if len(calls) != len(reading.calls) or not all(map(_is_same_call, reading.calls, calls)):
            return "recursive_parse of transformers reads other calls"
        return None


def _check_fields(owner: str, dialect: Mapping[str, Any]) -> None:
    for name, field in dialect.get("properties", {}).items():
        if name not in ROLE_OF_FIELD and "const" not in field:
            known = ", ".join(ROLE_OF_FIELD)
            raise RegistryError(f"schema {owner}: field {name!r} is no part of a turn", f"the parts are {known}")


def _any_of(literals: Sequence[str], behind: str = "") -> re.Pattern[str] | None:
    return re.compile(f"(?:{'|'.join(map(re.escape, literals))}){behind}") if literals else None


def _start_anchor(schema: Schema) -> regex.Pattern[str] | None:
    """Where a turn starts: what the schema's other dialect says, since this one has no word for it."""
    template = schema.dialects.get(Dialect.RESPONSE_TEMPLATE, {})
    if "start_anchor" in template:
        return regex.compile(regex.escape(template["start_anchor"]))
    pattern = template.get("start_anchor_pattern")
    return regex.compile(pattern) if pattern is not None else None


def _is_plain(reading: Reading) -> bool:
    """Whether nothing is wrong so far, so that transformers has to read the same."""
    return not any(issue.severity is Severity.ERROR for issue in reading.issues) and all(
        isinstance(call.name, str) and isinstance(call.arguments, dict | None) for call in reading.calls
    )


def _is_same_call(ours: Call, theirs: Any) -> bool:
    function = theirs.get("function", theirs) if isinstance(theirs, dict) else None
    if not isinstance(function, dict) or function.get("name") != ours.name:
        return False
    our_arguments, their_arguments = ours.arguments or {}, function.get("arguments") or {}
    return our_arguments.keys() == their_arguments.keys() and all(
        _is_same_value(our_arguments[key], their_arguments[key]) for key in our_arguments
    )


def _is_same_value(ours: Any, theirs: Any) -> bool:
    """Whether two values are the same; one that the wire gives no type may have any."""
    if not isinstance(ours, RawValue):
        return bool(ours == theirs)
    if theirs == ours.text or not isinstance(theirs, str):
        return True
    try:
        return bool(json.loads(ours.text) == theirs)
    except (ValueError, RecursionError):
        return False


class _Walk:
    """One pass over the text of a turn.

    Attributes:
        text: The text.
        fields: The reasoning and the answer, each as its group matched it.
    """

    def __init__(self, engine: ResponseSchemaEngine, text: str, shift: int) -> None:
        self.text = text
        self.fields: dict[str, str] = {}
        self._engine = engine
        self._account = Account(text, shift)
        self._reading = self._account.reading
        self._reading.claim(SegmentKind.PREFILL, 0, -shift)

    def run(self) -> Reading:
        match = self._engine._pattern.search(self.text)
        if match is None:
            self._unmatched(0, len(self.text), IssueCode.UNCLAIMED_TEXT)
            return self._reading
        try:
            spans = group_spans(match, 0)
        except ContentError as error:
            self._account.claim(SegmentKind.UNCLAIMED, 0, len(self.text))
            self._account.error(error.code, 0, len(self.text), error.message)
            return self._reading
        self._unmatched(0, match.start(), IssueCode.UNCLAIMED_TEXT)
        position = match.start()
        for name, start, end in spans:
            self._account.claim_delimiter(position, start)
            self._field(name, start, end)
            position = end
        self._end(position, match.end())
        return self._reading

    def _field(self, name: str, start: int, end: int) -> None:
        role = _ROLE_OF_GROUP.get(name)
        if role is None:
            self._account.claim(SegmentKind.UNCLAIMED, start, end)
            self._fault(IssueCode(name), start, end)
        elif role is Role.TOOL_CALLS:
            self._calls(start, end)
        elif role is Role.TEXT:
            self.fields[name] = self.text[start:end]
            self._account.claim(SegmentKind.TEXT, start, end)
            self._text(max(start, self._account.visible), end)
        else:
            self.fields[name] = self.text[start:end]
            self._reasoning(start, end)

    def _fault(self, code: IssueCode, start: int, end: int) -> None:
        """A stretch that the schema's pattern has a group for because something is wrong with it."""
        if start == end:
            return
        if code is IssueCode.UNCLOSED_CALL:
            self._reading.cut_call = self._account.to_output(start)
        self._account.error(code, start, end, _MESSAGES.get(code, code.value.replace("_", " ")))

    def _text(self, start: int, end: int) -> None:
        if start >= end:
            return
        self._reading.text.append((self.text[start:end], self._account.to_output(start)))
        self._stray_delimiters(self._engine._reserved, start, end, "text")

    def _stray_delimiters(self, reserved: re.Pattern[str] | None, start: int, end: int, where: str) -> None:
        for stray in reserved.finditer(self.text, start, end) if reserved is not None else ():
            message = f"{stray[0]!r} stands in the {where}, where it opens and closes nothing"
            self._account.error(IssueCode.STRAY_DELIMITER, *stray.span(), message)

    def _reasoning(self, start: int, end: int) -> None:
        is_closed = end < len(self.text)
        if not is_closed:
            end = self._end_of_cut_reasoning(start)
            self._reading.unclosed_reasoning = self._account.to_output(start)
            message = "the reasoning is not closed: the output was cut off, or the closing marker is missing"
            self._account.error(IssueCode.UNCLOSED_REASONING, start, end, message)
        self._account.claim(SegmentKind.REASONING, start, end)
        if not is_closed:
            self._account.claim_delimiter(end, len(self.text))
        if not is_closed or end >= self._account.visible:
            visible = max(start, self._account.visible)
            self._reading.reasoning.append(self.text[visible:end])
            self._stray_delimiters(self._engine._reserved_in_reasoning, visible, end, "reasoning")

    def _end_of_cut_reasoning(self, start: int) -> int:
        """Where reasoning ends that nothing closes: at an end-of-turn marker that ends the text, or with the text."""
        marker = self._engine._final_marker
        match = marker.search(self.text, start) if marker is not None else None
        self._reading.end_of_turn = match is not None
        return match.start() if match is not None else len(self.text)

    def _calls(self, start: int, end: int) -> None:
        calls = self._engine._calls
        assert calls is not None
        position = start
        for match in calls.matches(self.text[start:end]):
            self._account.claim(SegmentKind.LAYOUT, position, start + match.start())
            self._call(calls, match, start)
            position = start + match.end()
        self._unmatched(position, end, IssueCode.UNCLAIMED_TEXT)

    def _call(self, calls: Calls, match: re.Match[str], offset: int) -> None:
        start, end = offset + match.start(), offset + match.end()
        claimed = len(self._reading.segments)
        try:
            value = calls.groups.read_match(self._account, match, offset)
            ((name, arguments),) = _CALL.calls(value, {}, start)
        except ContentError as error:
            del self._reading.segments[claimed:]
            self._account.claim(SegmentKind.UNCLAIMED, start, end)
            self._unreadable(error, match, offset)
            return
        begin, finish = self._account.to_output(start), self._account.to_output(end)
        self._reading.calls.append(Call(_text_of(name), _text_of(arguments), begin, finish))

    def _unreadable(self, error: ContentError, match: re.Match[str], offset: int) -> None:
        """A call that does not read; one that no delimiter ends before the output does is cut off."""
        ends_with_output = offset + max(map(match.end, range(1, match.re.groups + 1))) == len(self.text)
        if ends_with_output:
            self._fault(IssueCode.UNCLOSED_CALL, offset + match.start(), len(self.text))
        else:
            self._account.error(error.code, error.position, min(error.position + 1, len(self.text)), error.message)

    def _end(self, position: int, match_end: int) -> None:
        """What follows the last field: the end of the turn, and what should not be there."""
        self._account.claim_delimiter(position, match_end)
        self._reading.end_of_turn |= any(marker in self.text[position:match_end] for marker in self._engine._turn.end)
        code = IssueCode.TEXT_AFTER_END_OF_TURN if self._reading.end_of_turn else IssueCode.UNCLAIMED_TEXT
        self._unmatched(match_end, len(self.text), code)

    def _unmatched(self, start: int, end: int, code: IssueCode) -> None:
        """A stretch outside every match: white space is layout, all else nobody's."""
        if self._engine._between_regions.fullmatch(self.text, start, end):
            self._account.claim(SegmentKind.LAYOUT, start, end)
            return
        stretch = self.text[start:end]
        content_start = start + len(stretch) - len(stretch.lstrip())
        self._account.claim(SegmentKind.LAYOUT, start, content_start)
        self._account.claim(SegmentKind.UNCLAIMED, content_start, end)
        messages = {
            IssueCode.UNCLAIMED_TEXT: "text that belongs to no part of a turn",
            IssueCode.TEXT_AFTER_END_OF_TURN: "the output goes on after the end of the turn",
        }
        self._account.error(code, content_start, end, messages[code])


def _text_of(value: Any) -> Any:
    return value.text if isinstance(value, RawValue) else value
