"""GGUF files written byte for byte, as the format's description says and as it forbids."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

UINT8, UINT32, BOOL, STRING, ARRAY, FLOAT64 = 0, 4, 7, 8, 9, 12
HUGE = 2**64 - 1


@dataclass(frozen=True)
class Writer:
    """Writes the parts of a header in one byte order."""

    order: str = "<"

    def number(self, code: str, value: float) -> bytes:
        return struct.pack(self.order + code, value)

    def string(self, text: str | bytes) -> bytes:
        data = text.encode() if isinstance(text, str) else text
        return self.number("Q", len(data)) + data

    def entry(self, key: str | bytes, kind: int, value: bytes) -> bytes:
        return self.string(key) + self.number("I", kind) + value

    def text(self, key: str, text: str | bytes) -> bytes:
        """An entry that holds a string."""
        return self.entry(key, STRING, self.string(text))

    def array(self, kind: int, count: int, items: bytes) -> bytes:
        return self.number("I", kind) + self.number("Q", count) + items

    def strings(self, key: str, texts: Sequence[str]) -> bytes:
        """An entry that holds an array of strings."""
        return self.entry(key, ARRAY, self.array(STRING, len(texts), b"".join(map(self.string, texts))))

    def file(self, *entries: bytes, version: int = 3, count: int | None = None) -> bytes:
        """A whole file; `count` is how many entries it claims."""
        claimed = len(entries) if count is None else count
        header = b"GGUF" + self.number("I", version) + self.number("Q", 0) + self.number("Q", claimed)
        return header + b"".join(entries)


LITTLE, BIG = Writer("<"), Writer(">")
