"""What is written is read back as it was, whatever a text looks like."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rgw.registry.yaml_reading import read_yaml
from rgw.registry.yaml_writing import dump_yaml

LOOK_ALIKES = [
    "1e5",
    "1_000",
    "yes",
    "no",
    "on",
    "null",
    "~",
    "",
    "true",
    "0x1f",
    "1:30",
    "2026-01-01",
    "-.inf",
    "=",
    "<<",
]
TEXTS = st.text() | st.sampled_from(LOOK_ALIKES) | st.text(alphabet=" \n\t-#:|>a\"'")
DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
)


def read_back(text: str) -> Any:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "file.yaml")
        path.write_bytes(text.encode())
        return read_yaml(path, "file.yaml").plain()


@given(DATA)
def test_data_is_read_back_as_it_was(data: Any) -> None:
    assert read_back(dump_yaml({"data": data})) == {"data": data}


@given(DATA)
def test_any_other_reader_reads_the_same(data: Any) -> None:
    assert yaml.safe_load(dump_yaml({"data": data})) == {"data": data}


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_text_that_looks_like_something_else_is_quoted(text: str) -> None:
    assert dump_yaml({"a": text}) == f"a: '{text}'\n"


def test_keys_keep_their_order() -> None:
    assert dump_yaml({"b": 1, "a": {"d": 2, "c": 3}}) == "b: 1\na:\n  d: 2\n  c: 3\n"


def test_a_value_that_stands_twice_is_written_twice() -> None:
    shared = {"name": "text"}
    assert dump_yaml({"a": shared, "b": shared}) == "a:\n  name: text\nb:\n  name: text\n"


def test_a_regular_expression_stays_on_its_line() -> None:
    pattern = r"<\|im_end\|>\s*" * 20
    assert dump_yaml({"close_pattern": pattern}) == f"close_pattern: {pattern}\n"


def test_text_of_several_lines_is_a_block() -> None:
    assert dump_yaml({"output": "<think>\nyes\n</think>"}) == "output: |-\n  <think>\n  yes\n  </think>\n"
