"""What an engine's own response parser reads of a schema's samples. The engines ship copies of one parser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any, NamedTuple

from rgw.derender import Derenderer
from rgw.derender.pattern_examples import example_of
from rgw.exporting import Export
from rgw.registry.model import Dialect, Sample, Schema


class Reading(NamedTuple):
    """The parts of a turn; the engines leave white space at the ends of text, and so it is not compared."""

    reasoning: str
    text: str
    calls: Sequence[Mapping[str, Any]]


def readings(parser: ModuleType, schema: Schema, exported: Export) -> Iterator[tuple[Sample, Reading, Reading]]:
    """Each well-formed sample, as `rgw` reads it and as the engine does."""
    for sample in (replace(sample, prompt=sample.prompt or _prompt(schema)) for sample in schema.samples):
        parsed = Derenderer(schema).parse(sample.output, prompt=sample.prompt, tools=sample.tools)
        if not parsed.ill_formed:
            ours = Reading(parsed.reasoning.strip(), parsed.text.strip(), parsed.tool_uses)
            yield sample, ours, _read(parser, exported.response_template, sample)


def _prompt(schema: Schema) -> str:
    """A prompt as short as they come, for a sample that names none."""
    template = schema.dialects[Dialect.RESPONSE_TEMPLATE]
    pattern = template.get("start_anchor_pattern")
    return (example_of(pattern) if pattern is not None else template["start_anchor"]) + schema.turn.prefill


def _read(parser: ModuleType, template: Mapping[str, Any], sample: Sample) -> Reading:
    """As the serving engines do: text as it comes, calls as each region of them ends."""
    stream = parser.ResponseParser(dict(template), prefix=sample.prompt, tools=list(sample.tools or ()) or None)
    events = [*stream.initial_events, *stream.feed(sample.output), *stream.finalize()[1]]
    parts = {"thinking": "", "content": ""}
    calls = []
    for event in events:
        if event["type"] == "region_chunk" and event["field"] in parts:
            parts[event["field"]] += event["text"]
        elif event["type"] == "region_close" and event["field"] == "tool_calls":
            value = event["value"]
            calls += [call["function"] for call in (value if isinstance(value, list) else [value])]
    read = [{"name": call["name"], "input": call["arguments"]} for call in calls]
    return Reading(parts["thinking"].strip(), parts["content"].strip(), read)
