"""Infers a schema for each tool template of a folder, from its text alone, and writes the results to docs/inference.md.

The folder holds an `index.tsv` with the columns `file`, `sha256`, `hub_confirmed`, `has_tools`, `render`, `tool_format`
and `model_repo`, and the texts under `templates/`. The index chooses the templates and names their wire formats in the
table; inference is given nothing but the text. Results are kept in a file as they come, so that a run can go on where
one was interrupted.

    python scripts/infer_corpus.py ../shared/corpus --jobs 2
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from rgw.inference.agreement import agreement
from rgw.inference.inferring import infer, render_pool
from rgw.inference.model import Inference
from rgw.registry.loader import load_registry
from rgw.registry.model import RegisteredTemplate
from rgw.templates.rendering import PLACEHOLDER_TOKENS

REPOSITORY = Path(__file__).parents[1]
PAGE = REPOSITORY / "docs" / "inference.md"
TABLE, FAILURES, AGREEMENT, TIME = "<!-- table -->", "<!-- failures -->", "<!-- agreement -->", "<!-- time -->"

PROOF_CONVERSATIONS = 200
"""As many as `rgw prove` makes unless it is told otherwise."""

SLOWEST = 10


def main() -> None:
    """Infer, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--agreement", choices=["first", "all"], default="all", help="templates of a schema to compare")
    parser.add_argument("--results", type=Path, default=REPOSITORY / "build" / "inference.jsonl")
    options = parser.parse_args()
    options.results.parent.mkdir(parents=True, exist_ok=True)
    results = list(results_of(options))
    PAGE.write_text(page(PAGE.read_text("utf-8"), results, options.conversations), "utf-8")


