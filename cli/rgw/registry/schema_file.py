"""The file of one response schema, `schemas/NAME.yaml`: what may stand in it, and the `Schema` that it gives.

Knows the keys of both dialects, so that a misspelt one is found with its line, but not what an engine makes of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from rgw.model import IssueCode
from rgw.registry.model import (
    JSON_CONSTANTS,
    PYTHON_CONSTANTS,
    Dialect,
    LayoutRules,
    Origin,
    Sample,
    Schema,
    TurnRules,
    UntypedValues,
)
from rgw.registry.yaml_reading import Located

NAME = r"[a-z0-9]+(?:[._-][a-z0-9]+)*"
SHA256 = r"[0-9a-f]{64}"

TEMPLATE_KEYS = ("version", "defaults", "start_anchor", "start_anchor_pattern", "fields")
FIELD_KEYS = (
    "open",
    "open_pattern",
    "close",
    "close_pattern",
    "content",
    "content_args",
    "repeats",
    "join",
    "optional",
    "transform",
    "transform_each",
)
LEGACY_KEYS = (
    "type",
    "title",
    "description",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "const",
    "enum",
    "default",
    "x-regex",
    "x-regex-iterator",
    "x-regex-key-value",
    "x-regex-substitutions",
    "x-parser",
    "x-parser-args",
)


class OriginSource(StrEnum):
    """Who wrote a schema: TRL, from where `rgw resync` took it, or whoever keeps the registry."""

    TRL = "trl"
    RGW = "rgw"


def read_schema(document: Located, name: str) -> Schema:
    """The schema of the file `schemas/NAME.yaml`; its regular expressions are not compiled.

    Raises:
        RegistryError: Something in the file is not valid.
    """
    keys = document.record(
        required=("name", "title", "origin", "dialects"),
        optional=("patched", "usable_by_name", "turn", "layout", "untyped_values", "constants", "samples"),
    )
    if keys["name"].text() != name:
        raise keys["name"].error(f"the file is called {name}.yaml but the schema {keys['name'].text()!r}", "rename one")
    keys["name"].matching(NAME, "lower-case letters and digits, joined by '_', '-' or '.'")
    return Schema(
        name=name,
        title=keys["title"].nonempty_text(),
        origin=_origin(keys["origin"]),
        dialects=_dialects(keys["dialects"]),
        turn=_turn(keys["turn"]) if "turn" in keys else TurnRules(),
        layout=_layout(keys["layout"]) if "layout" in keys else LayoutRules(),
        untyped_values=(
            keys["untyped_values"].member(UntypedValues) if "untyped_values" in keys else UntypedValues.JSON
        ),
        constants=_constants(keys["constants"]) if "constants" in keys else PYTHON_CONSTANTS,
        patched=keys["patched"].nonempty_text() if "patched" in keys else None,
        usable_by_name=keys["usable_by_name"].nonempty_text() if "usable_by_name" in keys else None,
        samples=tuple(_sample(sample) for sample in keys["samples"].items()) if "samples" in keys else (),
    )


def _constants(document: Located) -> tuple[str, ...]:
    for item in document.items():
        if item.text() not in {*PYTHON_CONSTANTS, *JSON_CONSTANTS}:
            raise item.error(f"{item.text()!r} is no constant", "name null, true and false as the templates print them")
    return document.texts()


def schema_patterns(document: Located) -> Iterator[Located]:
    """The regular expressions of a schema's file."""
    keys = document.entries()
    if "layout" in keys:
        yield from keys["layout"].entries().values()
    if "turn" in keys and "builtin_tool" in (turn := keys["turn"].entries()):
        yield turn["builtin_tool"]
    yield from _patterns_below(keys["dialects"])


def _patterns_below(value: Located) -> Iterator[Located]:
    if value.is_list():
        for item in value.items():
            yield from _patterns_below(item)
    if not value.is_mapping():
        return
    for key, below in value.entries().items():
        if key == "x-regex-substitutions":
            yield from (substitution.items()[0] for substitution in below.items())
        elif below.is_text() and (key.endswith("_pattern") or key.startswith("x-regex")):
            yield below
        else:
            yield from _patterns_below(below)


