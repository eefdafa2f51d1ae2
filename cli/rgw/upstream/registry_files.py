"""The registry files that a re-sync reads and writes, as plain data.

Works on the YAML itself and not on the registry's records, so that keys which a re-sync does not own come back as
they were.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from itertools import takewhile
from pathlib import Path
from typing import Any

import yaml

from rgw.errors import RegistryError
from rgw.registry.yaml_reading import read_yaml
from rgw.registry.yaml_writing import dump_yaml
from rgw.upstream.sources import UpstreamRef

SCHEMAS, TEMPLATES, FINGERPRINTS, LOCK = "schemas", "templates.yaml", "fingerprints.yaml", "upstream.lock.yaml"
NOTICE = "../NOTICE"
SOURCE = "trl"
"""The `origin.source` of what a re-sync made."""

_PIN_LINE = re.compile(r"^TRL pin: .*$", re.MULTILINE)
_HEADERS = {
    FINGERPRINTS: "# Written by `rgw resync`: short hashes of the lines of each template, to find the nearest one.\n",
    LOCK: "# Written by `rgw resync`: the pinned TRL, and digests of what was taken from it. Do not edit.\n",
}


@dataclass(frozen=True, slots=True)
class RegistryFiles:
    """A registry as plain data.

    Attributes:
        schemas: The schema files, by name.
        templates: The registered templates, by sha256.
        fingerprints: The line fingerprints, by sha256.
        lock: The pin, and what was taken at it; empty before the first re-sync.
    """

    schemas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    templates: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    lock: Mapping[str, Any] = field(default_factory=dict)

    def documents(self) -> dict[str, Any]:
        """The data of each file, by its path relative to the registry; templates in the order of their schemas."""
        templates = sorted(
            self.templates.items(), key=lambda item: (item[1]["schema"] or "~", item[1]["variant"], item[0])
        )
        return {
            **{f"{SCHEMAS}/{name}.yaml": schema for name, schema in self.schemas.items()},
            TEMPLATES: {"templates": [{"sha256": sha256, **entry} for sha256, entry in templates]},
            FINGERPRINTS: {"fingerprints": self.fingerprints},
            LOCK: self.lock,
        }


def read_registry_files(registry: Path) -> RegistryFiles:
    """Read the registry at `registry`; a file that is not there yet is empty.

    Raises:
        RegistryError: A file is not YAML, or not of the form that a re-sync can merge with.
    """
    schemas = {path.stem: _read_schema(path) for path in sorted(registry.glob(f"{SCHEMAS}/*.yaml"))}
    return RegistryFiles(
        schemas,
        _read_templates(registry / TEMPLATES),
        _read_mapping(registry / FINGERPRINTS).get("fingerprints", {}),
        _read_mapping(registry / LOCK),
    )


def changed_contents(registry: Path, before: RegistryFiles, after: RegistryFiles) -> dict[str, str | None]:
    """The new text of every file whose data changes, by path; `None` for a file that goes.

    A file whose data stays is left alone to the byte, whatever its comments and layout. In a changed one the keys whose
    values stay are left alone, and the comment that it begins with.
    """
    old, new = before.documents(), after.documents()
    contents: dict[str, str | None] = {}
    for path, data in new.items():
        if path not in old or not (registry / path).is_file():
            contents[path] = _HEADERS.get(path, "") + dump_yaml(data)
        elif not same_data(old[path], data):
            contents[path] = _edited((registry / path).read_text(encoding="utf-8"), old[path], data)
    return contents | dict.fromkeys(old.keys() - new.keys())


def notice_contents(registry: Path, pin: UpstreamRef) -> dict[str, str | None]:
    """The NOTICE next to the registry with its pin line rewritten; empty when there is no such line or it is right."""
    path = registry / NOTICE
    if not path.is_file():
        return {}
    text = path.read_text(encoding="utf-8")
    rewritten = _PIN_LINE.sub(lambda _: f"TRL pin: {describe_pin(pin)}", text)
    return {} if rewritten == text else {NOTICE: rewritten}


def pin_of(files: RegistryFiles) -> UpstreamRef:
    """The TRL that the registry is pinned to; it has been synced at least once."""
    names = [attribute.name for attribute in fields(UpstreamRef)]
    return UpstreamRef(**{name: files.lock[name] for name in names if name in files.lock})


def describe_pin(pin: UpstreamRef) -> str:
    """The pin in words: what was read, and what proves that it was that."""
    if pin.commit:
        return f"{pin.ref}, commit {pin.commit}"
    if pin.archive:
        return f"{pin.version or pin.ref}, {pin.archive}, sha256 {pin.archive_sha256}"
    return pin.ref


def same_data(first: Any, second: Any) -> bool:
    """Equality in which the order of keys counts, as it does for the fields of a response template."""
    return json.dumps(first) == json.dumps(second)


def _edited(text: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """The YAML `text` of `old`, with the values that differ in `new` rewritten in their places."""
    edited = text
    for key, value in new.items():
        block = re.search(rf"^{re.escape(key)}:.*\n(?:[ -].*\n|\n(?=[ \n-]))*", edited, re.MULTILINE)
        if block and not same_data(old.get(key), value):
            edited = edited[: block.start()] + dump_yaml({key: value}) + edited[block.end() :]
    whole = dump_yaml(new)
    return edited if _is_same_yaml(edited, whole) else _leading_comment(text) + whole


def _is_same_yaml(first: str, second: str) -> bool:
    try:
        return same_data(yaml.safe_load(first), yaml.safe_load(second))
    except (yaml.YAMLError, TypeError):
        return False


def _leading_comment(text: str) -> str:
    return "".join(takewhile(lambda line: line.startswith("#"), text.splitlines(keepends=True)))


def _read_schema(path: Path) -> dict[str, Any]:
    schema = _read_mapping(path)
    _require(schema, ("origin", "dialects"), path)
    _require(schema["origin"], ("source",), path)
    if schema["origin"]["source"] == SOURCE:
        _require(schema["origin"], ("names",), path)
    return schema


def _read_templates(path: Path) -> dict[str, dict[str, Any]]:
    templates = {}
    for entry in _read_mapping(path).get("templates", []):
        _require(entry, ("sha256", "schema", "variant"), path)
        templates[entry["sha256"]] = {key: value for key, value in entry.items() if key != "sha256"}
    return templates


def _require(data: Any, keys: Iterable[str], path: Path) -> None:
    """A re-sync mends values, but cannot make sense of a file without these keys."""
    missing = [key for key in keys if not isinstance(data, dict) or key not in data]
    if missing:
        raise RegistryError(f"{path}: {missing[0]!r} is missing", "restore the file, or remove it")


def _read_mapping(path: Path) -> dict[str, Any]:
    data = read_yaml(path, str(path)).plain() if path.is_file() else {}
    if not isinstance(data, dict):
        raise RegistryError(f"{path}: not a mapping")
    return data
