"""The special tokens that a model directory names beside its chat template."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

_NAMES = ("bos_token", "eos_token", "unk_token", "pad_token")
_CONFIG = "tokenizer_config.json"
_LARGEST = 64 * 1024 * 1024


def special_tokens(ref: str) -> Mapping[str, str]:
    """The special tokens of a local model directory, or of the one that a file is in; empty for anything else."""
    path = Path(ref)
    config = (path if path.is_dir() else path.parent) / _CONFIG
    if ref == "-" or not path.exists() or not config.is_file() or config.stat().st_size > _LARGEST:
        return {}
    try:
        data = json.loads(config.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    found = {name: _text(data.get(name)) for name in _NAMES} if isinstance(data, dict) else {}
    return {name: text for name, text in found.items() if text}


def _text(token: object) -> str:
    """A token as it is written, either as a string or as an object that holds it."""
    content = token.get("content") if isinstance(token, dict) else token
    return content if isinstance(content, str) else ""
