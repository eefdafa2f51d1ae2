"""`rgw.lock`: the models that a project uses as they were, and what read them. Makes, writes and reads it.

The file is the project's own and is committed with it; `rgw check` says what has changed since.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

from rgw.derender.native import digest_of
from rgw.drift.samples import sample_results
from rgw.errors import EngineError, SourceError, UsageError
from rgw.registry.loader import Registry
from rgw.registry.model import Schema
from rgw.registry.schema_file import SHA256
from rgw.registry.yaml_reading import Located, read_yaml
from rgw.registry.yaml_writing import dump_yaml
from rgw.templates.model import EMBEDDED_SOURCE, PROCESSOR_SOURCES, ChatTemplate, ResolvedTemplates, UnresolvedTemplates

LOCKFILE = "rgw.lock"
VERSION = 1
LOCK_AGAIN = "look at it, then take it over with `rgw lock`"

_HEADER = (
    "# Written by `rgw lock`: the models that this project uses, as they were. `rgw check` says what has changed.\n"
    "# Commit this file. To take over what has changed, run `rgw lock` again; to drop a model, remove its entry.\n"
)
_NOT_READ = frozenset({"title", "origin", "patched", "usable_by_name", "samples"})
"""What a schema says to people."""
_RESULT = r"[0-9a-f]{16}"
_COMMIT = r"[0-9a-f]{40}"


@dataclass(frozen=True, slots=True)
class LockedTemplate:
    """A chat template of a model as it was locked.

    Attributes:
        name: The template's name.
        source: The file that it was read from.
        sha256: Its identity.
        effective: It is the one that renders a conversation with tools.
        schema: The schema that it was registered for; `None` for none.
    """

    name: str
    source: str
    sha256: str
    effective: bool
    schema: str | None


@dataclass(frozen=True, slots=True)
class LockedModel:
    """A model as it was locked.

    Attributes:
        ref: The hub repository or local path.
        revision: The branch, tag or commit that is followed; `None` for the main branch, and for anything local.
        commit: The commit that it stood for; `None` for anything local.
        templates: Every chat template.
        native: A digest of the response template that it ships itself; `None` when none was locked.
        line: The line of its entry, counted from 1.
    """

    ref: str
    revision: str | None
    commit: str | None
    templates: tuple[LockedTemplate, ...]
    native: str | None = None
    line: int = 1


@dataclass(frozen=True, slots=True)
class LockedSchema:
    """A schema in use as it was locked.

    Attributes:
        digest: A digest of what reading with it depends on.
        results: What transformers returned for its samples: a digest of the answer by one of the question.
    """

    digest: str
    results: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lock:
    """The content of a lockfile.

    Attributes:
        registry: The digest of the registry.
        transformers: The version of transformers.
        models: The models, sorted by REF.
        schemas: The schemas that read them, by name.
    """

    registry: str
    transformers: str
    models: tuple[LockedModel, ...]
    schemas: dict[str, LockedSchema]


def template_key(template: ChatTemplate | LockedTemplate) -> tuple[str, str]:
    """What pairs a template with its successor: its name, and the source where that is not the tokenizer."""
    if template.source in PROCESSOR_SOURCES:
        return template.name, "processor"
    return template.name, "GGUF" if template.source == EMBEDDED_SOURCE else ""


def native_digest(resolved: ResolvedTemplates) -> str | None:
    """A digest of the response template that a model ships itself; `None` when it ships none."""
    native = resolved.native_response_template
    return digest_of(native) if native is not None else None


def schema_digest(schema: Schema) -> str:
    """A sha256 over what reading with a schema depends on.

    What a schema does not state is left out, so that a key that a later rgw knows changes no digest.
    """
    return hashlib.sha256(json.dumps(_stated(schema)).encode()).hexdigest()


def _stated(record: Any) -> dict[str, Any]:
    """The fields of a record that differ from their defaults."""
    stated = {}
    for field_ in fields(record):
        value = getattr(record, field_.name)
        default = field_.default_factory() if field_.default_factory is not MISSING else field_.default
        if value != default and field_.name not in _NOT_READ:
            stated[field_.name] = _stated(value) if is_dataclass(value) else value
    return stated


def lock_models(
    resolved: Iterable[tuple[str | None, ResolvedTemplates | UnresolvedTemplates]],
    registry: Registry,
    *,
    kept: Sequence[LockedModel] = (),
) -> Lock:
    """Lock models as they are.

    Args:
        resolved: What each REF resolved to, with the revision that is followed.
        registry: What the templates are registered in.
        kept: Models that were locked before and stay as they are, unless they are among `resolved`.

    Raises:
        SourceError: One of them could not be read, or has no chat template: it cannot be locked.
    """
    models = {model.ref: model for model in kept}
    for revision, result in resolved:
        models[result.ref] = _locked(revision, result, registry)
    used = {template.schema for model in models.values() for template in model.templates if template.schema}
    return Lock(
        registry=registry.digest(),
        transformers=transformers_version(),
        models=tuple(models[ref] for ref in sorted(models)),
        schemas={name: _locked_schema(registry.schema(name)) for name in sorted(used)},
    )


def read_lock(path: Path) -> Lock:
    """Read a lockfile.

    Raises:
        SourceError: There is none.
        UsageError: It is of another version.
        RegistryError: It is not valid; the message names the line.
    """
    if not path.exists():
        raise SourceError(f"{path}: no such file", "write it with `rgw lock REF...`")
    keys = read_yaml(path, str(path)).record(required=("version", "registry", "transformers", "models", "schemas"))
    if keys["version"].plain() != VERSION:
        raise UsageError(
            f"{path}:{keys['version'].line}: version {keys['version'].plain()} is not known",
            "use the rgw that wrote the file, or write it anew with `rgw lock`",
        )
    schemas = {name: _read_schema(entry) for name, entry in keys["schemas"].entries().items()}
    models = [_read_model(entry, schemas) for entry in keys["models"].items()]
    _refuse_doubles(keys["models"].items(), models)
    return Lock(
        registry=keys["registry"].matching(SHA256, "64 lower-case hexadecimal digits"),
        transformers=keys["transformers"].nonempty_text(),
        models=tuple(models),
        schemas=schemas,
    )


def write_lock(path: Path, lock: Lock) -> None:
    """Write a lockfile, all of it or nothing: the same lock always gives the same bytes.

    Raises:
        SourceError: It cannot be written.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
    try:
        draft.write_text(_HEADER + dump_yaml(lock_to_dict(lock)), encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise SourceError(
            f"{path} could not be written: {error.strerror or error}", "name a file that can be"
        ) from error


def lock_to_dict(lock: Lock) -> dict[str, Any]:
    """The lock as plain data, in the form of the file."""
    return {
        "version": VERSION,
        "registry": lock.registry,
        "transformers": lock.transformers,
        "models": [_model_to_dict(model) for model in lock.models],
        "schemas": {name: asdict(schema) for name, schema in lock.schemas.items()},
    }


def transformers_version() -> str:
    """The version of the installed transformers."""
    from importlib.metadata import version

    return version("transformers")


def _locked(revision: str | None, resolved: ResolvedTemplates | UnresolvedTemplates, registry: Registry) -> LockedModel:
    if isinstance(resolved, UnresolvedTemplates):
        raise SourceError(f"not locked: {resolved.message}", resolved.fix, resolved.obstacle)
    if not resolved.templates:
        raise SourceError(f"not locked: {resolved.ref} has no chat template", "leave it out")
    return LockedModel(
        ref=resolved.ref,
        revision=revision,
        native=native_digest(resolved),
        commit=resolved.revision,
        templates=tuple(
            LockedTemplate(
                template.name,
                template.source,
                template.sha256,
                template.effective,
                registered_schema(registry, template.sha256),
            )
            for template in resolved.templates
        ),
    )


def registered_schema(registry: Registry, sha256: str) -> str | None:
    """The schema that a template is registered for."""
    registered = registry.find_template(sha256)
    return registered.schema if registered else None


def _locked_schema(schema: Schema) -> LockedSchema:
    try:
        results = {result.question: result.answer for result in sample_results(schema)}
    except EngineError:
        results = {}
    return LockedSchema(schema_digest(schema), results)


def _model_to_dict(model: LockedModel) -> dict[str, Any]:
    return {
        "ref": model.ref,
        **({"revision": model.revision} if model.revision else {}),
        **({"commit": model.commit} if model.commit else {}),
        **({"native_response_template": model.native} if model.native else {}),
        "templates": [asdict(template) for template in model.templates],
    }


def _read_model(entry: Located, schemas: dict[str, LockedSchema]) -> LockedModel:
    keys = entry.record(required=("ref", "templates"), optional=("revision", "commit", "native_response_template"))
    native = keys.get("native_response_template")
    return LockedModel(
        ref=keys["ref"].nonempty_text(),
        revision=keys["revision"].nonempty_text() if "revision" in keys else None,
        commit=keys["commit"].matching(_COMMIT, "a full commit") if "commit" in keys else None,
        templates=tuple(_read_template(item, schemas) for item in keys["templates"].items()),
        native=native.matching(SHA256, "64 lower-case hexadecimal digits") if native else None,
        line=entry.line,
    )


def _read_template(entry: Located, schemas: dict[str, LockedSchema]) -> LockedTemplate:
    keys = entry.record(required=("name", "source", "sha256", "effective", "schema"))
    schema = None if keys["schema"].is_null() else keys["schema"].nonempty_text()
    if schema is not None and schema not in schemas:
        raise keys["schema"].error(f"{schema!r} is not under 'schemas'", "write the file anew with `rgw lock`")
    return LockedTemplate(
        name=keys["name"].text(),
        source=keys["source"].nonempty_text(),
        sha256=keys["sha256"].matching(SHA256, "64 lower-case hexadecimal digits"),
        effective=keys["effective"].flag(),
        schema=schema,
    )


def _read_schema(entry: Located) -> LockedSchema:
    keys = entry.record(required=("digest", "results"))
    return LockedSchema(
        keys["digest"].matching(SHA256, "64 lower-case hexadecimal digits"),
        {question: answer.matching(_RESULT, "16 digits") for question, answer in keys["results"].entries().items()},
    )


def _refuse_doubles(entries: Sequence[Located], models: Sequence[LockedModel]) -> None:
    seen: dict[str, int] = {}
    for entry, model in zip(entries, models, strict=True):
        if model.ref in seen:
            raise entry.error(f"{model.ref} is locked in line {seen[model.ref]} already", "remove one of the two")
        seen[model.ref] = entry.line
