"""One registry directory, the packaged one or a project's own: its files, read when they are asked for.

Finds, reads and validates; how two directories are laid over one another is `loader`'s.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from rgw.errors import RegistryError
from rgw.registry.list_files import call_marker_patterns, read_call_markers, read_fingerprints, read_templates
from rgw.registry.model import CallMarker, RegisteredTemplate, Schema
from rgw.registry.schema_file import read_schema, schema_patterns
from rgw.registry.yaml_reading import Located, read_yaml

SCHEMAS = "schemas"
TEMPLATES = "templates.yaml"
CALL_MARKERS = "call_markers.yaml"
FINGERPRINTS = "fingerprints.yaml"
UPSTREAM_LOCK = "upstream.lock.yaml"

_FILES = (TEMPLATES, CALL_MARKERS, FINGERPRINTS, UPSTREAM_LOCK)


class Layer(StrEnum):
    """Where an entry of the registry comes from."""

    PACKAGED = "packaged"
    OVERLAY = "overlay"


@dataclass(frozen=True, slots=True)
class RegistryFile:
    """A file of a registry; messages call it `label`."""

    path: Path
    label: str

    def read(self) -> Located:
        """The content.

        Raises:
            RegistryError: The file cannot be read or is not YAML.
        """
        return read_yaml(self.path, self.label)


class SchemaFiles(Mapping[str, Schema]):
    """Schemas by name, each read from its file on first use."""

    def __init__(self, files: Mapping[str, RegistryFile]) -> None:
        self._files = files
        self._schemas: dict[str, Schema] = {}

    def __getitem__(self, name: str) -> Schema:
        if name not in self._schemas:
            self._schemas[name] = read_schema(self._files[name].read(), name)
        return self._schemas[name]

    def __contains__(self, name: object) -> bool:
        return name in self._files

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


@dataclass(frozen=True, slots=True)
class RegistryLayer:
    """A registry directory.

    Attributes:
        layer: Which one it is.
        files: The files that are there, by name.
        schema_files: Those of the schemas, by the schema's name.
        templates: The templates, by sha256.
    """

    layer: Layer
    files: Mapping[str, RegistryFile]
    schema_files: Mapping[str, RegistryFile]
    templates: Mapping[str, RegisteredTemplate]

    def call_markers(self) -> tuple[CallMarker, ...]:
        """What tool calls look like."""
        return read_call_markers(self.files[CALL_MARKERS].read()) if CALL_MARKERS in self.files else ()

    def fingerprints(self) -> dict[str, str]:
        """The line fingerprint of each template that has one, by sha256."""
        return read_fingerprints(self.files[FINGERPRINTS].read()) if FINGERPRINTS in self.files else {}

    def validate(self) -> None:
        """Read every file and compile every regular expression.

        Raises:
            RegistryError: Something is not valid.
        """
        for name, file in self.schema_files.items():
            document = file.read()
            read_schema(document, name)
            _compile_all(schema_patterns(document))
        if self.call_markers():
            _compile_all(call_marker_patterns(self.files[CALL_MARKERS].read()))
        for sha256 in self.fingerprints():
            if sha256 not in self.templates:
                label = self.files[FINGERPRINTS].label
                raise RegistryError(f"{label}: {sha256[:12]} is not in {TEMPLATES}", "remove its fingerprint")

    def refuse_unused_schemas(self) -> None:
        """Raise `RegistryError` for a schema that no template has and that does not say why."""
        used = {template.schema for template in self.templates.values()}
        for name in self.schema_files.keys() - used:
            document = self.schema_files[name].read()
            if read_schema(document, name).usable_by_name is None:
                raise document.error(
                    f"no template in {TEMPLATES} has the schema {name!r}",
                    "register one, or say in 'usable_by_name' why there is none",
                )


def open_layer(layer: Layer, root: Path, *, label: str, schemas_below: Collection[str] = ()) -> RegistryLayer:
    """Find the files of a registry directory and read its templates.

    Args:
        layer: Which one it is.
        root: The directory.
        label: What messages call the directory.
        schemas_below: The schemas of the layers below, which templates may name too.

    Raises:
        RegistryError: The directory cannot be read, has a file that would be ignored, or its templates are not valid.
    """
    try:
        files = {path.name: RegistryFile(path, f"{label}/{path.name}") for path in _yaml_files(root)}
        schema_paths = _yaml_files(root / SCHEMAS) if (root / SCHEMAS).exists() else []
    except OSError as error:
        raise RegistryError(
            f"{label}: cannot be read: {error.strerror or error}", "name a registry directory"
        ) from error
    for name, file in files.items():
        if name not in _FILES:
            raise RegistryError(f"{file.label}: not a file of a registry", f"known: {', '.join(_FILES)}")
    schema_files = {path.stem: RegistryFile(path, f"{label}/{SCHEMAS}/{path.name}") for path in schema_paths}
    for file in schema_files.values():
        if file.path.suffix != ".yaml":
            raise RegistryError(f"{file.label}: not a file of a registry", "the names of schema files end in .yaml")
    templates = read_templates(files[TEMPLATES].read(), {*schemas_below, *schema_files}) if TEMPLATES in files else {}
    return RegistryLayer(layer, files, schema_files, templates)


def _yaml_files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.iterdir() if path.suffix in (".yaml", ".yml"))


def _compile_all(patterns: Iterator[Located] | list[Located]) -> None:
    import regex

    for pattern in patterns:
        try:
            regex.compile(pattern.text(), regex.DOTALL)
        except regex.error as error:
            raise pattern.error(f"{pattern.name} is not a regular expression: {error}") from error
