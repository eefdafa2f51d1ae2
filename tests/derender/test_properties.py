"""What holds for every registered schema and any output: an exact tiling, no exception, nothing misread in silence."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from derender.derender_schemas import needs_response_template, registered
from derender.wire_formats import WIRE_FORMATS, Turn
from rgw.derender import LENIENT_POLICY, CutCall, Derenderer, Policy
from rgw.derender.compare import TransformersResult, transformers_result
from rgw.derender.growth import adversarial_shapes
from rgw.model import IssueCode, ParsedOutput, SegmentKind, Severity
from rgw.registry.loader import load_registry
from rgw.registry.model import UntypedValues

PREFILL = SegmentKind.PREFILL
SCHEMAS = sorted(load_registry().schemas)
NOISE = [*" \n\t<>{}[]\"'\\:,=/|1-a", "\r\n", "B c", "\N{GRINNING FACE}", "\ud800", "\x00"]
NOISE += ['{"name": "f", "arguments": {}}', '"a": 1', "f(a=1)", "null", "NaN"]

TYPES = {"a": {"type": "string"}, "key": {"type": "integer"}, "c_3": {"type": "array"}}
PARAMETERS = {"type": "object", "properties": TYPES, "additionalProperties": True}
TOOLS = [{"type": "function", "function": {"name": name, "parameters": PARAMETERS}} for name in ("find", "run_it")]

WORDS = st.text(alphabet="ab é\N{GRINNING FACE}\n:,'=/", max_size=8).map(lambda text: f"v{text}w")
NUMBERS = st.integers(0, 2**53 - 1)
ARGUMENTS = st.fixed_dictionaries(
    {}, optional={"a": WORDS, "key": NUMBERS, "c_3": st.lists(NUMBERS | WORDS, max_size=2)}
)
CALLS = st.tuples(st.sampled_from(["find", "run_it"]), ARGUMENTS)

each_schema = pytest.mark.parametrize("schema", SCHEMAS)
# Shares of what the profile allows, since there are so many schemas: 5 and 12 examples, and 20 times as many nightly.
few = settings(max_examples=settings().max_examples // 20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
many = settings(max_examples=settings().max_examples // 8, deadline=None, suppress_health_check=[HealthCheck.too_slow])

STRICT = Policy()
LET_PASS = {IssueCode.CALL_IN_REASONING, IssueCode.UNCLOSED_CALL, IssueCode.MISSING_TAG, IssueCode.BUILTIN_TOOL}


@cache
def derenderer(schema: str, policy: Policy = STRICT) -> Derenderer:
    return registered(schema, policy=policy)


@cache
def delimiters(schema: str) -> tuple[str, ...]:
    """The literal parts of a schema's delimiters, and its markers."""
    specification = derenderer(schema).schema
    parts = {shape.repeated for shape in adversarial_shapes(specification) if len(shape.repeated) < 40}
    return tuple(sorted(parts | set(specification.turn.end) | set(specification.turn.reserved)))


def special_markers(schema: str) -> list[str]:
    """The delimiters that are no ordinary text, one that goes on with a name up to the name."""
    turn = derenderer(schema).schema.turn
    tags = (part.strip() for part in delimiters(schema) if re.search(r"<[^<>]+>|^<\w+=$|\[/?[A-Z_]+\]", part))
    return [*tags, *turn.reserved, *turn.end, WIRE_FORMATS[schema].anchor]


def outputs(schema: str) -> st.SearchStrategy[str]:
    """Anything: strings of the schema's own delimiters and noise."""
    return st.lists(st.sampled_from(delimiters(schema)) | st.sampled_from(NOISE), max_size=14).map("".join)


def turns(schema: str) -> st.SearchStrategy[Turn]:
    """Turns that the schema's wire format can hold."""
    wire = WIRE_FORMATS[schema]
    return st.builds(
        Turn,
        reasoning=st.none() | WORDS if wire.thinks else st.none(),
        text=st.just("") | WORDS,
        calls=st.lists(CALLS, max_size=wire.most_calls).map(tuple),
    ).filter(lambda turn: wire.carries(turn) and (wire.text_with_calls or not (turn.text and turn.calls)))


def parse(schema: str, output: str, policy: Policy = STRICT) -> ParsedOutput:
    return derenderer(schema, policy).parse(output, prompt="", tools=TOOLS)


def uses(turn: Turn) -> list[Any]:
    return [{"name": name, "input": arguments} for name, arguments in turn.calls]


def without_space(text: str) -> str:
    return "".join(text.split())


