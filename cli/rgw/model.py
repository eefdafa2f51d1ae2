"""The records that a derender returns: what the model meant, where each byte went, and what is wrong.

Pure data. This module knows no schema, no engine and no output format.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, TypedDict


class SegmentKind(StrEnum):
    """What a stretch of raw output is."""

    REASONING = "reasoning"
    TEXT = "text"
    TOOL_CALL = "tool_call"
    DELIMITER = "delimiter"
    LAYOUT = "layout"
    PREFILL = "prefill"
    UNCLAIMED = "unclaimed"


class Severity(StrEnum):
    """An `error` makes the turn ill-formed; a `warning` keeps the parse."""

    ERROR = "error"
    WARNING = "warning"


class IssueCode(StrEnum):
    """The stable codes of what can be wrong with a turn; `docs/issues.md` explains each."""

    UNCLOSED_CALL = "unclosed_call"
    UNCLOSED_REASONING = "unclosed_reasoning"
    UNCLAIMED_TEXT = "unclaimed_text"
    TEXT_AFTER_END_OF_TURN = "text_after_end_of_turn"
    REPEATED_REASONING = "repeated_reasoning"
    LATE_REASONING = "late_reasoning"
    MISSING_FIELD = "missing_field"
    INVALID_JSON = "invalid_json"
    DUPLICATE_KEY = "duplicate_key"
    NONSTANDARD_CONSTANT = "nonstandard_constant"
    LONE_SURROGATE = "lone_surrogate"
    TOO_DEEP = "too_deep"
    OVERSIZED_NUMBER = "oversized_number"
    INVALID_CALL = "invalid_call"
    INVALID_NAME = "invalid_name"
    INVALID_ARGUMENTS = "invalid_arguments"
    DOUBLE_ENCODED_ARGUMENTS = "double_encoded_arguments"
    SEVERAL_CALLS = "several_calls"
    EMPTY_CALL_LIST = "empty_call_list"
    MISSING_TAG = "missing_tag"
    REPEATED_PARAMETER = "repeated_parameter"
    UNDECLARED_TOOL = "undeclared_tool"
    UNDECLARED_ARGUMENT = "undeclared_argument"
    ARGUMENT_TYPE = "argument_type"
    TEXT_AFTER_CALL = "text_after_call"
    CALL_IN_REASONING = "call_in_reasoning"
    LOOKS_LIKE_CALL = "looks_like_call"
    BUILTIN_TOOL = "builtin_tool"
    STRAY_DELIMITER = "stray_delimiter"
    TOLERATED_DELIMITER = "tolerated_delimiter"
    TIME_BUDGET_EXCEEDED = "time_budget_exceeded"
    ENGINE_FAILURE = "engine_failure"


class Issue(NamedTuple):
    """One thing that is wrong with a turn.

    `start` and `end` are character offsets into the raw output, half-open; they are equal where something is missing.
    """

    code: IssueCode
    severity: Severity
    start: int
    end: int
    message: str


class Segment(NamedTuple):
    """A stretch `raw_output[start:end]` of one kind."""

    kind: SegmentKind
    start: int
    end: int


class ToolUse(TypedDict):
    """A tool call as agents consume it."""

    name: str
    input: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ParsedOutput:
    """A derendered turn.

    Attributes:
        reasoning: The thought, verbatim; empty when there is none.
        text: The answer, verbatim; the whole raw output when the turn is ill-formed.
        tool_uses: The calls in the order in which they were written; empty when the turn is ill-formed.
        ill_formed: The turn could not be read whole.
        end_of_turn: The model wrote its end-of-turn marker.
        issues: Everything that is wrong, in the order of the raw output.
        segments: A tiling of the raw output: sorted, gap-free, non-overlapping.
    """

    reasoning: str = ""
    text: str = ""
    tool_uses: list[ToolUse] = field(default_factory=list)
    ill_formed: bool = False
    end_of_turn: bool = False
    issues: tuple[Issue, ...] = ()
    segments: tuple[Segment, ...] = ()

    @property
    def keeps_call_in_text(self) -> bool:
        """The turn was read, and its text holds what looks like a call: an agent would take it for an answer."""
        return not self.ill_formed and any(issue.code is IssueCode.LOOKS_LIKE_CALL for issue in self.issues)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form of the command line's contract."""
        return {
            "reasoning": self.reasoning,
            "text": self.text,
            "tool_uses": self.tool_uses,
            "ill_formed": self.ill_formed,
            "end_of_turn": self.end_of_turn,
            "issues": [
                {
                    "code": issue.code.value,
                    "severity": issue.severity.value,
                    "start": issue.start,
                    "end": issue.end,
                    "message": issue.message,
                }
                for issue in self.issues
            ],
            "segments": [
                {"kind": segment.kind.value, "start": segment.start, "end": segment.end} for segment in self.segments
            ],
        }
