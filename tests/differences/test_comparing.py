"""Two templates side by side: each difference is told once, by the simplest probe, and with what it is about."""

from __future__ import annotations

import pytest

from rgw.differences.comparing import ASPECTS, compare
from rgw.differences.model import Aspect, Change, Comparison, Difference, Side
from rgw.errors import SourceError
from rgw.proof.behaviour import PROBES
from rgw.templates.identity import chat_template
from rgw.templates.rendering import RenderPool

BARE = (
    "{%- if tools %}{{ 'Tools: ' + (tools | tojson) }}{% endif -%}"
    "{%- for message in messages -%}"
    "[{{ message.role }}]"
    "{%- if message.reasoning_content %}{{ '<think>' + message.reasoning_content + '</think>' }}{% endif -%}"
    "{{- message.content -}}"
    "{%- for call in message.tool_calls or [] %}{{ '<call>' + (call.function | tojson) + '</call>' }}{% endfor -%}"
    "[end]"
    "{%- endfor -%}"
    "{%- if add_generation_prompt %}[assistant]{% endif -%}"
)


def side(text: str, name: str = "model") -> Side:
    return Side(name, None, chat_template("default", text, source="file", where=name))


def compared(pool: RenderPool, before: str, after: str) -> Comparison:
    return compare(side(before, "old"), side(after, "new"), pool=pool)


def only(comparison: Comparison) -> Difference:
    [difference] = comparison.differences
    return difference


def test_every_probe_is_about_something() -> None:
    assert ASPECTS.keys() == PROBES.keys()


def test_the_same_text_is_not_even_rendered(pool: RenderPool) -> None:
    broken = "{{ oops"
    assert compared(pool, broken, broken) == Comparison(side(broken, "old"), side(broken, "new"))


def test_a_text_that_only_reads_differently_behaves_the_same(pool: RenderPool) -> None:
    comparison = compared(
        pool, BARE, "{# a comment #}" + BARE.replace("message.", "m.").replace("for message", "for m")
    )
    assert comparison.text is not None
    assert (comparison.differing, comparison.differences, comparison.refused) == ((), (), ())
    assert comparison.probes == tuple(ASPECTS)


def test_a_difference_in_layout_is_named(pool: RenderPool) -> None:
    comparison = compared(pool, BARE, BARE + "\n")
    assert comparison.text is not None
    assert comparison.text.layout == "the final newline"
    assert comparison.differing == ()


@pytest.mark.parametrize(
    ("old", "new", "aspect", "probe", "change"),
    [
        ("{%- if tools", "{{ 'Be kind.' }}{%- if tools", Aspect.SYSTEM_PROMPT, "a question", ("", "Be kind.")),
        ("'Tools: '", "'You may: '", Aspect.TOOL_LISTING, "a prompt with tools", ("Tools", "You may")),
        ("[end]", "[stop]", Aspect.TURNS, "a question", ("end", "stop")),
        ("<think>", "<thought>", Aspect.REASONING, "reasoning", ("think", "thought")),
        ("'<call>'", "'<tool>'", Aspect.CALL_FORMAT, "a call", ("call", "tool")),
        ("}}[assistant]", "}}[model]", None, "", ("", "")),
        ("%}[assistant]", "%}[model]", Aspect.GENERATION_PROMPT, "a prompt", ("assistant", "model")),
    ],
)
def test_what_a_difference_is_about(
    pool: RenderPool, old: str, new: str, aspect: Aspect | None, probe: str, change: tuple[str, str]
) -> None:
    comparison = compared(pool, BARE, BARE.replace(old, new))
    if aspect is None:  # nothing to replace: the same text
        assert comparison.text is None
        return
    difference = only(comparison)
    assert (difference.aspect, difference.probe) == (aspect, probe)
    assert [(found.before, found.after) for found in difference.changes] == [change]
    assert (difference.probe, *difference.also_in) == comparison.differing


