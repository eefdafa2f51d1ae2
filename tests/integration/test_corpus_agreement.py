"""Where a real template is registered, the schema that is inferred from its text reads its turns alike."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from rgw.inference.agreement import agreement
from rgw.inference.inferring import infer, render_pool
from rgw.registry.loader import load_registry
from rgw.registry.model import RegisteredTemplate
from rgw.templates.rendering import PLACEHOLDER_TOKENS
from rgw.templates.texts import texts_in_folder

CONVERSATIONS = 40
REGISTRY = load_registry()
FIRST_OF_SCHEMA = {str(entry.schema): entry for entry in reversed(REGISTRY.templates.values()) if entry.schema}

NOT_INFERRED = frozenset(
    {
        "falcon_e",
        "hyperclovax",
        "llama4_json",
        "minimax_m3",
    }
)
"""Schemas of templates that inference finds no proved schema for: docs/inference.md says why."""


@pytest.fixture(scope="session")
def texts(corpus: Path) -> Mapping[str, str]:
    return texts_in_folder(corpus / "templates")


@pytest.mark.parametrize("entry", FIRST_OF_SCHEMA.values(), ids=list(FIRST_OF_SCHEMA))
def test_the_inferred_schema_reads_as_the_registered_one(entry: RegisteredTemplate, texts: Mapping[str, str]) -> None:
    if entry.sha256 not in texts:
        pytest.skip("its text is not in the corpus")
    template, registered = texts[entry.sha256], REGISTRY.schema(str(entry.schema))
    tokens = {**PLACEHOLDER_TOKENS, "eos_token": registered.turn.end[0]}
    with render_pool(tokens) as pool:
        inference = infer(template, tokens=tokens, conversations=CONVERSATIONS, pool=pool)
        assert inference.proved is (registered.name not in NOT_INFERRED), inference.failure
        if inference.schema is None or not inference.proved:
            return
        found = agreement(pool, template, inference.schema, registered, tokens=tokens, count=CONVERSATIONS)
    assert found.readings > 0
    assert not found.different, found.to_dict()["example"]
