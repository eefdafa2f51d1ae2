"""The records of a comparison of two chat templates. Pure data; every text in it is untrusted."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rgw.templates.model import ChatTemplate


class Aspect(StrEnum):
    """What a difference is about, in the order in which it is shown."""

    SYSTEM_PROMPT = "system prompt"
    TOOL_LISTING = "tool listing"
    TURNS = "turns and text"
    REASONING = "reasoning"
    CALL_FORMAT = "call format"
    TOOL_RESULTS = "tool results"
    GENERATION_PROMPT = "generation prompt"


@dataclass(frozen=True, slots=True)
class Change:
    """A stretch that is written differently: `before` at `before_start` became `after` at `after_start`."""

    before: str
    after: str
    before_start: int
    after_start: int

    def to_dict(self) -> dict[str, Any]:
        """The JSON form of the command line's contract."""
        return {
            "before": self.before,
            "after": self.after,
            "before_start": self.before_start,
            "after_start": self.after_start,
        }


@dataclass(frozen=True, slots=True)
class Rendering:
    """What a template made of a probe: a text, or the words with which it refused."""

    text: str | None
    refusal: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The JSON form of the command line's contract."""
        return {"text": self.text, "refusal": self.refusal or None}


@dataclass(frozen=True, slots=True)
class Difference:
    """What is written differently, shown by the simplest probe that has it.

    Attributes:
        aspect: What it is about.
        probe: The probe's name.
        before: What the one template writes.
        after: What the other writes.
        changes: The stretches that differ and are of this aspect; empty where only one of the two refuses.
        also_in: Further probes that have a change of this difference.
    """

    aspect: Aspect
    probe: str
    before: Rendering
    after: Rendering
    changes: tuple[Change, ...] = ()
    also_in: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The JSON form of the command line's contract."""
        return {
            "aspect": self.aspect.value,
            "probe": self.probe,
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
            "changes": [change.to_dict() for change in self.changes],
            "also_in": list(self.also_in),
        }


@dataclass(frozen=True, slots=True)
class TextDifference:
    """How two template texts differ.

    Attributes:
        diff: A unified diff.
        added: Lines that only the second text has.
        removed: Lines that only the first text has.
        layout: What differs where that is layout only (line ends, the final newline); otherwise empty.
    """

    diff: str
    added: int
    removed: int
    layout: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The JSON form of the command line's contract."""
        return {
            "lines_added": self.added,
            "lines_removed": self.removed,
            "layout": self.layout or None,
            "diff": self.diff,
        }


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two templates, and where it is from."""

    ref: str
    revision: str | None
    template: ChatTemplate

    def to_dict(self) -> dict[str, Any]:
        """The JSON form of the command line's contract."""
        return {
            "ref": self.ref,
            "revision": self.revision,
            "name": self.template.name,
            "sha256": self.template.sha256,
            "source": self.template.source,
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two templates, compared.

    Attributes:
        before: The one.
        after: The other.
        text: How their texts differ; `None` when they are the same.
        probes: The names of the probes that were rendered with both.
        differing: Those that the two render differently.
        refused: Those that both refuse, so that nothing is compared.
        differences: What is different, by aspect.
    """

    before: Side
    after: Side
    text: TextDifference | None = None
    probes: tuple[str, ...] = ()
    differing: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The JSON form of the command line's contract."""
        return {
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
            "same_text": self.text is None,
            "same_behaviour": not self.differing,
            "text": self.text.to_dict() if self.text else None,
            "probes": list(self.probes),
            "differing": list(self.differing),
            "refused": list(self.refused),
            "differences": [difference.to_dict() for difference in self.differences],
        }
