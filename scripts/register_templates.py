"""Grow the packaged registry from a folder of chat templates: register those that a schema proves to read.

The folder holds an `index.tsv` with the columns `file`, `sha256`, `family`, `kind`, `hub_confirmed`, `model_repo` and
`all_models`, and the texts under `templates/`. Only verbatim templates whose bytes were confirmed against the hub are
registered; no text is kept, only its hash, its fingerprints and the repositories that serve it.

With `--behaviours` nothing is registered: the registered templates whose text lies anywhere below the folder get the
fingerprint of their behaviour, where they have none of the current suite of probes.

    python scripts/register_templates.py ../shared/corpus --schema qwen3 --family qwen3 --family qwen2.5
    python scripts/register_templates.py ../shared/corpus --schema new --schema-file drafts/new.yaml --file x.jinja
    python scripts/register_templates.py ../shared/corpus --without-schema "drops tool calls" --file x.jinja
    python scripts/register_templates.py ../shared/corpus --behaviours
"""

from __future__ import annotations

import argparse
import csv
import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from rgw.proof.behaviour import SUITE, behaviour_of
from rgw.proof.proving import prove
from rgw.registry.journal import replace_files
from rgw.registry.loader import Registry, load_registry, packaged_registry_path
from rgw.registry.model import Schema
from rgw.registry.schema_file import read_schema
from rgw.registry.yaml_reading import read_yaml
from rgw.registry.yaml_writing import dump_yaml
from rgw.templates.rendering import RenderPool
from rgw.templates.similarity import line_fingerprint
from rgw.templates.texts import texts_in_folder

REPOSITORIES_KEPT = 12


def main() -> int:
    """Prove the chosen templates and register those that prove; the exit code is 1 when any does not."""
    arguments = _arguments()
    if arguments.behaviours:
        _add_behaviours(arguments.corpus)
        return 0
    rows = list(_chosen(arguments))
    registry = load_registry()
    schema = _schema(arguments, registry)
    additions: list[tuple[dict[str, Any], str]] = []
    unproved = 0
    with RenderPool() as pool:
        for row in rows:
            text = (arguments.corpus / "templates" / row["file"]).read_bytes().decode()
            if row["sha256"] in registry.templates and not arguments.again:
                continue
            if schema is not None:
                proof = prove(text, schema, count=arguments.conversations, pool=pool)
                verdict = "proved" if proof.proved else "NOT PROVED"
                print(f"{verdict:10} {row['sha256'][:12]} {row['model_repo']}", flush=True)
                if not proof.proved:
                    unproved += 1
                    continue
            entry = _entry(row, arguments)
            if behaviour := behaviour_of(pool, text):
                entry["behaviour"] = str(behaviour)
            additions.append((entry, line_fingerprint(text)))
    if additions and not arguments.dry_run:
        _add(additions, arguments.schema_file)
    return int(unproved > 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--schema")
    what.add_argument("--without-schema", metavar="REASON")
    what.add_argument("--behaviours", action="store_true")
    parser.add_argument("--schema-file", type=Path, help="the schema, when it is not in the registry yet; it is added")
    parser.add_argument("--family", action="append", default=[], help="rows of this family")
    parser.add_argument("--file", action="append", default=[], help="this row")
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--again", action="store_true", help="also those that are registered already")
    parser.add_argument("--dry-run", action="store_true")
    return parser.parse_args()


def _schema(arguments: argparse.Namespace, registry: Registry) -> Schema | None:
    if arguments.schema_file is not None:
        return read_schema(read_yaml(arguments.schema_file, str(arguments.schema_file)), arguments.schema)
    return registry.schema(arguments.schema) if arguments.schema else None


def _chosen(arguments: argparse.Namespace) -> Iterator[dict[str, str]]:
    with (arguments.corpus / "index.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            wanted = row["family"] in arguments.family or row["file"] in arguments.file
            if wanted and row["hub_confirmed"] == "yes" and row["kind"] == "verbatim":
                yield row


def _entry(row: dict[str, str], arguments: argparse.Namespace) -> dict[str, Any]:
    repositories = [name.strip().partition(":")[0] for name in row["all_models"].split(",") if name.strip()]
    entry: dict[str, Any] = {
        "sha256": row["sha256"],
        "schema": arguments.schema,
        "variant": row["model_repo"].rpartition("/")[2].lower(),
        "family": row["family"],
        "repos": repositories[:REPOSITORIES_KEPT],
    }
    if arguments.without_schema:
        entry["reason"] = arguments.without_schema
    return entry


def _add(additions: list[tuple[dict[str, Any], str]], schema_file: Path | None) -> None:
    root = packaged_registry_path()
    with _locked(root):
        templates = yaml.safe_load((root / "templates.yaml").read_text(encoding="utf-8"))
        fingerprints = yaml.safe_load((root / "fingerprints.yaml").read_text(encoding="utf-8"))
        known = {entry["sha256"]: number for number, entry in enumerate(templates["templates"])}
        for entry, fingerprint in additions:
            if entry["sha256"] in known:
                old = templates["templates"][known[entry["sha256"]]]
                old["schema"] = entry["schema"]
                old.update({"behaviour": entry["behaviour"]} if "behaviour" in entry else {})
                old.pop("reason", None)
                old.update({"reason": entry["reason"]} if "reason" in entry else {})
            else:
                templates["templates"].append(entry)
            fingerprints["fingerprints"][entry["sha256"]] = fingerprint
        templates["templates"].sort(key=lambda entry: (entry["schema"] or "~", entry["variant"], entry["sha256"]))
        fingerprints["fingerprints"] = dict(sorted(fingerprints["fingerprints"].items()))
        fingerprints["fingerprints"] = dict(sorted(fingerprints["fingerprints"].items()))
        files = {"templates.yaml": dump_yaml(templates), "fingerprints.yaml": dump_yaml(fingerprints)}
        if schema_file is not None:
            files[f"schemas/{schema_file.name}"] = schema_file.read_text(encoding="utf-8")
        replace_files(root, files)


def _add_behaviours(folder: Path) -> None:
    """Fill in what the registered templates behave like, for those whose text is in the folder."""
    texts = texts_in_folder(folder)
    root = packaged_registry_path()
    current = f"{SUITE}-"
    with RenderPool() as pool:
        behaviours = {
            template.sha256: behaviour_of(pool, texts[template.sha256])
            for template in load_registry().templates.values()
            if template.sha256 in texts and not (template.behaviour or "").startswith(current)
        }
    with _locked(root):
        templates = yaml.safe_load((root / "templates.yaml").read_text(encoding="utf-8"))
        for entry in templates["templates"]:
            if behaviour := behaviours.get(entry["sha256"]):
                entry["behaviour"] = str(behaviour)
        replace_files(root, {"templates.yaml": dump_yaml(templates)})
    print(f"{len(behaviours)} templates were rendered")


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    """Hold the directory of the schemas: files are replaced, and replacing them holds the registry's own directory."""
    directory = os.open(root / "schemas", os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)


if __name__ == "__main__":
    sys.exit(main())
