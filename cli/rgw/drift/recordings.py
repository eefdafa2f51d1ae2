"""The results of samples that a registry records: `sample_results.yaml`, read and written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from packaging.version import Version

from rgw.drift.lockfile import transformers_version
from rgw.drift.samples import Recording, sample_results
from rgw.errors import EngineError
from rgw.registry.layer import SAMPLE_RESULTS
from rgw.registry.model import Schema
from rgw.registry.yaml_reading import read_yaml
from rgw.registry.yaml_writing import dump_yaml

_HEADER = (
    "# What transformers' own parse_response returned for the samples of the schemas: a digest of each answer by one\n"
    "# of its question. Written by scripts/record_sample_results.py; `rgw check --transformers` compares.\n"
)


def read_recordings(root: Path, label: str) -> dict[str, list[Recording]]:
    """What a registry directory records, by schema; empty where it records nothing.

    Raises:
        RegistryError: The file is not valid.
    """
    if not (root / SAMPLE_RESULTS).exists():
        return {}
    document = read_yaml(root / SAMPLE_RESULTS, f"{label}/{SAMPLE_RESULTS}")
    found: dict[str, list[Recording]] = {}
    for entry in document.record(required=("recordings",))["recordings"].items():
        keys = entry.record(required=("transformers", "schemas"))
        for name, results in keys["schemas"].entries().items():
            answers = {question: answer.nonempty_text() for question, answer in results.entries().items()}
            found.setdefault(name, []).append(Recording(keys["transformers"].nonempty_text(), answers))
    return found


def record(schemas: Iterable[Schema], known: Mapping[str, list[Recording]]) -> str:
    """The text of `sample_results.yaml` with what the installed transformers returns beside what others did."""
    versions: dict[str, dict[str, dict[str, str]]] = {}
    for name, recordings in known.items():
        for recording in recordings:
            versions.setdefault(recording.transformers, {})[name] = dict(recording.results)
    versions[transformers_version()] = {schema.name: results for schema in schemas if (results := _results(schema))}
    return _HEADER + dump_yaml(
        {
            "recordings": [
                {
                    "transformers": version,
                    "schemas": {name: versions[version][name] for name in sorted(versions[version])},
                }
                for version in sorted(versions, key=Version)
            ]
        }
    )


def _results(schema: Schema) -> dict[str, str]:
    try:
        return {result.question: result.answer for result in sample_results(schema)}
    except EngineError:
        return {}
