"""The records of the registry: response schemas, the templates that they are registered for, and their origin.

Pure data; `loader` builds these from the YAML files and validates them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Dialect(StrEnum):
    """The two forms of a response schema that transformers has read."""

    RESPONSE_TEMPLATE = "response_template"
    RESPONSE_SCHEMA = "response_schema"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a schema was taken from.

    Attributes:
        source: `trl` for what `rgw resync` took, `rgw` for what was written for this registry.
        names: The upstream variables, by dialect (empty for `rgw`).
        digests: sha256 of the canonical JSON of what upstream says, by dialect (empty for `rgw`).
    """

    source: str
    names: Mapping[Dialect, str] = field(default_factory=dict)
    digests: Mapping[Dialect, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TurnRules:
    """How a turn begins and ends.

    Attributes:
        end: The literal end-of-turn markers that the model writes.
        resumable: Those of `end` after which the same turn may legitimately go on (a message-based format).
        reserved: Delimiter literals that may not stand in text: one that does is a stray delimiter, not an answer.
        reserved_in_reasoning: The same for reasoning, where most formats let a model write about its own delimiters.
        repeated_reasoning: Several blocks of reasoning in one turn are normal (a message-based format).
        prefill: What the generation prompt pre-writes of the turn when nothing else is known.
        builtin_tool: A regular expression of the header of a message to a tool that the model brings along, whose
            content is no arguments; its group `name` is the tool. Nothing where the format has none.
    """

    end: tuple[str, ...] = ()
    resumable: tuple[str, ...] = ()
    reserved: tuple[str, ...] = ()
    reserved_in_reasoning: tuple[str, ...] = ()
    repeated_reasoning: bool = False
    prefill: str = ""
    builtin_tool: str = ""


@dataclass(frozen=True, slots=True)
class LayoutRules:
    """Where white space that is neither data nor delimiter may stand; each is a regular expression.

    Attributes:
        turn_start: Before everything else in a turn; by default nothing.
        between_regions: Outside every field, where no field collects leftovers.
        between_arguments: Inside a call, between its inline argument tags.
    """

    turn_start: str = ""
    between_regions: str = r"\s*"
    between_arguments: str = r"\s*"


class UntypedValues(StrEnum):
    """How a value is read when the wire format carries no types and no tool schema declares one."""

    TEXT = "text"
    JSON = "json"
    PYTHON = "python"


@dataclass(frozen=True, slots=True)
class Sample:
    """One raw output with what it means: documentation, and a check that the schema reads it.

    `expected` holds `reasoning`, `text`, `tool_uses` and optionally `issues` (codes); absent keys mean empty.
    """

    title: str
    output: str
    expected: Mapping[str, Any]
    prompt: str | None = None
    tools: tuple[Mapping[str, Any], ...] = ()


PYTHON_CONSTANTS = ("None", "True", "False")
JSON_CONSTANTS = ("null", "true", "false")


@dataclass(frozen=True, slots=True)
class Schema:
    """A response schema: how the turns of a family of chat templates are read back.

    Attributes:
        name: What the schema is called in `--schema NAME` and in `templates.yaml`.
        title: What people call the format.
        origin: Where the schema was taken from.
        dialects: The schema in each form that transformers reads.
        turn: How a turn begins and ends.
        layout: Where white space may stand.
        untyped_values: How a value without a type is read.
        constants: Null, true and false as the templates print them: where a tool admits a string too, any other
            constant is a string, so `null` where they print `None`.
        patched: Why the schema differs from upstream on purpose; a re-sync then leaves it alone.
        usable_by_name: Why no template is registered for the schema: its models ship none.
        samples: Raw outputs with what they mean.
    """

    name: str
    title: str
    origin: Origin
    dialects: Mapping[Dialect, Mapping[str, Any]]
    turn: TurnRules = field(default_factory=TurnRules)
    layout: LayoutRules = field(default_factory=LayoutRules)
    untyped_values: UntypedValues = UntypedValues.JSON
    constants: tuple[str, ...] = PYTHON_CONSTANTS
    patched: str | None = None
    usable_by_name: str | None = None
    samples: tuple[Sample, ...] = ()


@dataclass(frozen=True, slots=True)
class RegisteredTemplate:
    """A chat template that the registry knows, by the sha256 of its exact text.

    `schema` is `None` for a template that is known to have none; `reason` then says why. `behaviour` is the fingerprint
    of what it renders, `certificate` the digest of the proof with which `rgw register` took it.
    """

    sha256: str
    schema: str | None
    variant: str
    family: str
    repos: tuple[str, ...] = ()
    seen_in: tuple[str, ...] = ()
    prefill: str | None = None
    reason: str | None = None
    behaviour: str | None = None
    certificate: str | None = None


@dataclass(frozen=True, slots=True)
class CallMarker:
    """What a tool call looks like in the format of `family`: either a `literal` or a regular expression, `pattern`."""

    family: str
    literal: str | None = None
    pattern: str | None = None

    @property
    def regex(self) -> str:
        """The regular expression that finds the marker."""
        return self.pattern if self.pattern is not None else re.escape(self.literal or "")
