"""Chat templates are untrusted code: what they write comes back, and what they must not do is a named failure."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rgw.templates.rendering import (
    FailureKind,
    Rendered,
    RenderFailure,
    RenderLimits,
    RenderPool,
    RenderRequest,
    generation_prompt,
)

CHAT = (
    "{%- for message in messages %}<{{ message.role }}>{{ message.content }}</{{ message.role }}>\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% if enable_thinking is false %}<think></think>{% endif %}{% endif %}"
)
ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
HELLO = RenderRequest([{"role": "user", "content": "hello"}])


@pytest.fixture(scope="module")
def pool() -> Iterator[RenderPool]:
    with RenderPool(limits=RenderLimits(seconds=1.0, memory=256 * 2**20, output=100_000)) as pool:
        yield pool


def render(pool: RenderPool, template: str, request: RenderRequest = HELLO) -> Rendered | RenderFailure:
    return pool.render(template, [request])[0]


def failure(pool: RenderPool, template: str) -> FailureKind:
    answer = render(pool, template)
    assert isinstance(answer, RenderFailure)
    return answer.kind


def test_answers_come_in_the_order_of_the_requests(pool: RenderPool) -> None:
    requests = [RenderRequest([{"role": "user", "content": str(number)}]) for number in range(3)]
    assert pool.render("{{ messages[0].content }}", requests) == [Rendered("0"), Rendered("1"), Rendered("2")]


def test_tools_variables_and_generation_prompt_reach_the_template(pool: RenderPool) -> None:
    request = RenderRequest(
        [], tools=[{"name": "f"}], add_generation_prompt=True, variables={"mood": "calm", "eos_token": "<end>"}
    )
    template = "{{ tools | tojson }} {{ add_generation_prompt }} {{ mood }} {{ bos_token }} {{ eos_token }}"
    assert render(pool, template, request) == Rendered('[{"name": "f"}] True calm <s> <end>')


def test_no_tools_and_an_empty_list_of_tools_differ(pool: RenderPool) -> None:
    template = "{{ tools is none }}"
    assert render(pool, template, RenderRequest([], tools=None)) == Rendered("True")
    assert render(pool, template, RenderRequest([], tools=[])) == Rendered("False")


def test_the_environment_is_the_one_of_transformers(pool: RenderPool) -> None:
    template = (
        "{% for number in range(9) %}{% if number == 2 %}{% break %}{% endif %}{{ number }}{% endfor %}\n"
        "{% generation %}<é>{% endgeneration %}{{ {'a': '<é>'} | tojson }}"
    )
    assert render(pool, template) == Rendered('01<é>{"a": "<é>"}')


def test_generation_spans_are_reported_on_request(pool: RenderPool) -> None:
    request = RenderRequest([], mark_generation=True)
    answer = render(pool, "ab{% generation %}cd{% endgeneration %}e", request)
    assert answer == Rendered("abcde", generation_spans=((2, 4),))


def test_the_date_can_be_fixed(pool: RenderPool) -> None:
    request = RenderRequest([], now=datetime(2024, 7, 26, tzinfo=UTC))
    assert render(pool, "{{ strftime_now('%d %b %Y') }}", request) == Rendered("26 Jul 2024")


def test_any_text_survives_the_way_there_and_back(pool: RenderPool) -> None:
    text = 'tab\t nul\0 quote" emoji😀 lone\ud800 line\u2028end'
    assert render(pool, "{{ messages[0] }}", RenderRequest([{"role": "user"}])) == Rendered("{'role': 'user'}")
    assert render(pool, "{{ messages[0].content }}", RenderRequest([{"content": text}])) == Rendered(text)


def test_what_a_template_reads_is_observed(pool: RenderPool) -> None:
    template = (
        "{% for message in messages %}{{ message.role }}{% if message.thinking is defined %}{% endif %}"
        "{% for key, value in message.call.arguments.items() %}{{ value }}{% endfor %}{% endfor %}"
        "{% if effort is defined %}{% endif %}"
    )
    request = RenderRequest([{"role": "user", "unread": 1, "call": {"arguments": {"a": 7}}}], observe=True)
    answer = render(pool, template, request)
    assert isinstance(answer, Rendered)
    assert answer.text == "user7"
    assert answer.reads == {
        "messages",
        "messages[].role",
        "messages[].thinking",
        "messages[].call",
        "messages[].call.arguments",
        "messages[].call.arguments.*",
        "effort",
    }


@pytest.mark.parametrize(
    ("kind", "template"),
    [
        (FailureKind.TIME, ENDLESS),
        (FailureKind.TIME, "{% set x = (3**(10**8)) %}"),
        (FailureKind.MEMORY, "{{ 'x' * 10000000000 }}"),
        (
            FailureKind.MEMORY,
            "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}{{ n.x }}",
        ),
        (FailureKind.OUTPUT_SIZE, "{{ 'x' * 1000000 }}"),
        (FailureKind.RECURSION, "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}"),
        (FailureKind.RECURSION, "{{ " + "(" * 1_000_000 + "1" + ")" * 1_000_000 + " }}"),
        (FailureKind.TEMPLATE_ERROR, "{{ raise_exception('not today') }}"),
        (FailureKind.TEMPLATE_ERROR, "{{ missing.attribute }}"),
        (FailureKind.TEMPLATE_ERROR, "{{ ''.__class__.__mro__ }}"),
        (FailureKind.SYNTAX_ERROR, "{% for %}"),
        (FailureKind.SYNTAX_ERROR, "{{ 1 | no_such_filter }}"),
    ],
)
def test_hostile_templates_are_named_failures(pool: RenderPool, kind: FailureKind, template: str) -> None:
    assert failure(pool, template) is kind
    assert render(pool, "still {{ 'here' }}") == Rendered("still here")


def test_a_failure_says_what_the_template_said_and_where(pool: RenderPool) -> None:
    raised = render(pool, "one\ntwo {{ raise_exception('not\n today') }}")
    assert raised == RenderFailure(FailureKind.TEMPLATE_ERROR, "line 2: TemplateError: not today")
    unclosed = render(pool, "one\n{% if x %}")
    assert isinstance(unclosed, RenderFailure)
    assert unclosed.message.startswith("line 2: TemplateSyntaxError: ")


def test_an_error_of_one_request_does_not_touch_the_next(pool: RenderPool) -> None:
    template = "{{ raise_exception('no') if messages[0].content == 'bad' else 'good' }}"
    requests = [RenderRequest([{"content": content}]) for content in ("good", "bad", "good")]
    first, second, third = pool.render(template, requests)
    assert (first, third) == (Rendered("good"), Rendered("good"))
    assert isinstance(second, RenderFailure)


def test_a_template_that_exceeds_a_limit_is_not_tried_again_in_the_same_call(pool: RenderPool) -> None:
    template = "{% if messages[0].content == 'bad' %}{{ 'x' * 10000000000 }}{% endif %}good"
    requests = [RenderRequest([{"content": content}]) for content in ("good", "bad", "good")]
    good, *others = pool.render(template, requests)
    assert good == Rendered("good")
    assert [answer.kind for answer in others if isinstance(answer, RenderFailure)] == [FailureKind.MEMORY] * 2
    assert pool.render(template, requests[:1]) == [Rendered("good")]


def test_a_conversation_nested_too_deeply_is_a_failure(pool: RenderPool) -> None:
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    answer = render(pool, "x", RenderRequest([{"content": nested}]))
    assert isinstance(answer, RenderFailure)
    assert answer.kind is FailureKind.RECURSION


def test_a_call_has_a_budget_of_its_own() -> None:
    with RenderPool(limits=RenderLimits(call_seconds=0.0)) as pool:
        first, second = pool.render("x", [HELLO, HELLO])
    assert first == Rendered("x")
    assert isinstance(second, RenderFailure)
    assert second.kind is FailureKind.TIME


def test_the_worker_is_reused_until_it_dies_and_then_replaced() -> None:
    with RenderPool() as pool:
        assert pool.process_ids == ()
        assert render(pool, "one") == Rendered("one")
        (before,) = pool.process_ids
        assert render(pool, "{{ raise_exception('no') }}") == RenderFailure(
            FailureKind.TEMPLATE_ERROR, "line 1: TemplateError: no"
        )
        assert pool.process_ids == (before,)
        os.kill(before, 9)
        assert failure(pool, "two") is FailureKind.WORKER_DIED
        assert not Path(f"/proc/{before}").exists()
        assert render(pool, "three") == Rendered("three")
        assert pool.process_ids != (before,)
    assert pool.process_ids == ()


@pytest.mark.skipif(not hasattr(os, "getsid"), reason="there are no sessions here")
def test_an_interrupt_from_the_terminal_does_not_reach_a_worker_that_still_loads() -> None:
    with RenderPool() as pool:
        pool.start()
        (worker,) = pool.process_ids
        assert os.getsid(worker) != os.getsid(0)
        assert render(pool, "one") == Rendered("one")


def test_threads_share_a_pool_and_do_not_harm_each_other() -> None:
    def work(number: int) -> Rendered | RenderFailure:
        return render(pool, "{{ 'x' * 10000000000 }}" if number == 5 else f"{number}")

    with RenderPool(2) as pool, ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(work, range(12)))
    assert [answer.text for answer in answers if isinstance(answer, Rendered)] == [
        str(number) for number in range(12) if number != 5
    ]
    assert isinstance(answers[5], RenderFailure)


def test_a_call_of_many_requests_is_spread_over_the_workers() -> None:
    requests = [RenderRequest([{"content": str(number)}]) for number in range(201)]
    with RenderPool(2) as pool:
        answers = pool.render("{{ messages[0].content }}", requests)
        assert len(pool.process_ids) == 2
    assert answers == [Rendered(str(number)) for number in range(201)]


def test_behind_a_request_that_exceeds_a_limit_all_of_a_spread_call_fails() -> None:
    template = "{% if messages[0].content == 10 %}{{ 'x' * 10000000000 }}{% endif %}good"
    requests = [RenderRequest([{"content": number}]) for number in range(120)]
    with RenderPool(2) as pool:
        answers = pool.render(template, requests)
    assert answers[:10] == [Rendered("good")] * 10
    assert [answer.kind for answer in answers if isinstance(answer, RenderFailure)] == [FailureKind.MEMORY] * 110


RANDOM = "{% for _ in range(6) %}{{ range(100000) | random }} {% endfor %}"


def test_answers_are_remembered_until_another_template_asks() -> None:
    with RenderPool(remembered=10) as pool:
        first = render(pool, RANDOM)
        assert render(pool, RANDOM) == first
        assert render(pool, "other") == Rendered("other")
        assert render(pool, RANDOM) != first


def test_no_more_answers_are_remembered_than_asked_for(pool: RenderPool) -> None:
    assert render(pool, RANDOM) != render(pool, RANDOM)
    with RenderPool(remembered=2) as small:
        first = render(small, RANDOM)
        render(small, RANDOM, RenderRequest([]))
        assert render(small, RANDOM) != first


def test_a_worker_sees_no_credentials(pool: RenderPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    with RenderPool() as fresh:
        assert render(fresh, "x") == Rendered("x")
        (process_id,) = fresh.process_ids
        environment = Path(f"/proc/{process_id}/environ")
        if not environment.exists():
            pytest.skip("needs /proc")
        assert b"secret" not in environment.read_bytes()


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for a process that is not a child: Linux only")
@pytest.mark.parametrize("template", ["x", ENDLESS], ids=["idle", "busy"])
def test_workers_end_with_a_parent_that_is_killed(template: str) -> None:
    script = (
        "import json, sys, threading\n"
        "from rgw.templates.rendering import *\n"
        "pool = RenderPool(limits=RenderLimits(seconds=3))\n"
        "pool.render('x', [RenderRequest([])])\n"
        "print(json.dumps(pool.process_ids), flush=True)\n"
        f"pool.render({template!r}, [RenderRequest([])])\n"
        "sys.stdin.read()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    (worker,) = json.loads(parent.stdout.readline())
    handle = os.pidfd_open(worker)
    parent.kill()
    parent.communicate()
    ended, _, _ = select.select([handle], [], [], 10)
    os.close(handle)
    assert ended


def test_the_generation_prompt_is_what_is_appended_after_a_user_message(pool: RenderPool) -> None:
    assert generation_prompt(pool, CHAT) == "<assistant>"
    assert generation_prompt(pool, CHAT, variables={"enable_thinking": False}) == "<assistant><think></think>"


@pytest.mark.parametrize(
    "template",
    [
        "{{ messages | length }}",
        "{{ 'other' if add_generation_prompt else 'text' }}",
        "{{ raise_exception('no') }}",
        "{% for %}",
    ],
)
def test_a_template_without_a_generation_prompt_has_none(pool: RenderPool, template: str) -> None:
    assert generation_prompt(pool, template) is None
