"""`docs/registry.md` tells the truth: its example loads, and it describes every key that is read."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from rgw.errors import RegistryError
from rgw.registry.layer import Layer
from rgw.registry.loader import load_registry
from rgw.registry.model import CallMarker, LayoutRules, Origin, RegisteredTemplate, Sample, Schema, TurnRules

PAGE = (Path(__file__).parents[2] / "docs" / "registry.md").read_text("utf-8")
EXAMPLE = re.compile(r"^```yaml\n# (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture
def example(tmp_path: Path) -> Path:
    (tmp_path / "schemas").mkdir()
    files = dict(EXAMPLE.findall(PAGE))
    assert files.keys() == {"schemas/acme.yaml", "templates.yaml"}
    for name, content in files.items():
        (tmp_path / name).write_text(content, "utf-8")
    return tmp_path


def test_the_example_is_a_registry(example: Path) -> None:
    registry = load_registry(example)
    assert registry.layer_of("acme") is Layer.OVERLAY
    assert [template.variant for template in registry.templates.values() if template.schema == "acme"] == ["acme-1"]


def test_the_message_is_what_a_misspelt_key_gives(example: Path) -> None:
    schema = example / "schemas" / "acme.yaml"
    schema.write_text(schema.read_text("utf-8").replace("close_pattern", "close_patern"), "utf-8")
    (message,) = re.findall(r"^acme-registry/(.*)$", PAGE, re.MULTILINE)
    with pytest.raises(RegistryError) as raised:
        load_registry(example)
    assert str(raised.value) == f"{example}/{message}"


@pytest.mark.parametrize("record", [Schema, Origin, TurnRules, LayoutRules, Sample, RegisteredTemplate, CallMarker])
def test_every_key_is_described(record: Any) -> None:
    assert [field.name for field in fields(record) if f"`{field.name}`" not in PAGE] == []
