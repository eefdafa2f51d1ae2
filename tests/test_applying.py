"""A response template in a model's configuration: that key is set, and not one other byte is touched."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgw.applying import apply, with_member
from rgw.errors import SourceError
from rgw.registry.loader import load_registry
from rgw.templates.resolve import resolve

SCHEMA = load_registry().schema("qwen3")

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{"k": 1}'),
        ('{"a": "}"}', '{"a": "}", "k": 1}'),
        ('{"k": {"x": [1, 2]}, "a": 1.0e1}', '{"k": 1, "a": 1.0e1}'),
        ('{\n  "a": 1,\n  "b": 2\n}\n', '{\n  "a": 1,\n  "b": 2,\n  "k": 1\n}\n'),
        ('{\r\n\t"a": 1\r\n}', '{\r\n\t"a": 1,\r\n\t"k": 1\r\n}'),
        ('{"nested": {"k": 0}}', '{"nested": {"k": 0}, "k": 1}'),
    ],
)
def test_one_member_is_set_and_the_rest_is_as_it_was(before: str, after: str) -> None:
    assert with_member(before, "k", 1) == after


def test_a_value_is_laid_out_as_the_file_is() -> None:
    assert with_member('{\n    "a": 1\n}', "k", {"x": "é"}) == '{\n    "a": 1,\n    "k": {\n        "x": "é"\n    }\n}'


@given(st.dictionaries(st.text(max_size=4), json_values, max_size=4), json_values, st.sampled_from([None, 2, "\t"]))
def test_the_file_means_what_it_meant_with_one_member_set(data: dict[str, Any], value: Any, indent: Any) -> None:
    text = json.dumps(data, indent=indent)
    written = with_member(text, "response_template", value)
    assert json.loads(written) == {**data, "response_template": value}
    assert with_member(written, "response_template", value) == written


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a"}', "null"])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        with_member(text, "k", 1)


def test_the_old_file_is_kept_and_the_new_one_is_read(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer_config.json"
    path.write_text('{"chat_template": "{{ messages }}"}', "utf-8")
    first = apply(SCHEMA, tmp_path)
    assert first.backup is not None
    assert first.backup.read_text("utf-8") == '{"chat_template": "{{ messages }}"}'
    native = resolve(str(tmp_path)).native_response_template
    assert native is not None
    assert set(native["fields"]) == {"thinking", "tool_calls", "content"}
    assert apply(SCHEMA, tmp_path).backup is None


def test_no_backup_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text("{}", "utf-8")
    (tmp_path / "tokenizer_config.json.bak").write_text("precious", "utf-8")
    backup = apply(SCHEMA, tmp_path).backup
    assert backup is not None
    assert backup.name == "tokenizer_config.json.bak1"
    assert (tmp_path / "tokenizer_config.json.bak").read_text("utf-8") == "precious"


@pytest.mark.parametrize("content", [None, b"\xff", b"[]"])
def test_a_configuration_that_cannot_be_read_is_told(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "tokenizer_config.json").write_bytes(content)
    with pytest.raises(SourceError, match="tokenizer_config.json"):
        apply(SCHEMA, tmp_path)


def test_where_the_new_file_cannot_be_written_nothing_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configuration = tmp_path / "tokenizer_config.json"
    configuration.write_text("{}")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(SourceError, match="No space left on device"):
        apply(SCHEMA, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer_config.json"]
    assert configuration.read_text() == "{}"


def test_each_serving_engine_that_cannot_read_what_is_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text("{}", encoding="utf-8")
    warnings = apply(load_registry().schema("lfm2_5"), tmp_path).warnings
    assert [warning.partition(":")[0] for warning in warnings[:2]] == [
        "vllm cannot read lfm2_5",
        "sglang cannot read lfm2_5",
    ]
    assert not any("cannot read" in warning for warning in warnings[2:])
