"""Finds the packaged registry, lays a project's own over it, and answers what is registered.

Loads on every start of the command line, and so imports nothing heavy.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path

from rgw.errors import RegistryError, UsageError
from rgw.registry.journal import recover
from rgw.registry.layer import SCHEMAS, TEMPLATES, Layer, RegistryLayer, read_layer
from rgw.registry.model import CallMarker, RegisteredTemplate, Schema

PACKAGED_LABEL = "registry"
"""What messages call the packaged registry, wherever it is installed."""


@dataclass(frozen=True, eq=False)
class Registry:
    """What is registered: the packaged registry with at most one overlay over it.

    Attributes:
        layers: The registry directories, the packaged one first; a later one wins.
    """

    layers: tuple[RegistryLayer, ...]
    _checked: set[str] = field(default_factory=set, init=False, repr=False)

    @cached_property
    def schemas(self) -> Mapping[str, Schema]:
        """The schemas by name, sorted."""
        names = sorted({name for layer in self.layers for name in layer.schemas})
        return {name: self._layer_with(name).schemas[name] for name in names}

    @cached_property
    def schema_names(self) -> frozenset[str]:
        """The names of the schemas, none of which is read for it."""
        return frozenset(name for layer in self.layers for name in layer.schemas)

    @cached_property
    def templates(self) -> Mapping[str, RegisteredTemplate]:
        """The templates by the sha256 of their text."""
        return {sha256: template for layer in self.layers for sha256, template in layer.templates.items()}

    @cached_property
    def markers(self) -> tuple[CallMarker, ...]:
        """What a tool call looks like in each known format."""
        return tuple(marker for layer in self.layers for marker in layer.call_markers)

    @cached_property
    def call_markers(self) -> tuple[str, ...]:
        """The regular expressions of `markers`."""
        return tuple(marker.regex for marker in self.markers)

    def find_template(self, sha256: str) -> RegisteredTemplate | None:
        """The template with this hash, if it is registered."""
        found = (layer.templates.get(sha256) for layer in reversed(self.layers))
        return next(filter(None, found), None)

    def schema(self, name: str) -> Schema:
        """The schema of this name.

        Raises:
            UsageError: There is none.
            RegistryError: One of its patterns is not a regular expression.
        """
        if name not in self.schema_names:
            raise UsageError(f"there is no schema {name!r}", _suggestion(name, sorted(self.schema_names)))
        if name not in self._checked:
            self._layer_with(name).check_patterns(name)
            self._checked.add(name)
        return self._layer_with(name).schemas[name]

    def layer_of(self, name: str) -> Layer:
        """Where the schema of this name comes from."""
        return self._layer_with(name).layer

    def layer_of_template(self, sha256: str) -> Layer:
        """Where the entry of this template comes from."""
        return next(layer.layer for layer in reversed(self.layers) if sha256 in layer.templates)

    def fingerprints(self) -> Mapping[str, str]:
        """The line fingerprint of each template that has one, by sha256."""
        return self._fingerprints

    def digest(self) -> str:
        """A sha256 over what is registered: equal for equal content, however it is written down or layered."""
        content = {
            "schemas": {name: asdict(schema) for name, schema in self.schemas.items()},
            "templates": {sha256: asdict(template) for sha256, template in self.templates.items()},
            "call_markers": [asdict(marker) for marker in self.markers],
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def _layer_with(self, name: str) -> RegistryLayer:
        return next(layer for layer in reversed(self.layers) if name in layer.schemas)

    @cached_property
    def _fingerprints(self) -> Mapping[str, str]:
        return {sha256: value for layer in self.layers for sha256, value in layer.fingerprints().items()}


def load_registry(overlay: Path | None = None, *, packaged: Path | None = None) -> Registry:
    """Load what is registered, and validate it.

    Three things take long, and are left out where the installed registry is concerned, which passes `validate_registry`
    before each release: a schema or template is read when it is asked for, a schema's regular expressions are compiled
    when `Registry.schema` is asked for it, and the fingerprints are read when they are asked for.

    Args:
        overlay: A project's own registry directory; its schemas and templates win over packaged ones.
        packaged: The directory that stands for the packaged registry, whose schemas are all read; the installed one
            when absent.

    Raises:
        RegistryError: Something is not valid; the message names the file and the line.
    """
    lowest = _read_packaged(packaged) if packaged is not None else _installed()
    if overlay is None:
        return Registry((lowest,))
    recover(overlay)
    upper = read_layer(Layer.OVERLAY, overlay, label=str(overlay), schemas_below=lowest.schemas)
    upper.validate()
    return Registry((lowest, upper))


def validate_registry(registry: Registry) -> None:
    """Check what loading leaves out: that every regular expression compiles, and the fingerprints.

    Raises:
        RegistryError: Something is not valid; the message names the file and the line.
    """
    for layer in registry.layers:
        layer.validate()
        if layer.layer is Layer.PACKAGED:
            _require_use(layer)


def packaged_registry_path() -> Path:
    """The directory of the registry that comes with this package: in an installed wheel, or else in the checkout.

    Raises:
        RegistryError: It is in neither place.
    """
    package = Path(__file__).parents[1]
    for candidate in (package / "registry_data", package.parents[1] / "registry"):
        if (candidate / TEMPLATES).is_file():
            return candidate
    raise RegistryError("the registry that comes with rgw is missing", "reinstall rgw")


def _installed() -> RegistryLayer:
    root = packaged_registry_path()
    recover(root)
    return read_layer(Layer.PACKAGED, root, label=PACKAGED_LABEL, on_demand=True)


def _read_packaged(root: Path) -> RegistryLayer:
    recover(root)
    layer = read_layer(Layer.PACKAGED, root, label=PACKAGED_LABEL)
    _require_use(layer)
    return layer


def _require_use(layer: RegistryLayer) -> None:
    used = {template.schema for template in layer.templates.values()}
    for name, schema in layer.schemas.items():
        if name not in used and schema.usable_by_name is None:
            raise RegistryError(
                f"{PACKAGED_LABEL}/{SCHEMAS}/{name}.yaml:1: no template in {TEMPLATES} has this schema",
                "register one, or say in 'usable_by_name' why there is none",
            )


def _suggestion(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, known)
    return f"did you mean {' or '.join(close)}?" if close else "`rgw registry list` shows all"
