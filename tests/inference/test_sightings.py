"""Known words in every slot: where they are found again in the turns that a template writes."""

from __future__ import annotations

from inference import made_up_templates as made_up
from rgw.inference.sightings import Sighting, SlotKind, Words, observe
from rgw.proof.shapes import discover
from rgw.templates.rendering import RenderPool

NOT_ITS_OWN_PROMPT = (
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}{{ messages | length }}?{% endif %}"
)


def seen(pool: RenderPool, template: str) -> dict[str, Sighting]:
    found = observe(pool, template, discover(pool, template), seed=0)
    return {sighting.label: sighting for sighting in found.sightings}


def spelled(sighting: Sighting) -> str:
    """The output with the kind of each slot in the place of its word."""
    text = sighting.output
    for mark in reversed(sighting.marks):
        text = f"{text[: mark.start]}{mark.slot.kind.name}{text[mark.end :]}"
    return text


def test_what_stands_between_the_words_is_the_templates_own(pool: RenderPool) -> None:
    found = seen(pool, made_up.NAME_AND_JSON)
    assert spelled(found["text"]) == "TEXT<end>\n"
    assert spelled(found["reasoning and text"]) == "<hm>\nREASONING\n</hm>\nTEXT<end>\n"
    assert spelled(found["a call without arguments"]) == "[CALL]NAME[WITH]{}<end>\n"
    assert (
        spelled(found["text and two calls"])
        == 'TEXT[CALL]NAME[WITH]{"KEY": "VALUE", "KEY": "VALUE"}[CALL]NAME[WITH]{"KEY": "VALUE"}<end>\n'
    )


def test_the_words_of_different_slots_differ(pool: RenderPool) -> None:
    for sighting in seen(pool, made_up.NAME_AND_JSON).values():
        words = [sighting.output[mark.start : mark.end] for mark in sighting.marks]
        assert len(set(words)) == len(words)


def test_the_header_and_what_the_prompt_writes_beyond_it(pool: RenderPool) -> None:
    sighting = seen(pool, made_up.STRIPS_THOUGHTS)["text"]
    assert (sighting.header, sighting.prefill) == ("<end>\n<assistant>\n", "<hm>\n")


def test_what_follows_a_finished_turn(pool: RenderPool) -> None:
    found = seen(pool, made_up.NO_END)
    assert found["text, then a question"].follower == "<|user|>"
    assert found["a call, then its result"].follower == '"}}</do><|tool|>'
    assert found["text"].follower is None


def test_turns_that_do_not_continue_the_prompt_are_left_out(pool: RenderPool) -> None:
    assert seen(pool, NOT_ITS_OWN_PROMPT) == {}


def test_calls_are_seen_to_be_written_or_not(pool: RenderPool) -> None:
    for template, expected in ((made_up.TAGS, True), (made_up.NO_CALLS, False)):
        assert observe(pool, template, discover(pool, template), seed=0).writes_calls is expected


def test_ids_are_words_of_their_own(pool: RenderPool) -> None:
    template = made_up.template(made_up.each_call("{{ '<' + c.id + ':' + f.name + '>' + (f.arguments | tojson) }}"))
    found = spelled(seen(pool, template)["two calls"])
    assert found.startswith("<ID:NAME>{")
    assert found.count("<ID:NAME>{") == 2


def test_the_same_seed_makes_the_same_words() -> None:
    one, other = Words(3), Words(3)
    assert [one.word(), one.number()] == [other.word(), other.number()]
    assert Words(4).word() != Words(3).word()


def test_constants_and_texts_to_quote_are_kept_apart(pool: RenderPool) -> None:
    found = seen(pool, made_up.TAGS)
    assert not found["a call with constants"].plain
    assert "null" in found["a call with constants"].output
    quoting = found["a call with texts to quote"]
    assert not quoting.plain
    assert [mark.slot.kind for mark in quoting.marks].count(SlotKind.VALUE) == 14


def test_every_turn_is_probed_behind_a_result_where_no_other_continues_its_prompt(pool: RenderPool) -> None:
    found = seen(pool, made_up.ONLY_BEHIND_RESULTS)
    assert spelled(found["text"]) == "TEXT<end>"
    assert found["text"].header == "[/ASK]"
    assert not any(sighting.after_tool for sighting in found.values())


def test_turns_that_begin_with_their_text_show_what_the_prompt_writes_of_a_turn(pool: RenderPool) -> None:
    found = seen(pool, made_up.EQUAL_MARKERS)
    assert {sighting.prefill for sighting in found.values()} == {"@@hm@@\n"}
    assert spelled(found["text"]) == "TEXT##end##\n"
