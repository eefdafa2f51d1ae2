"""The adapter between rgw and CanIToolCall: which schema reads which model, one fixture replayed, the results page.

The fixtures are read from the installed package `canitoolcall`; none is copied here.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache

from canitoolcall import __version__, checks
from canitoolcall.fixtures import Fixture, load_families, load_fixtures
from canitoolcall.pytest_plugin import expected_result, family_for
from canitoolcall.results import Observation, ParsedToolCall, ParseResult, Status

from rgw.derender import LENIENT_POLICY, Derenderer, Policy
from rgw.registry.loader import load_registry

POLICIES = (LENIENT_POLICY, Policy())

SCHEMAS = {
    "Qwen/Qwen3-0.6B": "qwen3",
    "Qwen/Qwen3-4B-Instruct-2507": "qwen3",
    "Qwen/Qwen3-4B-Thinking-2507": "qwen3",
    "Qwen/Qwen3.5-9B": "qwen3_5",
    "Qwen/Qwen3.8-27B": "qwen3_5_json_values",
    "Qwen/Qwen3-Coder-30B-A3B-Instruct": "qwen3_coder",
    "Qwen/Qwen3-Coder-Next": "qwen3_coder_next",
    "deepseek-ai/DeepSeek-V3-0324": "deepseek_v3",
    "deepseek-ai/DeepSeek-V3.1": "deepseek_v3_1",
    "deepseek-ai/DeepSeek-V3.2": "deepseek_dsml",
    "deepseek-ai/DeepSeek-V4-Flash": "deepseek_dsml",
    "deepseek-ai/DeepSeek-V4.1-Flash": "deepseek_dsml",
    "google/gemma-4-31B-it": "gemma4",
    "meta-llama/Llama-3.3-70B-Instruct": "llama3",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": "llama4",
    "mistralai/Devstral-Small-2507": "mistral",
    "mistralai/Magistral-Small-2506": "magistral",
    "mistralai/Magistral-Small-2509": "mistral_think",
    "mistralai/Ministral-3-14B-Instruct-2512": "mistral",
    "mistralai/Ministral-3-14B-Reasoning-2512": "mistral_think",
    "mistralai/Mistral-7B-Instruct-v0.3": "mistral_list",
    "mistralai/Mistral-Small-3.2-24B-Instruct-2506": "mistral",
    "moonshotai/Kimi-K2-Instruct-0905": "kimi_k2",
    "moonshotai/Kimi-K2.6": "kimi_k2",
    "moonshotai/Kimi-K3": "kimi_k3",
    "openai/gpt-oss-20b": "gpt_oss",
    "zai-org/GLM-4.5": "glm4_moe",
    "zai-org/GLM-4.7": "glm4_7",
    "zai-org/GLM-5.3": "glm4_7",
}
"""The schema that reads each reference model's output."""

_UNCLOSED_VALUE = (
    "A closing tag is missing, so that where the value ends is a guess. The fixture takes the next tag for the end; a"
    " value that was cut or that holds this tag itself reads the same. The turn comes back as its raw text with an"
    " issue at the parameter; `unclosed_value=next_tag` reads it as the fixture does."
)
_CUT = (
    "The length limit cut the turn inside a call. The fixture keeps what was complete before; the turn comes back as"
    " its raw text, so that a loss is seen. `cut_call=keep_complete` keeps it."
)

STRICTER_DEFAULTS = {
    "qwen3-xml/llamacpp-q35-call-inside-think": (
        "The prompt opened the reasoning and the output never closes it. The fixture ends the thought where a call"
        " begins; but models quote calls in their thoughts, and a thought cut by the length limit looks just like this."
        " The reasoning stays reasoning with an issue; `call_in_reasoning=call` reads the call."
    ),
    "qwen3-xml/vllm-coder-missing-close-parameter": _UNCLOSED_VALUE,
    "qwen3-xml/bug-missing-close-parameter-before-function": _UNCLOSED_VALUE,
    "glm/glm47-missing-last-close-arg-value": _UNCLOSED_VALUE,
    "gpt-oss/llamacpp-builtin-python-recipient": (
        "A message to the built-in `python` tool is a call of a tool whose arguments are code, not JSON. The fixture"
        " drops the message and reports no call, so that what the model did is lost silently. The turn comes back as"
        " its raw text with an issue; `builtin_tool=drop` leaves the message out, with a warning."
    ),
    "deepseek/v32-truncated-second-parallel-call": _CUT,
    "deepseek/v4-truncated-second-parallel-call": _CUT,
    "deepseek/v41-truncated-second-parallel-call": _CUT,
    "gemma4/truncated-second-parallel-call": _CUT,
    "gpt-oss/harmony-truncated-in-header": _CUT,
    "mistral/v13think-stop-at-open-marker": _CUT,
    "qwen3-hermes/truncated-second-parallel-call": _CUT,
    "qwen3-xml/q38-truncated-at-tool-call-open": _CUT,
}
"""The fixtures that pass with the lenient policy and not with the defaults, each with the reason."""

_VERBATIM = (
    "The fixture trims the space that the model wrote between its text and the call; text is verbatim here, as in the"
    " seven fixtures that keep such a space."
)

