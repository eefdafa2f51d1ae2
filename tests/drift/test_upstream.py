"""The registry against TRL: what a re-sync would change, judged by whether the registry's own still reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from drift.conftest import CONVERSATIONS, kinds
from drift.formats import BREAKING, TEMPLATE, sha256
from rgw.drift.checking import Wanted, check
from rgw.drift.model import Report
from rgw.errors import UpstreamError
from rgw.registry.loader import load_registry
from rgw.upstream.planning import apply_plan, plan_resync
from rgw.upstream.reading import read_upstream
from rgw.upstream.sources import UpstreamSource

MODULE = """
from pathlib import Path

from transformers import ProcessorMixin

_CHAT_TEMPLATES_DIR = Path(__file__).parent / "chat_templates"

brackets_template = {
    "defaults": {"role": "assistant"},
    "start_anchor": "[assistant]",
    "fields": {
        "reasoning_content": {
            "open": "<think>", "close": "</think>", "content": "text", "content_args": {"strip": False}
        },
        "tool_calls": {
            "open": "<call>", "close": "</call>", "repeats": True, "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close": "[end]", "content": "text", "content_args": {"strip": False}},
    },
}

brackets_chat_template = (_CHAT_TEMPLATES_DIR / "brackets.jinja").read_text(encoding="utf-8")


def add_response_schema(processing_class):
    chat_template = processing_class.chat_template
    if isinstance(processing_class, ProcessorMixin):
        tokenizer = processing_class.tokenizer
    else:
        tokenizer = processing_class
    if chat_template == brackets_chat_template:
        tokenizer.response_template = brackets_template
    else:
        raise ValueError("Unrecognized chat template.")
    return processing_class
"""


class Trl:
    """A TRL in a directory, and the registry that was made from it."""

    def __init__(self, root: Path) -> None:
        self.root = root / "trl-source"
        (self.root / "trl" / "chat_templates").mkdir(parents=True)
        (self.root / "VERSION").write_text("1.6.0\n", "utf-8")
        self.say()
        self.registry = root / "registry"
        self.registry.mkdir()
        apply_plan(plan_resync(self.registry, read_upstream(self.source)))

    @property
    def source(self) -> UpstreamSource:
        return UpstreamSource(None, str(self.root))

    def say(self, module: str = MODULE, template: str = TEMPLATE) -> None:
        """Let upstream say this from now on."""
        (self.root / "trl" / "chat_template_utils.py").write_text(module, "utf-8")
        (self.root / "trl" / "chat_templates" / "brackets.jinja").write_text(template, "utf-8")

    def check(self) -> Report:
        return check(Wanted(upstream=self.source, conversations=CONVERSATIONS), load_registry(packaged=self.registry))


@pytest.fixture
def trl(tmp_path: Path) -> Trl:
    return Trl(tmp_path)


def test_a_registry_that_says_what_trl_says_is_clean(trl: Trl) -> None:
    report = trl.check()
    assert (report.findings, report.exit_code()) == ((), 0)
    assert [subject.name for subject in report.subjects] == ["TRL 1.6.0"]


def test_a_changed_schema_is_compatible_while_the_registrys_own_still_proves(trl: Trl) -> None:
    trl.say(MODULE.replace('"close": "</think>"', '"close_pattern": "</think>"'))
    report = trl.check()
    assert kinds(report) == [("upstream-schema", "compatible")]
    assert "schema brackets is changed; the registry's own still proves on its templates" in report.findings[0].message
    assert "close_pattern" in report.findings[0].diff


def test_a_changed_schema_is_breaking_where_the_registrys_own_does_not_prove(trl: Trl) -> None:
    deaf = MODULE.replace("<call>", "<tool>").replace("</call>", "</tool>")
    trl.say(deaf)
    apply_plan(plan_resync(trl.registry, read_upstream(trl.source)))
    trl.say()
    report = trl.check()
    assert kinds(report) == [("upstream-schema", "breaking")]


def test_a_template_that_trl_adds_is_compatible(trl: Trl) -> None:
    trl.say(template=BREAKING)
    report = trl.check()
    assert ("upstream-template", "compatible") in kinds(report)
    assert any(f"({sha256(BREAKING)[:12]}) is added" in finding.message for finding in report.findings)


def test_a_finding_is_known_again_wherever_its_diff_stands(trl: Trl) -> None:
    trl.say(MODULE.replace('"close": "</think>"', '"close_pattern": "</think>"'))
    assert trl.check() == trl.check()


def test_a_trl_that_cannot_be_read_ends_the_check(trl: Trl) -> None:
    trl.say(module="import this is not Python")
    with pytest.raises(UpstreamError):
        trl.check()
