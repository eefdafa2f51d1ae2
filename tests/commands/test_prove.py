"""`rgw prove` says whether a schema reads what a template writes, and shows the smallest turn that it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from commands.conftest import EXAMPLES, KIOSK, Rgw

MODEL = EXAMPLES / "model"
EDITED = EXAMPLES / "edited-model"
FEW = ["--conversations", "20", "--jobs", "1"]


def certificate(outcome: Any) -> dict[str, Any]:
    [result] = outcome.document["results"]
    return dict(result["certificate"])


def test_a_pair_that_fits_is_proved(rgw: Rgw) -> None:
    outcome = rgw("prove", MODEL, *KIOSK, *FEW)
    assert outcome.code == 0
    assert outcome.out.startswith("✓ proved")
    assert "Truncation" in outcome.out
    assert "counterexample" not in outcome.out


def test_the_certificate_is_the_same_for_the_same_seed(rgw: Rgw) -> None:
    one = rgw("prove", MODEL, *KIOSK, *FEW, "--json")
    assert one.code == 0
    assert certificate(one)["proved"] is True
    assert certificate(one)["seed"] == 0
    assert len(certificate(one)["registry_digest"]) == 64
    assert rgw("prove", MODEL, *KIOSK, *FEW, "--json").document == one.document
    other = rgw("prove", MODEL, *KIOSK, *FEW, "--seed", "7", "--json").document["results"][0]
    assert other["certificate_digest"] != one.document["results"][0]["certificate_digest"]


def test_a_pair_that_does_not_fit_is_refused_with_a_counterexample(rgw: Rgw) -> None:
    outcome = rgw("prove", MODEL, "--schema", "qwen3", *KIOSK, *FEW)
    assert outcome.code == 1
    assert outcome.out.startswith("✗ not proved")
    for part in ("counterexample", "the conversation", "the turn as the template writes it", "what came back"):
        assert part in outcome.out
    example = certificate(rgw("prove", MODEL, "--schema", "qwen3", *KIOSK, *FEW, "--json"))["counterexample"]
    assert example["outcome"] == "silent"
    assert example["conversation"]["turns"][-1]["role"] == "assistant"


def test_an_unrecognised_template_needs_a_schema_to_try(rgw: Rgw) -> None:
    outcome = rgw("prove", EDITED, *KIOSK, "--json")
    assert (outcome.code, outcome.document["results"][0]["status"]) == (1, "unrecognised")
    assert "--schema" in outcome.err
    assert rgw("prove", EDITED, "--schema", "kiosk", *KIOSK, *FEW, "-q").out == f"{EDITED}\n"


def test_what_cannot_be_read_is_exit_code_3_and_does_not_stop_the_others(rgw: Rgw, tmp_path: Path) -> None:
    outcome = rgw("prove", tmp_path / "missing.jinja", MODEL, *KIOSK, *FEW, "--json")
    assert outcome.code == 3
    assert [result["status"] for result in outcome.document["results"]] == ["error", "proved"]
    assert "missing.jinja" in outcome.err


def test_a_person_is_told_why_each_of_many_was_not_tried(rgw: Rgw, tmp_path: Path) -> None:
    binary = tmp_path / "binary.jinja"
    binary.write_bytes(b"\x00\xff")
    outcome = rgw("prove", tmp_path / "missing.jinja", binary, EDITED, MODEL, *KIOSK, *FEW)
    assert outcome.code == 3
    shown = " ".join(outcome.out.split())
    for reason in ("no such file or directory", "is a binary file", "is not registered", "1 of 4 proved, 3 not tried"):
        assert shown.count(reason) == 1
    assert outcome.err == ""


def test_a_hostile_template_does_not_harm_the_others(rgw: Rgw, tmp_path: Path) -> None:
    hostile = tmp_path / "hostile.jinja"
    hostile.write_text("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", "utf-8")
    outcome = rgw("prove", hostile, MODEL, "--schema", "kiosk", *KIOSK, *FEW, "--json")
    assert outcome.code == 1
    bad, good = outcome.document["results"]
    assert [finding["kind"] for finding in bad["certificate"]["findings"]] == ["exceeds_limit"]
    assert good["status"] == "proved"


def test_a_template_that_was_never_rendered_was_not_judged(rgw: Rgw, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jinja"
    broken.write_text("{% if %}", encoding="utf-8")
    outcome = rgw("prove", str(broken), "--schema", "qwen3", "--conversations", "20")
    assert outcome.code == 1
    assert "20 ordinary and as many hostile conversations, seed 0: none could be judged" in " ".join(
        outcome.out.split()
    )
    assert "growth" not in outcome.out


class TestAll:
    def test_the_texts_come_from_a_folder(self, rgw: Rgw) -> None:
        outcome = rgw("prove", "--all", "--templates", MODEL, "--schema", "kiosk", *KIOSK, *FEW, "--json")
        assert outcome.code == 0
        assert [result["status"] for result in outcome.document["results"]] == ["proved"]

    def test_templates_without_a_text_are_told(self, rgw: Rgw) -> None:
        outcome = rgw("prove", "--all", "--templates", EDITED, "--schema", "kiosk", *KIOSK, *FEW, "--json")
        assert outcome.code == 3
        assert [result["status"] for result in outcome.document["results"]] == ["no_text"]
        assert "2fecd5df0f08" in outcome.err

    def test_they_fail_nothing_where_others_are_proved(self, rgw: Rgw, tmp_path: Path) -> None:
        second = f"  - sha256: {'0' * 64}\n    schema: kiosk\n    variant: lost\n    family: kiosk\n"
        (tmp_path / "templates.yaml").write_text((EXAMPLES / "registry" / "templates.yaml").read_text() + second)
        (tmp_path / "schemas").mkdir()
        (tmp_path / "schemas" / "kiosk.yaml").write_text((EXAMPLES / "registry" / "schemas" / "kiosk.yaml").read_text())
        outcome = rgw(
            "prove", "--all", "--templates", MODEL, "--schema", "kiosk", "--registry", tmp_path, *FEW, "--json"
        )
        assert outcome.code == 0
        assert [result["status"] for result in outcome.document["results"]] == ["proved", "no_text"]
        assert "lost" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "nothing to prove"),
        ([MODEL, "--all"], "exclude each other"),
        ([MODEL, "--templates", MODEL], "--templates is for --all"),
        ([MODEL, "--schema", "kioskk", *KIOSK], "did you mean kiosk"),
        ([MODEL, "--conversations", "0"], "--conversations"),
    ],
)
def test_what_cannot_be_meant_is_exit_code_2(arguments: list[object], words: str, rgw: Rgw) -> None:
    outcome = rgw("prove", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err


def test_the_words_of_a_template_reach_no_terminal_unescaped(rgw: Rgw, tmp_path: Path) -> None:
    template = tmp_path / "rude.jinja"
    template.write_text("{{ raise_exception('\\x1b[2J') }}", "utf-8")
    outcome = rgw("prove", template, "--schema", "kiosk", *KIOSK, *FEW)
    assert outcome.code == 1
    assert r"\x1b[2J" in outcome.out
    assert "\x1b" not in outcome.out + outcome.err
