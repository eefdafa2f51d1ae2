"""The records of the room: a rule, and what it found in a template. Pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Severity(StrEnum):
    """How much a finding matters: an error spoils training or serving, a warning may, a note is worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that a template should not do.

    Attributes:
        id: What the rule is called.
        severity: How much it matters.
        title: What a template does that breaks it, in one line.
        explanation: Why that matters and what to do about it.
    """

    id: str
    severity: Severity
    title: str
    explanation: str

    def to_dict(self) -> Mapping[str, Any]:
        """The JSON form of the command line's contract."""
        return {"id": self.id, "severity": self.severity.value, "title": self.title, "explanation": self.explanation}


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that a template breaks, with the particulars; they hold untrusted text."""

    rule: Rule
    message: str
    line: int | None = None

    def to_dict(self) -> Mapping[str, Any]:
        """The JSON form of the command line's contract."""
        return {
            "rule": self.rule.id,
            "severity": self.rule.severity.value,
            "message": self.message,
            "line": self.line,
        }
