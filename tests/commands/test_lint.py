"""`rgw lint` names what is unfit and `rgw explain` says why; neither ever calls a template safe."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands.conftest import EXAMPLES, Rgw
from rgw.fitness.rules import RULES

MODEL = EXAMPLES / "model"
CLEAN = (
    "{%- for m in messages -%}{%- if m.role == 'assistant' -%}[assistant]{% generation %}"
    "{%- if m.reasoning_content %}<t>{{ m.reasoning_content }}</t>{% endif -%}{{ m.content or '' }}"
    "{%- for c in m.tool_calls or [] -%}<c>{{ c.function.name }}"
    "{{ c.function.arguments if c.function.arguments is string else c.function.arguments | tojson }}</c>{%- endfor -%}"
    "[end]{% endgeneration %}{%- else -%}[{{ m.role }}]{{ m.content }}[end]{%- endif -%}{%- endfor -%}"
)


def test_findings_are_told_with_their_rules(rgw: Rgw) -> None:
    outcome = rgw("lint", MODEL)
    assert outcome.code == 1
    assert "double-encodes-arguments" in outcome.out
    assert "rgw explain" in outcome.err
    assert rgw("lint", MODEL, "-q").out.splitlines() == ["no-generation-markers", "double-encodes-arguments"]


def test_the_json_form(rgw: Rgw) -> None:
    outcome = rgw("lint", MODEL, "--json")
    assert outcome.code == 1
    [result] = outcome.document["results"]
    assert (outcome.document["version"], result["status"], len(result["sha256"])) == (1, "linted", 64)
    assert [(found["rule"], found["severity"]) for found in result["findings"]] == [
        ("no-generation-markers", "note"),
        ("double-encodes-arguments", "warning"),
    ]


def test_notes_alone_are_clean_and_nothing_is_called_safe(rgw: Rgw, tmp_path: Path) -> None:
    template = tmp_path / "chat_template.jinja"
    template.write_text(CLEAN, "utf-8")
    outcome = rgw("lint", template)
    assert outcome.code == 0
    assert "no rule found anything" in outcome.out
    assert "safe" not in outcome.out
    template.write_text("{% if nap %}{% endif %}" + CLEAN, "utf-8")
    assert (rgw("lint", template, "--json").code, rgw("lint", template, "-q").out) == (0, "reads-extra-variables\n")


def test_what_cannot_be_read_does_not_stop_the_others(rgw: Rgw, tmp_path: Path) -> None:
    outcome = rgw("lint", tmp_path / "missing.jinja", MODEL, "--json")
    assert outcome.code == 3
    assert [result["status"] for result in outcome.document["results"]] == ["error", "linted"]


def test_a_tokenizer_that_cannot_be_read_is_named(rgw: Rgw, tmp_path: Path) -> None:
    outcome = rgw("lint", MODEL, "--tokenizer", tmp_path)
    assert (outcome.code, outcome.out) == (3, "")
    assert "tokenizer.json" in outcome.err


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_is_explained(rule: str, rgw: Rgw) -> None:
    outcome = rgw("explain", rule)
    assert outcome.code == 0
    assert outcome.out.startswith(f"{rule}  {RULES[rule].severity.value}\n")
    assert rgw("explain", rule, "--json").document["rules"][0]["explanation"] == RULES[rule].explanation


def test_all_rules_are_listed(rgw: Rgw) -> None:
    assert rgw("explain", "-q").out.splitlines() == list(RULES)


def test_an_unknown_rule_is_a_usage_error_with_a_suggestion(rgw: Rgw) -> None:
    outcome = rgw("explain", "drops-tool-call")
    assert (outcome.code, outcome.out) == (2, "")
    assert "did you mean drops-tool-calls" in outcome.err
