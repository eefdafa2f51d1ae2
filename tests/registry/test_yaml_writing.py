"""What is written is read back as it was, whatever a text looks like."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rgw.errors import RegistryError
from rgw.registry.model import Dialect
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


def test_a_line_with_its_end_is_one_line() -> None:
    assert dump_yaml({"start_anchor": "<|im_start|>assistant\n"}) == 'start_anchor: "<|im_start|>assistant\\n"\n'


def test_a_long_line_stays_one_line() -> None:
    assert dump_yaml({"output": "so many words " * 40 + "end"}).count("\n") == 1


@pytest.mark.parametrize("invisible", ["\x00", "\x1b", "\x7f", "\x85", "\u2028", "\ufeff", "\r"])
def test_what_cannot_be_seen_is_escaped(invisible: str) -> None:
    written = dump_yaml({"a": f"x{invisible}y\nz"})
    assert invisible not in written
    assert read_back(written) == {"a": f"x{invisible}y\nz"}


def test_characters_of_any_script_are_kept() -> None:
    assert dump_yaml({"marker": "<｜tool▁calls▁begin｜>"}) == "marker: <｜tool▁calls▁begin｜>\n"


def test_members_of_an_enumeration_are_text() -> None:
    assert (
        dump_yaml({Dialect.RESPONSE_TEMPLATE: [Dialect.RESPONSE_SCHEMA]}) == "response_template:\n- response_schema\n"
    )


@given(st.floats(allow_nan=False))
def test_floating_point_numbers_are_read_back_exactly(number: float) -> None:
    assert read_back(dump_yaml([number])) == [number]
    assert str(read_back(dump_yaml([number]))[0]) == str(number)


def cycle() -> list[Any]:
    endless: list[Any] = []
    endless.append(endless)
    return endless


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"a": "\ud800"}, r"'\\ud800' holds half a character"),
        ({"a": {1: 2}}, "the key 1 is not text"),
        ({"a": b"raw"}, "b'raw' is not data as JSON knows it"),
        ({"a": {1, 2}}, r"\{1, 2\} is not data as JSON knows it"),
        (cycle(), "the data is nested without end"),
    ],
)
def test_what_would_not_be_read_back_is_refused(data: Any, reason: str) -> None:
    with pytest.raises(RegistryError, match=f"^cannot be written as YAML: {reason}$"):
        dump_yaml(data)
