"""The identity of a template is that of the string which real tokenizers and processors of transformers hold.

The processor is a real one that loads without torch; its directories are written here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from rgw.templates.local import read_directory
from rgw.templates.model import PROCESSOR_SOURCES, ResolvedTemplates
from rgw.templates.tokenizer import templates_of_tokenizer

pytestmark = pytest.mark.both_engines

TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
NAMED = [{"name": "default", "template": "plain"}, {"name": "tool_use", "template": "tools\r\n"}]

# What each directory holds besides the tokenizer: bytes are files as they are, anything else is written as JSON.
TEMPLATE_FILES: dict[str, dict[str, Any]] = {
    "single file": {"chat_template.jinja": b"{{ messages }}\n"},
    "config string": {"tokenizer_config.json": {"chat_template": "{{ messages }}\n"}},
    "config string with CRLF": {"tokenizer_config.json": {"chat_template": "a\r\nb\r"}},
    "config string with a byte-order mark": {"tokenizer_config.json": {"chat_template": "\ufeffa"}},
    "config string beyond ASCII": {"tokenizer_config.json": {"chat_template": "é\u2028\U0001f600"}},
    "empty config string": {"tokenizer_config.json": {"chat_template": ""}},
    "file over config": {"chat_template.jinja": b"file", "tokenizer_config.json": {"chat_template": "config"}},
    "empty file over config": {"chat_template.jinja": b"", "tokenizer_config.json": {"chat_template": "config"}},
    "named list": {"tokenizer_config.json": {"chat_template": NAMED}},
    "named list with a repeated name": {"tokenizer_config.json": {"chat_template": [*NAMED, *NAMED[:1]]}},
    "mapping": {"tokenizer_config.json": {"chat_template": {"default": "a", "rag": "b"}}},
    "list without a default": {"tokenizer_config.json": {"chat_template": NAMED[1:]}},
    "additional files": {
        "chat_template.jinja": b"plain\r\n",
        "additional_chat_templates/tool_use.jinja": b"tools\r\n",
        "additional_chat_templates/rag.jinja": b"rag",
        "additional_chat_templates/notes.txt": b"notes",
        "additional_chat_templates/more/deep.jinja": b"deep",
    },
    "additional files alone": {
        "additional_chat_templates/tool_use.jinja": b"tools",
        "tokenizer_config.json": {"chat_template": "config"},
    },
    "additional default": {"chat_template.jinja": b"file", "additional_chat_templates/default.jinja": b"other"},
    "additional file without a name": {"chat_template.jinja": b"file", "additional_chat_templates/.jinja": b"other"},
    "directory in place of a file": {"chat_template.jinja/x": b"", "tokenizer_config.json": {"chat_template": "a"}},
    "CRLF": {"chat_template.jinja": b"a\r\nb\r\n"},
    "lone CR": {"chat_template.jinja": b"a\rb\r\r\n"},
    "byte-order mark": {"chat_template.jinja": b"\xef\xbb\xbfa\n"},
    "no final newline": {"chat_template.jinja": b"a"},
    "other line separators": {"chat_template.jinja": "a\u2028b\x0cc\x85d".encode()},
    "empty file": {"chat_template.jinja": b""},
    "null": {"tokenizer_config.json": {"chat_template": None}},
    "none": {"tokenizer_config.json": {}},
    "processor file": {"chat_template.json": {"chat_template": "json\r\n"}},
    "processor file beside a config string": {
        "chat_template.json": {"chat_template": "json"},
        "tokenizer_config.json": {"chat_template": "config"},
    },
    "processor file beside a file": {"chat_template.json": {"chat_template": "json"}, "chat_template.jinja": b"file"},
    "empty processor file": {"chat_template.json": {"chat_template": ""}},
    "processor configuration": {
        "processor_config.json": {"processor_class": "Qwen2AudioProcessor", "chat_template": "configured"},
        "chat_template.json": {"chat_template": "json"},
        "chat_template.jinja": b"file",
    },
    "processor configuration without a template": {
        "processor_config.json": {"processor_class": "Qwen2AudioProcessor"},
        "chat_template.json": {"chat_template": "json"},
    },
}

# Additional files named `default` or nothing at all: processors and tokenizers disagree on what they are called.
NAMED_OTHERWISE_BY_PROCESSORS = {"additional default", "additional file without a name"}

WriteModel = Callable[[dict[str, Any]], Path]


@pytest.fixture
def write_model(tmp_path: Path) -> WriteModel:
    """Write a directory that tokenizers and processors load, with the given template files."""

    def write(files: dict[str, Any]) -> Path:
        Tokenizer(WordLevel({"<unk>": 0}, unk_token="<unk>")).save(str(tmp_path / "tokenizer.json"))
        (tmp_path / "preprocessor_config.json").write_text('{"feature_extractor_type": "WhisperFeatureExtractor"}')
        for name, content in {"tokenizer_config.json": {}, **files}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return tmp_path

    return write


def held(chat_template: str | dict[str, str] | None) -> dict[str, str]:
    """What an object of transformers holds, by name."""
    if chat_template is None:
        return {}
    return {"default": chat_template} if isinstance(chat_template, str) else chat_template


def of_tokenizer(resolved: ResolvedTemplates) -> dict[str, str]:
    return {found.name: found.text for found in resolved.templates if found.source not in PROCESSOR_SOURCES}


def of_processor(resolved: ResolvedTemplates) -> dict[str, str]:
    """What a processor holds: its own templates, or else those in files of their own; never the tokenizer's config."""
    own = {found.name: found.text for found in resolved.templates if found.source in PROCESSOR_SOURCES}
    separate = {found.name: found.text for found in resolved.templates if found.source.endswith(".jinja")}
    return own or separate


