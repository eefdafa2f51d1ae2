"""GGUF files are read by their metadata alone; whatever they claim, it costs little and fails in one line."""

from __future__ import annotations

import hashlib
import os
import tracemalloc
from pathlib import Path

import gguf as official
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgw.errors import SourceError
from rgw.templates.model import ResolvedTemplates
from rgw.templates.resolve import resolve
from templates.gguf_files import ARRAY, BIG, BOOL, FLOAT64, HUGE, LITTLE, STRING, UINT8, UINT32, Writer

KEY = "tokenizer.chat_template"
TEMPLATE = "{{ messages }}\r\né🙂"
NAMED = [
    {"name": "default", "template": "plain"},
    {"name": "tool_use", "template": "tools"},
    {"name": "rag", "template": "documents"},
]


def read(tmp_path: Path, data: bytes) -> ResolvedTemplates:
    path = tmp_path / "model.gguf"
    path.write_bytes(data)
    return resolve(str(path))


def refusal(tmp_path: Path, data: bytes) -> str:
    """What is said of a file that is refused, without the name of the file."""
    with pytest.raises(SourceError) as caught:
        read(tmp_path, data)
    assert "\n" not in str(caught.value)
    assert caught.value.fix
    return caught.value.message.replace(str(tmp_path / "model.gguf"), "FILE")


def official_writer(path: Path, **options: object) -> official.GGUFWriter:
    writer = official.GGUFWriter(path, "llama", **options)
    writer.add_context_length(4096)
    writer.add_rope_freq_base(10_000.0)
    writer.add_token_list(["<s>", "a", "é"])
    writer.add_token_scores([0.0, -1.0, -2.0])
    writer.add_token_types([3, 1, 1])
    writer.add_add_bos_token(True)
    return writer


