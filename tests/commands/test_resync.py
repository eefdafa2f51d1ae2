"""`rgw resync` plans, checks or writes; only `--write` changes a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands.conftest import Rgw

MODULE = """
from pathlib import Path

from transformers import ProcessorMixin

_CHAT_TEMPLATES_DIR = Path(__file__).parent / "chat_templates"

tea_schema = {{"x-regex": r"{pattern}", "type": "object"}}

tea_chat_template = (_CHAT_TEMPLATES_DIR / "tea.jinja").read_text(encoding="utf-8")


def add_response_schema(processing_class):
    chat_template = processing_class.chat_template
    if isinstance(processing_class, ProcessorMixin):
        tokenizer = processing_class.tokenizer
    else:
        tokenizer = processing_class
    if chat_template == tea_chat_template:
        tokenizer.response_schema = tea_schema
    else:
        raise ValueError("Unrecognized chat template.")
    return processing_class
"""


class Workplace:
    """A registry, and a TRL to make it from."""

    def __init__(self, root: Path) -> None:
        self.registry = root / "registry"
        self.registry.mkdir()
        (root / "NOTICE").write_text("TRL pin: none yet\n", encoding="utf-8")
        self.trl = root / "trl-source"
        (self.trl / "trl" / "chat_templates").mkdir(parents=True)
        (self.trl / "VERSION").write_text("1.6.0\n", encoding="utf-8")
        (self.trl / "trl" / "chat_templates" / "tea.jinja").write_text("{{ 'tea' }}", encoding="utf-8")
        self.say("^(?P<content>.*)$")

    def say(self, pattern: str) -> None:
        """Let upstream read tea with this pattern."""
        module = self.trl / "trl" / "chat_template_utils.py"
        module.write_text(MODULE.format(pattern=pattern), encoding="utf-8")

    @property
    def options(self) -> list[str]:
        return ["--trl-source", str(self.trl), "--registry", str(self.registry)]

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.registry.rglob("*.yaml")}


@pytest.fixture
def workplace(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path)


def test_by_default_only_the_plan_is_shown(workplace: Workplace, rgw: Rgw) -> None:
    outcome = rgw("resync", *workplace.options)
    assert outcome.code == 0
    assert "nothing → TRL 1.6.0" in outcome.out
    assert "+ schema tea" in outcome.out
    assert "1 schemas added, 1 templates added" in outcome.out
    assert outcome.err == "hint: nothing was written: --write carries this out\n"
    assert workplace.files() == {}


def test_write_carries_the_plan_out_and_a_second_time_has_nothing_to_do(workplace: Workplace, rgw: Rgw) -> None:
    first = rgw("resync", *workplace.options, "--write", "--json")
    assert (first.code, first.document["written"]) == (0, True)
    assert first.document["files"] != []
    files = workplace.files()
    assert "tea.yaml" in files
    second = rgw("resync", *workplace.options, "--write")
    assert (second.code, second.err) == (0, "")
    assert "nothing to do" in second.out
    assert workplace.files() == files


def test_check_is_a_finding_while_the_registry_differs(workplace: Workplace, rgw: Rgw) -> None:
    assert rgw("resync", *workplace.options, "--check").code == 1
    assert workplace.files() == {}
    rgw("resync", *workplace.options, "--write")
    assert rgw("resync", *workplace.options, "--check").code == 0
    workplace.say("^tea (?P<content>.*)$")
    outcome = rgw("resync", *workplace.options, "--check")
    assert outcome.code == 1
    assert "~ schema tea" in outcome.out
    assert "(?P<content>.*)$" in outcome.out


def test_the_plan_in_json(workplace: Workplace, rgw: Rgw) -> None:
    document = rgw("resync", *workplace.options, "--json").document
    assert document["version"] == 1
    assert (document["before"], document["after"], document["differs"]) == (None, "1.6.0", True)
    assert [(change["change"], change["name"]) for change in document["schemas"]] == [("added", "tea")]
    [template] = document["templates"]
    assert (template["change"], template["variant"], template["before"], template["after"]) == (
        "added",
        "tea",
        None,
        "tea",
    )
    assert document["written"] is False


def test_the_plan_for_scripts_is_the_files_that_change(workplace: Workplace, rgw: Rgw) -> None:
    outcome = rgw("resync", *workplace.options, "-q")
    assert "schemas/tea.yaml" in outcome.out.splitlines()
    assert outcome.err == ""


def test_write_and_check_exclude_each_other(workplace: Workplace, rgw: Rgw) -> None:
    outcome = rgw("resync", *workplace.options, "--write", "--check")
    assert (outcome.code, outcome.out) == (2, "")
    assert "exclude each other" in outcome.err


def test_a_construct_that_is_not_known_stops_everything(workplace: Workplace, rgw: Rgw) -> None:
    module = workplace.trl / "trl" / "chat_template_utils.py"
    module.write_text(module.read_text("utf-8") + "\nwhile True:\n    pass\n", encoding="utf-8")
    outcome = rgw("resync", *workplace.options, "--write")
    assert (outcome.code, outcome.out) == (3, "")
    assert "chat_template_utils.py" in outcome.err
    assert outcome.err.count("\n") == 1
    assert workplace.files() == {}


def test_a_source_that_is_not_there(tmp_path: Path, rgw: Rgw) -> None:
    outcome = rgw("resync", "--trl-source", tmp_path / "missing")
    assert (outcome.code, outcome.out) == (3, "")
    assert "missing" in outcome.err


@pytest.mark.parametrize("source", ["git", "pypi"])
def test_a_ref_is_needed_where_there_are_many(source: str, rgw: Rgw) -> None:
    outcome = rgw("resync", "--trl-source", source)
    assert (outcome.code, outcome.out) == (2, "")
    assert "--trl-ref" in outcome.err
