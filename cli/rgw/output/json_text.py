"""JSON laid out for people: what fits on a line stays on it."""

from __future__ import annotations

import json
from typing import Any

READABLE_WIDTH = 76


def pretty(value: Any, *, width: int = READABLE_WIDTH, indent: str = "") -> str:
    """`value` as JSON over as few lines as `width` allows."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(flat) <= width or not isinstance(value, dict | list) or not value:
        return flat
    deeper = indent + "  "
    if isinstance(value, dict):
        opening, closing = "{}"
        items = [
            f"{json.dumps(key, ensure_ascii=False)}: {pretty(item, width=width, indent=deeper)}"
            for key, item in value.items()
        ]
    else:
        opening, closing = "[]"
        items = [pretty(item, width=width, indent=deeper) for item in value]
    return f"{opening}\n" + ",\n".join(deeper + item for item in items) + f"\n{indent}{closing}"
