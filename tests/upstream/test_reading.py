"""What is taken from TRL, at three points of its history."""

from __future__ import annotations

import hashlib

import pytest

from rgw.errors import UpstreamError
from rgw.registry.model import Dialect
from rgw.upstream.reading import UpstreamTemplate, read_module
from upstream.upstream_samples import FIRST_GENERATION, SECOND_GENERATION, TEXTS, THIRD_GENERATION, texts

THIRD_TEXTS = texts("alpha", "beta", "gamma", "delta", "plain")


def by_variant(source: str, files: dict[str, str]) -> dict[str, UpstreamTemplate]:
    return {template.variant: template for template in read_module(source, files)}


def spec_names(template: UpstreamTemplate) -> dict[str, str]:
    return {dialect.value: spec.name for dialect, spec in template.specs.items()}


def test_templates_written_out_in_the_module_are_found() -> None:
    templates = by_variant(FIRST_GENERATION, {})
    assert {name: spec_names(template) for name, template in templates.items()} == {
        "alpha": {"response_schema": "alpha_schema"},
        "alpha_training": {},
    }
    assert templates["alpha"].text == "{{ 'alpha' }}"
    assert templates["alpha_training"].is_training_variant


def test_templates_in_files_are_found_with_the_schema_that_several_share() -> None:
    templates = by_variant(SECOND_GENERATION, texts("alpha", "beta", "gamma", "plain"))
    assert {name: spec_names(template) for name, template in templates.items()} == {
        "alpha": {"response_schema": "alpha_schema"},
        "beta": {"response_schema": "beta_schema"},
        "gamma": {"response_schema": "beta_schema"},
        "plain": {},
    }


def test_both_dialects_are_taken_as_upstream_pairs_them() -> None:
    templates = by_variant(THIRD_GENERATION, THIRD_TEXTS)
    assert {name: spec_names(template) for name, template in templates.items()} == {
        "alpha": {"response_schema": "alpha_schema", "response_template": "alpha_template"},
        "beta": {"response_schema": "beta_schema", "response_template": "beta_template"},
        "gamma": {"response_schema": "beta_schema", "response_template": "gamma_template"},
        "delta": {"response_template": "alpha_template"},
        "plain": {},
    }


def test_the_identity_of_a_template_is_the_hash_of_its_text() -> None:
    alpha = by_variant(THIRD_GENERATION, THIRD_TEXTS)["alpha"]
    assert alpha.sha256 == hashlib.sha256(b"{{ 'alpha' }}\n").hexdigest()


def test_the_variant_of_the_newest_capability_is_the_body() -> None:
    spec = by_variant(THIRD_GENERATION, THIRD_TEXTS)["beta"].specs[Dialect.RESPONSE_TEMPLATE]
    parsers = [variant["fields"]["tool_calls"]["content_args"]["value_parser"]["name"] for variant in spec.variants]
    assert parsers == ["json", "text"]
    assert spec.body == spec.variants[1]


def test_a_spec_that_depends_on_no_capability_has_one_variant() -> None:
    specs = by_variant(THIRD_GENERATION, THIRD_TEXTS)["alpha"].specs
    assert [len(spec.variants) for spec in specs.values()] == [1, 1]


def test_a_pattern_that_is_built_in_a_loop_is_written_out() -> None:
    spec = by_variant(THIRD_GENERATION, THIRD_TEXTS)["gamma"].specs[Dialect.RESPONSE_TEMPLATE]
    assert spec.body["fields"]["content"]["close_pattern"] == r"[^{}]|{(?:[^{}]|{(?:[^{}])*})*}"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param('{"name": "text"}', '{"name": "raw"}', id="the variant for newer transformers"),
        pytest.param('"allow_non_json": True', '"allow_non_json": False', id="the variant for older transformers"),
        pytest.param('"5.15.0"', '"4.0.0"', id="a capability that all versions have"),
    ],
)
def test_a_change_in_any_variant_changes_the_digest(old: str, new: str) -> None:
    before = by_variant(THIRD_GENERATION, THIRD_TEXTS)["beta"].specs[Dialect.RESPONSE_TEMPLATE]
    after = by_variant(THIRD_GENERATION.replace(old, new), THIRD_TEXTS)["beta"].specs[Dialect.RESPONSE_TEMPLATE]
    assert before.digest != after.digest


def test_the_order_of_fields_is_part_of_the_digest() -> None:
    swapped = THIRD_GENERATION.replace('{"close": "</a>", "content": "text"}', '{"content": "text", "close": "</a>"}')
    specs = [by_variant(source, THIRD_TEXTS)["alpha"].specs for source in (THIRD_GENERATION, swapped)]
    first, second = (spec[Dialect.RESPONSE_TEMPLATE] for spec in specs)
    assert first.body == second.body
    assert first.digest != second.digest


def test_a_comment_is_not_part_of_the_digest() -> None:
    commented = THIRD_GENERATION.replace("alpha_template = {", "alpha_template = {\n    # a comment\n    ")
    specs = [by_variant(source, THIRD_TEXTS)["alpha"].specs for source in (THIRD_GENERATION, commented)]
    first, second = (spec[Dialect.RESPONSE_TEMPLATE] for spec in specs)
    assert first.digest == second.digest


def test_a_template_file_that_the_module_does_not_read_is_known_without_a_spec() -> None:
    templates = by_variant(SECOND_GENERATION, TEXTS)
    assert spec_names(templates["delta"]) == {}


def test_two_names_for_one_text_count_once_with_the_spec() -> None:
    source = (
        THIRD_GENERATION + "\ncopy_chat_template = (_CHAT_TEMPLATES_DIR / 'alpha.jinja').read_text(encoding='utf-8')"
    )
    templates = read_module(source, THIRD_TEXTS)
    assert [t.variant for t in templates if t.text == TEXTS["chat_templates/alpha.jinja"]] == ["alpha"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "chat_template == alpha_chat_template",
            "chat_template == 'literal'",
            "compares with a template that has no name",
        ),
        ("def add_response_schema(", "def add_schema(", "has no function add_response_schema"),
        ("alpha_schema, alpha_template", "alpha_schema, {}", "is not a dict with a name in the module"),
        (
            "tokenizer.response_template = ",
            "tokenizer.response_format = ",
            "sets an unknown attribute 'response_format'",
        ),
        ("beta_schema, beta_template", "beta_schema, dict(a=1)", "Name `dict`"),
        ("alpha_schema = {", "alpha_schema = dict(a={", "utils.py"),
        ("alpha.jinja", "absent.jinja", "reads 'chat_templates/absent.jinja', which is not there"),
    ],
)
def test_what_cannot_be_read_whole_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(UpstreamError) as caught:
        read_module(THIRD_GENERATION.replace(old, new), THIRD_TEXTS, "trl/utils.py")
    assert message in caught.value.message
    assert caught.value.message.startswith("trl/utils.py")
    assert "\n" not in str(caught.value)
