"""`rgw detect` says which schema belongs to a template, in every mode, and its exit code says how sure that is."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from commands.conftest import EXAMPLES, KIOSK, Rgw

MODEL = EXAMPLES / "model"
TEMPLATE = MODEL / "chat_template.jinja"
SHA256 = hashlib.sha256(TEMPLATE.read_bytes()).hexdigest()


def test_a_recognised_model_in_json(rgw: Rgw) -> None:
    outcome = rgw("detect", MODEL, *KIOSK, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    document = outcome.document
    [result] = document.pop("results")
    assert document == {"version": 1}
    assert result["ref"] == str(MODEL)
    assert result["status"] == "recognised"
    assert result["templates"] == [
        {
            "name": "default",
            "sha256": SHA256,
            "source": "chat_template.jinja",
            "revision": None,
            "effective": True,
        }
    ]
    assert result["schema"]["name"] == "kiosk"
    assert result["nearest"] == []
    assert result["native_response_template"] is False


def test_a_recognised_model_for_people(rgw: Rgw) -> None:
    outcome = rgw("detect", MODEL, *KIOSK)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(f"✓ {MODEL}  kiosk  Kiosk (the example model)\n")
    assert SHA256 in outcome.out


def test_a_recognised_model_for_scripts(rgw: Rgw) -> None:
    assert rgw("detect", MODEL, *KIOSK, "--quiet") == (0, "kiosk\n", "")


def test_an_unrecognised_model_is_a_finding_with_help(rgw: Rgw) -> None:
    outcome = rgw("detect", EXAMPLES / "edited-model", *KIOSK)
    assert outcome.code == 1
    assert outcome.err == ""
    assert "unrecognised" in outcome.out
    assert "kiosk" in outcome.out  # the nearest


@pytest.mark.parametrize("mode", ["--json", "--quiet"])
def test_an_unrecognised_model_is_told_on_stderr_where_the_view_is_not_shown(mode: str, rgw: Rgw) -> None:
    outcome = rgw("detect", EXAMPLES / "edited-model", *KIOSK, mode)
    assert outcome.code == 1
    assert outcome.err.startswith(f"warning: {EXAMPLES / 'edited-model'}: ")
    assert outcome.err.count("\n") == 1


def test_a_template_on_standard_input(rgw: Rgw) -> None:
    outcome = rgw("detect", "-", *KIOSK, "--json", stdin=TEMPLATE)
    [result] = outcome.document["results"]
    assert (outcome.code, result["ref"], result["schema"]["name"]) == (0, "-", "kiosk")


def test_many_models_keep_their_order_and_one_failure_stops_no_other(rgw: Rgw, tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    outcome = rgw("detect", MODEL, missing, TEMPLATE, *KIOSK, "--json")
    results = outcome.document["results"]
    assert outcome.code == 3
    assert [result["ref"] for result in results] == [str(MODEL), str(missing), str(TEMPLATE)]
    assert [result["status"] for result in results] == ["recognised", "error", "recognised"]
    assert outcome.err.count("\n") == 1
    assert outcome.err.startswith(f"error: {missing}: ")


def test_a_directory_without_a_template_is_a_finding(rgw: Rgw, tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text("{}", encoding="utf-8")
    outcome = rgw("detect", tmp_path, "--json")
    assert outcome.code == 1
    assert outcome.document["results"][0]["status"] == "no_template"


def test_a_query_selects_from_the_document(rgw: Rgw) -> None:
    outcome = rgw("detect", MODEL, *KIOSK, "--query", "results[].schema.name")
    assert json.loads(outcome.out) == ["kiosk"]


def test_a_query_that_cannot_be_meant_is_a_usage_error_before_anything_is_read(rgw: Rgw, tmp_path: Path) -> None:
    outcome = rgw("detect", tmp_path / "missing", "--query", "results[")
    assert (outcome.code, outcome.out) == (2, "")
    assert "--query" in outcome.err


def test_names_cannot_reach_the_terminal_raw(rgw: Rgw, tmp_path: Path) -> None:
    hostile = tmp_path / "\x1b]0;owned\x07[bold]model[/bold]"
    shutil.copytree(MODEL, hostile)
    alone, among_others = rgw("detect", hostile, *KIOSK), rgw("detect", hostile, tmp_path / "\x1b[2J", *KIOSK)
    for outcome in (alone, among_others):
        assert "\x1b" not in outcome.out + outcome.err
        assert "\x07" not in outcome.out + outcome.err
    assert r"\x1b]0;owned\x07[bold]model[/bold]" in alone.out.replace("\n", "")
    assert r"\x1b[2J" in among_others.err


def test_an_unrecognised_template_is_looked_at_closely_on_request(rgw: Rgw) -> None:
    plain = rgw("detect", EXAMPLES / "edited-model", *KIOSK, "--json").document["results"][0]
    outcome = rgw("detect", EXAMPLES / "edited-model", *KIOSK, "--behaviour", "--json")
    assert outcome.code == 1
    [result] = outcome.document["results"]
    behaviour = result.pop("behaviour")
    assert result == plain
    assert behaviour["variant"] == "kiosk"
    assert behaviour["differences"][0] == "a prompt with tools"
    view = rgw("detect", EXAMPLES / "edited-model", *KIOSK, "--behaviour").out
    assert "the first that differs: a prompt with tools" in " ".join(view.split())


def test_a_rewritten_template_behaves_like_the_registered_one_and_stays_unrecognised(rgw: Rgw, tmp_path: Path) -> None:
    path = tmp_path / "rewritten.jinja"
    path.write_text("{#- the same -#}\n" + TEMPLATE.read_text("utf-8"), "utf-8")
    outcome = rgw("detect", path, *KIOSK, "--behaviour")
    assert outcome.code == 1
    assert "identically to kiosk (kiosk) on 16 probes" in outcome.out


def test_a_recognised_template_is_not_rendered(rgw: Rgw) -> None:
    [result] = rgw("detect", MODEL, *KIOSK, "--behaviour", "--prove", "--json").document["results"]
    assert "behaviour" not in result


def test_the_schemas_that_prove_are_named(rgw: Rgw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rgw.commands.detect._CONVERSATIONS", 20)
    monkeypatch.setattr("rgw.proof.recognition.SIEVE_CONVERSATIONS", 4)
    outcome = rgw("detect", EXAMPLES / "edited-model", *KIOSK, "--prove", "--json")
    assert outcome.code == 1
    assert outcome.document["results"][0]["proving_schemas"] == ["kiosk"]
