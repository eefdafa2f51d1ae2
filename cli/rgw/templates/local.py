"""Reads chat templates from files and directories, in the order of precedence of transformers.

A tokenizer takes `chat_template.jinja` and `additional_chat_templates/*.jinja` over `tokenizer_config.json`. A
processor takes `processor_config.json`, then `chat_template.json`, over the same files. This module knows no network.
"""

from __future__ import annotations

import json
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

from rgw.errors import SourceError
from rgw.templates import gguf
from rgw.templates.identity import (
    DEFAULT,
    MAX_TEMPLATE_BYTES,
    chat_template,
    decode_text,
    mark_effective,
    named_texts,
    too_large,
)
from rgw.templates.model import PROCESSOR_SOURCES, ChatTemplate, ResolvedTemplates

MAX_CONFIGURATION_BYTES = 32 * 1024 * 1024

TEMPLATE_FILE = "chat_template.jinja"
TEMPLATE_DIRECTORY = "additional_chat_templates"
TOKENIZER_CONFIGURATION = "tokenizer_config.json"
PROCESSOR_CONFIGURATION, PROCESSOR_TEMPLATE = PROCESSOR_SOURCES
SOURCE_FILES = (TEMPLATE_FILE, TOKENIZER_CONFIGURATION, *PROCESSOR_SOURCES)
VOCABULARY_FILES = ("tokenizer.json", "tokenizer.model", "tekken.json", "vocab.json", "vocab.txt", "spiece.model")


def read_file(path: Path, ref: str) -> ResolvedTemplates:
    """Read one named file: the metadata of a GGUF file, JSON when its name says so, else the text of a template."""
    if path.suffix == gguf.SUFFIX or _begins_as_gguf(path):
        return _read_gguf(path, ref)
    if path.suffix != ".json":
        return _single(_read_bytes(path, ref, MAX_TEMPLATE_BYTES), ref, path.name)
    configuration = _read_json(path, ref)
    return ResolvedTemplates(
        ref,
        templates=mark_effective(_templates_in(configuration, path.name, ref)),
        native_response_template=_native_response_template(configuration, ref),
    )


def read_standard_input() -> ResolvedTemplates:
    """Read the text of one template from standard input."""
    data = sys.stdin.buffer.read(MAX_TEMPLATE_BYTES + 1)
    if len(data) > MAX_TEMPLATE_BYTES:
        raise too_large("standard input", MAX_TEMPLATE_BYTES)
    return _single(data, "-", "standard input")


def read_directory(directory: Path, ref: str, *, revision: str | None = None) -> ResolvedTemplates:
    """Read a model directory as a tokenizer and a processor of transformers would.

    The tokenizer's templates come first and hold the effective one; a processor's own stand behind them, and are
    effective only where the tokenizer has none.
    """
    try:
        require_tokenizer_files({entry.name for entry in directory.iterdir()}, ref)
    except OSError as error:
        raise unreadable(ref, error) from error
    configuration = _optional_json(directory, TOKENIZER_CONFIGURATION, ref)
    separate = _separate_templates(directory, ref)
    of_tokenizer = separate or _templates_in(
        configuration, TOKENIZER_CONFIGURATION, _inside(ref, TOKENIZER_CONFIGURATION)
    )
    of_processor = _processor_templates(directory, ref, beside_named_files=len(separate) > 1)
    return ResolvedTemplates(
        ref,
        revision,
        mark_effective(of_tokenizer) + (of_processor if of_tokenizer else mark_effective(of_processor, tools=False)),
        _native_response_template(configuration, _inside(ref, TOKENIZER_CONFIGURATION)),
    )


def require_tokenizer_files(names: set[str], ref: str) -> None:
    """Refuse a directory or repository that holds no tokenizer at all, given the names of its entries."""
    if names.isdisjoint((*SOURCE_FILES, *VOCABULARY_FILES, TEMPLATE_DIRECTORY)):
        inside = sorted(name for name in names if name.endswith(gguf.SUFFIX))
        raise SourceError(
            f"{ref} holds no tokenizer files",
            f"name the GGUF file itself, such as {_inside(ref, inside[0])}"
            if inside
            else f"name a model directory or repository with {TOKENIZER_CONFIGURATION} or {TEMPLATE_FILE}",
        )


def unreadable(where: str, error: OSError) -> SourceError:
    """The error for a file or directory that the operating system refuses."""
    return SourceError(f"{where} cannot be read: {error.strerror or error}", "check the path and its permissions")


