"""Watching what a chat template reads, by rendering it with messages and variables that record each access.

Runs inside the render worker only. It must not know any template family: what a template wants is what it asks for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import jinja2
from jinja2.runtime import Context


def observed_render(template: jinja2.Template, variables: Mapping[str, Any]) -> tuple[str, set[str]]:
    """Render `template` and say what it read.

    Returns:
        The text, and the paths that were read: `name` for a variable, `messages[].role` for a key in a list of
        mappings, and `messages[].tool_calls[].function.arguments.*` for a mapping that was walked as a whole. A path is
        read whether or not the data holds it.
    """
    reads: set[str] = set()

    class RecordingContext(Context):
        def resolve_or_missing(self, key: str) -> Any:
            reads.add(key)
            return super().resolve_or_missing(key)

    environment = template.environment
    original = environment.context_class
    environment.context_class = RecordingContext
    try:
        recording = {name: _recording(value, name, reads) for name, value in variables.items()}
        return template.render(**recording), reads
    finally:
        environment.context_class = original


def _recording(value: Any, path: str, reads: set[str]) -> Any:
    if isinstance(value, Mapping):
        items = {key: _recording(item, f"{path}.{key}", reads) for key, item in value.items()}
        return _RecordingDict(items, path, reads)
    if isinstance(value, list):
        return [_recording(item, f"{path}[]", reads) for item in value]
    return value


class _RecordingDict(dict[str, Any]):
    """A mapping that notes each key it is asked for under its own path."""

    def __init__(self, items: Mapping[str, Any], path: str, reads: set[str]) -> None:
        super().__init__(items)
        self._path = path
        self._reads = reads

    def __getitem__(self, key: str) -> Any:
        self._reads.add(f"{self._path}.{key}")
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self._reads.add(f"{self._path}.{key}")
        return super().__contains__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self._reads.add(f"{self._path}.{key}")
        return super().get(key, default)

    def __iter__(self) -> Iterator[str]:
        self._reads.add(f"{self._path}.*")
        return super().__iter__()

    def keys(self) -> Any:
        self._reads.add(f"{self._path}.*")
        return super().keys()

    def values(self) -> Any:
        self._reads.add(f"{self._path}.*")
        return super().values()

    def items(self) -> Any:
        self._reads.add(f"{self._path}.*")
        return super().items()
