"""Every packaged pair whose template's text is in the corpus is proved, at a count that CI can afford."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from rgw.proof.proving import prove
from rgw.proof.strict import PROOF_LIMITS
from rgw.registry.loader import load_registry
from rgw.registry.model import RegisteredTemplate
from rgw.templates.rendering import RenderPool
from rgw.templates.texts import texts_in_folder

CONVERSATIONS = 60
REGISTRY = load_registry()
TEMPLATES = [template for template in REGISTRY.templates.values() if template.schema is not None]


@pytest.fixture(scope="session")
def texts(corpus: Path) -> Mapping[str, str]:
    return texts_in_folder(corpus / "templates")


@pytest.fixture(scope="session")
def pool() -> Iterator[RenderPool]:
    with RenderPool(limits=PROOF_LIMITS) as pool:
        yield pool


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: f"{template.variant}-{template.sha256[:8]}")
def test_a_registered_pair_is_proved(template: RegisteredTemplate, texts: Mapping[str, str], pool: RenderPool) -> None:
    if template.sha256 not in texts:
        pytest.skip("its text is not in the corpus")
    proof = prove(texts[template.sha256], REGISTRY.schema(str(template.schema)), count=CONVERSATIONS, pool=pool)
    assert proof.proved, proof.to_dict()["counterexample"] or proof.findings


def test_most_registered_templates_are_in_the_corpus(texts: Mapping[str, str]) -> None:
    assert sum(template.sha256 in texts for template in TEMPLATES) > len(TEMPLATES) / 2
