"""A schema written into a model directory, as the `response_template` of its own `tokenizer_config.json`.

Every byte of the file but that key's stays as it is, the old file is kept beside it, and either the old or the new file
is there at any time. Knows nothing of proofs: whoever calls has one.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from rgw.errors import SourceError, UsageError
from rgw.exporting import TargetEngine, export
from rgw.registry.model import Schema

CONFIGURATION = "tokenizer_config.json"
KEY = "response_template"

_WHITE_SPACE = re.compile(r"[ \t\n\r]*")
_SCAN = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class Application:
    """What was written.

    Attributes:
        path: The file.
        backup: The old file's copy; `None` when nothing had to be written.
        warnings: What of the schema does not carry over to the engines that read the file.
    """

    path: Path
    backup: Path | None
    warnings: tuple[str, ...]


def apply(schema: Schema, directory: Path) -> Application:
    """Write a schema's response template into a model directory.

    It is the form that the serving engines accept, which transformers reads too; where they cannot read the format, the
    form for transformers alone.

    Raises:
        UsageError: The schema has no response template.
        SourceError: The directory has no configuration that can be read or written.
    """
    refused = tuple(_refusals(schema))
    exported = export(schema, TargetEngine.TRANSFORMERS if refused else TargetEngine.SGLANG)
    warnings = (*refused, *exported.warnings)
    path = directory / CONFIGURATION
    try:
        text = path.read_bytes().decode("utf-8")
        written = with_member(text, KEY, exported.response_template)
        if written == text:
            return Application(path, None, warnings)
        return Application(path, _replaced(path, written), warnings)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"not a JSON object: {error}"
        raise SourceError(
            f"{path}: {reason}", "name a model directory whose configuration can be read and written"
        ) from None


def _refusals(schema: Schema) -> Iterator[str]:
    """Why serving engines cannot read a schema, which transformers can."""
    for engine in (TargetEngine.VLLM, TargetEngine.SGLANG):
        try:
            export(schema, engine)
        except UsageError as error:
            yield error.message


class _Member(NamedTuple):
    key: str
    start: int
    end: int


def with_member(text: str, key: str, value: Any) -> str:
    """The text of a JSON object with one member set, and every other character as it was.

    Raises:
        ValueError: The text is not a JSON object.
    """
    opening = _behind_white_space(text, 1 if text.startswith("\ufeff") else 0)
    if not text.startswith("{", opening) or not isinstance(_SCAN(text, opening)[0], dict):
        raise ValueError("it does not begin with {")
    members = list(_members(text, opening + 1))
    between = text[opening + 1 : _behind_white_space(text, opening + 1)]
    line_end, _, indent = between.rpartition("\n")
    is_laid_out = "\n" in between
    written = _written(value, indent, "\r\n" if line_end.endswith("\r") else "\n") if is_laid_out else json.dumps(value)
    found = [member for member in members if member.key == key]
    if found:
        return text[: found[-1].start] + written + text[found[-1].end :]
    place = members[-1].end if members else opening + 1
    separator = "," + (between or " ") if members else between
    return f"{text[:place]}{separator}{json.dumps(key)}: {written}{text[place:]}"


def _members(text: str, position: int) -> Iterator[_Member]:
    while True:
        position = _behind_white_space(text, position)
        if text.startswith("}", position):
            return
        key, position = _SCAN(text, position)
        position = _behind_white_space(text, _behind_white_space(text, position) + 1)
        _, end = _SCAN(text, position)
        yield _Member(key, position, end)
        position = _behind_white_space(text, end)
        position += text.startswith(",", position)


def _behind_white_space(text: str, position: int) -> int:
    match = _WHITE_SPACE.match(text, position)
    return match.end() if match else position


def _written(value: Any, indent: str, line_end: str) -> str:
    """A value laid out as the file is."""
    lines = json.dumps(value, indent=indent or 2, ensure_ascii=False).split("\n")
    return line_end.join([lines[0], *(indent + line for line in lines[1:])])


def _replaced(path: Path, text: str) -> Path:
    """Put the text in the file's place, and keep a copy of the file; where that fails, neither is left half-written."""
    numbers = iter(range(1, 1000))
    backup = path.with_name(f"{path.name}.bak")
    while backup.exists():
        backup = path.with_name(f"{path.name}.bak{next(numbers)}")
    temporary = path.with_name(f".{path.name}.new")
    try:
        shutil.copy2(path, backup)
        temporary.write_bytes(text.encode("utf-8"))
        shutil.copymode(path, temporary)
        os.replace(temporary, path)  # noqa: PTH105 - the atomic one
    except OSError:
        for begun in (backup, temporary):
            begun.unlink(missing_ok=True)
        raise
    return backup
