"""Real chat templates are identified by their exact text, and only the registered ones are recognised."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from rgw.detection import DetectionStatus, detect
from rgw.registry.loader import load_registry
from rgw.templates.resolve import resolve


@pytest.fixture(scope="module")
def rows(corpus: Path) -> list[dict[str, str]]:
    with (corpus / "index.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_every_template_is_identified_by_its_exact_text(corpus: Path, rows: list[dict[str, str]]) -> None:
    different = []
    for row in rows:
        template = resolve(str(corpus / "templates" / row["file"])).effective
        assert template is not None, row["file"]
        # A .jinja file with other line ends than \n is another text in memory, where transformers has translated them.
        if "\r" not in read_exactly(corpus / "templates" / row["file"]) and template.sha256 != row["sha256"]:
            different.append(row["file"])
    assert different == []


def test_only_registered_templates_are_recognised(corpus: Path, rows: list[dict[str, str]]) -> None:
    registry = load_registry()
    detections = [detect(resolve(str(corpus / "templates" / row["file"])), registry) for row in rows]
    recognised = {
        detection.effective.sha256
        for detection in detections
        if detection.effective and detection.status is DetectionStatus.RECOGNISED
    }
    with_schema = {template.sha256 for template in registry.templates.values() if template.schema}
    assert recognised
    assert recognised == with_schema & {row["sha256"] for row in rows}


def read_exactly(path: Path) -> str:
    return path.read_bytes().decode("utf-8")
