"""What a template wants is found by watching it; each template here wants something else."""

from __future__ import annotations

import pytest

from rgw.proof.model import Call, Conversation, Role, Turn
from rgw.proof.shapes import ArgumentsForm, CallIds, ContentForm, ReasoningForm, Shape, ShapeError, discover
from rgw.templates.rendering import FailureKind, RenderPool

LOOP = "{% for m in messages %}{{ m.role }}:{{ m.content }}|"
END = "{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"
JSON_CALLS = "{% for c in m.tool_calls or [] %}{{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor %}"


def test_the_plainest_template_gets_the_plainest_shape(pool: RenderPool) -> None:
    assert discover(pool, LOOP + JSON_CALLS + END) == Shape()


@pytest.mark.parametrize(
    ("form", "template"),
    [
        (ReasoningForm.REASONING_CONTENT, LOOP + "{{ m.reasoning_content }}" + END),
        (ReasoningForm.REASONING, LOOP + "{{ m.reasoning }}" + END),
        (ReasoningForm.NONE, LOOP + END),
    ],
)
def test_the_place_of_reasoning(pool: RenderPool, form: ReasoningForm, template: str) -> None:
    assert discover(pool, template).reasoning is form


def test_reasoning_that_a_variable_asks_for_is_found(pool: RenderPool) -> None:
    shape = discover(pool, LOOP + "{% if show_thoughts %}{{ m.reasoning_content }}{% endif %}" + END)
    assert shape.reasoning is ReasoningForm.REASONING_CONTENT
    assert shape.states == ({}, {"show_thoughts": True})


def test_a_last_turn_that_is_written_whole_only_before_another(pool: RenderPool) -> None:
    template = (
        "{% for m in messages %}{{ m.role }}:{% if loop.last and m.role == 'assistant' %}{{ m.content }}"
        "{% else %}{{ m.content }}" + JSON_CALLS + "|{% endif %}" + END
    )
    shape = discover(pool, template)
    assert shape.followed
    roles = [message["role"] for message in shape.messages((Turn(Role.USER, "hi"), Turn(Role.ASSISTANT, "yes")))]
    assert roles == ["user", "assistant", "user"]


def test_reasoning_that_is_only_read_from_blocks(pool: RenderPool) -> None:
    template = (
        "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for b in m.content %}"
        "{{ b.thinking if b.type == 'thinking' else b.text }}{% endfor %}{% endif %}" + END
    )
    assert discover(pool, template).reasoning is ReasoningForm.THINKING_BLOCK


@pytest.mark.parametrize(
    ("form", "call"),
    [
        (ArgumentsForm.OBJECT, "{{ c.function.arguments | tojson }}"),
        (ArgumentsForm.OBJECT, "{% for k, v in c.function.arguments.items() %}{{ k }}={{ v }};{% endfor %}"),
        (ArgumentsForm.JSON_STRING, "{{ c.function.arguments }}"),
        (ArgumentsForm.JSON_STRING, "{{ c.function.name + c.function.arguments }}"),
        (
            ArgumentsForm.OBJECT,
            "{{ raise_exception('no') if c.function.arguments is string else c.function.arguments | tojson }}",
        ),
    ],
)
def test_the_form_of_arguments(pool: RenderPool, form: ArgumentsForm, call: str) -> None:
    template = LOOP + "{% for c in m.tool_calls or [] %}{{ c.function.name }}" + call + "{% endfor %}" + END
    assert discover(pool, template).arguments is form


@pytest.mark.parametrize(
    ("form", "call"),
    [
        (CallIds.NONE, "{{ c.function.name }}"),
        (CallIds.ALPHANUMERIC, "{{ c.function.name }}#{{ c.id }}"),
        (
            CallIds.ALPHANUMERIC,
            "{% if c.id | length != 9 %}{{ raise_exception('nine') }}{% endif %}{{ c.function.name }}",
        ),
        (CallIds.NAMED, "<{{ c.id }}>"),
    ],
)
def test_the_form_of_call_ids(pool: RenderPool, form: CallIds, call: str) -> None:
    template = (
        LOOP + "{% for c in m.tool_calls or [] %}" + call + "{{ c.function.arguments | tojson }}{% endfor %}" + END
    )
    assert discover(pool, template).call_ids is form


