"""A small registry of one schema and one template, which tests write to disk with what they change about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from registry.registry_files import SCHEMA, TEMPLATES

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """`write(changes, directory="packaged")`: the small registry with files replaced, added, or (None) left out."""

    def write_registry(changes: Mapping[str, str | None] | None = None, directory: str = "packaged") -> Path:
        return write_files({"schemas/tag.yaml": SCHEMA, "templates.yaml": TEMPLATES, **(changes or {})}, directory)

    def write_files(files: Mapping[str, str | None], directory: str) -> Path:
        root = tmp_path / directory
        for name, content in files.items():
            if content is not None:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(content, "utf-8", newline="")
        return root

    return write_registry


@pytest.fixture
def write_overlay(write: Write) -> Write:
    """`write_overlay(files)`: an overlay directory that holds these files only."""

    def write_only(files: Mapping[str, str]) -> Path:
        return write({"schemas/tag.yaml": None, "templates.yaml": None, **files}, "overlay")

    return write_only