def written_by(writer: official.GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.mark.parametrize("endianess", official.GGUFEndian)
def test_files_of_the_official_library_are_read(tmp_path: Path, endianess: official.GGUFEndian) -> None:
    writer = official_writer(tmp_path / "model.gguf", endianess=endianess)
    writer.add_chat_template(TEMPLATE)
    written_by(writer)
    [template] = resolve(str(tmp_path / "model.gguf")).templates
    assert (template.name, template.text, template.source, template.effective) == ("default", TEMPLATE, KEY, True)
    assert template.sha256 == hashlib.sha256(TEMPLATE.encode()).hexdigest()


def test_every_named_template_of_the_official_library_is_read(tmp_path: Path) -> None:
    writer = official_writer(tmp_path / "model.gguf")
    writer.add_chat_template(NAMED)
    written_by(writer)
    found = {
        template.source: (template.name, template.text, template.effective)
        for template in resolve(str(tmp_path / "model.gguf")).templates
    }
    assert found == {
        KEY: ("default", "plain", False),
        f"{KEY}.tool_use": ("tool_use", "tools", True),
        f"{KEY}.rag": ("rag", "documents", False),
    }


def test_the_base_models_that_are_on_a_hub_are_named(tmp_path: Path) -> None:
    writer = official_writer(tmp_path / "model.gguf")
    writer.add_base_model_count(3)
    writer.add_base_model_repo_url(0, "https://huggingface.co/Owner/Base-8B")
    writer.add_base_model_repo_url(1, "https://example.org/a/b/c")
    writer.add_base_model_repo_url(2, "https://huggingface.co/Owner/Other.1/")
    written_by(writer)
    assert resolve(str(tmp_path / "model.gguf")).base_models == ("Owner/Base-8B", "Owner/Other.1")


def test_a_file_without_a_template_has_none(tmp_path: Path) -> None:
    written_by(official_writer(tmp_path / "model.gguf"))
    assert resolve(str(tmp_path / "model.gguf")) == ResolvedTemplates(str(tmp_path / "model.gguf"))


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("writer", [LITTLE, BIG])
def test_both_versions_and_both_byte_orders_are_read(tmp_path: Path, writer: Writer, version: int) -> None:
    data = writer.file(
        writer.entry("a", UINT8, b"\1"),
        writer.entry("b", BOOL, b"\0"),
        writer.entry("c", FLOAT64, writer.number("d", 1.5)),
        writer.strings("d", ["x", "", "zz"]),
        writer.entry("e", ARRAY, writer.array(UINT32, 2, writer.number("I", 1) * 2)),
        writer.entry("f", ARRAY, writer.array(ARRAY, 2, writer.array(STRING, 1, writer.string("inner")) * 2)),
        writer.text(KEY, TEMPLATE),
        version=version,
    )
    assert [template.text for template in read(tmp_path, data).templates] == [TEMPLATE]


def test_a_gguf_file_is_known_by_its_first_bytes_too(tmp_path: Path) -> None:
    blob = tmp_path / "sha256-0123"
    blob.write_bytes(LITTLE.file(LITTLE.text(KEY, "stored")))
    assert [template.text for template in resolve(str(blob)).templates] == ["stored"]


def test_line_ends_stay_as_they_are(tmp_path: Path) -> None:
    """transformers translates those of a .jinja file; an inference engine takes the string of the metadata as it is."""
    [template] = read(tmp_path, LITTLE.file(LITTLE.text(KEY, "a\r\nb\r"))).templates
    assert template.text == "a\r\nb\r"


def test_a_file_of_40_gigabytes_costs_no_more_than_its_header(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(LITTLE.file(LITTLE.strings("tokenizer.ggml.tokens", ["token"] * 50_000), LITTLE.text(KEY, "big")))
    os.truncate(path, 40 * 1024**3)
    tracemalloc.start()
    try:
        [template] = resolve(str(path)).templates
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert template.text == "big"
    assert peak < 1024**2


ENTRY = LITTLE.text(KEY, "text")
MALFORMED = {
    "another format": (b"PK\3\4" + b"\0" * 40, "FILE is no GGUF file"),
    "nothing": (b"", "FILE is no GGUF file"),
    "version 1": (LITTLE.file(version=1), "FILE is of GGUF version 1; readable are versions 2 and 3"),
    "version 0": (LITTLE.file(version=0), "FILE is of GGUF version 0; readable are versions 2 and 3"),
    "a future version": (BIG.file(version=9), "FILE is of GGUF version 9; readable are versions 2 and 3"),
    "too many entries": (
        LITTLE.file(count=HUGE),
        f"FILE claims {HUGE:,} metadata entries; the limit is 65,536",
    ),
    "a key without end": (
        LITTLE.file(LITTLE.number("Q", HUGE)),
        f"FILE has a metadata key of {HUGE:,} bytes; the limit is 65,535",
    ),
    "a key that is not UTF-8": (
        LITTLE.file(LITTLE.entry(b"\xff", UINT8, b"\0")),
        "FILE has a metadata key that is not UTF-8",
    ),
    "an unknown type": (
        LITTLE.file(LITTLE.entry("a", 13, b"")),
        "FILE has a metadata value of the unknown type 13",
    ),
    "an array of an unknown type": (
        LITTLE.file(LITTLE.entry("a", ARRAY, LITTLE.array(99, 1, b""))),
        "FILE has a metadata value of the unknown type 99",
    ),
    "too many strings": (
        LITTLE.file(LITTLE.entry("a", ARRAY, LITTLE.array(STRING, HUGE, b""))),
        f"FILE claims {HUGE:,} strings in arrays; the limit is 4,000,000",
    ),
    "too many arrays": (
        LITTLE.file(LITTLE.entry("a", ARRAY, LITTLE.array(ARRAY, HUGE, b""))),
        f"FILE claims {HUGE:,} strings in arrays; the limit is 4,000,000",
    ),
    "arrays that are too deep": (
        LITTLE.file(LITTLE.entry("a", ARRAY, LITTLE.array(ARRAY, 1, b"") * 5_000)),
        "FILE nests arrays more than 8 deep",
    ),
    "a template that is no string": (
        LITTLE.file(LITTLE.entry(KEY, UINT8, b"\0")),
        f"FILE has a {KEY!r} that is no string",
    ),
    "a template that is not UTF-8": (
        LITTLE.file(LITTLE.text(KEY, b"ab\xff")),
        f"FILE has a {KEY!r} that is not UTF-8 (byte 3)",
    ),
    "a template twice": (LITTLE.file(ENTRY, ENTRY), f"FILE has {KEY!r} twice"),
    "too many templates": (
        LITTLE.file(*(LITTLE.text(f"{KEY}.t{number}", "") for number in range(65))),
        "FILE has more than 64 chat templates",
    ),
    "a template without end": (
        LITTLE.file(LITTLE.entry(KEY, STRING, LITTLE.number("Q", HUGE))),
        f"FILE: {KEY!r} is larger than the limit of 4 MB",
    ),
}


@pytest.mark.parametrize(("data", "message"), MALFORMED.values(), ids=MALFORMED)
def test_what_the_format_forbids_is_refused_in_one_line(tmp_path: Path, data: bytes, message: str) -> None:
    assert refusal(tmp_path, data) == message


@pytest.mark.parametrize(
    "value",
    [
        LITTLE.entry("a", STRING, LITTLE.number("Q", HUGE)),
        LITTLE.entry("a", STRING, LITTLE.number("Q", 2**40)),
        LITTLE.entry("a", ARRAY, LITTLE.array(UINT32, HUGE, b"")),
        LITTLE.entry("a", ARRAY, LITTLE.array(STRING, 2, LITTLE.number("Q", HUGE))),
        LITTLE.entry("a", ARRAY, LITTLE.array(STRING, 2, LITTLE.number("Q", 2**62))),
        LITTLE.entry("a", ARRAY, LITTLE.array(STRING, 1, LITTLE.number("Q", 2**40))),
        LITTLE.entry("a", ARRAY, LITTLE.array(STRING, 4_000_000, b"")),
    ],
)
def test_lengths_behind_the_end_of_the_file_are_refused(tmp_path: Path, value: bytes) -> None:
    data = LITTLE.file(value, count=2)
    cut = f"FILE is cut off or damaged: its metadata goes on behind its end at byte {len(data):,}"
    assert refusal(tmp_path, data) == cut


def test_a_sparse_file_cannot_hold_strings_without_end(tmp_path: Path) -> None:
    """A gap in a file costs nothing and reads as zeros: strings without content, as many as an array claims."""
    path = tmp_path / "model.gguf"
    first = LITTLE.file(LITTLE.entry("a", ARRAY, LITTLE.array(STRING, 2_000_000, b"")), count=2)
    with path.open("wb") as file:
        file.write(first)
        file.seek(len(first) + 8 * 2_000_000)
        file.write(LITTLE.entry("b", ARRAY, LITTLE.array(STRING, 2_000_001, b"")))
    os.truncate(path, 2**40)
    with pytest.raises(SourceError, match="claims 4,000,001 strings in arrays; the limit is 4,000,000"):
        resolve(str(path))


def test_templates_together_stay_within_the_limit(tmp_path: Path) -> None:
    """Each alone would be small enough."""
    half = "x" * (3 * 1024 * 1024)
    data = LITTLE.file(LITTLE.text(KEY, half), LITTLE.text(f"{KEY}.tool_use", half))
    assert refusal(tmp_path, data) == f"FILE: '{KEY}.tool_use' is larger than the limit of 4 MB"


GOOD = LITTLE.file(LITTLE.strings("tokens", ["a", "b"]), LITTLE.text("general.name", "m"), LITTLE.text(KEY, TEMPLATE))


@pytest.mark.parametrize("size", range(len(GOOD)))
def test_every_truncation_is_refused(tmp_path: Path, size: int) -> None:
    assert refusal(tmp_path, GOOD[:size]) in (
        "FILE is no GGUF file",
        f"FILE is cut off or damaged: its metadata goes on behind its end at byte {size:,}",
    )


@given(st.binary(max_size=400))
def test_whatever_follows_the_magic_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "model.gguf"
    for content in (b"GGUF" + data, GOOD[:24] + data, GOOD[: len(GOOD) // 2] + data):
        path.write_bytes(content)
        try:
            resolve(str(path))
        except SourceError as error:
            assert "\n" not in str(error)  # noqa: PT017 - being refused in one line is one of the two allowed answers


def test_a_directory_of_gguf_files_says_which_file_to_name(tmp_path: Path) -> None:
    (tmp_path / "model-Q4.gguf").write_bytes(GOOD)
    with pytest.raises(SourceError) as caught:
        resolve(str(tmp_path))
    assert caught.value.fix == f"name the GGUF file itself, such as {tmp_path}/model-Q4.gguf"


def test_a_pipe_is_no_gguf_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "model.gguf")
    with pytest.raises(SourceError, match="is no regular file"):
        resolve(str(tmp_path / "model.gguf"))
