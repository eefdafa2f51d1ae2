"""Prove schemas with very many conversations, and write the figures to docs/proof.md.

Block after block of 1,000 ordinary and 1,000 hostile conversations goes through every schema, each block with the next
of the templates that the schema is registered for. Results are kept in a file as they come, so that a run can go on
where one was interrupted; those of a schema that has changed since are made anew.

    python scripts/prove_long.py ../shared/corpus/templates --conversations 100000 --jobs 2
    python scripts/prove_long.py ../shared/corpus/templates --schema qwen3 --schema gemma4
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from rgw.proof.certificate import Check
from rgw.proof.proving import LARGEST_BLOCK, prove
from rgw.proof.roundtrip import Outcome
from rgw.proof.strict import PROOF_LIMITS
from rgw.registry.loader import Registry, load_registry
from rgw.templates.rendering import RenderPool
from rgw.templates.texts import texts_in_folder

REPOSITORY = Path(__file__).parents[1]
PAGE = REPOSITORY / "docs" / "proof.md"
TABLE = "<!-- long proofs -->"
_COLLECTED_RARELY = (100_000, 50, 100)
"""A block makes many small values that live until its end, and no cycles to speak of."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A schema, what it is now, and the templates that it is registered for."""

    name: str
    digest: str
    templates: tuple[str, ...]


def main() -> int:
    """Prove, then write the page; the exit code is 1 when anything was misread."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("templates", type=Path, help="a folder of .jinja files")
    parser.add_argument("--conversations", type=int, default=100_000, help="for each schema, half of them hostile")
    parser.add_argument("--schema", action="append", help="only this one")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", type=Path, default=REPOSITORY / "build" / "long_proofs.jsonl")
    options = parser.parse_args()
    options.results.parent.mkdir(parents=True, exist_ok=True)
    subjects = subjects_of(load_registry(), set(texts_in_folder(options.templates)), options.schema)
    blocks = -(-options.conversations // (2 * LARGEST_BLOCK))
    results = list(results_of(subjects, blocks, options.templates, options.results, options.jobs))
    PAGE.write_text(page(PAGE.read_text("utf-8"), results), "utf-8")
    return int(not all(result["proved"] for result in results))


def subjects_of(registry: Registry, available: set[str], chosen: Sequence[str] | None) -> list[Subject]:
    """The schemas with templates at hand, those of most templates first."""
    templates: defaultdict[str, list[str]] = defaultdict(list)
    for template in registry.templates.values():
        if template.schema and template.sha256 in available and (chosen is None or template.schema in chosen):
            templates[template.schema].append(template.sha256)
    subjects = [
        Subject(name, hashlib.sha256(repr(registry.schema(name)).encode()).hexdigest(), tuple(sorted(found)))
        for name, found in templates.items()
    ]
    return sorted(subjects, key=lambda subject: (-len(subject.templates), subject.name))


def results_of(
    subjects: Sequence[Subject], blocks: int, folder: Path, kept: Path, jobs: int
) -> Iterator[Mapping[str, Any]]:
    """The result of each block of each schema, from the file where it is there already."""
    lines = kept.read_text("utf-8").splitlines() if kept.exists() else []
    known = {(result["schema"], result["digest"], result["block"]): result for result in map(json.loads, lines)}
    current = {(subject.name, subject.digest) for subject in subjects}
    yield from (result for (name, digest, _), result in known.items() if (name, digest) in current)
    todo = [
        (block, [subject for subject in subjects if (subject.name, subject.digest, block) not in known])
        for block in range(blocks)
    ]
    with ProcessPoolExecutor(jobs, initializer=_collect_rarely) as executor, kept.open("a", encoding="utf-8") as file:
        for block, results in enumerate(executor.map(partial(prove_block, folder), todo), start=1):
            file.writelines(json.dumps(result) + "\n" for result in results)
            file.flush()
            misread = [result["schema"] for result in results if not result["proved"]]
            print(f"{block}/{blocks}  {len(results)} proved" + f", but {misread}" * bool(misread), file=sys.stderr)
            yield from results


def _collect_rarely() -> None:
    gc.freeze()
    gc.set_threshold(*_COLLECTED_RARELY)


def prove_block(folder: Path, task: tuple[int, Sequence[Subject]]) -> list[dict[str, Any]]:
    """One block of conversations, with each schema."""
    block, subjects = task
    return [_result(_texts(folder), subject, block) for subject in subjects]


def _result(texts: Mapping[str, str], subject: Subject, block: int) -> dict[str, Any]:
    sha256 = subject.templates[block % len(subject.templates)]
    schema = load_registry().schema(subject.name)
    proof = prove(texts[sha256], schema, count=LARGEST_BLOCK, seed=block, pool=_pool(), shrink=False)
    certificate = proof.to_dict()
    return {
        "schema": subject.name,
        "digest": subject.digest,
        "block": block,
        "template": sha256,
        "proved": proof.proved,
        "conversations": proof.conversations,
        "counts": certificate["counts"],
        "findings": certificate["findings"],
        "counterexample": certificate["counterexample"],
    }


@cache
def _texts(folder: Path) -> Mapping[str, str]:
    return texts_in_folder(folder)


@cache
def _pool() -> RenderPool:
    return RenderPool(limits=PROOF_LIMITS)


def page(text: str, results: Iterable[Mapping[str, Any]]) -> str:
    """The page with its table written anew."""
    before, _, rest = text.partition(TABLE)
    _, _, behind = rest.partition(TABLE)
    results = list(results)
    families = _table("schemas", lambda name: re.split("[^a-z]", name)[0], results)
    schemas = _table("schema", str, results)
    table = "\n".join([*families, "", "The same for each schema:", "", *schemas])
    return f"{before}{TABLE}\n\n{table}\n\n{TABLE}{behind}"


def _table(title: str, group: Callable[[str], str], results: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The figures of groups of schemas."""
    groups: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for result in results:
        groups[group(result["schema"])].append(result)
    rows = [_row(name, found) for name, found in groups.items()]
    yield f"| {title} | templates | conversations | turns read | exact | template lossy | flagged | silent |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for row in sorted(rows, key=lambda row: (-row.conversations, -row.templates, row.name)):
        yield row.written()
    yield _Row("all", *(sum(column) for column in zip(*(row.numbers() for row in rows), strict=True))).written()


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    templates: int
    conversations: int
    exact: int
    lossy: int
    flagged: int
    silent: int

    def numbers(self) -> tuple[int, ...]:
        return self.templates, self.conversations, self.exact, self.lossy, self.flagged, self.silent

    def written(self) -> str:
        turns = self.exact + self.lossy + self.flagged + self.silent
        numbers = (self.templates, self.conversations, turns, self.exact, self.lossy, self.flagged, self.silent)
        return f"| {self.name} | " + " | ".join(f"{number:,}" for number in numbers) + " |"


def _row(name: str, found: Sequence[Mapping[str, Any]]) -> _Row:
    counts = Counter[str]()
    for result in found:
        for check in Check:
            counts.update(result["counts"].get(check.value, {}))
    return _Row(
        name,
        len({result["template"] for result in found}),
        2 * sum(result["conversations"] for result in found),
        *(
            counts[outcome.value]
            for outcome in (Outcome.EXACT, Outcome.TEMPLATE_LOSSY, Outcome.FLAGGED, Outcome.SILENT)
        ),
    )


if __name__ == "__main__":
    sys.exit(main())
