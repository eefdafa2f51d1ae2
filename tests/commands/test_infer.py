"""`rgw infer` prints the file of a schema, and writes it only where it proves."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from commands.conftest import EXAMPLES, Rgw
from inference import made_up_templates as made_up

EDITED = EXAMPLES / "edited-model"
FEW = ["--conversations", "20"]
UNPROVABLE = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls or [] %}"
    "{{ c.function.name }} {{ c.function.arguments | tojson }}{% endfor %}<end>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


@pytest.fixture
def unprovable(tmp_path: Path) -> Path:
    path = tmp_path / "chat_template.jinja"
    path.write_text(UNPROVABLE, "utf-8")
    return path


def test_what_is_printed_is_the_file_of_a_schema(rgw: Rgw) -> None:
    outcome = rgw("infer", EDITED, *FEW)
    assert outcome.code == 0
    assert outcome.out.startswith(f"# proved: {EDITED}\n")
    schema = yaml.safe_load(outcome.out)
    assert schema["name"] == "edited_model"
    assert schema["dialects"]["response_template"]["fields"]["tool_calls"]["open_pattern"] == r"<\|call\|>"


def test_the_end_of_turn_token_is_the_directorys_or_the_one_that_is_given(rgw: Rgw, tmp_path: Path) -> None:
    template = UNPROVABLE.replace("<end>", "{{ eos_token }}").replace(" {{ c.", "<do>{{ c.")
    (tmp_path / "chat_template.jinja").write_text(template, "utf-8")
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": {"content": "<|stop|>"}}', "utf-8")
    told = rgw("infer", tmp_path, *FEW, "--json").document
    assert told["schema"]["turn"]["end"] == ["<|stop|>"]
    assert any(words.startswith("the end-of-turn token") for words in told["unobservable"])
    given = rgw("infer", tmp_path, *FEW, "--json", "--eos-token", "<|over|>").document
    assert given["schema"]["turn"]["end"] == ["<|over|>"]


def test_an_end_of_turn_token_that_nothing_names_is_never_written(rgw: Rgw, tmp_path: Path) -> None:
    template = made_up.JSON_OBJECTS.replace("'<end>\\n'", "eos_token")
    assert "eos_token" in template
    path = tmp_path / "own.jinja"
    path.write_text(template, "utf-8")
    to_registry = ["--write", "--registry", tmp_path / "registry"]
    outcome = rgw("infer", path, *FEW, *to_registry)
    assert outcome.code == 2, outcome.out
    assert "which is not known: '</s>' stands in its place" in outcome.out
    assert outcome.err == (
        f"error: {path}: turns end with the tokenizer's own eos_token, and nothing says which that is"
        " — name it: --eos-token TOKEN\n"
    )
    assert not (tmp_path / "registry").exists()
    assert rgw("infer", path, *FEW, *to_registry, "--eos-token", "<|stop|>").code == 0


def test_standard_input_is_read_once(rgw: Rgw, tmp_path: Path) -> None:
    (tmp_path / "piped").write_text(made_up.JSON_OBJECTS, "utf-8")
    to_registry = ["--write", "--registry", tmp_path / "registry"]
    outcome = rgw("infer", "-", *FEW, *to_registry, "--name", "mine", stdin=tmp_path / "piped")
    assert (outcome.code, outcome.err) == (
        0,
        f"hint: registered as template with schema mine in {tmp_path}/registry\n",
    ), outcome.out


def test_a_directory_without_a_name_is_no_registry(rgw: Rgw, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = rgw("infer", EDITED, *FEW, "--write", "--registry", "")
    assert outcome.code == 2
    assert "no directory is named" in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_the_document(rgw: Rgw) -> None:
    document = rgw("infer", EDITED, *FEW, "--name", "mine", "--json").document
    assert (document["version"], document["proved"], document["schema"]["name"]) == (1, True, "mine")
    paths = [explanation["path"] for explanation in document["explanations"]]
    assert "dialects.response_template.fields.tool_calls.open_pattern" in paths


def test_a_registered_template_is_read_alike_by_both_schemas(rgw: Rgw) -> None:
    known = ["--registry", EXAMPLES / "registry"]
    agreed = rgw("infer", EXAMPLES / "model", *FEW, *known, "--json").document["agreement"]
    assert agreed["readings"] >= 20
    assert (agreed["same"] + agreed["not_carried"], agreed["different"]) == (agreed["readings"], 0)
    lines = rgw("infer", EXAMPLES / "model", *FEW, *known).out.splitlines()
    assert lines[1].startswith(f"# agrees with the registered schema {agreed['schema']} on {agreed['readings']} of ")
    assert rgw("infer", EDITED, *FEW, "--json").document["agreement"] is None


def test_what_is_not_proved_comes_with_its_counterexample(rgw: Rgw, unprovable: Path) -> None:
    outcome = rgw("infer", unprovable, *FEW)
    assert outcome.code == 1
    assert outcome.out.startswith("# not proved:")
    assert "counterexample" in outcome.out


@pytest.mark.parametrize("mode", ["--json", "--quiet"])
def test_what_is_not_proved_is_told_a_script(rgw: Rgw, unprovable: Path, mode: str) -> None:
    outcome = rgw("infer", unprovable, *FEW, mode)
    assert outcome.code == 1
    assert "not proved" in outcome.err


def test_a_proved_schema_is_written_and_recognised(rgw: Rgw, tmp_path: Path) -> None:
    overlay = tmp_path / "registry"
    outcome = rgw("infer", EDITED, *FEW, "--name", "mine", "--write", "--registry", overlay)
    assert outcome.code == 0, outcome.err
    detection = rgw("detect", EDITED, "--registry", overlay, "--json").document["results"][0]
    assert (detection["status"], detection["schema"]["name"]) == ("recognised", "mine")


def test_what_is_not_proved_is_never_written(rgw: Rgw, unprovable: Path, tmp_path: Path) -> None:
    overlay = tmp_path / "registry"
    assert rgw("infer", unprovable, *FEW, "--write", "--registry", overlay).code == 1
    assert not overlay.exists()


@pytest.mark.parametrize("arguments", [["--write"], ["--name", "No Name"]])
def test_usage(rgw: Rgw, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RGW_REGISTRY", raising=False)
    assert rgw("infer", EDITED, *FEW, *arguments).code == 2


def test_a_ref_without_a_template(rgw: Rgw, tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text("{}", "utf-8")
    assert rgw("infer", tmp_path).code == 3
