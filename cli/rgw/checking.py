"""Whether a registry holds what it promises: it is valid, each schema reads its own samples, in linear time.

For people who write schemas. Prints nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rgw.derender import Derenderer
from rgw.derender.growth import require_linear
from rgw.drift.samples import misread
from rgw.errors import EngineError, RegistryError
from rgw.registry.loader import Registry, validate_registry
from rgw.registry.model import Schema


@dataclass(frozen=True, slots=True)
class SchemaCheck:
    """What came of checking one schema.

    Attributes:
        name: The schema's name.
        samples: How many samples it has.
        problems: What is wrong, each in one line.
        skipped: Why it could not be checked here; empty when it was.
    """

    name: str
    samples: int
    problems: tuple[str, ...] = ()
    skipped: str = ""


def check_registry(registry: Registry, *, growth: bool = False) -> Iterator[SchemaCheck]:
    """Check every schema of a registry.

    Args:
        registry: What to check.
        growth: Measure as well how the time to read grows, which takes seconds for each schema.

    Raises:
        RegistryError: A file of the registry is not valid.
    """
    validate_registry(registry)
    for schema in registry.schemas.values():
        yield _check(schema, growth=growth)


def _check(schema: Schema, *, growth: bool) -> SchemaCheck:
    try:
        derenderer = Derenderer(schema)
        problems = [problem for sample in schema.samples if (problem := misread(derenderer, sample))]
        if growth:
            require_linear(schema)
    except EngineError as error:
        return SchemaCheck(schema.name, len(schema.samples), skipped=str(error))
    except RegistryError as error:
        return SchemaCheck(schema.name, len(schema.samples), (str(error),))
    return SchemaCheck(schema.name, len(schema.samples), tuple(problems))
