"""What people see of each result, and that no string in it reaches them raw."""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console, RenderableType

from rgw.checking import SchemaCheck
from rgw.derender.compare import TransformersResult
from rgw.errors import EngineError
from rgw.model import Issue, IssueCode, ParsedOutput, Segment, SegmentKind, Severity
from rgw.output import comparison, detections, plans, registry, turns
from rgw.output.drawing import drawing
from rgw.output.page import page
from rgw.output.text import Escaped
from rgw.registry.layer import Layer, RegistryLayer
from rgw.registry.loader import Registry
from rgw.registry.model import Dialect, Origin, RegisteredTemplate, Schema, TurnRules
from rgw.rollouts import NotRunnable, Reading
from rgw.upstream.planning import Change, Note, Plan, SchemaChange, TemplateChange

ANY_TEXT = st.text(st.characters(codec=None, categories=None))
STYLING = re.compile(r"\x1b\[[\d;]*m")
SHA = "0123456789ab" + "c" * 52


def seen(view: Iterable[RenderableType], *, coloured: bool = False, width: int = 100) -> str:
    """What a view prints, trailing blanks aside."""
    console = Console(
        file=io.StringIO(), width=width, force_terminal=coloured, color_system="standard" if coloured else None
    )
    for renderable in view:
        console.print(Escaped(renderable))
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())  # type: ignore[attr-defined]


def assert_safe(printed: str) -> None:
    unsafe = {character for character in printed if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}
    assert unsafe <= {"\n"}


def segment(kind: SegmentKind, start: int, end: int) -> Segment:
    return Segment(kind, start, end)


GOOD_OUTPUT = "<think>why</think>so"
GOOD = Reading(
    "good.txt",
    GOOD_OUTPUT,
    "qwen3",
    "engine 1",
    ParsedOutput(
        reasoning="why",
        text="so",
        tool_uses=[{"name": "go", "input": {"to": "Paris"}}, {"name": "stop", "input": {}}],
        end_of_turn=True,
        segments=(
            segment(SegmentKind.DELIMITER, 0, 7),
            segment(SegmentKind.REASONING, 7, 10),
            segment(SegmentKind.DELIMITER, 10, 18),
            segment(SegmentKind.TEXT, 18, 20),
        ),
    ),
)
BAD = Reading(
    "bad.txt",
    "so {",
    "qwen3",
    "engine 1",
    ParsedOutput(
        text="so {",
        ill_formed=True,
        issues=(Issue(IssueCode.INVALID_JSON, Severity.ERROR, 3, 4, "it is cut"),),
        segments=(segment(SegmentKind.TEXT, 0, 3), segment(SegmentKind.UNCLAIMED, 3, 4)),
    ),
)


def test_a_clean_turn_shows_what_it_means_and_where_each_byte_went() -> None:
    assert seen(turns.view(GOOD), width=60) == "\n".join(
        [
            "✓ clean  good.txt  20 characters",
            "  read with qwen3 on engine 1",
            "╭─ reasoning ──────────────────────────────────────────────╮",
            "│ why                                                      │",
            "╰──────────────────────────────────────────────────────────╯",
            "╭─ text ───────────────────────────────────────────────────╮",
            "│ so                                                       │",
            "╰──────────────────────────────────────────────────────────╯",
            "╭─ tool call 1: go ────────────────────────────────────────╮",
            '│ {"to": "Paris"}                                          │',
            "╰──────────────────────────────────────────────────────────╯",
            "╭─ tool call 2: stop ──────────────────────────────────────╮",
            "│ {}                                                       │",
            "╰──────────────────────────────────────────────────────────╯",
            "",
            "raw output ─────────────────────────────────────────────────",
            "r reasoning 3   t text 2   d delimiter 15",
            "",
            " 1 │ <think>why</think>so",
            "   │ d──────r──d───────t─",
        ]
    )


def test_a_turn_that_may_have_been_cut_says_so_in_the_headline() -> None:
    cut = ParsedOutput(text="so", segments=(segment(SegmentKind.TEXT, 0, 2),))
    shown = seen(turns.view(Reading("cut.txt", "so", "qwen3", "engine 1", cut)))
    assert shown.startswith("✓ clean  cut.txt  2 characters, no end-of-turn marker\n")


def test_an_ill_formed_turn_is_unmistakable_and_has_no_panels() -> None:
    shown = seen(turns.view(BAD))
    assert shown.startswith("✗ ill-formed  bad.txt")
    assert "━  ILL-FORMED  ━" in shown
    assert "line 1, column 4   invalid_json   it is cut" in shown
    assert " 1 │ so {\n   │ t──?\n   │    ^ error[invalid_json] it is cut" in shown
    assert "╭" not in shown