def test_content_that_must_be_blocks(pool: RenderPool) -> None:
    template = "{% for m in messages %}{% for b in m.content %}{{ b.text }}{% endfor %}" + END
    assert discover(pool, template).content is ContentForm.BLOCKS


def test_what_is_refused_is_left_out(pool: RenderPool) -> None:
    template = (
        "{% for m in messages %}"
        "{% if m.role in ['system', 'tool'] %}{{ raise_exception('no ' + m.role) }}{% endif %}"
        "{% if m.tool_calls and m.tool_calls | length > 1 %}{{ raise_exception('one') }}{% endif %}"
        "{{ m.content }}" + JSON_CALLS + END
    )
    shape = discover(pool, template)
    assert (shape.system, shape.tool_results, shape.parallel_calls) == (False, False, False)
    call = Call("f", {})
    turns = (
        Turn(Role.SYSTEM, "s"),
        Turn(Role.USER, "u"),
        Turn(Role.ASSISTANT, calls=(call,)),
        Turn(Role.TOOL, "r", answers="f"),
        Turn(Role.ASSISTANT, "a", calls=(call, call)),
    )
    assert shape.adapt(Conversation(turns)).turns == (turns[1], Turn(Role.ASSISTANT, "a", calls=(call,)))


def test_the_states_are_those_that_change_the_generation_prompt(pool: RenderPool) -> None:
    template = LOOP + (
        "{% endfor %}{% if add_generation_prompt %}assistant:{% if enable_thinking is false %}<t></t>"
        "{% elif effort is true %}<hard>{% endif %}{% endif %}{% if unrelated %}{% endif %}"
    )
    assert discover(pool, template).states == ({}, {"effort": True}, {"enable_thinking": False})


def test_a_text_with_a_default_is_no_state(pool: RenderPool) -> None:
    template = (
        "{% set user = user or 'user:' %}{% set bot = bot | default('bot:') %}"
        "{% for m in messages %}{{ user if m.role == 'user' else bot }}{{ m.content }}|{% endfor %}"
        "{% if add_generation_prompt %}{{ bot }}{% endif %}"
    )
    assert discover(pool, template).states == ({},)


def test_a_loop_variable_is_no_state(pool: RenderPool) -> None:
    template = LOOP + "{% endfor %}{{ m.content if m else '' }}{% if add_generation_prompt %}assistant:{% endif %}"
    assert discover(pool, template).states == ({},)


@pytest.mark.parametrize(
    ("kind", "template"),
    [
        (FailureKind.SYNTAX_ERROR, "{% for %}"),
        (FailureKind.TEMPLATE_ERROR, "{{ raise_exception('never') }}"),
        (FailureKind.MEMORY, "{{ 'x' * 10000000000 }}"),
    ],
)
def test_a_template_that_never_renders(pool: RenderPool, kind: FailureKind, template: str) -> None:
    with pytest.raises(ShapeError) as raised:
        discover(pool, template)
    assert raised.value.failure.kind is kind


def test_messages_are_written_as_the_shape_says() -> None:
    shape = Shape(arguments=ArgumentsForm.JSON_STRING, reasoning=ReasoningForm.THINKING, call_ids=CallIds.NAMED)
    turns = (
        Turn(Role.ASSISTANT, "", "hm", (Call("f", {"a": "é"}), Call("g", {}))),
        Turn(Role.TOOL, "one", answers="f"),
        Turn(Role.TOOL, "two", answers="g"),
    )
    assert shape.messages(turns) == [
        {
            "role": "assistant",
            "content": "",
            "thinking": "hm",
            "tool_calls": [
                {"type": "function", "id": "functions.f:0", "function": {"name": "f", "arguments": '{"a": "é"}'}},
                {"type": "function", "id": "functions.g:1", "function": {"name": "g", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "content": "one", "name": "f", "tool_call_id": "functions.f:0"},
        {"role": "tool", "content": "two", "name": "g", "tool_call_id": "functions.g:1"},
    ]
