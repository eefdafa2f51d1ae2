"""One registry directory, the packaged one or a project's own: finds its files, reads and validates them.

How two directories are laid over one another is `loader`'s.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from rgw.errors import RegistryError
from rgw.registry.list_files import call_marker_patterns, read_call_markers, read_fingerprints, read_templates
from rgw.registry.model import CallMarker, RegisteredTemplate, Schema
from rgw.registry.schema_file import read_schema, schema_patterns
from rgw.registry.yaml_reading import Located, parse_yaml, read_text, read_yaml

SCHEMAS = "schemas"
TEMPLATES = "templates.yaml"
CALL_MARKERS = "call_markers.yaml"
FINGERPRINTS = "fingerprints.yaml"
UPSTREAM_LOCK = "upstream.lock.yaml"
SAMPLE_RESULTS = "sample_results.yaml"

_LIST_OF_TEMPLATES = "templates:\n"
_TEMPLATE = re.compile(r"^- sha256: ([0-9a-f]{64})\n(?:  .*\n)*", re.MULTILINE)

_FILES = (TEMPLATES, CALL_MARKERS, FINGERPRINTS, UPSTREAM_LOCK, SAMPLE_RESULTS)


class Layer(StrEnum):
    """Where an entry of the registry comes from."""

    PACKAGED = "packaged"
    OVERLAY = "overlay"


@dataclass(frozen=True, slots=True)
class RegistryLayer:
    """A registry directory that was read.

    Attributes:
        layer: Which one it is.
        root: The directory.
        label: What messages call the directory.
        schemas: The schemas, by name.
        templates: The templates, by sha256.
        call_markers: What tool calls look like.
    """

    layer: Layer
    root: Path
    label: str
    schemas: Mapping[str, Schema]
    templates: Mapping[str, RegisteredTemplate]
    call_markers: tuple[CallMarker, ...]

    def fingerprints(self) -> dict[str, str]:
        """The line fingerprint of each template that has one, by sha256.

        Raises:
            RegistryError: The file is not valid.
        """
        document = _read(self.root, self.label, FINGERPRINTS)
        return read_fingerprints(document, self.templates) if document else {}

    def check_patterns(self, name: str) -> None:
        """Compile the regular expressions of the schema of this name.

        Raises:
            RegistryError: One of them is not a regular expression.
        """
        _compile_all(schema_patterns(_read_schema_file(self.root, self.label, name)))

    def validate(self) -> None:
        """Check what reading the directory left out: all templates, the fingerprints, that every pattern compiles.

        Raises:
            RegistryError: Something is not valid.
        """
        list(self.templates)
        self.fingerprints()
        for name in self.schemas:
            self.check_patterns(name)
        if document := _read(self.root, self.label, CALL_MARKERS):
            _compile_all(call_marker_patterns(document))


class SchemasOnDemand(Mapping[str, Schema]):
    """The schemas of a registry directory, each read from its file when it is first asked for."""

    def __init__(self, root: Path, label: str, names: Iterable[str]) -> None:
        self._root = root
        self._label = label
        self._schemas: dict[str, Schema | None] = dict.fromkeys(names)

    def __getitem__(self, name: str) -> Schema:
        schema = self._schemas[name]
        if schema is None:
            schema = read_schema(_read_schema_file(self._root, self._label, name), name)
            self._schemas[name] = schema
        return schema

    def __contains__(self, name: object) -> bool:
        return name in self._schemas

    def __iter__(self) -> Iterator[str]:
        return iter(self._schemas)

    def __len__(self) -> int:
        return len(self._schemas)


class TemplatesOnDemand(Mapping[str, RegisteredTemplate]):
    """The templates of a `templates.yaml`: one that is looked up is read alone, all of them when they are listed.

    That takes a file that is laid out as rgw writes it; any other is read whole at once.
    """

    def __init__(self, text: str, file: str, schemas: Collection[str]) -> None:
        self._text = text
        self._file = file
        self._schemas = schemas
        self._entries = {entry[1]: entry for entry in _TEMPLATE.finditer(text)}
        self._templates: dict[str, RegisteredTemplate] = {}
        if _LIST_OF_TEMPLATES + "".join(entry[0] for entry in self._entries.values()) != text:
            self._entries.clear()
            self._read_all()

    def __getitem__(self, sha256: str) -> RegisteredTemplate:
        if sha256 not in self._templates:
            entry = self._entries[sha256]
            lines_before = self._text.count("\n", len(_LIST_OF_TEMPLATES), entry.start())
            self._templates |= self._read(_LIST_OF_TEMPLATES + "\n" * lines_before + entry[0])
        return self._templates[sha256]

    def __contains__(self, sha256: object) -> bool:
        return sha256 in self._entries or sha256 in self._templates

    def __iter__(self) -> Iterator[str]:
        self._read_all()
        return iter(self._templates)

    def __len__(self) -> int:
        return len(self._entries or self._templates)

    def _read_all(self) -> None:
        if len(self._templates) < max(1, len(self._entries)):
            self._templates = self._read(self._text)

    def _read(self, text: str) -> dict[str, RegisteredTemplate]:
        return read_templates(parse_yaml(text, self._file), self._schemas)


def read_layer(
    layer: Layer, root: Path, *, label: str, schemas_below: Collection[str] = (), on_demand: bool = False
) -> RegistryLayer:
    """Read a registry directory, all but its fingerprints.

    Args:
        layer: Which one it is.
        root: The directory.
        label: What messages call the directory.
        schemas_below: The names of the schemas in the layers below, which templates may have too.
        on_demand: Read a schema or a template when it is first asked for, instead of now.

    Raises:
        RegistryError: The directory cannot be read, has a file that would be ignored, or something is not valid.
    """
    schemas: Mapping[str, Schema] = SchemasOnDemand(root, label, _schema_names(root, label))
    if not on_demand:
        schemas = dict(schemas)
    call_markers = _read(root, label, CALL_MARKERS)
    return RegistryLayer(
        layer,
        root,
        label,
        schemas,
        _templates(root, label, {*schemas_below, *schemas}, on_demand=on_demand),
        read_call_markers(call_markers) if call_markers else (),
    )


def _templates(
    root: Path, label: str, schemas: Collection[str], *, on_demand: bool
) -> Mapping[str, RegisteredTemplate]:
    if not (root / TEMPLATES).exists():
        return {}
    file = f"{label}/{TEMPLATES}"
    text = read_text(root / TEMPLATES, file)
    return TemplatesOnDemand(text, file, schemas) if on_demand else read_templates(parse_yaml(text, file), schemas)


def _schema_names(root: Path, label: str) -> list[str]:
    """The names of the schemas; a file that nothing would read is an error rather than ignored."""
    try:
        files = _yaml_files(root)
        schema_files = _yaml_files(root / SCHEMAS) if (root / SCHEMAS).exists() else []
    except OSError as error:
        reason = f"{label}: cannot be read: {error.strerror or error}"
        raise RegistryError(reason, "name the directory of a registry") from error
    for path in files:
        if path.name not in _FILES:
            raise RegistryError(f"{label}/{path.name}: not a file of a registry", f"those are {', '.join(_FILES)}")
    for path in schema_files:
        if path.suffix != ".yaml":
            raise RegistryError(
                f"{label}/{SCHEMAS}/{path.name}: not a file of a registry", "its name must end in .yaml"
            )
    return [path.stem for path in schema_files]


def _yaml_files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.iterdir() if path.suffix in {".yaml", ".yml"})


def _read(root: Path, label: str, name: str) -> Located | None:
    return read_yaml(root / name, f"{label}/{name}") if (root / name).exists() else None


def _read_schema_file(root: Path, label: str, name: str) -> Located:
    return read_yaml(root / SCHEMAS / f"{name}.yaml", f"{label}/{SCHEMAS}/{name}.yaml")


def _compile_all(patterns: Iterable[Located]) -> None:
    for pattern in patterns:
        try:
            re.compile(pattern.text(), re.DOTALL)
        except re.error:
            _compile_with_regex(pattern)


def _compile_with_regex(pattern: Located) -> None:
    """Leave it to the library that transformers uses: it knows more than `re`, but takes its time to be imported."""
    import regex

    try:
        regex.compile(pattern.text(), regex.DOTALL)
    except regex.error as error:
        raise pattern.error(f"{pattern.name} is not a regular expression: {error}") from error