def tool_templates(corpus: Path) -> list[dict[str, str]]:
    """The rows of the templates that mention tools, render, and whose bytes were confirmed against the hub."""
    with (corpus / "index.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [row for row in rows if (row["hub_confirmed"], row["has_tools"], row["render"]) == ("yes", "yes", "OK")]


def results_of(options: argparse.Namespace) -> Iterator[Mapping[str, Any]]:
    """The result of each template, from the file where it is there already."""
    known, kept = {}, options.results
    if kept.exists():
        known = {result["sha256"]: result for result in map(json.loads, kept.read_text("utf-8").splitlines())}
    rows = tool_templates(options.corpus)
    compared = registered(rows, only_first=options.agreement == "first")
    todo = [row for row in rows if row["sha256"] not in known]
    make = partial(result_of, options.corpus, options.conversations, compared)
    with ProcessPoolExecutor(options.jobs) as executor, kept.open("a", encoding="utf-8") as file:
        for number, result in enumerate(executor.map(make, todo), start=1):
            file.write(json.dumps(result) + "\n")
            file.flush()
            print(f"{number}/{len(todo)}  {told(result)}", file=sys.stderr)
            known[result["sha256"]] = result
    return iter(known[row["sha256"]] for row in rows)


def registered(rows: Iterable[Mapping[str, str]], *, only_first: bool) -> dict[str, str]:
    """The names of the schemas of the templates to compare with the registry, by sha256."""
    templates = load_registry().templates
    schemas = {row["sha256"]: str(templates[row["sha256"]].schema) for row in rows if _has_schema(row, templates)}
    if only_first:
        return {sha256: name for name, sha256 in {name: sha256 for sha256, name in reversed(schemas.items())}.items()}
    return schemas


def _has_schema(row: Mapping[str, str], templates: Mapping[str, RegisteredTemplate]) -> bool:
    return row["sha256"] in templates and templates[row["sha256"]].schema is not None


def result_of(corpus: Path, conversations: int, compared: Mapping[str, str], row: Mapping[str, str]) -> dict[str, Any]:
    """What inference makes of one template."""
    text = (corpus / "templates" / row["file"]).read_bytes().decode("utf-8")
    started, used = perf_counter(), _processor_seconds()
    with TemporaryDirectory() as nothing_remembered:
        os.environ["XDG_CACHE_HOME"] = nothing_remembered
        inference = infer(text, conversations=conversations)
    processor_seconds, seconds = _processor_seconds() - used, perf_counter() - started
    return {
        "sha256": row["sha256"],
        "format": row["tool_format"],
        "repository": row["model_repo"],
        "writes_calls": inference.writes_calls,
        "proved": inference.proved,
        "failure": inference.failure,
        "notation": inference.notation,
        "rounds": inference.rounds,
        "processor_seconds": round(processor_seconds, 1),
        "seconds": round(seconds, 1),
        "agreement": agreement_of(text, inference, compared.get(row["sha256"])),
    }


def agreement_of(text: str, inference: Inference, name: str | None) -> dict[str, Any] | None:
    """Whether the registered schema of this name reads the turns of its proof alike."""
    if name is None or not inference.proved:
        return None
    registered = load_registry().schema(name)
    tokens = PLACEHOLDER_TOKENS
    if not {*registered.turn.end} & {*_end_of(inference)}:
        tokens = {**PLACEHOLDER_TOKENS, "eos_token": registered.turn.end[0]}
        inference = infer(text, tokens=tokens, conversations=PROOF_CONVERSATIONS)
    if inference.schema is None or not inference.proved:
        return None
    with render_pool(tokens) as pool:
        found = agreement(pool, text, inference.schema, registered, tokens=tokens, count=PROOF_CONVERSATIONS)
    return found.to_dict()


def _end_of(inference: Inference) -> tuple[str, ...]:
    return inference.schema.turn.end if inference.schema is not None else ()


def _processor_seconds() -> float:
    """What this process and its finished workers have used."""
    own, workers = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + workers.ru_utime + workers.ru_stime


def told(result: Mapping[str, Any]) -> str:
    """One line for a person who waits."""
    verdict = "proved" if result["proved"] else f"not proved: {result['failure']}"
    return f"{result['sha256'][:12]}  {result['format']}  {verdict}"


def page(text: str, results: Sequence[Mapping[str, Any]], conversations: int) -> str:
    """The page with its table and its list of failures written anew."""
    calling = [result for result in results if result["writes_calls"]]
    proved = sum(result["proved"] for result in calling)
    head = (
        f"{len(results)} templates mention tools, render, and were confirmed against the hub; {len(calling)} of them"
        f" write the calls of a turn. {proved} of these ({proved / len(calling):.1%}) get a proved candidate, with"
        f" {conversations} ordinary and as many hostile conversations each.\n\n"
    )
    text = _between(text, TABLE, head + "\n".join(_table(calling)))
    text = _between(text, AGREEMENT, "\n".join(_agreement(results)))
    text = _between(text, TIME, "\n".join(_time(results)))
    return _between(text, FAILURES, "\n".join(_failures(calling)))


def _table(results: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    formats: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for result in results:
        formats[result["format"]].append(result)
    yield "| wire format | templates | proved |"
    yield "|---|---:|---:|"
    for name, found in sorted(formats.items(), key=lambda each: (-len(each[1]), each[0])):
        yield f"| {name} | {len(found)} | {sum(result['proved'] for result in found)} |"


def _agreement(results: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    compared = [result for result in results if result["agreement"] is not None]
    whole = [result for result in compared if not result["agreement"]["different"]]
    total = {key: sum(result["agreement"][key] for result in compared) for key in ("readings", "same", "not_carried")}
    schemas = {result["agreement"]["schema"] for result in compared}
    yield (
        f"{len(compared)} proved templates that are registered were compared, with {len(schemas)} schemas. On"
        f" {len(whole)} of them the two agree on every reading; of all {total['readings']:,} readings"
        f" {total['same']:,} are the same,"
        f" {total['not_carried']:,} differ only in what the template does not write, and"
        f" {total['readings'] - total['same'] - total['not_carried']:,} differ otherwise."
    )
    others = [result for result in compared if result["agreement"]["different"]]
    if others:
        yield ""
        yield "| template | registered schema | readings | of these different |"
        yield "|---|---|---:|---:|"
    for result in others:
        found = result["agreement"]
        name = f"`{result['sha256'][:12]}` {result['repository']}"
        yield f"| {name} | {found['schema']} | {found['readings']:,} | {found['different']:,} |"


def _time(results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    slowest = sorted(results, key=lambda each: -each["processor_seconds"])
    used = [result["processor_seconds"] for result in slowest]
    yield (
        f"A template takes {mean(used):.1f} s of processor time on average, workers included, and {used[0]:.1f} s at"
        f" most; {median(result['seconds'] for result in results):.1f} s of wall-clock time at the median of a run"
        " beside other work. The slowest:"
    )
    yield ""
    yield "| template | wire format | processor time | wall-clock time | candidates |"
    yield "|---|---|---:|---:|---:|"
    for result in slowest[:SLOWEST]:
        name = f"`{result['sha256'][:12]}` {result['repository']}"
        times = f"{result['processor_seconds']:.1f} s | {result['seconds']:.1f} s"
        yield f"| {name} | {result['format']} | {times} | {result['rounds']} |"


def _failures(results: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    yield "| template | wire format | why |"
    yield "|---|---|---|"
    for result in sorted(results, key=lambda each: (each["format"], each["sha256"])):
        if not result["proved"]:
            why = result["failure"].replace("|", "\\|")
            yield f"| `{result['sha256'][:12]}` {result['repository']} | {result['format']} | {why} |"


def _between(text: str, marker: str, content: str) -> str:
    before, _, rest = text.partition(marker)
    _, _, behind = rest.partition(marker)
    return f"{before}{marker}\n{content}\n{marker}{behind}"


if __name__ == "__main__":
    main()