def says(schema: str, reasoning: str, text: str, tool_uses: Any, output: str) -> bool:
    """Whether a turn, written again, is the output: no character of it is lost and none invented.

    White space aside, and the marks at which a turn begins and ends.
    """
    calls = tuple((use["name"], use["input"]) for use in tool_uses)
    wire = WIRE_FORMATS[schema]
    thoughts = (reasoning,) if reasoning else (None, "")
    written = {without_space(wire.normal(wire.write(Turn(thought, text, calls, ended=False)))) for thought in thoughts}
    return any(without_space(wire.normal(_bare(schema, output, anchor))) in written for anchor in ("", wire.anchor))


def _bare(schema: str, output: str, anchor: str) -> str:
    """The output without the anchor at its start and the end-of-turn marker at its end."""
    output = output.strip().removeprefix(anchor).strip()
    ends = [marker for marker in derenderer(schema).schema.turn.end if output.endswith(marker)]
    return output.removesuffix(max(ends, key=len)) if ends else output


def test_every_registered_schema_has_a_writer() -> None:
    assert sorted(WIRE_FORMATS) == SCHEMAS


@each_schema
@many
@given(data=st.data())
def test_any_output_is_tiled_and_accounted_for(schema: str, data: st.DataObject) -> None:
    output = data.draw(outputs(schema))
    prompt = data.draw(st.sampled_from(["", None, "<think>\n", *delimiters(schema)]))
    assert_accounted_for(derenderer(schema).parse(output, prompt=prompt), output, schema)


@needs_response_template
@each_schema
@many
@given(data=st.data())
def test_a_lenient_policy_accounts_as_well_and_changes_no_well_formed_turn(schema: str, data: st.DataObject) -> None:
    written = WIRE_FORMATS[schema].write(data.draw(turns(schema)))
    output = data.draw(outputs(schema) | damaged(schema, written))
    strict = parse(schema, output)
    lenient = parse(schema, output, LENIENT_POLICY)
    assert_accounted_for(lenient, output, schema)
    assert lenient == strict or (strict.ill_formed and LET_PASS & {issue.code for issue in lenient.issues})


def assert_accounted_for(parsed: ParsedOutput, output: str, schema: str) -> None:
    ends = [0, *(segment.end for segment in parsed.segments)]
    assert [segment.start for segment in parsed.segments] == ends[:-1]
    assert ends[-1] == len(output)
    assert all(segment.start < segment.end for segment in parsed.segments)
    assert all(0 <= issue.start <= issue.end <= len(output) for issue in parsed.issues)
    assert IssueCode.ENGINE_FAILURE not in {issue.code for issue in parsed.issues}
    assert parsed.ill_formed is any(issue.severity is Severity.ERROR for issue in parsed.issues)
    if parsed.ill_formed:
        assert parsed.tool_uses == []
        assert (parsed.reasoning, parsed.text) == ("", output) or parsed.text == ""
    else:
        left_out = {IssueCode.UNCLOSED_CALL, IssueCode.BUILTIN_TOOL} & {issue.code for issue in parsed.issues}
        assert left_out or SegmentKind.UNCLAIMED not in {segment.kind for segment in parsed.segments}
        assert parsed.reasoning == written(output, parsed, SegmentKind.REASONING)
        assert parsed.text == written(output, parsed, SegmentKind.TEXT)


def written(output: str, parsed: ParsedOutput, kind: SegmentKind) -> str:
    return "".join(output[start:end] for found, start, end in parsed.segments if found is kind)


@each_schema
@few
@given(data=st.data())
def test_a_turn_that_a_template_writes_is_read_back(schema: str, data: st.DataObject) -> None:
    turn = data.draw(turns(schema))
    parsed = parse(schema, WIRE_FORMATS[schema].write(turn))
    assert (parsed.reasoning, parsed.text, parsed.tool_uses) == (turn.reasoning or "", turn.text, uses(turn))
    assert parsed.issues == ()


@each_schema
@few
@given(data=st.data())
def test_a_cut_turn_has_no_call_that_the_whole_one_has_not(schema: str, data: st.DataObject) -> None:
    turn = data.draw(turns(schema))
    output = WIRE_FORMATS[schema].write(turn)
    policy = data.draw(st.sampled_from([STRICT, Policy(cut_call=CutCall.KEEP_COMPLETE)]))
    thought = [segment for segment in parse(schema, output).segments if segment.kind is SegmentKind.REASONING]
    for end in range(len(output)):
        parsed = parse(schema, output[:end], policy)
        assert parsed.tool_uses == uses(turn)[: len(parsed.tool_uses)]
        if any(start < end <= stop for _, start, stop in thought):
            assert (parsed.text, parsed.ill_formed) == ("", True)
            assert (turn.reasoning or "").startswith(parsed.reasoning)