def test_the_header_of_a_user_turn_is_no_system_prompt(pool: RenderPool) -> None:
    """It stands before the first question, but before the second one as well."""
    comparison = compared(pool, BARE, BARE.replace("[{{ message.role }}]", "<{{ message.role }}>"))
    assert {difference.aspect for difference in comparison.differences} == {Aspect.TURNS}


def test_the_headers_of_tool_results(pool: RenderPool) -> None:
    as_user = BARE.replace("message.role", "(message.role | replace('tool', 'user'))")
    difference = only(compared(pool, BARE, as_user))
    assert (difference.aspect, difference.probe) == (Aspect.TOOL_RESULTS, "a tool's result")
    assert [(change.before, change.after) for change in difference.changes] == [("tool", "user")]


def test_several_differences_are_told_apart_and_in_the_order_of_aspects(pool: RenderPool) -> None:
    changed = (
        BARE.replace("'<call>'", "'<tool>'").replace("%}[assistant]", "%}[model]").replace("'Tools: '", "'List: '")
    )
    comparison = compared(pool, BARE, changed)
    assert [(difference.aspect, difference.probe) for difference in comparison.differences] == [
        (Aspect.TOOL_LISTING, "a prompt with tools"),
        (Aspect.CALL_FORMAT, "a call"),
        (Aspect.GENERATION_PROMPT, "a prompt"),
    ]


def test_places_of_changes_are_those_of_the_renders(pool: RenderPool) -> None:
    difference = only(compared(pool, BARE, BARE.replace("[end]", "[stop]")))
    assert difference.before.text == "[user]What is the weather in Paris?[end]"
    assert difference.after.text == "[user]What is the weather in Paris?[stop]"
    assert difference.changes == (Change("end", "stop", 36, 36),)


def test_white_space_that_one_of_them_trims(pool: RenderPool) -> None:
    difference = only(compared(pool, BARE, BARE.replace("{{- message.content -}}", "{{- message.content | trim -}}")))
    assert (difference.aspect, difference.probe) == (Aspect.TURNS, "white space")


def test_what_only_one_of_them_refuses(pool: RenderPool) -> None:
    refusing = "{% if tools %}{{ raise_exception('no tools here') }}{% endif %}" + BARE
    difference = only(compared(pool, BARE, refusing))
    assert (difference.aspect, difference.probe) == (Aspect.GENERATION_PROMPT, "a prompt with tools")
    assert difference.before.text is not None
    assert (difference.after.text, difference.changes) == (None, ())
    assert "no tools here" in difference.after.refusal
    with_tools = [name for name, request in PROBES.items() if request.tools]
    assert {difference.probe, *difference.also_in} == set(with_tools)


def test_what_both_refuse_is_said_and_no_difference(pool: RenderPool) -> None:
    strict = BARE.replace("{{- message.content -}}", "{{- message.content + '' -}}")
    comparison = compared(pool, strict, strict.replace("[end]", "[stop]"))
    assert comparison.refused == ("content in blocks",)
    assert "content in blocks" not in comparison.differing


def test_a_template_that_does_not_compile_differs_from_one_that_does(pool: RenderPool) -> None:
    comparison = compared(pool, "{{ oops", BARE)
    assert comparison.differing == comparison.probes
    assert only(comparison).before.text is None


def test_two_templates_that_render_nothing_cannot_be_compared(pool: RenderPool) -> None:
    with pytest.raises(SourceError, match="neither old nor new renders any probe"):
        compared(pool, "{{ oops", "{{ raise_exception('never') }}")


def test_a_template_that_hangs_or_bursts_is_bounded(pool: RenderPool) -> None:
    burst = "{% for a in range(99999) %}{% for b in range(99999) %}{{ 'x' * 9999 }}{% endfor %}{% endfor %}"
    comparison = compared(pool, BARE, burst)
    assert comparison.differing == comparison.probes
    assert only(comparison).after.text is None