@pytest.mark.parametrize("files", TEMPLATE_FILES.values(), ids=TEMPLATE_FILES)
def test_a_directory_holds_what_its_tokenizer_holds(write_model: WriteModel, files: dict[str, Any]) -> None:
    from transformers import PreTrainedTokenizerFast

    directory = write_model(files)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(directory)
    resolved = read_directory(directory, "model")
    assert of_tokenizer(resolved) == held(tokenizer.chat_template)
    for found in resolved.templates:
        assert found.sha256 == hashlib.sha256(found.text.encode()).hexdigest()


@pytest.mark.parametrize("files", TEMPLATE_FILES.values(), ids=TEMPLATE_FILES)
def test_the_effective_template_is_the_one_that_the_tokenizer_renders(
    write_model: WriteModel, files: dict[str, Any]
) -> None:
    from transformers import PreTrainedTokenizerFast

    directory = write_model(files)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(directory)
    try:
        rendered = tokenizer.get_chat_template(tools=TOOLS)
    except ValueError:  # it has no template, or several of which none is the default
        rendered = None
    effective = read_directory(directory, "model").effective
    in_memory = templates_of_tokenizer(tokenizer).effective
    assert (in_memory.text if in_memory else None) == rendered
    if effective is None or effective.source not in PROCESSOR_SOURCES:
        assert (effective.text if effective else None) == rendered


@pytest.mark.parametrize("case", sorted(TEMPLATE_FILES.keys() - NAMED_OTHERWISE_BY_PROCESSORS))
def test_a_directory_holds_what_its_processor_holds(write_model: WriteModel, case: str) -> None:
    from transformers import Qwen2AudioProcessor

    directory = write_model(TEMPLATE_FILES[case])
    processor = Qwen2AudioProcessor.from_pretrained(directory)
    # A processor takes an empty text for none, and this class then falls back to a text in its own code.
    written = {name: text for name, text in of_processor(read_directory(directory, "model")).items() if text}
    assert held(processor.chat_template) == (written or {"default": processor.default_chat_template})


def test_a_processor_that_refuses_both_kinds_of_file_has_no_template_of_its_own(write_model: WriteModel) -> None:
    from transformers import Qwen2AudioProcessor

    directory = write_model(
        {
            "chat_template.json": {"chat_template": "json"},
            "chat_template.jinja": b"file",
            "additional_chat_templates/tool_use.jinja": b"tools",
        }
    )
    with pytest.raises(ValueError, match="conflicting files"):
        Qwen2AudioProcessor.from_pretrained(directory)
    sources = [found.source for found in read_directory(directory, "model").templates]
    assert sources == ["chat_template.jinja", "additional_chat_templates/tool_use.jinja"]


def test_a_native_response_template_is_what_the_tokenizer_holds(write_model: WriteModel) -> None:
    from transformers import PreTrainedTokenizerFast

    native = {"start_anchor": "<a>", "fields": {"content": {}}}
    directory = write_model({"tokenizer_config.json": {"response_template": native}})
    tokenizer = PreTrainedTokenizerFast.from_pretrained(directory)
    assert read_directory(directory, "model").native_response_template == native
    if hasattr(tokenizer, "response_template"):  # older versions do not read it
        assert tokenizer.response_template == native


@pytest.mark.parametrize("configuration", [b"\xef\xbb\xbf{}", b"{oops}", b"[" * 100_000])
def test_what_is_refused_here_transformers_refuses_too(write_model: WriteModel, configuration: bytes) -> None:
    from transformers import PreTrainedTokenizerFast

    from rgw.errors import SourceError

    directory = write_model({})
    (directory / "tokenizer_config.json").write_bytes(configuration)
    with pytest.raises((ValueError, RecursionError, OSError)):
        PreTrainedTokenizerFast.from_pretrained(directory)
    with pytest.raises(SourceError):
        read_directory(directory, "model")