def test_a_cut_thought_stays_visible_as_reasoning() -> None:
    thought = ParsedOutput(
        reasoning="why",
        ill_formed=True,
        issues=(Issue(IssueCode.UNCLOSED_REASONING, Severity.ERROR, 0, 3, "cut off"),),
        segments=(segment(SegmentKind.REASONING, 0, 3),),
    )
    shown = seen(turns.view(Reading("cut", "why", "qwen3", "engine", thought)))
    assert "The reasoning was never closed. It stays reasoning" in shown
    assert "╭─ reasoning ─" in shown


def test_an_empty_turn_says_so() -> None:
    assert "nothing: no reasoning, no text, no tool call" in seen(
        turns.view(Reading("empty", "", "qwen3", "engine", ParsedOutput()))
    )


def test_warnings_are_counted_and_keep_the_panels() -> None:
    warned = ParsedOutput(
        text="so {",
        issues=(Issue(IssueCode.TEXT_AFTER_CALL, Severity.WARNING, 3, 4, "text behind a call"),),
        segments=(segment(SegmentKind.TEXT, 0, 4),),
    )
    shown = seen(turns.view(Reading("warned", "so {", "qwen3", "engine", warned)))
    assert shown.startswith("✓ read, 1 warning  warned")
    assert "warning[text_after_call] text behind a call" in shown
    assert "╭─ text ─" in shown


def test_a_call_that_was_read_as_text_has_the_mark_of_what_fails() -> None:
    leaked = ParsedOutput(
        text="so {",
        issues=(Issue(IssueCode.LOOKS_LIKE_CALL, Severity.WARNING, 3, 4, "looks like a call"),),
        segments=(segment(SegmentKind.TEXT, 0, 4),),
    )
    reading = Reading("leaked", "so {", "qwen3", "engine", leaked)
    assert seen(turns.view(reading)).startswith("✗ read, but its text looks like a call  leaked")
    assert "✗   qwen3" in seen(comparison.view([reading]))


def test_long_content_is_shortened_and_says_by_how_much() -> None:
    assert turns.shortened("a" * 2_000) == "a" * 2_000
    shortened = turns.shortened("a" * 1_500 + "b" * 1_500)
    assert shortened == "a" * 1_000 + "\n⋯ 1,000 characters left out ⋯\n" + "b" * 1_000


def test_of_many_calls_the_first_are_shown_and_the_rest_counted() -> None:
    parsed = ParsedOutput(tool_uses=[{"name": f"tool_{number}", "input": {}} for number in range(1, 101)])
    reading = Reading("many", "", "qwen3", "engine", parsed)
    shown = seen(turns.view(reading))
    assert "tool call 12: tool_12 ─" in shown
    assert "tool_13" not in shown
    assert "88 more tool calls are not shown; --whole shows them" in shown
    assert "tool call 100: tool_100 ─" in seen(turns.view(reading, whole=True))


def with_alone(reading: Reading, alone: TransformersResult) -> str:
    return seen(turns.comparison(reading, alone))


def test_agreement_with_transformers_is_one_line() -> None:
    alone = TransformersResult(reasoning="why", text=" so ", tool_uses=GOOD.parsed.tool_uses)
    assert with_alone(GOOD, alone) == "✓ transformers' own parse_response returns the same"


def test_disagreement_shows_what_differs_side_by_side() -> None:
    shown = with_alone(GOOD, TransformersResult(reasoning="why", text="", tool_uses=GOOD.parsed.tool_uses))
    assert shown.splitlines()[0] == "≠ transformers' own parse_response returns something else"
    assert re.search(r"^text +so +none$", shown, re.MULTILINE)
    assert "reasoning" not in shown


def test_silence_of_transformers_about_an_ill_formed_turn_is_told() -> None:
    shown = with_alone(BAD, TransformersResult(text="so {"))
    assert "returns a message and says nothing of what is wrong" in shown
    assert re.search(r"^verdict +ill-formed: invalid_json +no complaint$", shown, re.MULTILINE)


