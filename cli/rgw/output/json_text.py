"""JSON laid out for people: what fits on a line stays on it."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

READABLE_WIDTH = 76
DEEPEST_INDENT = 60


def pretty(value: Any, *, width: int = READABLE_WIDTH, indent: str = "", ascii_only: bool = False) -> str:
    """`value` as JSON over as few lines as `width` allows, indented from the second line on."""
    flat = json.dumps(value, ensure_ascii=ascii_only)
    fits = len(indent) + len(flat) <= width or len(indent) >= DEEPEST_INDENT
    if fits or not isinstance(value, dict | list) or not value:
        return flat
    deeper = indent + "  "
    below = partial(pretty, width=width, indent=deeper, ascii_only=ascii_only)
    if isinstance(value, dict):
        opening, closing = "{}"
        items = [f"{json.dumps(key, ensure_ascii=ascii_only)}: {below(item)}" for key, item in value.items()]
    else:
        opening, closing = "[]"
        items = [below(item) for item in value]
    return f"{opening}\n" + ",\n".join(deeper + item for item in items) + f"\n{indent}{closing}"
