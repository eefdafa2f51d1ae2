"""Reads what a GGUF file says of chat templates: its metadata alone, in bounded time and memory.

Follows the documented header of versions 2 and 3, in both byte orders. Nothing is allocated on the word of a count or a
length: what is no chat template is skipped, never read. This module opens no file and knows no registry.
"""

from __future__ import annotations

import io
import os
import re
import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import BinaryIO

from rgw.errors import SourceError
from rgw.templates.identity import DEFAULT, MAX_TEMPLATE_BYTES, chat_template, mark_effective, too_large
from rgw.templates.model import ChatTemplate

MAGIC = b"GGUF"
SUFFIX = ".gguf"

_VERSIONS = (2, 3)
_MAX_ENTRIES = 65_536
_MAX_KEY_BYTES = 65_535
_MAX_TEMPLATES = 64
_MAX_URL_BYTES = 2048
_MAX_ITEMS = 4_000_000
"""Strings and arrays inside arrays, each with a length to be read: five times those of the largest vocabularies."""
_MAX_DEPTH = 8

_TEMPLATE_KEY = re.compile(r"tokenizer\.chat_template(?:\.(?P<name>.+))?", re.DOTALL)
_BASE_MODEL_KEY = re.compile(r"general\.base_model\.\d+\.repo_url")
_REPOSITORY_URL = re.compile(r"https?://[^/]+/(?P<id>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)/?", re.ASCII)


class _ValueType(IntEnum):
    UINT8 = 0
    INT8 = 1
    UINT16 = 2
    INT16 = 3
    UINT32 = 4
    INT32 = 5
    FLOAT32 = 6
    BOOL = 7
    STRING = 8
    ARRAY = 9
    UINT64 = 10
    INT64 = 11
    FLOAT64 = 12


_SIZES = {
    _ValueType.UINT8: 1,
    _ValueType.INT8: 1,
    _ValueType.UINT16: 2,
    _ValueType.INT16: 2,
    _ValueType.UINT32: 4,
    _ValueType.INT32: 4,
    _ValueType.FLOAT32: 4,
    _ValueType.BOOL: 1,
    _ValueType.UINT64: 8,
    _ValueType.INT64: 8,
    _ValueType.FLOAT64: 8,
}


@dataclass(frozen=True, slots=True)
class GgufMetadata:
    """What the metadata says.

    Attributes:
        templates: The chat templates, named as a tokenizer would name them; the source of each is its key.
        base_models: The hub repositories that the model says it was made from.
    """

    templates: tuple[ChatTemplate, ...]
    base_models: tuple[str, ...]


def read_metadata(file: BinaryIO, where: str) -> GgufMetadata:
    """Read the metadata of an open GGUF file; nothing behind it is touched, however large the file is.

    Args:
        file: A regular file, at its beginning.
        where: What messages call it.

    Raises:
        SourceError: It is no GGUF file, is damaged, or exceeds a limit.
    """
    try:
        return _Header(file, where).read()
    except _MalformedError as error:
        raise SourceError(f"{where} {error}", "download or convert it again") from None


class _MalformedError(Exception):
    """The header is not what the format says; the message completes a sentence that begins with the file's name."""


