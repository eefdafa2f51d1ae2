"""The registry files that a re-sync reads and writes, as plain data.

Works on the YAML itself and not on the registry's records, so that keys which a re-sync does not own come back as
they were.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from rgw.errors import RegistryError
from rgw.upstream.sources import UpstreamRef

SCHEMAS, TEMPLATES, FINGERPRINTS, LOCK = "schemas", "templates.yaml", "fingerprints.yaml", "upstream.lock.yaml"
NOTICE = "../NOTICE"

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
        """The data of each file, by its path relative to the registry."""
        return {
            **{f"{SCHEMAS}/{name}.yaml": schema for name, schema in self.schemas.items()},
            TEMPLATES: {"templates": [{"sha256": sha256, **entry} for sha256, entry in self.templates.items()]},
            FINGERPRINTS: {"fingerprints": self.fingerprints},
            LOCK: self.lock,
        }


def read_registry_files(registry: Path) -> RegistryFiles:
    """Read the registry at `registry`; a file that is not there yet is empty.

    Raises:
        RegistryError: A file is not YAML, or not of the form that a re-sync can merge with.
    """
    schemas = {path.stem: _read_mapping(path) for path in sorted(registry.glob(f"{SCHEMAS}/*.yaml"))}
    templates = _read_mapping(registry / TEMPLATES).get("templates", [])
    fingerprints = _read_mapping(registry / FINGERPRINTS).get("fingerprints", {})
    try:
        by_hash = {entry["sha256"]: {key: entry[key] for key in entry if key != "sha256"} for entry in templates}
    except (TypeError, KeyError) as error:
        raise RegistryError(f"{registry / TEMPLATES}: not a list of templates with their sha256") from error
    return RegistryFiles(schemas, by_hash, fingerprints, _read_mapping(registry / LOCK))


def changed_contents(registry: Path, before: RegistryFiles, after: RegistryFiles) -> dict[str, str | None]:
    """The new text of every file whose data changes, by path; `None` for a file that goes.

    A file whose data stays is left alone to the byte, whatever its comments and layout. A changed one keeps the
    comment that it begins with.
    """
    old, new = before.documents(), after.documents()
    changed = [path for path in new if not same_data(old.get(path), new[path])]
    contents: dict[str, str | None] = {path: _dump(registry / path, path, new[path]) for path in changed}
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


def dump(data: Any) -> str:
    """YAML as the registry is written."""
    text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=float("inf"))
    return text


def _dump(existing: Path, path: str, data: Any) -> str:
    header = "".join(_leading_comment(existing)) or _HEADERS.get(path, "")
    return header + dump(data)


def _leading_comment(path: Path) -> Iterator[str]:
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
            if not line.startswith("#"):
                return
            yield line


def _read_mapping(path: Path) -> dict[str, Any]:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else None
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        raise RegistryError(f"{path}: not readable as YAML: {' '.join(str(error).split())}") from error
    if data is not None and not isinstance(data, dict):
        raise RegistryError(f"{path}: not a mapping")
    return data or {}