def _origin(value: Located) -> Origin:
    keys = value.record(required=("source",), optional=("names", "digests"))
    source = keys["source"].member(OriginSource)
    names = _by_dialect(keys["names"]) if "names" in keys else {}
    digests = _by_dialect(keys["digests"]) if "digests" in keys else {}
    match source:
        case OriginSource.TRL if not names or names.keys() != digests.keys():
            raise value.error("a schema from TRL has 'names' and 'digests', of the same dialects")
        case OriginSource.RGW if names or digests:
            raise value.error("a schema written here has no upstream 'names' or 'digests'", "remove them")
    return Origin(
        source.value,
        {dialect: name.nonempty_text() for dialect, name in names.items()},
        {dialect: digest.matching(SHA256, "a sha256 (64 hexadecimal digits)") for dialect, digest in digests.items()},
    )


def _turn(value: Located) -> TurnRules:
    keys = value.record(
        optional=(
            "end",
            "resumable",
            "reserved",
            "reserved_in_reasoning",
            "repeated_reasoning",
            "prefill",
            "builtin_tool",
        )
    )
    end = keys["end"].texts() if "end" in keys else ()
    for marker in keys["resumable"].items() if "resumable" in keys else ():
        if marker.text() not in end:
            raise marker.error(f"{marker.text()!r} is resumable but not one of the markers in 'end'", "add it there")
    return TurnRules(
        end=end,
        resumable=keys["resumable"].texts() if "resumable" in keys else (),
        reserved=keys["reserved"].texts() if "reserved" in keys else (),
        reserved_in_reasoning=keys["reserved_in_reasoning"].texts() if "reserved_in_reasoning" in keys else (),
        repeated_reasoning="repeated_reasoning" in keys and keys["repeated_reasoning"].flag(),
        prefill=keys["prefill"].text() if "prefill" in keys else "",
        builtin_tool=keys["builtin_tool"].text() if "builtin_tool" in keys else "",
    )


def _layout(value: Located) -> LayoutRules:
    keys = value.record(optional=("turn_start", "between_regions", "between_arguments"))
    return LayoutRules(**{key: pattern.text() for key, pattern in keys.items()})


def _by_dialect(value: Located) -> dict[Dialect, Located]:
    return {Dialect(key): below for key, below in value.record(optional=tuple(Dialect)).items()}


def _dialects(value: Located) -> Mapping[Dialect, Mapping[str, Any]]:
    located = _by_dialect(value)
    if not located:
        raise value.error(f"'dialects' needs at least one of {', '.join(Dialect)}")
    dialects = {dialect: located[dialect].plain() for dialect in Dialect if dialect in located}
    for dialect, specification in located.items():
        match dialect:
            case Dialect.RESPONSE_TEMPLATE:
                _check_response_template(specification)
            case Dialect.RESPONSE_SCHEMA:
                _check_response_schema(specification)
    return dialects


def _check_response_template(value: Located) -> None:
    for field in value.record(required=("fields",), optional=TEMPLATE_KEYS)["fields"].entries().values():
        field.record(optional=FIELD_KEYS)


def _check_response_schema(value: Located) -> None:
    keys = value.record(optional=LEGACY_KEYS)
    for below in keys["properties"].entries().values() if "properties" in keys else ():
        _check_response_schema(below)
    for key in ("items", "additionalProperties"):
        if key in keys and keys[key].is_mapping():
            _check_response_schema(keys[key])
    for substitution in keys["x-regex-substitutions"].items() if "x-regex-substitutions" in keys else ():
        if [part.is_text() for part in substitution.items()] != [True, True]:
            raise substitution.error("a substitution is a pattern and its replacement")


def _sample(value: Located) -> Sample:
    keys = value.record(required=("title", "output", "expected"), optional=("prompt", "tools"))
    return Sample(
        title=keys["title"].nonempty_text(),
        output=keys["output"].text(),
        expected=_expected(keys["expected"]),
        prompt=keys["prompt"].text() if "prompt" in keys else None,
        tools=tuple(_tool(tool) for tool in keys["tools"].items()) if "tools" in keys else (),
    )


def _tool(value: Located) -> Mapping[str, Any]:
    value.entries()
    tool: Mapping[str, Any] = value.plain()
    return tool


def _expected(value: Located) -> Mapping[str, Any]:
    keys = value.record(optional=("reasoning", "text", "tool_uses", "issues"))
    for key in ("reasoning", "text"):
        if key in keys:
            keys[key].text()
    for call in keys["tool_uses"].items() if "tool_uses" in keys else ():
        call_keys = call.record(required=("name", "input"))
        call_keys["name"].nonempty_text()
        call_keys["input"].entries()
    for code in keys["issues"].items() if "issues" in keys else ():
        code.member(IssueCode)
    return {key: below.plain() for key, below in keys.items()}