class _Header:
    """A header that is being read, from its beginning to the end of the metadata."""

    def __init__(self, file: BinaryIO, where: str) -> None:
        self._file = file
        self._where = where
        self._size = file.seek(0, os.SEEK_END)
        self._order = "<"
        self._items = 0
        self._texts: dict[str, bytes] = {}
        self._base_models: dict[str, None] = {}
        file.seek(0)

    def read(self) -> GgufMetadata:
        if self._file.read(len(MAGIC)) != MAGIC:
            raise _MalformedError("is no GGUF file")
        self._read_version()
        self._number("Q")  # how many tensors there are
        entries = self._number("Q")
        if entries > _MAX_ENTRIES:
            raise _MalformedError(f"claims {entries:,} metadata entries; the limit is {_MAX_ENTRIES:,}")
        for _ in range(entries):
            self._read_entry()
        return GgufMetadata(
            mark_effective([self._template(*item) for item in self._texts.items()]), (*self._base_models,)
        )

    def _read_version(self) -> None:
        """A file of the other byte order shows its small version in the upper half of the number."""
        version = self._number("I")
        if version and not version & 0xFFFF:
            self._order = ">"
            version = int.from_bytes(version.to_bytes(4, "little"), "big")
        if version not in _VERSIONS:
            raise _MalformedError(f"is of GGUF version {version}; readable are versions 2 and 3")

    def _read_entry(self) -> None:
        key = self._key()
        kind = self._value_type()
        if _TEMPLATE_KEY.fullmatch(key):
            self._read_template(key, kind)
        elif _BASE_MODEL_KEY.fullmatch(key) and kind is _ValueType.STRING:
            self._read_base_model()
        else:
            self._skip_value(kind)

    def _read_template(self, key: str, kind: _ValueType) -> None:
        if kind is not _ValueType.STRING:
            raise _MalformedError(f"has a {key!r} that is no string")
        if key in self._texts:
            raise _MalformedError(f"has {key!r} twice")
        if len(self._texts) == _MAX_TEMPLATES:
            raise _MalformedError(f"has more than {_MAX_TEMPLATES} chat templates")
        length = self._number("Q")
        if length + sum(map(len, self._texts.values())) > MAX_TEMPLATE_BYTES:
            raise too_large(f"{self._where}: {key!r}", MAX_TEMPLATE_BYTES)
        self._texts[key] = self._bytes(length)

    def _read_base_model(self) -> None:
        length = self._number("Q")
        if length > _MAX_URL_BYTES:
            self._skip(length)
        elif found := _REPOSITORY_URL.fullmatch(self._bytes(length).decode("utf-8", "replace")):
            self._base_models[found["id"]] = None

    def _template(self, key: str, data: bytes) -> ChatTemplate:
        found = _TEMPLATE_KEY.fullmatch(key)
        name = (found and found["name"]) or DEFAULT
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise _MalformedError(f"has a {key!r} that is not UTF-8 (byte {error.start + 1})") from None
        return chat_template(name, text, source=key, where=self._where)

    def _key(self) -> str:
        length = self._number("Q")
        if length > _MAX_KEY_BYTES:
            raise _MalformedError(f"has a metadata key of {length:,} bytes; the limit is {_MAX_KEY_BYTES:,}")
        try:
            return self._bytes(length).decode("utf-8")
        except UnicodeDecodeError:
            raise _MalformedError("has a metadata key that is not UTF-8") from None

    def _value_type(self) -> _ValueType:
        number = self._number("I")
        try:
            return _ValueType(number)
        except ValueError:
            raise _MalformedError(f"has a metadata value of the unknown type {number}") from None

    def _skip_value(self, kind: _ValueType, depth: int = 0) -> None:
        if kind is _ValueType.STRING:
            self._skip(self._number("Q"))
        elif kind is _ValueType.ARRAY:
            self._skip_array(depth + 1)
        else:
            self._skip(_SIZES[kind])

    def _skip_array(self, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise _MalformedError(f"nests arrays more than {_MAX_DEPTH} deep")
        kind = self._value_type()
        count = self._number("Q")
        if kind in _SIZES:
            self._skip(count * _SIZES[kind])
            return
        self._items += count
        if self._items > _MAX_ITEMS:
            raise _MalformedError(f"claims {self._items:,} strings in arrays; the limit is {_MAX_ITEMS:,}")
        if kind is _ValueType.STRING:
            self._skip_strings(count)
        else:
            for _ in range(count):
                self._skip_array(depth + 1)

    def _skip_strings(self, count: int) -> None:
        """Skip from one length to the next; the vocabulary is most of a header, so nothing else is done here."""
        read, seek, unpack = self._file.read, self._file.seek, struct.Struct(f"{self._order}Q").unpack
        try:
            for _ in range(count):
                seek(unpack(read(8))[0], io.SEEK_CUR)
        except (struct.error, OverflowError, ValueError, OSError):
            raise self._cut() from None
        self._skip(0)

    def _skip(self, count: int) -> None:
        position = self._file.tell()
        if position + count > self._size:
            raise self._cut()
        self._file.seek(position + count)

    def _number(self, code: str) -> int:
        number: int = struct.unpack(f"{self._order}{code}", self._bytes(struct.calcsize(f"<{code}")))[0]
        return number

    def _bytes(self, count: int) -> bytes:
        """Bytes of a count that the caller has limited."""
        data = self._file.read(count)
        if len(data) < count:
            raise self._cut()
        return data

    def _cut(self) -> _MalformedError:
        return _MalformedError(f"is cut off or damaged: its metadata goes on behind its end at byte {self._size:,}")