def test_a_comparison_of_schemas_is_never_called_a_detection() -> None:
    refused = NotRunnable("old", EngineError("schema old needs transformers < 5.15"))
    shown = seen(comparison.view([GOOD, BAD, refused]))
    assert "A comparison, not a detection" in shown
    assert "1 of 3 schemas read it cleanly" in shown
    assert re.search(r"✓ +qwen3 +3 +2 +go, stop$", shown, re.MULTILINE)
    assert re.search(r"✗ +qwen3 +invalid_json$", shown, re.MULTILINE)
    assert "schema old needs transformers < 5.15" in shown


def detected(status: str, **changes: Any) -> dict[str, Any]:
    template = {"name": "default", "sha256": SHA, "source": "chat_template.jinja", "revision": None, "effective": True}
    result = {
        "ref": "./model",
        "status": status,
        "templates": [template],
        "schema": {"name": "qwen3", "title": "Qwen3 JSON", "origin": "trl", "dialects": ["response_template"]},
        "nearest": [],
        "native_response_template": False,
        "message": "read with schema qwen3",
    }
    return {**result, **changes}


def test_a_single_model_is_a_card() -> None:
    shown = seen(detections.view([detected("recognised")]))
    assert shown.splitlines()[0] == "✓ ./model  qwen3  Qwen3 JSON"
    assert f"template  {SHA}\n            chat_template.jinja" in shown


def test_many_models_are_a_table_with_help_for_those_that_are_not_recognised() -> None:
    nearest = {"sha256": SHA, "schema": "qwen3", "variant": "Qwen3", "similarity": 0.987}
    unknown = detected("unrecognised", ref="./other", schema=None, nearest=[nearest], message="register it")
    failed = detected("error", ref="./gone", schema=None, templates=[], message="no such file")
    shown = seen(detections.view([detected("recognised"), unknown, failed]))
    assert re.search(r"^✓ +\./model +qwen3 +0123456789ab +chat_template\.jinja$", shown, re.MULTILINE)
    assert re.search(r"^✗ +\./other +unrecognised", shown, re.MULTILINE)
    assert re.search(r"98\.7% +qwen3 +Qwen3 +0123456789ab", shown)
    assert "register it" in shown
    assert "1 of 3 recognised" in shown


def test_a_commit_is_shown_beside_its_file() -> None:
    result = detected("recognised")
    result["templates"][0]["revision"] = "f" * 40
    assert "chat_template.jinja @ ffffffffffff" in seen(detections.view([result]))


SCHEMA = Schema(
    "qwen3",
    "Qwen3 JSON",
    Origin("trl", {Dialect.RESPONSE_TEMPLATE: "qwen3_template"}),
    {Dialect.RESPONSE_TEMPLATE: {"fields": {}}},
    turn=TurnRules(end=("<|im_end|>",)),
    patched="too slow",
)
TEMPLATES = [
    RegisteredTemplate(SHA, "qwen3", "Qwen3", "qwen", ("Qwen/Qwen3-8B", "a/b", "c/d", "e/f", "g/h")),
    RegisteredTemplate("f" * 64, None, "Phi 3", "phi"),
]


def registered(schema: Schema, templates: list[RegisteredTemplate], layer: Layer = Layer.PACKAGED) -> Registry:
    by_hash = {template.sha256: template for template in templates}
    return Registry((RegistryLayer(layer, Path("registry"), "registry", {schema.name: schema}, by_hash, ()),))


def test_a_registry_lists_its_schemas_and_counts_its_templates() -> None:
    shown = seen(registry.list_view(registered(SCHEMA, TEMPLATES)))
    assert re.search(r"^qwen3 +Qwen3 JSON +response_template +trl, patched +1$", shown, re.MULTILINE)
    assert "1 schemas for 1 templates" in shown
    assert "1 more templates are known to have no schema" in shown


def test_a_schema_of_an_overlay_says_so() -> None:
    shown = seen(registry.list_view(registered(SCHEMA, TEMPLATES, Layer.OVERLAY)))
    assert "overlay, patched" in shown


def test_a_check_shows_each_problem_and_what_was_skipped() -> None:
    checks = [SchemaCheck("a", 2), SchemaCheck("b", 1, ("misread",)), SchemaCheck("c", 0, skipped="too new")]
    shown = seen(registry.check_view(checks))
    assert re.search(r"✓ +a +2$", shown, re.MULTILINE)
    assert re.search(r"✗ +b +1 +misread$", shown, re.MULTILINE)
    assert re.search(r"· +c +0 +too new$", shown, re.MULTILINE)
    assert "1 of 3 schemas have problems" in shown
    assert "the registry is valid" in seen(registry.check_view(checks[:1]))


