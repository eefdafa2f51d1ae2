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
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

from rgw.inference.inferring import infer

REPOSITORY = Path(__file__).parents[1]
PAGE = REPOSITORY / "docs" / "inference.md"
TABLE, FAILURES = "<!-- table -->", "<!-- failures -->"


def main() -> None:
    """Infer, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", type=Path, default=REPOSITORY / "build" / "inference.jsonl")
    options = parser.parse_args()
    options.results.parent.mkdir(parents=True, exist_ok=True)
    results = list(results_of(options.corpus, options.results, options.conversations, options.jobs))
    PAGE.write_text(page(PAGE.read_text("utf-8"), results, options.conversations), "utf-8")


def tool_templates(corpus: Path) -> list[dict[str, str]]:
    """The rows of the templates that mention tools, render, and whose bytes were confirmed against the hub."""
    with (corpus / "index.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [row for row in rows if (row["hub_confirmed"], row["has_tools"], row["render"]) == ("yes", "yes", "OK")]


def results_of(corpus: Path, kept: Path, conversations: int, jobs: int) -> Iterator[Mapping[str, Any]]:
    """The result of each template, from the file where it is there already."""
    known = {}
    if kept.exists():
        known = {result["sha256"]: result for result in map(json.loads, kept.read_text("utf-8").splitlines())}
    rows = tool_templates(corpus)
    todo = [row for row in rows if row["sha256"] not in known]
    with ProcessPoolExecutor(jobs) as executor, kept.open("a", encoding="utf-8") as file:
        for number, result in enumerate(executor.map(partial(result_of, corpus, conversations), todo), start=1):
            file.write(json.dumps(result) + "\n")
            file.flush()
            print(f"{number}/{len(todo)}  {told(result)}", file=sys.stderr)
            known[result["sha256"]] = result
    return iter(known[row["sha256"]] for row in rows)


def result_of(corpus: Path, conversations: int, row: Mapping[str, str]) -> dict[str, Any]:
    """What inference makes of one template."""
    text = (corpus / "templates" / row["file"]).read_bytes().decode("utf-8")
    start = process_time()
    inference = infer(text, conversations=conversations)
    return {
        "sha256": row["sha256"],
        "format": row["tool_format"],
        "repository": row["model_repo"],
        "writes_calls": inference.writes_calls,
        "proved": inference.proved,
        "failure": inference.failure,
        "notation": inference.notation,
        "seconds": round(process_time() - start, 1),
    }


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
    return _between(text, FAILURES, "\n".join(_failures(calling)))


def _table(results: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    formats: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for result in results:
        formats[result["format"]].append(result)
    yield "| wire format | templates | proved |"
    yield "|---|---:|---:|"
    for name, found in sorted(formats.items(), key=lambda each: (-len(each[1]), each[0])):
        yield f"| {name} | {len(found)} | {sum(result['proved'] for result in found)} |"


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
