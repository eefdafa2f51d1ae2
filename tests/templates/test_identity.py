"""The identity of a text, how bytes become a text, and what a `chat_template` value may be."""

from __future__ import annotations

import hashlib
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgw.errors import SourceError
from rgw.templates.identity import chat_template, decode_text, mark_effective, named_texts, sha256_of

# From `printf '%s' '{{ messages }}' | sha256sum`.
MESSAGES_SHA256 = "f24189f08c85a1eb19a737306c3a13e85462ee33d964f28108d64a2485fa2171"
EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_identity_is_the_sha256_of_the_utf8_bytes() -> None:
    assert sha256_of("{{ messages }}") == MESSAGES_SHA256
    assert sha256_of("") == EMPTY_SHA256
    assert sha256_of("é") == hashlib.sha256(b"\xc3\xa9").hexdigest()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"a\nb\n", "a\nb\n"),
        (b"a\r\nb\r\n", "a\nb\n"),
        (b"a\rb\r", "a\nb\n"),
        (b"a\r\r\nb", "a\n\nb"),
        (b"\xef\xbb\xbfa", "\ufeffa"),
        (b"", ""),
    ],
)
def test_newlines_are_translated_and_a_byte_order_mark_stays(data: bytes, text: str) -> None:
    assert decode_text(data, "file") == text


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_bytes_are_decoded_as_text_mode_decodes_them(text: str) -> None:
    data = text.encode()
    assert decode_text(data, "file") == io.TextIOWrapper(io.BytesIO(data), encoding="utf-8").read()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x89PNG\0", "model/t.jinja is a binary file"),
        ("{{ a }}".encode("utf-16-le"), "model/t.jinja is a binary file"),
        (b"ab\xff", "model/t.jinja is not UTF-8 (byte 3)"),
    ],
)
def test_what_is_not_text_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        decode_text(data, "model/t.jinja")
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        (None, {}),
        ("", {"default": ""}),
        ("a", {"default": "a"}),
        ({"default": "a", "rag": "b"}, {"default": "a", "rag": "b"}),
        ([], {}),
        (
            [{"name": "default", "template": "a"}, {"name": "tool_use", "template": "b"}],
            {"default": "a", "tool_use": "b"},
        ),
        ([{"name": "default", "template": "a"}, {"name": "default", "template": "b"}], {"default": "b"}),
    ],
)
def test_a_value_is_a_text_or_several_by_name(value: object, texts: dict[str, str]) -> None:
    assert named_texts(value, "config") == texts


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (5, "config: chat_template is a number"),
        (True, "config: chat_template is a truth value"),
        ({"default": None}, "config: chat_template['default'] is null"),
        (["a"], "config: chat_template[0] is a text"),
        ([{"name": "a", "template": "x"}, {"template": "x"}], "config: chat_template[1] has no 'name'"),
        ([{"name": "a"}], "config: chat_template[0] has no 'template'"),
        ([{"name": 1, "template": "x"}], "config: chat_template[0]['name'] is a number"),
        ([{"name": "a", "template": {}}], "config: chat_template[0]['template'] is an object"),
    ],
)
def test_a_value_of_another_kind_is_refused_with_its_place(value: object, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        named_texts(value, "config")
    assert caught.value.message == message


def test_the_hash_of_a_file_is_kept_where_it_differs_from_the_identity() -> None:
    kept = chat_template("default", "a\n", source="t.jinja", where="t.jinja", data=b"a\r\n")
    same = chat_template("default", "a\n", source="t.jinja", where="t.jinja", data=b"a\n")
    assert kept.sha256 == same.sha256 == hashlib.sha256(b"a\n").hexdigest()
    assert kept.bytes_sha256 == hashlib.sha256(b"a\r\n").hexdigest()
    assert same.bytes_sha256 is None


def test_half_a_surrogate_pair_has_no_identity() -> None:
    with pytest.raises(SourceError, match="surrogate pair at character 3"):
        chat_template("default", "ab\ud83d", source="config", where="config")


def test_a_text_over_the_limit_is_refused() -> None:
    with pytest.raises(SourceError, match="larger than the limit of 4 MB"):
        chat_template("default", "a" * (4 * 1024 * 1024 + 1), source="config", where="config")


@pytest.mark.parametrize(
    ("names", "tools", "effective"),
    [
        (["default"], True, "default"),
        (["default", "tool_use"], True, "tool_use"),
        (["default", "tool_use"], False, "default"),
        (["tool_use"], True, "tool_use"),
        (["tool_use"], False, None),
        (["rag"], True, None),
    ],
)
def test_tools_decide_between_the_named_templates(names: list[str], tools: bool, effective: str | None) -> None:
    templates = [chat_template(name, name, source="config", where="config") for name in names]
    marked = [template.name for template in mark_effective(templates, tools=tools) if template.effective]
    assert marked == ([effective] if effective else [])