@each_schema
@many
@given(data=st.data())
def test_a_damaged_turn_is_read_as_before_as_what_it_says_or_flagged(schema: str, data: st.DataObject) -> None:
    turn = data.draw(turns(schema))
    output = data.draw(damaged(schema, WIRE_FORMATS[schema].write(turn)))
    parsed = parse(schema, output)
    if parsed.issues:
        return
    as_before = (parsed.reasoning, parsed.text, parsed.tool_uses) == (turn.reasoning or "", turn.text, uses(turn))
    output = output[sum(segment.end - segment.start for segment in parsed.segments if segment.kind is PREFILL) :]
    only_text = parsed.text == output and not any(mark in output for mark in delimiters(schema))
    assert as_before or only_text or says(schema, parsed.reasoning, parsed.text, parsed.tool_uses, output)


def damaged(schema: str, output: str) -> st.SearchStrategy[str]:
    """An output with a character or a delimiter lost, doubled, replaced or put where it does not belong."""
    delimiting = [segment for segment in parse(schema, output).segments if segment.kind is SegmentKind.DELIMITER]
    spans = [(segment.start, segment.end) for segment in delimiting] + [(at, at + 1) for at in range(len(output))]
    replacements = st.sampled_from(["", *'<>{}[]"/|:,=a1', *delimiters(schema)])

    def damage(span: tuple[int, int], replacement: str, doubled: bool) -> str:
        start, end = span
        return output[:end] + output[start:] if doubled else output[:start] + replacement + output[end:]

    return st.builds(damage, st.sampled_from(spans or [(0, 0)]), replacements, st.booleans())


SECOND_LINE_END_FLAGGED = {"glm4", "ring_2_5", "ring_2_6"}
"""Schemas that take the first of two line ends before a thought for an empty thought, and flag the real one."""


@each_schema
@many
@given(data=st.data())
def test_where_transformers_loses_nothing_the_two_agree(schema: str, data: st.DataObject) -> None:
    written = WIRE_FORMATS[schema].write(data.draw(turns(schema)))
    output = data.draw(st.just(written) | damaged(schema, written))
    assume(schema not in SECOND_LINE_END_FLAGGED or not output.startswith("\n\n"))
    theirs = transformers_result(derenderer(schema).schema, output, "")
    if loses_nothing(schema, theirs, output):
        ours = derenderer(schema).parse(output, prompt="")
        assert not ours.ill_formed
        reads_python = derenderer(schema).schema.untyped_values is UntypedValues.PYTHON
        assert stripped(message(theirs)) == stripped(printed(message(ours)) if reads_python else message(ours))


def message(read: TransformersResult | ParsedOutput) -> list[Any]:
    return [read.reasoning, read.text, read.tool_uses]


def printed(read: list[Any]) -> list[Any]:
    """A message with its arguments as Python prints them, which transformers cannot read."""
    *texts, tool_uses = read
    return [*texts, [{**use, "input": {key: str(value) for key, value in use["input"].items()}} for use in tool_uses]]


def stripped(value: Any) -> Any:
    """A value without the outer white space of its texts, which transformers takes off."""
    if isinstance(value, dict):
        return {key: stripped(child) for key, child in value.items()}
    if isinstance(value, list):
        return [stripped(child) for child in value]
    return value.strip() if isinstance(value, str) else value


def holds(text: str, marker: str) -> bool:
    """Whether a marker stands in a text, or begins at its end."""
    return marker in text or any(text.endswith(marker[:length]) for length in range(1, len(marker)))


def loses_nothing(schema: str, theirs: TransformersResult, output: str) -> bool:
    """Whether what transformers returned, written again, is the output, and no marker of the format is in its texts.

    Nor in the names of its calls, which have no white space around them.
    """
    try:
        names = [use["name"] for use in theirs.tool_uses]
        texts = (theirs.reasoning, theirs.text, *names)
        marked = any(holds(text, marker) for text in texts for marker in special_markers(schema))
        marked |= any(name != name.strip() for name in names)
        return not marked and not theirs.error and says(schema, theirs.reasoning, theirs.text, theirs.tool_uses, output)
    except (TypeError, ValueError):
        return False
