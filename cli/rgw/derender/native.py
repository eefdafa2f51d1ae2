"""The response template that a repository ships for itself, as a schema: read on request, and never trusted.

Such a schema is nobody's but its repository's: it is in no registry, its patterns have not been measured, and nothing
says that it fits the chat template beside it. Its name says where it is from.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from rgw.errors import SourceError
from rgw.registry.loader import Registry
from rgw.registry.model import Dialect, Origin, Schema, TurnRules, UntypedValues
from rgw.templates.model import ResolvedTemplates

PREFIX = "native:"
"""What the name of a native schema begins with; no name in a registry does."""


def native_schema(resolved: ResolvedTemplates) -> Schema:
    """The native response template of a REF as a schema. What ends the text ends the turn.

    Raises:
        SourceError: It ships none, or one without fields.
    """
    native = resolved.native_response_template
    if native is None:
        raise SourceError(
            f"{resolved.ref} ships no response_template of its own",
            "leave --native out to read with the registered schema",
        )
    fields = native.get("fields")
    if not isinstance(fields, Mapping) or not all(isinstance(field, Mapping) for field in fields.values()):
        raise SourceError(
            f"{resolved.ref}: the response_template that it ships has no fields",
            "leave --native out to read with the registered schema",
        )
    return Schema(
        name=f"{PREFIX}{resolved.ref}",
        title="the response template that the repository ships",
        origin=Origin("native"),
        dialects={Dialect.RESPONSE_TEMPLATE: native},
        turn=TurnRules(end=tuple(_ends(fields))),
        untyped_values=_untyped_values(fields),
    )


def digest_of(response_template: Mapping[str, Any]) -> str:
    """sha256 of a response template as JSON, as the registry records those of upstream; the order of keys counts."""
    written = json.dumps([response_template], separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()


def schemas_like(response_template: Mapping[str, Any], registry: Registry) -> tuple[str, ...]:
    """The schemas of a registry that have this very response template, or were made from it."""
    digest = digest_of(response_template)
    return tuple(name for name, schema in registry.schemas.items() if digest in _digests(schema))


def _digests(schema: Schema) -> Iterator[str]:
    if (own := schema.dialects.get(Dialect.RESPONSE_TEMPLATE)) is not None:
        yield digest_of(own)
    if (upstream := schema.origin.digests.get(Dialect.RESPONSE_TEMPLATE)) is not None:
        yield upstream


def _ends(fields: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """The literals that close the field without an opener: the text, to which all belongs that nothing else claims."""
    for field in fields.values():
        if not {"open", "open_pattern"} & field.keys():
            close = field.get("close")
            yield from filter(_is_text, close if isinstance(close, list) else [close])


def _untyped_values(fields: Mapping[str, Mapping[str, Any]]) -> UntypedValues:
    """How transformers reads values without a type: with the parser that the calls name, or as JSON."""
    for field in fields.values():
        arguments = field.get("content_args")
        parser = arguments.get("value_parser") if isinstance(arguments, Mapping) else None
        if isinstance(parser, Mapping) and parser.get("name") == "text":
            return UntypedValues.TEXT
    return UntypedValues.JSON


def _is_text(value: object) -> bool:
    return isinstance(value, str)
