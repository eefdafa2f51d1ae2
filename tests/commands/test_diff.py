"""`rgw diff` shows how two templates differ; its exit code says whether they write the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from commands.conftest import EXAMPLES, Rgw
from loopback_hub import LoopbackHub
from rgw.templates.resolve import place_of
from templates.gguf_files import LITTLE

MODEL, EDITED = EXAMPLES / "model", EXAMPLES / "edited-model"
TEMPLATE = MODEL / "chat_template.jinja"
TEXT = TEMPLATE.read_text(encoding="utf-8")


def test_the_same_template_is_clean(rgw: Rgw) -> None:
    outcome = rgw("diff", MODEL, TEMPLATE)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("✓ the same template\n")


def test_templates_that_write_the_same_are_clean(rgw: Rgw, tmp_path: Path) -> None:
    other = tmp_path / "other.jinja"
    other.write_text("{#- Another comment. #}" + TEXT, encoding="utf-8")
    outcome = rgw("diff", TEMPLATE, other, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    document = outcome.document
    assert (document["same_text"], document["same_behaviour"], document["differences"]) == (False, True, [])


def test_a_difference_for_people(rgw: Rgw) -> None:
    outcome = rgw("diff", MODEL, EDITED)
    assert (outcome.code, outcome.err) == (1, "")
    assert outcome.out.startswith("✗ they write differently  7 of 16 probes\n")
    assert "+    {{- '<|system|>You can call these tools" in outcome.out
    assert "tool listing ──" in outcome.out
    assert "call format" not in outcome.out


def test_a_difference_in_json(rgw: Rgw) -> None:
    outcome = rgw("diff", MODEL, EDITED, "--json")
    assert outcome.code == 1
    document = outcome.document
    assert document["version"] == 1
    assert (document["before"]["ref"], document["after"]["ref"]) == (str(MODEL), str(EDITED))
    [difference] = document["differences"]
    assert (difference["aspect"], difference["probe"]) == ("tool listing", "a prompt with tools")
    for change in difference["changes"]:
        for which in ("before", "after"):
            text, start = difference[which]["text"], change[f"{which}_start"]
            assert text[start:].startswith(change[which])
    assert outcome.err.startswith("warning: ")
    assert outcome.err.count("\n") == 1


def test_a_difference_for_scripts(rgw: Rgw) -> None:
    outcome = rgw("diff", MODEL, EDITED, "--quiet")
    assert (outcome.code, outcome.out) == (1, "tool listing\n")


def test_a_query_selects_from_the_document(rgw: Rgw) -> None:
    outcome = rgw("diff", MODEL, EDITED, "--query", "differences[].aspect")
    assert outcome.document == ["tool listing"]


def test_a_template_on_standard_input(rgw: Rgw) -> None:
    assert rgw("diff", "-", MODEL, stdin=TEMPLATE).code == 0


def test_standard_input_cannot_be_both(rgw: Rgw) -> None:
    assert rgw("diff", "-", "-").code == 2


def test_revisions_of_a_repository(rgw: Rgw, hub: LoopbackHub) -> None:
    old = hub.commit("owner/model", {"chat_template.jinja": TEXT})
    hub.commit("owner/model", {"chat_template.jinja": TEXT.replace("You", "Thou").replace("Tools", "Gear")})
    outcome = rgw("diff", f"owner/model@{old}", "owner/model", "--json")
    assert outcome.code == 1
    document = outcome.document
    assert (document["before"]["ref"], document["before"]["revision"]) == ("owner/model", old)
    assert document["after"]["revision"] != old


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("owner/model@v1.0", ("owner/model", "v1.0")),
        ("owner/model@refs/pr/1", ("owner/model", "refs/pr/1")),
        ("owner/model", ("owner/model", None)),
        ("owner/model@", ("owner/model@", None)),
        ("./model@v1", ("./model@v1", None)),
        ("@v1", ("@v1", None)),
    ],
)
def test_a_revision_is_written_behind_a_hub_id(written: str, place: tuple[str, str | None]) -> None:
    assert place_of(written) == place


def test_what_exists_is_a_path_whatever_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model@v1").mkdir()
    assert place_of("model@v1") == ("model@v1", None)


def test_a_gguf_file_beside_its_base_model(rgw: Rgw, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(LITTLE.file(LITTLE.text("tokenizer.chat_template", TEXT)))
    assert rgw("diff", path, MODEL).code == 0


def test_templates_are_chosen_by_name(rgw: Rgw, tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(MODEL, model)
    (model / "additional_chat_templates").mkdir()
    edited = (EDITED / "chat_template.jinja").read_bytes()
    (model / "additional_chat_templates" / "tool_use.jinja").write_bytes(edited)
    assert rgw("diff", model, EDITED).code == 0
    assert rgw("diff", model, MODEL, "--name", "default").code == 0
    missing = rgw("diff", model, MODEL, "--name", "rag")
    assert missing.code == 3
    assert "has no chat template 'rag' — it has 'default', 'tool_use': choose one with --name" in missing.err


@pytest.mark.parametrize("content", ["{{ oops", "{{ raise_exception('no') }}"])
def test_what_renders_nothing_cannot_be_compared(rgw: Rgw, tmp_path: Path, content: str) -> None:
    one, other = tmp_path / "one.jinja", tmp_path / "other.jinja"
    one.write_text(content, encoding="utf-8")
    other.write_text(content + "{# #}", encoding="utf-8")
    outcome = rgw("diff", one, other)
    assert (outcome.code, outcome.out) == (3, "")
    assert outcome.err.count("\n") == 1


def test_a_missing_file_is_an_error(rgw: Rgw, tmp_path: Path) -> None:
    outcome = rgw("diff", MODEL, tmp_path / "missing.jinja")
    assert (outcome.code, outcome.out) == (3, "")
    assert "no such file or directory" in outcome.err


def test_a_directory_without_a_template_is_an_error(rgw: Rgw, tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text("{}", encoding="utf-8")
    assert rgw("diff", MODEL, tmp_path).code == 3


def test_templates_cannot_reach_the_terminal_raw(rgw: Rgw, tmp_path: Path) -> None:
    hostile = tmp_path / "hostile.jinja"
    attack = "\x1b]0;owned\x07\n::error::owned\n[bold]\u202e##[group]"
    hostile.write_text(
        attack + TEXT + attack + "{% if tools %}{{ raise_exception('\x1b[2J::error::') }}{% endif %}", "utf-8"
    )
    for mode in ((), ("--whole",), ("--json",), ("--quiet",)):
        outcome = rgw("diff", MODEL, hostile, *mode)
        assert outcome.code == 1
        printed = outcome.out + outcome.err
        assert not {"\x1b", "\x07", "\u202e"} & set(printed)
        assert not [line for line in printed.splitlines() if line.lstrip().startswith("::")]
        assert "##[" not in printed
