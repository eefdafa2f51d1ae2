"""Finds the packaged registry, lays a project's own over it, and answers what is registered.

What is read when: the templates at once, a schema on its first use, line fingerprints and call markers when asked for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from rgw.errors import RegistryError, UsageError
from rgw.registry.layer import TEMPLATES, Layer, RegistryLayer, SchemaFiles, open_layer
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

    @cached_property
    def schemas(self) -> Mapping[str, Schema]:
        """The schemas by name; each is read, and may raise `RegistryError`, on its first use."""
        files = {name: file for layer in self.layers for name, file in layer.schema_files.items()}
        return SchemaFiles(dict(sorted(files.items())))

    @cached_property
    def templates(self) -> Mapping[str, RegisteredTemplate]:
        """The templates by the sha256 of their text."""
        return {sha256: template for layer in self.layers for sha256, template in layer.templates.items()}

    @cached_property
    def markers(self) -> tuple[CallMarker, ...]:
        """What a tool call looks like in each known format."""
        return tuple(marker for layer in self.layers for marker in layer.call_markers())

    @cached_property
    def call_markers(self) -> tuple[str, ...]:
        """The regular expressions of `markers`."""
        return tuple(marker.regex for marker in self.markers)

    def find_template(self, sha256: str) -> RegisteredTemplate | None:
        """The template with this hash, if it is registered."""
        return self.templates.get(sha256)

    def schema(self, name: str) -> Schema:
        """The schema of this name.

        Raises:
            UsageError: There is none.
            RegistryError: Its file is not valid.
        """
        if name not in self.schemas:
            raise UsageError(f"there is no schema {name!r}", _suggestion(name, list(self.schemas)))
        return self.schemas[name]

    def layer_of(self, name: str) -> Layer:
        """Where the schema of this name comes from."""
        return next(layer.layer for layer in reversed(self.layers) if name in layer.schema_files)

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

    @cached_property
    def _fingerprints(self) -> Mapping[str, str]:
        return {sha256: value for layer in self.layers for sha256, value in layer.fingerprints().items()}


def load_registry(overlay: Path | None = None, *, packaged: Path | None = None) -> Registry:
    """Load what is registered.

    Args:
        overlay: A project's own registry directory; its schemas and templates win over packaged ones.
        packaged: The directory that stands for the packaged registry; the installed one when absent.

    Raises:
        RegistryError: A file is not valid. The overlay is validated whole; of the packaged registry, which is
            validated whole before it is released, only what is read.
    """
    layers = [_open_packaged(packaged or packaged_registry_path())]
    if overlay is not None:
        below = layers[0].schema_files
        layers.append(open_layer(Layer.OVERLAY, overlay, label=str(overlay), schemas_below=below))
        layers[-1].validate()
    return Registry(tuple(layers))


def validate_registry(registry: Registry) -> None:
    """Read every file of every layer and compile every regular expression.

    Raises:
        RegistryError: Something is not valid; the message names the file and the line.
    """
    for layer in registry.layers:
        layer.validate()


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


def _open_packaged(root: Path) -> RegistryLayer:
    layer = open_layer(Layer.PACKAGED, root, label=PACKAGED_LABEL)
    layer.refuse_unused_schemas()
    return layer


def _suggestion(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, known)
    return f"did you mean {' or '.join(close)}?" if close else "`rgw registry list` shows all"
