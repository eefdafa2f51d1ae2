"""Chat templates in files and directories: what is read, what wins, and what is refused in one line."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgw.errors import SourceError
from rgw.templates.local import read_directory, read_file, read_standard_input
from rgw.templates.model import ResolvedTemplates

CONFIGURATION = "tokenizer_config.json"
IN_CONFIGURATION = "model/tokenizer_config.json"


def write(directory: Path, files: dict[str, object]) -> Path:
    """Write files: bytes as they are, a text as UTF-8, anything else as JSON."""
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content), newline="")
    return directory


def rows(resolved: ResolvedTemplates) -> list[tuple[str, str, str, bool]]:
    """What was found, a row for each template."""
    return [(found.name, found.text, found.source, found.effective) for found in resolved.templates]


def refusal(directory: Path, ref: str = "model") -> str:
    with pytest.raises(SourceError) as caught:
        read_directory(directory, ref)
    assert "\n" not in str(caught.value)
    assert caught.value.fix
    return caught.value.message


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(
            {CONFIGURATION: {"chat_template": "config"}},
            [("default", "config", CONFIGURATION, True)],
            id="config string",
        ),
        pytest.param(
            {"chat_template.jinja": "file", CONFIGURATION: {"chat_template": "config"}},
            [("default", "file", "chat_template.jinja", True)],
            id="file over config",
        ),
        pytest.param(
            {
                CONFIGURATION: {
                    "chat_template": [
                        {"name": "default", "template": "plain"},
                        {"name": "tool_use", "template": "tools"},
                    ]
                }
            },
            [("default", "plain", CONFIGURATION, False), ("tool_use", "tools", CONFIGURATION, True)],
            id="named list",
        ),
        pytest.param(
            {
                "chat_template.jinja": "file",
                "additional_chat_templates/tool_use.jinja": "tools",
                "additional_chat_templates/rag.jinja": "rag",
                "additional_chat_templates/notes.txt": "no template",
            },
            [
                ("default", "file", "chat_template.jinja", False),
                ("rag", "rag", "additional_chat_templates/rag.jinja", False),
                ("tool_use", "tools", "additional_chat_templates/tool_use.jinja", True),
            ],
            id="additional files",
        ),
        pytest.param(
            {
                "additional_chat_templates/rag.jinja": "rag",
                CONFIGURATION: {"chat_template": "config"},
            },
            [("rag", "rag", "additional_chat_templates/rag.jinja", False)],
            id="additional files replace the config's",
        ),
        pytest.param(
            {"chat_template.jinja": "file", "additional_chat_templates/default.jinja": "other"},
            [("default", "other", "additional_chat_templates/default.jinja", True)],
            id="an additional default replaces the file",
        ),
        pytest.param(
            {"chat_template.json": {"chat_template": "json"}, CONFIGURATION: {}},
            [("default", "json", "chat_template.json", True)],
            id="processor only",
        ),
        pytest.param(
            {"chat_template.json": {"chat_template": "json"}, CONFIGURATION: {"chat_template": "config"}},
            [("default", "config", CONFIGURATION, True), ("default", "json", "chat_template.json", False)],
            id="the tokenizer's is effective, the processor's is shown",
        ),
        pytest.param(
            {"processor_config.json": {"chat_template": "one"}, "chat_template.json": {"chat_template": "two"}},
            [("default", "one", "processor_config.json", True)],
            id="processor configuration over chat_template.json",
        ),
        pytest.param({"chat_template.jinja": ""}, [("default", "", "chat_template.jinja", True)], id="empty file"),
        pytest.param({CONFIGURATION: {"chat_template": ""}}, [("default", "", CONFIGURATION, True)], id="empty string"),
        pytest.param({CONFIGURATION: {}}, [], id="none"),
        pytest.param({CONFIGURATION: {"chat_template": None}}, [], id="null"),
        pytest.param({"tokenizer.json": {}}, [], id="vocabulary only"),
    ],
)
def test_a_directory_is_read_in_the_order_of_transformers(
    tmp_path: Path, files: dict[str, object], expected: list[tuple[str, str, str, bool]]
) -> None:
    assert rows(read_directory(write(tmp_path, files), "model")) == expected


def test_a_processor_picks_its_default_even_with_tools(tmp_path: Path) -> None:
    files: dict[str, object] = {"processor_config.json": {"chat_template": {"default": "a", "tool_use": "b"}}}
    effective = read_directory(write(tmp_path, files), "model").effective
    assert effective is not None
    assert effective.text == "a"


def test_crlf_in_a_file_is_translated_and_in_a_configuration_kept(tmp_path: Path) -> None:
    [of_file] = read_directory(write(tmp_path / "a", {"chat_template.jinja": b"a\r\n"}), "a").templates
    [of_configuration] = read_directory(
        write(tmp_path / "b", {CONFIGURATION: {"chat_template": "a\r\n"}}), "b"
    ).templates
    assert of_file.sha256 == hashlib.sha256(b"a\n").hexdigest()
    assert of_file.bytes_sha256 == of_configuration.sha256 == hashlib.sha256(b"a\r\n").hexdigest()
    assert of_configuration.bytes_sha256 is None


def test_the_native_response_template_is_kept(tmp_path: Path) -> None:
    native = {"fields": {"content": {}}}
    configuration = write(tmp_path, {CONFIGURATION: {"response_template": native}}) / CONFIGURATION
    assert read_directory(tmp_path, "model").native_response_template == native
    assert read_file(configuration, "file").native_response_template == native


@pytest.mark.parametrize(
    ("name", "content", "source"),
    [
        ("chat_template.jinja", b"a\r\n", "chat_template.jinja"),
        ("anything.txt", "a\n", "anything.txt"),
        (CONFIGURATION, {"chat_template": "a\n"}, CONFIGURATION),
        ("chat_template.json", {"chat_template": "a\n"}, "chat_template.json"),
    ],
)
def test_a_named_file_is_read_alone(tmp_path: Path, name: str, content: object, source: str) -> None:
    write(tmp_path, {"chat_template.jinja": "a neighbour", name: content})
    assert rows(read_file(tmp_path / name, name)) == [("default", "a\n", source, True)]


def test_standard_input_holds_a_template(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\r\n")))
    assert rows(read_standard_input()) == [("default", "a\n", "standard input", True)]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "model holds no tokenizer files"),
        ({"model.safetensors": b"\0"}, "model holds no tokenizer files"),
        (
            {CONFIGURATION: '{"a": 1,\n "chat_template": oops}'},
            f"{IN_CONFIGURATION} is not valid JSON: Expecting value (line 2, column 19)",
        ),
        (
            {CONFIGURATION: b"\xef\xbb\xbf{}"},
            f"{IN_CONFIGURATION} is not valid JSON: Unexpected UTF-8 BOM (decode using utf-8-sig) (line 1, column 1)",
        ),
        ({CONFIGURATION: "[]"}, f"{IN_CONFIGURATION} does not hold a JSON object"),
        (
            {CONFIGURATION: '{"a":' + "[" * 100_000},
            f"{IN_CONFIGURATION} is not usable JSON: nested too deeply or a number too long",
        ),
        (
            {CONFIGURATION: '{"a":' + "1" * 10_000 + "}"},
            f"{IN_CONFIGURATION} is not usable JSON: nested too deeply or a number too long",
        ),
        ({CONFIGURATION: {"chat_template": 5}}, f"{IN_CONFIGURATION}: chat_template is a number"),
        ({CONFIGURATION: {"response_template": []}}, f"{IN_CONFIGURATION}: response_template is not an object"),
        ({CONFIGURATION: b"\x7fELF\0"}, f"{IN_CONFIGURATION} is a binary file"),
        ({"chat_template.jinja": b"a\xe9"}, "model/chat_template.jinja is not UTF-8 (byte 2)"),
        (
            {"additional_chat_templates/tool_use.jinja": b"\xff"},
            "model/additional_chat_templates/tool_use.jinja is not UTF-8 (byte 1)",
        ),
        ({"chat_template.json": {"chat_template": ["a"]}}, "model/chat_template.json: chat_template[0] is a text"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(tmp_path: Path, files: dict[str, object], message: str) -> None:
    assert refusal(write(tmp_path, files)) == message


def test_a_template_over_the_limit_is_refused_without_reading_it_whole(tmp_path: Path) -> None:
    with (write(tmp_path, {"chat_template.jinja": ""}) / "chat_template.jinja").open("wb") as file:
        file.truncate(50 * 1024 * 1024)
    assert refusal(tmp_path) == "model/chat_template.jinja is larger than the limit of 4 MB"


def test_a_configuration_over_the_limit_is_refused(tmp_path: Path) -> None:
    with (tmp_path / CONFIGURATION).open("wb") as file:
        file.truncate(50 * 1024 * 1024)
    assert refusal(tmp_path) == f"{IN_CONFIGURATION} is larger than the limit of 32 MB"


def test_standard_input_over_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a" * (4 * 1024 * 1024 + 1))))
    with pytest.raises(SourceError, match="standard input is larger than the limit of 4 MB"):
        read_standard_input()


def test_an_unreadable_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Permissions do not bind a superuser, so the refusal of the operating system is played."""
    write(tmp_path, {"chat_template.jinja": "a"})

    def refuse(path: Path, *args: object) -> object:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    assert refusal(tmp_path) == "model/chat_template.jinja cannot be read: Permission denied"


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind a superuser")
def test_an_unreadable_directory_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"chat_template.jinja": "a"}).chmod(0)
    message = refusal(tmp_path)
    tmp_path.chmod(0o700)
    assert message == "model cannot be read: Permission denied"


