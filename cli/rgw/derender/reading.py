"""What an engine hands to the derender: the regions of a turn, where every byte went, and what is wrong.

A reading knows the wire format only; policies, tool schemas and the final record are the derenderer's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from rgw.model import Issue, IssueCode, Segment, SegmentKind, Severity


class ContentError(Exception):
    """The content of a region does not read.

    Args:
        code: What is wrong.
        message: The same in one line for a person.
        position: Where in the scanned text.
    """

    def __init__(self, code: IssueCode, message: str, position: int) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.position = position


class RawValue(NamedTuple):
    """An argument value as it stands on a wire that carries no types: `text[start:end]`."""

    text: str
    start: int
    end: int


class Call(NamedTuple):
    """A call as read from its region `start:end`.

    `arguments` maps names to values; where the wire carries no types, to `RawValue`s.
    """

    name: Any
    arguments: Any
    start: int
    end: int


@dataclass(slots=True)
class Reading:
    """One turn as an engine read it. Offsets are into the raw output; the engine keeps `segments` a tiling.

    Attributes:
        reasoning: The stretches of reasoning, in order; more than one is the schema's choice.
        text: The stretches of text, in order, each with its start.
        calls: The calls, in order.
        unclosed_reasoning: Where a thought begins that the output does not close.
        call_ended_reasoning: A thought that the output does not close ended where a call begins.
        cut_call: Where a call begins that the output does not close.
        end_of_turn: The model wrote its end-of-turn marker.
    """

    segments: list[Segment] = field(default_factory=list)
    issues: list[Issue] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    text: list[tuple[str, int]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    unclosed_reasoning: int | None = None
    call_ended_reasoning: bool = False
    cut_call: int | None = None
    end_of_turn: bool = False

    def claim(self, kind: SegmentKind, start: int, end: int) -> None:
        """Append a segment, unless it is empty."""
        if end > start:
            self.segments.append(Segment(kind, start, end))

    def error(self, code: IssueCode, start: int, end: int, message: str) -> None:
        """Record what makes the turn ill-formed."""
        self.issues.append(Issue(code, Severity.ERROR, start, end, message))

    def warning(self, code: IssueCode, start: int, end: int, message: str) -> None:
        """Record what is worth knowing and keeps the parse."""
        self.issues.append(Issue(code, Severity.WARNING, start, end, message))


class Engine(Protocol):
    """Reads turns of one schema in one dialect."""

    @property
    def name(self) -> str:
        """The dialect and the transformers release, for reports."""
        ...

    def read(self, output: str, prompt: str | None) -> Reading:
        """Read one raw output.

        Args:
            output: The decoded completion, special tokens kept.
            prompt: The decoded prompt that it continues; `None` when unknown: the schema's usual prefill is assumed.

        Returns:
            The reading; never raises because of what the model wrote.
        """
        ...
