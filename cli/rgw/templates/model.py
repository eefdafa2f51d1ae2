"""The records of this room: a chat template with its identity, and everything that one REF resolved to.

Pure data. This module opens nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rgw.errors import Obstacle

PROCESSOR_SOURCES = ("processor_config.json", "chat_template.json")
"""The files whose templates only a processor reads, in the order in which it prefers them."""

EMBEDDED_SOURCE = "GGUF metadata"
"""Where a template comes from that the hub has read out of a GGUF file."""


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """One chat template as transformers would hold it in memory.

    Attributes:
        name: `default`, `tool_use` or whatever name the source gives it.
        text: The exact string.
        sha256: The identity: sha256 of the UTF-8 bytes of `text`.
        source: The file that it was read from, relative to the directory or repository; the key of GGUF metadata.
        effective: This is the one that renders a conversation with tools.
        bytes_sha256: sha256 of the file's own bytes where it differs from `sha256` (newlines were translated).
    """

    name: str
    text: str
    sha256: str
    source: str
    effective: bool = False
    bytes_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class ResolvedTemplates:
    """Everything that a REF says about chat templates.

    Attributes:
        ref: What was asked for, as it was written.
        revision: The full commit hash of the hub repository; `None` for anything local.
        templates: The tokenizer's templates, then those that only a processor reads.
        native_response_template: The `response_template` that the tokenizer's configuration itself carries.
        renamed_to: What the hub calls the repository now, where that is not `ref`.
        base_models: The hub repositories that GGUF metadata says the model was made from.
    """

    ref: str
    revision: str | None = None
    templates: tuple[ChatTemplate, ...] = ()
    native_response_template: Mapping[str, Any] | None = None
    renamed_to: str | None = None
    base_models: tuple[str, ...] = ()

    @property
    def effective(self) -> ChatTemplate | None:
        """The template that renders a conversation with tools, if transformers would find one."""
        return next((template for template in self.templates if template.effective), None)


@dataclass(frozen=True, slots=True)
class UnresolvedTemplates:
    """A REF that could not be read: one failing REF is a result and does not stop the others."""

    ref: str
    message: str
    fix: str = ""
    obstacle: Obstacle = Obstacle.UNUSABLE