SOFT_PASSES = {
    "qwen3-hermes/sglang-text-before-call-with-space": _VERBATIM,
    "glm/glm45-vllm-newline-format-content-before": _VERBATIM,
    "gemma4/vllm-text-before-call": _VERBATIM,
    "glm/glm47-vllm-whitespace-only-content": (
        "The fixture drops text that is nothing but white space; text is verbatim here."
    ),
}
"""The fixtures that differ in outer white space only (CanIToolCall's soft-v1), each with the reason."""

INTRODUCTION = """\
# CanIToolCall

[CanIToolCall](https://github.com/redd34/canitoolcall) {version} is a neutral conformance suite: raw model outputs from
engines' own test suites, from rendered templates and from bug reports, each with the parse that a correct engine
returns. `make test` replays every fixture; `python scripts/canitoolcall_results.py` writes this page.

*Pass*: reasoning, text and calls are equal. *Soft pass*: equal but for outer white space (its soft-v1). Every fixture
is read twice. [`LENIENT_POLICY`](derender.md#where-serious-projects-disagree) does what most serving engines do, and
says so in a warning of the turn. The defaults are stricter: where they answer otherwise, the turn is ill-formed and has
no calls. Each such fixture is argued below. The test fails as soon as one of them passes, or another fixture fails.
"""

LICENCES = """
## Licences

No fixture is copied into this repository: the tests read them from the installed package, which carries the notices of
their sources. What each of its fixtures states about itself:

| licence | kind | fixtures |
|---|---|---:|"""


def replay(fixture: Fixture, policy: Policy) -> ParseResult:
    """What rgw reads with a policy, as an engine would answer it."""
    parsed = _derenderer(SCHEMAS[fixture.reference_model], policy).parse(
        fixture.raw_output, prompt=_prompt(fixture), tools=fixture.tools
    )
    return ParseResult(
        content=parsed.text or None,
        reasoning_content=parsed.reasoning or None,
        tool_calls=tuple(ParsedToolCall(use["name"], json.dumps(use["input"])) for use in parsed.tool_uses),
    )


def status(fixture: Fixture, result: ParseResult) -> Status:
    """How CanIToolCall judges a result: a pass, a pass but for outer white space, or a fail."""
    if fixture.expected is not None:
        return checks.compare(expected_result(fixture), result)
    rows = checks.check_expected_error(fixture, family_for(fixture), Observation(nonstream=result, streams={}))
    return rows[0].status


def listed_status(fixture: Fixture, policy: Policy) -> Status:
    """The status that the lists above announce for a fixture."""
    if fixture.id in STRICTER_DEFAULTS and policy == Policy():
        return Status.FAIL
    return Status.SOFT_PASS if fixture.id in SOFT_PASSES else Status.PASS


def results_page() -> str:
    """The page `docs/canitoolcall.md`."""
    fixtures = load_fixtures()
    introduction = INTRODUCTION.format(version=__version__)
    return "\n".join([introduction, *_results(fixtures), *_reasons(), *_licences(fixtures)]) + "\n"


@cache
def _derenderer(schema: str, policy: Policy) -> Derenderer:
    registry = load_registry()
    return Derenderer(registry.schema(schema), policy=policy, call_markers=registry.call_markers)


def _prompt(fixture: Fixture) -> str | None:
    """The recorded generation prompt, or the usual one of the reference model."""
    if fixture.generation_prompt is not None:
        return fixture.generation_prompt
    family = family_for(fixture)
    model = family.reference_for(fixture.reference_model) if family is not None else None
    return model.default_generation_prompt if model is not None else None


def _results(fixtures: Iterable[Fixture]) -> Iterator[str]:
    families = load_families()
    counts: dict[str, Counter[tuple[Policy, Status]]] = {}
    schemas: dict[str, set[str]] = {}
    for fixture in fixtures:
        schemas.setdefault(fixture.family, set()).add(SCHEMAS[fixture.reference_model])
        for policy in POLICIES:
            counts.setdefault(fixture.family, Counter())[policy, status(fixture, replay(fixture, policy))] += 1
    yield "| family | schemas | fixtures | lenient: pass | soft | fail | defaults: pass | soft | stricter |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|---:|"
    for slug, count in sorted(counts.items()):
        names = ", ".join(f"`{name}`" for name in sorted(schemas[slug]))
        yield f"| {_escaped(families[slug].name)} | {names} | {_row(count)} |"
    yield f"| **all** | | {_row(sum(counts.values(), Counter()))} |"


def _escaped(text: str) -> str:
    return re.sub(r"([|<>*_\[\]])", r"\\\1", text)


def _row(count: Counter[tuple[Policy, Status]]) -> str:
    cells = [count[policy, status] for policy in POLICIES for status in (Status.PASS, Status.SOFT_PASS, Status.FAIL)]
    return " | ".join(str(cell) for cell in (count.total() // len(POLICIES), *cells))


def _reasons() -> Iterator[str]:
    for title, reasons in (("Stricter by default", STRICTER_DEFAULTS), ("Soft passes", SOFT_PASSES)):
        yield from ("", f"## {title}", "")
        for reason in dict.fromkeys(reasons.values()):
            identifiers = (f"`{identifier}`" for identifier in reasons if reasons[identifier] == reason)
            yield f"- {', '.join(identifiers)}: {reason}"


def _licences(fixtures: Iterable[Fixture]) -> Iterator[str]:
    counts = Counter((fixture.provenance.license, fixture.provenance.kind) for fixture in fixtures)
    yield LICENCES
    yield from (f"| {licence} | {kind} | {count} |" for (licence, kind), count in sorted(counts.items()))
