"""What a re-sync would change, and doing it: the difference between the registry and the same with a TRL taken in."""

from __future__ import annotations

import difflib
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rgw.errors import RegistryError
from rgw.registry import journal
from rgw.registry.loader import load_registry, validate_registry
from rgw.registry.yaml_writing import dump_yaml
from rgw.upstream.merging import Specs, came_from_upstream, dialects_of, merge, origin_of, schema_names, specs_by_schema
from rgw.upstream.reading import Upstream
from rgw.upstream.registry_files import (
    LOCK,
    RegistryFiles,
    changed_contents,
    notice_contents,
    pin_of,
    read_registry_files,
    same_data,
)


class Change(StrEnum):
    """What happens to something."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """A schema that comes, goes or is changed; `diff` is a unified diff of what upstream says of it."""

    kind: Change
    name: str
    diff: str


@dataclass(frozen=True, slots=True)
class TemplateChange:
    """A chat template that comes, goes or gets another schema; `None` is no schema."""

    kind: Change
    sha256: str
    variant: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Note:
    """Something for a person to look at, which a re-sync leaves alone.

    Attributes:
        message: What it is, in one line.
        diff: What upstream changed; may be empty.
        schema: The registry's own schema that is kept.
        sha256: The template that it is kept for; `None` when it is kept for all of its templates.
    """

    message: str
    diff: str = ""
    schema: str | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a re-sync would do.

    Attributes:
        registry: The directory that it is for.
        before: The pinned TRL in words; `None` before the first re-sync.
        after: The TRL that was read, in words.
        schemas: The schemas that change.
        templates: The chat templates that change.
        notes: What is left to a person.
        differs: Whether the registry differs from what TRL says; it does not where only the pin would move.
        contents: The new text of each file that changes, by its path relative to the registry; `None` removes it.
    """

    registry: Path
    before: str | None
    after: str
    schemas: tuple[SchemaChange, ...]
    templates: tuple[TemplateChange, ...]
    notes: tuple[Note, ...]
    differs: bool
    contents: Mapping[str, str | None]

    @property
    def empty(self) -> bool:
        """Whether there is nothing to write."""
        return not self.contents


def plan_resync(registry: Path, upstream: Upstream) -> Plan:
    """Compare the registry with what it becomes when `upstream` is taken in.

    Nothing is written, unless an earlier re-sync was interrupted: that one is finished first.

    Raises:
        RegistryError: The registry cannot be read, or cannot take this TRL in.
        UpstreamError: Upstream says something that a registry cannot express.
    """
    journal.recover(registry)
    before = read_registry_files(registry)
    after = merge(before, upstream)
    return Plan(
        registry=registry,
        before=pin_of(before).label if before.lock else None,
        after=upstream.ref.label,
        schemas=tuple(_schema_changes(before, after)),
        templates=tuple(_template_changes(before, after)),
        notes=tuple(_notes(before, after, upstream)),
        differs=not same_data(_without_pin(before), _without_pin(after)),
        contents=changed_contents(registry, before, after) | notice_contents(registry, pin_of(after)),
    )


def apply_plan(plan: Plan) -> None:
    """Write what `plan` says, all of it or nothing.

    Raises:
        RegistryError: What would come of it is not a valid registry, or the registry cannot be written to.
    """
    if not plan.empty:
        _rehearse(plan)
        journal.replace_files(plan.registry, plan.contents)


def _rehearse(plan: Plan) -> None:
    """Apply the plan to a copy and load it as strictly as a release does."""
    with TemporaryDirectory(prefix="rgw-registry-") as directory:
        copy = Path(directory, "registry")
        shutil.copytree(plan.registry, copy)
        journal.replace_files(copy, plan.contents)
        try:
            validate_registry(load_registry(packaged=copy))
        except RegistryError as error:
            raise RegistryError(f"the re-synced registry would not be valid: {error.message}", error.fix) from error


def _without_pin(files: RegistryFiles) -> dict[str, Any]:
    return files.documents() | {LOCK: {key: files.lock.get(key) for key in ("schemas", "templates")}}


def _schema_changes(before: RegistryFiles, after: RegistryFiles) -> Iterator[SchemaChange]:
    for name in sorted(before.schemas.keys() | after.schemas.keys()):
        old, new = before.schemas.get(name), after.schemas.get(name)
        if not same_data(old, new):
            yield SchemaChange(_kind(old, new), name, _diff(name, _taken(old), _taken(new)))


def _template_changes(before: RegistryFiles, after: RegistryFiles) -> Iterator[TemplateChange]:
    every = {**before.templates, **after.templates}
    for sha256 in sorted(every, key=lambda sha256: (every[sha256]["schema"] or "~", every[sha256]["variant"], sha256)):
        old, new = before.templates.get(sha256), after.templates.get(sha256)
        if old != new:
            schemas = [entry["schema"] if entry else None for entry in (old, new)]
            yield TemplateChange(_kind(old, new), sha256, every[sha256]["variant"], *schemas)


def _kind(old: object, new: object) -> Change:
    if old is None:
        return Change.ADDED
    return Change.REMOVED if new is None else Change.CHANGED


def _notes(before: RegistryFiles, after: RegistryFiles, upstream: Upstream) -> Iterator[Note]:
    names = schema_names(before, upstream)
    specs = specs_by_schema(names, upstream)
    for name, schema in after.schemas.items():
        if came_from_upstream(schema):
            yield from _schema_notes(name, schema, specs.get(name))
    for sha256, theirs in names.items():
        ours = after.templates[sha256]["schema"]
        if ours != theirs:
            message = f"template {sha256[:12]}: TRL now maps it to {theirs}; the registry keeps its own {ours}"
            yield Note(message, schema=ours, sha256=sha256)


def _schema_notes(name: str, schema: Mapping[str, Any], specs: Specs | None) -> Iterator[Note]:
    if specs is None:
        yield Note(f"schema {name}: TRL no longer has it; kept, as it is patched or templates of the registry use it")
    elif not same_data(schema["origin"], origin_of(specs)):
        reason = " ".join(str(schema.get("patched")).split())
        diff = _diff(name, schema["dialects"], dialects_of(specs))
        yield Note(
            f"schema {name}: TRL changed it; kept, as it is patched ({reason}). Review it, then bring "
            "its `origin` up to date",
            diff,
            schema=name,
        )


def _taken(schema: Mapping[str, Any] | None) -> Any:
    return None if schema is None else {"names": schema["origin"].get("names"), "dialects": schema["dialects"]}


def _diff(name: str, old: Any, new: Any) -> str:
    before, after = (dump_yaml(data).splitlines() if data is not None else [] for data in (old, new))
    return "\n".join(difflib.unified_diff(before, after, f"{name} (registry)", f"{name} (TRL)", lineterm=""))
