"""What a REF names, and that one which fails does not stop the others."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from rgw.errors import SourceError, UsageError
from rgw.templates.model import ResolvedTemplates, UnresolvedTemplates
from rgw.templates.resolve import is_local, name_of, resolve, resolve_many
from rgw.templates.tokenizer import templates_of_tokenizer


@pytest.mark.parametrize(
    ("ref", "local"),
    [
        ("Qwen/Qwen3-8B", False),
        ("gpt2", False),
        ("a/b.c_d-e", False),
        ("-", True),
        ("./model", True),
        ("../model", True),
        ("/models/a", True),
        ("~/model", True),
        ("models/", True),
        ("a/b/c", True),
        ("chat_template.jinja", True),
        ("model/tokenizer_config.json", True),
        ("", True),
        ("a\0b", True),
        ("a" * 10_000, True),
    ],
)
def test_what_is_written_as_a_path_is_local(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ref: str, local: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    assert is_local(ref) is local


@pytest.mark.parametrize(
    ("ref", "name"),
    [
        ("owner/Model-1B", "model-1b"),
        ("models/Mine/chat_template.jinja", "mine"),
        ("models/Mine/tokenizer_config.json", "mine"),
        ("models/own.v2.jinja", "own.v2"),
        ("./Mine/", "mine"),
        ("-", "template"),
    ],
)
def test_a_template_is_called_as_what_holds_it_unless_its_file_has_a_name_of_its_own(ref: str, name: str) -> None:
    assert name_of(ref) == name


def test_what_exists_is_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "owner" / "name").mkdir(parents=True)
    (tmp_path / "owner" / "name" / "chat_template.jinja").write_text("a")
    assert is_local("owner/name")
    assert [template.text for template in resolve("owner/name").templates] == ["a"]


@pytest.mark.parametrize("ref", ["./gone", "gone.jinja", "a\0b", "x" * 10_000 + "/y/z"])
def test_a_missing_path_is_a_failure_that_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ref: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError) as caught:
        resolve(ref)
    assert caught.value.message == f"{ref}: no such file or directory"


def test_results_stand_in_the_order_of_the_refs_and_failures_are_results(tmp_path: Path) -> None:
    good = tmp_path / "good.jinja"
    good.write_text("a")
    missing = str(tmp_path / "missing")
    results = resolve_many([missing, str(good), missing])
    assert [type(result) for result in results] == [UnresolvedTemplates, ResolvedTemplates, UnresolvedTemplates]
    assert [result.ref for result in results] == [missing, str(good), missing]


def test_a_local_ref_has_no_revision(tmp_path: Path) -> None:
    for call in (lambda: resolve(str(tmp_path), revision="main"), lambda: resolve_many([str(tmp_path)], revision="v1")):
        with pytest.raises(UsageError, match="is local and has no revisions"):
            call()


@pytest.mark.parametrize(
    ("value", "tools", "expected"),
    [
        (None, True, None),
        ("a", True, "a"),
        ({"default": "a", "tool_use": "b"}, True, "b"),
        ({"default": "a", "tool_use": "b"}, False, "a"),
        ([{"name": "default", "template": "a"}], True, "a"),
    ],
)
def test_a_tokenizer_in_memory_is_identified(value: object, tools: bool, expected: str | None) -> None:
    resolved = templates_of_tokenizer(SimpleNamespace(chat_template=value, name_or_path="owner/name"), tools=tools)
    assert resolved.ref == "owner/name"
    assert (resolved.effective.text if resolved.effective else None) == expected


def test_a_tokenizer_with_a_template_of_another_kind_is_refused() -> None:
    with pytest.raises(SourceError, match="SimpleNamespace: chat_template is a number"):
        templates_of_tokenizer(SimpleNamespace(chat_template=5))


def test_an_object_without_a_chat_template_has_none() -> None:
    assert templates_of_tokenizer(os).templates == ()