def test_a_link_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "chat_template.jinja").symlink_to("gone")
    assert refusal(tmp_path) == "model/chat_template.jinja cannot be read: No such file or directory"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "template", "x"]), inner),
    max_leaves=8,
)


@given(value=JSON, native=JSON, name=st.sampled_from([CONFIGURATION, "processor_config.json", "chat_template.json"]))
def test_any_json_is_read_or_refused(value: object, native: object, name: str) -> None:
    text = json.dumps({"chat_template": value, "response_template": native})
    assert is_identified_or_refused(name, text.encode())


@given(data=st.binary(), name=st.sampled_from(["chat_template.jinja", CONFIGURATION, "chat_template.json"]))
def test_any_bytes_are_read_or_refused(data: bytes, name: str) -> None:
    assert is_identified_or_refused(name, data)


def is_identified_or_refused(name: str, data: bytes) -> bool:
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / name).write_bytes(data)
        try:
            templates = read_directory(Path(directory), "model").templates
        except SourceError as error:
            return "\n" not in str(error)
    return all(found.sha256 == hashlib.sha256(found.text.encode()).hexdigest() for found in templates)


def test_a_pipe_is_read_like_a_file(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    os.write(write_end, b"a\n")
    os.close(write_end)
    resolved = read_file(Path(f"/dev/fd/{read_end}"), "pipe")
    os.close(read_end)
    assert [template.text for template in resolved.templates] == ["a\n"]
