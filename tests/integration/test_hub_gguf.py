"""GGUF repositories: the template that the hub has read out of their files, and whether the base model has it too."""

from __future__ import annotations

from typing import Any

import pytest

from loopback_hub import Fault, FaultKind, LoopbackHub
from rgw.errors import SourceError
from rgw.templates.base_model import BaseComparison, compare_with_bases
from rgw.templates.identity import sha256_of
from rgw.templates.model import ResolvedTemplates
from rgw.templates.resolve import resolve, resolve_many

pytestmark = pytest.mark.both_engines

WEIGHTS = {"README.md": "", "Q4/model-Q4_K_M.gguf": "GGUF and 40 GB of weights"}
TEMPLATE = "{{ messages }}\n"


def quantised(hub: LoopbackHub, template: Any = TEMPLATE, *, name: str = "quants/model", **information: Any) -> str:
    """A repository of GGUF files only, and what the hub says of them."""
    commit = hub.commit(name, WEIGHTS)
    hub.describe(name, gguf={"architecture": "llama", "chat_template": template}, **information)
    return commit


def comparison(ref: str = "quants/model") -> BaseComparison | None:
    return compare_with_bases([resolve(ref)]).get(ref)


def test_the_embedded_template_comes_with_the_listing(hub: LoopbackHub) -> None:
    commit = quantised(hub)
    resolved = resolve("quants/model")
    assert resolved.revision == commit
    [template] = resolved.templates
    assert (template.text, template.effective, template.source) == (TEMPLATE, True, "GGUF metadata")
    assert template.sha256 == sha256_of(TEMPLATE)
    assert [request.path for request in hub.requests_for("/models/")] == ["/api/models/quants/model"]


def test_it_is_asked_for_where_the_listing_leaves_it_out(hub: LoopbackHub) -> None:
    quantised(hub)
    everything = hub.repository("quants/model")
    assert everything is not None

    def forget_at_first(request: Any) -> None:
        everything.information = {"gguf": {"chat_template": TEMPLATE}} if "expand" in request.query else {}

    hub.on_request = forget_at_first
    assert [template.text for template in resolve("quants/model").templates] == [TEMPLATE]
    assert len(hub.requests_for("/models/")) == 2


def test_a_repository_whose_files_the_hub_has_not_read_is_not_taken_for_one_without_a_template(
    hub: LoopbackHub,
) -> None:
    hub.commit("quants/model", WEIGHTS)
    with pytest.raises(SourceError) as caught:
        resolve("quants/model")
    assert caught.value.message == f"{hub.endpoint} serves no metadata of the GGUF files in quants/model"
    assert caught.value.fix == "download one and name the file"


def test_metadata_without_a_template_is_none(hub: LoopbackHub) -> None:
    quantised(hub, None)
    assert resolve("quants/model").templates == ()


@pytest.mark.parametrize("template", [7, ["a"], {"default": 3}])
def test_a_template_that_is_no_text_is_refused(hub: LoopbackHub, template: Any) -> None:
    quantised(hub, template)
    with pytest.raises(SourceError, match=r"^quants/model: the GGUF metadata that the hub serves: chat_template"):
        resolve("quants/model")


def test_tokenizer_files_beside_the_weights_come_first(hub: LoopbackHub) -> None:
    hub.commit("quants/model", {**WEIGHTS, "chat_template.jinja": "of the tokenizer"})
    hub.describe("quants/model", gguf={"chat_template": TEMPLATE})
    assert [(found.text, found.source, found.effective) for found in resolve("quants/model").templates] == [
        ("of the tokenizer", "chat_template.jinja", True),
        (TEMPLATE, "GGUF metadata", False),
    ]


def test_tokenizer_files_are_enough_where_the_hub_has_not_read_the_weights(hub: LoopbackHub) -> None:
    hub.commit("quants/model", {**WEIGHTS, "chat_template.jinja": "of the tokenizer"})
    assert [found.text for found in resolve("quants/model").templates] == ["of the tokenizer"]
    assert len(hub.requests_for("/models/")) == 1


