"""The records of the registry: response schemas, the templates that they are registered for, and their origin.

Pure data; `loader` builds these from the YAML files and validates them.
"""

from __future__ import annotations

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
        prefill: What the generation prompt pre-writes of the turn when nothing else is known.
    """

    end: tuple[str, ...] = ()
    resumable: tuple[str, ...] = ()
    reserved: tuple[str, ...] = ()
    prefill: str = ""


@dataclass(frozen=True, slots=True)
class LayoutRules:
    """Where white space that is neither data nor delimiter may stand; each is a regular expression.

    Attributes:
        between_regions: Outside every field, where no field collects leftovers.
        between_arguments: Inside a call, between its inline argument tags.
    """

    between_regions: str = r"\s*"
    between_arguments: str = r"\s*"


class UntypedValues(StrEnum):
    """How a value is read when the wire format carries no types and no tool schema declares one."""

    TEXT = "text"
    JSON = "json"


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


@dataclass(frozen=True, slots=True)
class Schema:
    """A response schema: how the turns of a family of chat templates are read back."""

    name: str
    title: str
    origin: Origin
    dialects: Mapping[Dialect, Mapping[str, Any]]
    turn: TurnRules = field(default_factory=TurnRules)
    layout: LayoutRules = field(default_factory=LayoutRules)
    untyped_values: UntypedValues = UntypedValues.JSON
    patched: str | None = None
    samples: tuple[Sample, ...] = ()


@dataclass(frozen=True, slots=True)
class RegisteredTemplate:
    """A chat template that the registry knows, by the sha256 of its exact text.

    `schema` is `None` for a template that is known to have none; `reason` then says why.
    """

    sha256: str
    schema: str | None
    variant: str
    family: str
    repos: tuple[str, ...] = ()
    seen_in: tuple[str, ...] = ()
    prefill: str | None = None
    reason: str | None = None