def _begins_as_gguf(path: Path) -> bool:
    """Whether a file is a GGUF file under another name, as in some stores; only a regular file may be tried."""
    try:
        with path.open("rb") if path.is_file() else BytesIO() as file:
            return file.read(len(gguf.MAGIC)) == gguf.MAGIC
    except OSError:
        return False


def _read_gguf(path: Path, ref: str) -> ResolvedTemplates:
    if not path.is_file():
        raise SourceError(f"{ref} is no regular file", "name the GGUF file itself")
    try:
        with path.open("rb") as file:
            metadata = gguf.read_metadata(file, ref)
    except OSError as error:
        raise unreadable(ref, error) from error
    return ResolvedTemplates(ref, templates=metadata.templates, base_models=metadata.base_models)


def _single(data: bytes, ref: str, source: str) -> ResolvedTemplates:
    template = chat_template(DEFAULT, decode_text(data, ref), source=source, where=ref, data=data)
    return ResolvedTemplates(ref, templates=mark_effective([template]))


def _separate_templates(directory: Path, ref: str) -> tuple[ChatTemplate, ...]:
    """The templates that lie in files of their own; an additional file named `default` replaces the main one."""
    extras = directory / TEMPLATE_DIRECTORY
    paths = {DEFAULT: directory / TEMPLATE_FILE} if _exists(directory / TEMPLATE_FILE) else {}
    if extras.is_dir():
        paths |= {path.name.removesuffix(".jinja"): path for path in sorted(extras.glob("*.jinja")) if _exists(path)}
    return tuple(
        _template_file(name, path, path.relative_to(directory).as_posix(), ref) for name, path in paths.items()
    )


def _template_file(name: str, path: Path, source: str, ref: str) -> ChatTemplate:
    where = _inside(ref, source)
    data = _read_bytes(path, where, MAX_TEMPLATE_BYTES)
    return chat_template(name, decode_text(data, where), source=source, where=where, data=data)


def _processor_templates(directory: Path, ref: str, *, beside_named_files: bool) -> tuple[ChatTemplate, ...]:
    """The templates that only a processor reads; it refuses `chat_template.json` beside additional template files."""
    configuration = _optional_json(directory, PROCESSOR_CONFIGURATION, ref)
    if configuration.get("chat_template") is not None:
        return _templates_in(configuration, PROCESSOR_CONFIGURATION, _inside(ref, PROCESSOR_CONFIGURATION))
    if beside_named_files:
        return ()
    configuration = _optional_json(directory, PROCESSOR_TEMPLATE, ref)
    templates = _templates_in(configuration, PROCESSOR_TEMPLATE, _inside(ref, PROCESSOR_TEMPLATE))
    return tuple(template for template in templates if template.text)


def _templates_in(configuration: dict[str, Any], source: str, where: str) -> tuple[ChatTemplate, ...]:
    texts = named_texts(configuration.get("chat_template"), where)
    return tuple(chat_template(name, text, source=source, where=where) for name, text in texts.items())


def _native_response_template(configuration: dict[str, Any], where: str) -> dict[str, Any] | None:
    native = configuration.get("response_template")
    if native is not None and not isinstance(native, dict):
        raise SourceError(f"{where}: response_template is not an object", "remove it or write it as an object")
    return native


def _optional_json(directory: Path, name: str, ref: str) -> dict[str, Any]:
    path = directory / name
    return _read_json(path, _inside(ref, name)) if _exists(path) else {}


def _read_json(path: Path, where: str) -> dict[str, Any]:
    text = decode_text(_read_bytes(path, where, MAX_CONFIGURATION_BYTES), where)
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        position = f"line {error.lineno}, column {error.colno}"
        raise SourceError(f"{where} is not valid JSON: {error.msg} ({position})", "repair the file") from error
    except (RecursionError, ValueError) as error:
        raise SourceError(f"{where} is not usable JSON: nested too deeply or a number too long", "repair it") from error
    if not isinstance(value, dict):
        raise SourceError(f"{where} does not hold a JSON object", "name a tokenizer or processor configuration")
    return value


def _read_bytes(path: Path, where: str, limit: int) -> bytes:
    """Read a file whole, but never more than the limit: pipes and device files have no size to ask for."""
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise unreadable(where, error) from error
    if len(data) > limit:
        raise too_large(where, limit)
    return data


def _exists(path: Path) -> bool:
    """Whether there is a file; a link that leads nowhere counts, so that reading it says so."""
    return path.is_file() or path.is_symlink()


def _inside(ref: str, name: str) -> str:
    return f"{ref.rstrip('/')}/{name}"