def test_a_schema_shows_its_origin_its_templates_and_how_it_reads() -> None:
    shown = seen(registry.show_view(SCHEMA, TEMPLATES[:1]))
    assert "trl: qwen3_template (response_template)" in shown
    assert "too slow" in shown
    assert "Qwen/Qwen3-8B" in shown
    assert "and 2 more" in shown
    assert '{"fields": {}}' in shown


def test_a_plan_shows_each_change_and_what_it_comes_to() -> None:
    plan = Plan(
        Path("registry"),
        "1.6.0",
        "1.16.0",
        schemas=(SchemaChange(Change.CHANGED, "qwen3", "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new"),),
        templates=(TemplateChange(Change.ADDED, SHA, "Qwen3", None, "qwen3"),),
        notes=(Note("look at this"),),
        differs=True,
        contents={"templates.yaml": "x"},
    )
    shown = seen(plans.view(plan, written=False))
    assert "1.6.0 → TRL 1.16.0" in shown
    assert "! look at this" in shown
    assert "~ schema qwen3" in shown
    assert "-old\n  +new" in shown
    assert re.search(r"^\+ +0123456789ab +Qwen3 +qwen3$", shown, re.MULTILINE)
    assert "1 schemas changed, 1 templates added; to write: templates.yaml" in shown


def test_a_plan_with_nothing_to_do_says_so() -> None:
    plan = Plan(Path("registry"), "1.16.0", "1.16.0", (), (), (), differs=False, contents={})
    assert "nothing to do" in seen(plans.view(plan, written=False))


@given(ANY_TEXT, ANY_TEXT, st.booleans())
def test_no_string_of_a_turn_reaches_a_terminal_raw(text: str, name: str, coloured: bool) -> None:
    parsed = ParsedOutput(
        reasoning=text,
        text=text,
        tool_uses=[{"name": name, "input": {name: text}}],
        issues=(Issue(IssueCode.LOOKS_LIKE_CALL, Severity.WARNING, 0, len(text), name),),
        segments=(Segment(SegmentKind.TEXT, 0, len(text)),) if text else (),
    )
    reading = Reading(name, text, name, name, parsed, TransformersResult(text=name, error=text))
    assert_safe(STYLING.sub("", seen(turns.view(reading), coloured=coloured)))
    assert_safe(
        STYLING.sub("", seen(comparison.view([reading, NotRunnable(name, EngineError(text))]), coloured=coloured))
    )


@given(ANY_TEXT, st.booleans())
def test_no_string_of_a_hub_or_registry_reaches_a_terminal_raw(text: str, coloured: bool) -> None:
    template = {"name": text, "sha256": text, "source": text, "revision": text, "effective": False}
    nearest = {"sha256": text, "schema": text, "variant": text, "similarity": 0.5}
    result = detected("unrecognised", ref=text, templates=[template] * 2, schema=None, nearest=[nearest], message=text)
    assert_safe(STYLING.sub("", seen(detections.view([result, result]), coloured=coloured)))
    schema = Schema(text, text, Origin(text), {Dialect.RESPONSE_TEMPLATE: {text: text}}, patched=text)
    entry = RegisteredTemplate(text, text, text, text, (text,))
    assert_safe(STYLING.sub("", seen(registry.list_view(registered(schema, [entry])), coloured=coloured)))
    assert_safe(STYLING.sub("", seen(registry.show_view(schema, [entry]), coloured=coloured)))


@given(ANY_TEXT)
def test_html_and_svg_hold_any_text_as_text(text: str) -> None:
    parsed = ParsedOutput(text=text, segments=(Segment(SegmentKind.TEXT, 0, len(text)),) if text else ())
    reading = Reading(text, text, text, text, parsed, TransformersResult(text="other"))
    html = page(reading)
    assert_safe(html.replace("\t", ""))
    html.encode()
    ElementTree.fromstring(drawing(reading))


def test_html_escapes_markup_and_needs_nothing_from_elsewhere() -> None:
    attack = "<script>alert(1)</script>\"'&"
    parsed = ParsedOutput(text=attack, segments=(Segment(SegmentKind.TEXT, 0, len(attack)),))
    html = page(Reading(attack, attack, attack, attack, parsed))
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert not re.search(r"(src|href)=|url\(|@import", html)


@pytest.mark.parametrize("reading", [GOOD, BAD])
def test_svg_needs_nothing_from_elsewhere(reading: Reading) -> None:
    svg = drawing(reading)
    assert "@font-face" not in svg
    assert not re.search(r"href=|src=|url\((?!#)|@import|<image", svg)
    assert reading.id in svg
