"""What identifies a chat template: the sha256 of the string that transformers would hold.

Pure functions over bytes, strings and decoded JSON. This module opens no file and knows no source; `where` is only
the name that a message gives to what is being read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import replace

from rgw.errors import SourceError
from rgw.templates.model import ChatTemplate

MAX_TEMPLATE_BYTES = 4 * 1024 * 1024
DEFAULT = "default"
TOOL_USE = "tool_use"


def sha256_of(text: str) -> str:
    """The identity of a chat template."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def decode_text(data: bytes, where: str) -> str:
    """Decode a file as Python's text mode does, which is how transformers reads it.

    CRLF and lone CR become LF; a byte-order mark stays as the character that it is.
    """
    if b"\0" in data:
        raise SourceError(f"{where} is a binary file", "name a template or a tokenizer configuration, in UTF-8")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SourceError(f"{where} is not UTF-8 (byte {error.start + 1})", "convert it to UTF-8") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def chat_template(name: str, text: str, *, source: str, where: str, data: bytes | None = None) -> ChatTemplate:
    """Identify one template text; `data` are the bytes of its file when the file holds nothing else."""
    try:
        encoded = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise SourceError(
            f"{where}: chat template {name!r} holds half of a surrogate pair at character {error.start + 1}",
            "write the character whole; no tokenizer can encode half of it",
        ) from error
    if len(encoded) > MAX_TEMPLATE_BYTES:
        raise too_large(f"{where}: chat template {name!r}", MAX_TEMPLATE_BYTES)
    sha256 = hashlib.sha256(encoded).hexdigest()
    bytes_sha256 = None if data is None or data == encoded else hashlib.sha256(data).hexdigest()
    return ChatTemplate(name, text, sha256, source, bytes_sha256=bytes_sha256)


def named_texts(value: object, where: str) -> dict[str, str]:
    """Read a `chat_template` value: a text, a mapping of names to texts, or the older list of both."""
    if value is None:
        return {}
    if isinstance(value, str):
        return {DEFAULT: value}
    if isinstance(value, dict):
        return {name: _text_of(text, f"{where}: chat_template[{name!r}]") for name, text in value.items()}
    if isinstance(value, (list, tuple)):
        return dict(_list_entry(entry, f"{where}: chat_template[{index}]") for index, entry in enumerate(value))
    raise SourceError(
        f"{where}: chat_template is {_json_type(value)}", "it must be a text, or a list of names and templates"
    )


def mark_effective(templates: Collection[ChatTemplate], *, tools: bool = True) -> tuple[ChatTemplate, ...]:
    """Mark the template that transformers picks: `tool_use` when tools are in play and it exists, else `default`."""
    names = {template.name for template in templates}
    chosen = TOOL_USE if tools and TOOL_USE in names else DEFAULT
    return tuple(replace(template, effective=template.name == chosen) for template in templates)


def too_large(what: str, limit: int) -> SourceError:
    """The error for a file or a text over its size limit."""
    return SourceError(
        f"{what} is larger than the limit of {limit // 1024 // 1024} MB",
        "chat templates are small: is it the right file?",
    )


def _list_entry(entry: object, where: str) -> tuple[str, str]:
    if not isinstance(entry, dict):
        raise SourceError(f"{where} is {_json_type(entry)}", "it must be an object with `name` and `template`")
    for key in ("name", "template"):
        if key not in entry:
            raise SourceError(f"{where} has no {key!r}", "it must be an object with `name` and `template`")
    return _text_of(entry["name"], f"{where}['name']"), _text_of(entry["template"], f"{where}['template']")


def _text_of(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise SourceError(f"{where} is {_json_type(value)}", "it must be a text")
    return value


def _json_type(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a truth value"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list() | tuple():
            return "a list"
        case _:
            return "an object"