@pytest.mark.parametrize(
    ("information", "expected"),
    [
        ({"cardData": {"base_model": "owner/base"}}, ("owner/base",)),
        ({"cardData": {"base_model": ["owner/base", "owner/other"]}}, ("owner/base", "owner/other")),
        ({"tags": ["gguf", "base_model:owner/base", "base_model:quantized:owner/base"]}, ("owner/base",)),
        ({"cardData": {"base_model": "/etc/passwd"}}, ()),
        ({"cardData": {"base_model": ["./model", "../x/y", "-", "a b/c", 7]}}, ()),
        ({}, ()),
    ],
)
def test_base_models_are_named_by_the_card_or_the_tags(
    hub: LoopbackHub, information: dict[str, Any], expected: tuple[str, ...]
) -> None:
    quantised(hub, **information)
    assert resolve("quants/model").base_models == expected


def test_an_embedded_template_that_the_base_model_has(hub: LoopbackHub) -> None:
    hub.commit("owner/base", {"chat_template.jinja": TEMPLATE})
    quantised(hub, cardData={"base_model": "owner/base"})
    assert comparison() == BaseComparison("owner/base", True, "equal to its template", sha256_of(TEMPLATE))


def test_an_embedded_template_that_the_base_model_has_under_another_name(hub: LoopbackHub) -> None:
    files = {"chat_template.jinja": TEMPLATE, "additional_chat_templates/tool_use.jinja": "tools"}
    hub.commit("owner/base", files)
    quantised(hub, cardData={"base_model": "owner/base"})
    found = comparison()
    assert found is not None
    assert found.equal
    assert found.message == "equal to its template 'default', not the one that it uses with tools"


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ("{{ other }}", "differs from its template"),
        (TEMPLATE.strip(), "differs from its template only in the final newline"),
    ],
)
def test_an_embedded_template_that_the_base_model_does_not_have(hub: LoopbackHub, base: str, message: str) -> None:
    hub.commit("owner/base", {"chat_template.jinja": base})
    quantised(hub, cardData={"base_model": "owner/base"})
    advice = " — `rgw diff quants/model owner/base` shows how"
    assert comparison() == BaseComparison("owner/base", False, message + advice, sha256_of(base))


def test_a_base_model_that_cannot_be_read_is_no_answer(hub: LoopbackHub) -> None:
    hub.commit("owner/base", {"chat_template.jinja": TEMPLATE}, gated=True)
    quantised(hub, cardData={"base_model": "owner/base"})
    found = comparison()
    assert found is not None
    assert (found.equal, found.sha256) == (None, None)
    assert found.message.startswith("not compared: owner/base is gated")


def test_a_base_model_without_a_template_is_no_answer(hub: LoopbackHub) -> None:
    hub.commit("owner/base", {"tokenizer.json": "{}"})
    quantised(hub, cardData={"base_model": "owner/base"})
    assert comparison() == BaseComparison("owner/base", None, "not compared: it has no chat template")


def test_one_base_model_of_many_is_read_once(hub: LoopbackHub) -> None:
    hub.commit("owner/base", {"chat_template.jinja": TEMPLATE})
    names = [f"quants/model-{number}" for number in range(3)]
    for name in names:
        quantised(hub, name=name, cardData={"base_model": "owner/base"})
    found = compare_with_bases(resolve_many(names))
    assert [found[name].equal for name in names] == [True, True, True]
    assert len(hub.requests_for("/api/models/owner/base")) == 1


def test_a_model_without_a_base_model_is_compared_with_none(hub: LoopbackHub) -> None:
    quantised(hub)
    assert comparison() is None


def test_a_local_file_asks_no_hub_unless_it_is_told_to(hub: LoopbackHub) -> None:
    hub.commit("owner/base", {"chat_template.jinja": TEMPLATE})
    local = ResolvedTemplates("model.gguf", templates=resolve("owner/base").templates, base_models=("owner/base",))
    hub.requests.clear()
    told = "not compared: a local file asks no hub — add --base-model owner/base"
    assert compare_with_bases([local]) == {"model.gguf": BaseComparison("owner/base", None, told)}
    assert hub.requests_for("/models/") == []
    assert compare_with_bases([local], named="owner/base")["model.gguf"].equal


def test_a_hub_that_fails_meanwhile_is_said(hub: LoopbackHub) -> None:
    quantised(hub)
    hub.inject(Fault(FaultKind.STATUS, where="/api/models/quants/model", status=500))
    with pytest.raises(SourceError, match="answers 500 for quants/model"):
        resolve("quants/model")
