"""What detection says of a template that the registry knows, does not know, or knows to have no schema."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from rgw.detection import Detection, DetectionStatus, detect
from rgw.registry.model import Dialect, Origin, RegisteredTemplate, Schema
from rgw.templates.identity import chat_template, mark_effective, sha256_of
from rgw.templates.model import ChatTemplate, ResolvedTemplates, UnresolvedTemplates
from rgw.templates.similarity import line_fingerprint

KNOWN = "{% for message in messages %}\n{{ message }}\n{% endfor %}\n{{ end }}\n"
WITHOUT_SCHEMA = "{{ nothing to read }}"


@dataclass(frozen=True)
class Registry:
    """A registry of the given texts, each with its entry."""

    entries: Mapping[str, RegisteredTemplate]

    def find_template(self, sha256: str) -> RegisteredTemplate | None:
        return next((entry for entry in self.entries.values() if entry.sha256 == sha256), None)

    def schema(self, name: str) -> Schema:
        return Schema(name, "Qwen3 JSON", Origin("trl"), {Dialect.RESPONSE_TEMPLATE: {}, Dialect.RESPONSE_SCHEMA: {}})

    def fingerprints(self) -> Mapping[str, str]:
        return {entry.sha256: line_fingerprint(text) for text, entry in self.entries.items()}


REGISTRY = Registry(
    {
        KNOWN: RegisteredTemplate(sha256_of(KNOWN), "qwen3", "Qwen3", "qwen"),
        WITHOUT_SCHEMA: RegisteredTemplate(sha256_of(WITHOUT_SCHEMA), None, "Old", "old", reason="it renders no calls"),
    }
)


def template(text: str, name: str = "default", source: str = "chat_template.jinja") -> ChatTemplate:
    return chat_template(name, text, source=source, where=source)


def detected(*templates: ChatTemplate, native: bool = False) -> Detection:
    marked = mark_effective(templates)
    native_response_template = {"fields": {}} if native else None
    return detect(ResolvedTemplates("owner/name", "c" * 40, marked, native_response_template), REGISTRY)


def test_a_registered_template_is_recognised() -> None:
    detection = detected(template(KNOWN))
    assert detection.status is DetectionStatus.RECOGNISED
    assert detection.schema == REGISTRY.schema("qwen3")
    assert detection.nearest == ()


def test_the_json_form_is_the_contract() -> None:
    assert detected(template(KNOWN), native=True).to_dict() == {
        "ref": "owner/name",
        "status": "recognised",
        "templates": [
            {
                "name": "default",
                "sha256": sha256_of(KNOWN),
                "source": "chat_template.jinja",
                "revision": "c" * 40,
                "effective": True,
            }
        ],
        "schema": {
            "name": "qwen3",
            "title": "Qwen3 JSON",
            "origin": "trl",
            "dialects": ["response_template", "response_schema"],
        },
        "nearest": [],
        "native_response_template": True,
        "message": "read with schema qwen3",
    }


def test_the_hash_of_a_file_is_shown_where_it_differs_from_the_identity() -> None:
    data = KNOWN.replace("\n", "\r\n").encode()
    of_file = chat_template("default", KNOWN, source="chat_template.jinja", where="file", data=data)
    [form] = detected(of_file).to_dict()["templates"]
    assert (form["sha256"], form["bytes_sha256"]) == (sha256_of(KNOWN), hashlib.sha256(data).hexdigest())


def test_the_effective_template_alone_decides() -> None:
    detection = detected(template(KNOWN), template("{{ tools }}", "tool_use"))
    assert detection.status is DetectionStatus.UNRECOGNISED
    assert detection.schema is None
    assert "registered is 'default' in chat_template.jinja" in detection.message


def test_an_unknown_template_is_shown_what_it_resembles() -> None:
    # Three of its four pieces are those of the registered template.
    detection = detected(template(KNOWN.replace("{{ end }}", "{{ other }}")))
    assert detection.status is DetectionStatus.UNRECOGNISED
    assert detection.to_dict()["nearest"] == [
        {"sha256": sha256_of(KNOWN), "schema": "qwen3", "variant": "Qwen3", "similarity": 0.75}
    ]
    assert f"75% of its lines are those of Qwen3 ({sha256_of(KNOWN)[:12]})" in detection.message
    assert "`rgw register`" in detection.message


@pytest.mark.parametrize(
    ("text", "difference"),
    [
        (KNOWN.rstrip("\n"), "the final newline"),
        (KNOWN.replace("\n", "\r\n"), "line ends"),
        ("\ufeff" + KNOWN, "a byte-order mark"),
    ],
)
def test_a_difference_of_layout_only_is_named_and_still_not_recognised(text: str, difference: str) -> None:
    detection = detected(template(text))
    assert detection.status is DetectionStatus.UNRECOGNISED
    assert [(nearest.difference, nearest.similarity) for nearest in detection.nearest] == [(difference, 1.0)]
    assert f"it differs from Qwen3 ({sha256_of(KNOWN)[:12]}) only in {difference}" in detection.message


def test_a_template_like_no_other_has_no_nearest() -> None:
    detection = detected(template("something else"))
    assert detection.nearest == ()
    assert "resembles no registered template" in detection.message


def test_the_most_similar_come_first_and_are_few() -> None:
    lines = [f"line {number}\n" for number in range(10)]
    texts = {f"first {count}": "".join(lines[:count]) for count in range(4, 10)}
    registry = Registry(
        {text: RegisteredTemplate(sha256_of(text), "qwen3", variant, "lines") for variant, text in texts.items()}
    )
    detection = detect(ResolvedTemplates("r", None, mark_effective([template("".join(lines))])), registry)
    assert [nearest.template.variant for nearest in detection.nearest] == ["first 9", "first 8", "first 7"]


def test_a_template_known_to_have_no_schema_says_why() -> None:
    detection = detected(template(WITHOUT_SCHEMA))
    assert detection.status is DetectionStatus.UNRECOGNISED
    assert detection.registered is not None
    assert detection.registered.reason == "it renders no calls"
    assert "it renders no calls" in detection.message
    assert detection.schema is None


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_template_is_called_empty(text: str) -> None:
    detection = detected(template(text))
    assert detection.status is DetectionStatus.UNRECOGNISED
    assert "the chat template in chat_template.jinja is empty" in detection.message


def test_named_templates_without_a_default_are_not_guessed_at() -> None:
    detection = detected(template(KNOWN, "rag"))
    assert detection.status is DetectionStatus.UNRECOGNISED
    assert "none of the named templates ('rag') is 'default'" in detection.message


def test_a_processor_with_another_template_is_pointed_out() -> None:
    tokenizers, processors = template(KNOWN), template("other", source="chat_template.json")
    marked = (*mark_effective([tokenizers]), processors)
    detection = detect(ResolvedTemplates("model", None, marked), REGISTRY)
    assert detection.status is DetectionStatus.RECOGNISED
    assert f"another template, {sha256_of('other')[:12]} in chat_template.json" in detection.message


def test_a_processor_with_the_same_template_is_no_news() -> None:
    marked = (*mark_effective([template(KNOWN)]), template(KNOWN, source="chat_template.json"))
    assert detect(ResolvedTemplates("model", None, marked), REGISTRY).message == "read with schema qwen3"


def test_a_place_without_a_template_says_so() -> None:
    detection = detected()
    assert detection.status is DetectionStatus.NO_TEMPLATE
    assert detection.message.startswith("owner/name has no chat template — ")


def test_a_ref_that_could_not_be_read_is_an_error_with_its_fix() -> None:
    detection = detect(UnresolvedTemplates("owner/name", "owner/name is gated", "log in"), REGISTRY)
    assert detection.status is DetectionStatus.ERROR
    assert detection.message == "owner/name is gated — log in"
    assert detection.to_dict()["templates"] == []


@pytest.mark.parametrize("text", ["{{ unknown }}", ""])
def test_a_local_directory_is_looked_up_without_anything_heavy(tmp_path: Path, text: str) -> None:
    (tmp_path / "chat_template.jinja").write_text(text)
    program = (
        "import sys; from rgw.detection import detect; from rgw.registry.loader import load_registry;"
        "from rgw.templates.resolve import resolve_many;"
        "print([detect(found, load_registry()).status.value for found in resolve_many(sys.argv[1:])]);"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & set(sys.stdin.read().split())))"
    )
    heavy = "transformers huggingface_hub numpy httpx httpx2 jinja2 tokenizers asyncio ssl"
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        input=heavy,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.splitlines() == ["['unrecognised']", "[]"]


@pytest.mark.parametrize("text", [KNOWN, KNOWN.rstrip(), WITHOUT_SCHEMA, "", "{{ a }}\r\n"])
def test_a_message_is_one_line(text: str) -> None:
    assert "\n" not in detected(template(text)).message
