"""Of the real templates that write calls, nine in ten get a proved schema from their text alone."""

from __future__ import annotations

import csv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rgw.inference.inferring import LIMITS, infer
from rgw.inference.model import Inference
from rgw.templates.rendering import RenderPool

CONVERSATIONS = 20
LEAST_PROVED = 0.9


def test_nine_in_ten_templates_that_write_calls_get_a_proved_schema(corpus: Path) -> None:
    with (corpus / "index.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    chosen = [row for row in rows if (row["hub_confirmed"], row["has_tools"], row["render"]) == ("yes", "yes", "OK")]

    with RenderPool(2, limits=LIMITS) as pool, ThreadPoolExecutor(2) as executor:

        def inferred(row: dict[str, str]) -> Inference:
            text = (corpus / "templates" / row["file"]).read_bytes().decode("utf-8")
            return infer(text, conversations=CONVERSATIONS, pool=pool)

        inferences = list(executor.map(inferred, chosen))

    calling = [(row["sha256"], each) for row, each in zip(chosen, inferences, strict=True) if each.writes_calls]
    failed = {sha256[:12]: each.failure for sha256, each in calling if not each.proved}
    assert len(calling) > len(chosen) / 2
    assert len(failed) <= (1 - LEAST_PROVED) * len(calling), failed
    assert all(each.proof is not None and each.proof.carries_calls for _, each in calling if each.proved)
