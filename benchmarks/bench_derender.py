"""What reading a typical turn costs, side by side in one run; exits 1 above 1.25 times what transformers takes.

The turn is about 1.3 kB, a thought and one call, in Qwen's JSON and XML formats. Every contender gets the same text,
prompt and tools, and the transformers ones the same schema. What is not installed is listed as such; SGLang's detectors
come with the package `llm-router-utils`, whose parsers need no torch.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from rgw.derender import Derenderer
from rgw.registry.loader import load_registry
from rgw.registry.model import Dialect, Schema

LIMIT = 1.25
ROUNDS = 9
CALLS_PER_ROUND = 500

PROMPT = "<|im_start|>user\nWhere?<|im_end|>\n<|im_start|>assistant\n"
PROPERTIES = {"query": {"type": "string"}, "limit": {"type": "integer"}, "fields": {"type": "array"}}
TOOLS = [
    {"type": "function", "function": {"name": "search", "parameters": {"type": "object", "properties": PROPERTIES}}}
]
THOUGHT = "<think>\n" + "The question is where it was seen last, so I search for that. " * 17 + "\n</think>\n\n"
QUERY = "lighthouse keeper's logbook, " * 5
TURNS = {
    "qwen3": (
        THOUGHT + '<tool_call>\n{"name": "search", "arguments": {"query": "' + QUERY + '", "limit": 10,'
        ' "fields": ["title", "date"]}}\n</tool_call><|im_end|>'
    ),
    "qwen3_5": (
        THOUGHT + f"<tool_call>\n<function=search>\n<parameter=query>\n{QUERY}\n</parameter>\n<parameter=limit>\n10\n"
        "</parameter>\n</function>\n</tool_call><|im_end|>"
    ),
}
DETECTORS = {"qwen3": "qwen25", "qwen3_5": "qwen3_coder"}

Contender = tuple[str, Callable[[], Any] | None]
"""A name and what to time; `None` where it is not installed."""


def contenders(schema: Schema, text: str) -> Iterator[Contender]:
    """Everything that reads the turn, rgw first and its yardstick second."""
    derenderer = Derenderer(schema, call_markers=load_registry().call_markers)
    parsed = derenderer.parse(text, prompt=PROMPT, tools=TOOLS)
    if parsed.issues or len(parsed.tool_uses) != 1 or not parsed.reasoning:
        raise SystemExit(f"the turn of {schema.name} is not read as it is meant: {parsed}")
    yield "rgw", partial(derenderer.parse, text, prompt=PROMPT, tools=TOOLS)
    yield from transformers_engines(schema, text)
    yield legacy_engine(schema, text)
    yield sglang(schema, text)


def transformers_engines(schema: Schema, text: str) -> Iterator[Contender]:
    from transformers.utils.chat_parsing import parse_response
    from transformers.utils.chat_parsing.response_templates import load_response_template

    template = dict(schema.dialects[Dialect.RESPONSE_TEMPLATE])
    yield "transformers, template as a dict", partial(parse_response, text, template, prefix=PROMPT, tools=TOOLS)
    compiled = load_response_template(template)
    yield "transformers, template compiled", partial(parse_response, text, compiled, prefix=PROMPT, tools=TOOLS)


def legacy_engine(schema: Schema, text: str) -> Contender:
    name = "transformers, legacy dialect"
    try:
        from transformers.utils.chat_parsing_utils import recursive_parse
    except ImportError:
        return name, None
    return name, partial(recursive_parse, text, dict(schema.dialects[Dialect.RESPONSE_SCHEMA]))


def sglang(schema: Schema, text: str) -> Contender:
    name = "SGLang, reasoning parser and detector"
    try:
        from llm_router_utils.sglang.srt.entrypoints.openai.protocol import Tool
        from llm_router_utils.sglang.srt.function_call.function_call_parser import FunctionCallParser
        from llm_router_utils.sglang.srt.parser.reasoning_parser import ReasoningParser
    except ImportError:
        return name, None
    tools = [Tool(**tool) for tool in TOOLS]

    def read() -> Any:
        reasoning, rest = ReasoningParser("qwen3").parse_non_stream(text)
        return reasoning, FunctionCallParser(tools, DETECTORS[schema.name]).parse_non_stream(rest)

    return name, read


def best_microseconds(read: Callable[[], Any]) -> float:
    """The time of one call in the fastest round; the others were disturbed."""
    return min(timed_round(read) for _ in range(ROUNDS)) / CALLS_PER_ROUND * 1e6


def timed_round(read: Callable[[], Any]) -> float:
    started = time.perf_counter()
    for _ in range(CALLS_PER_ROUND):
        read()
    return time.perf_counter() - started


def main() -> int:
    over = 0
    for name, text in TURNS.items():
        timed = [
            (contender, None if read is None else best_microseconds(read))
            for contender, read in contenders(load_registry().schema(name), text)
        ]
        own, yardstick = timed[0][1], timed[1][1]
        assert own is not None
        assert yardstick is not None
        over += own > LIMIT * yardstick
        print(f"{f'{name}, {len(text)} characters':<42} {'time':>9} {'rgw is':>10}")
        for contender, time_taken in timed:
            if time_taken is None:
                print(f"  {contender:<40} {'not installed':>9}")
            else:
                print(f"  {contender:<40} {time_taken:>6.0f} µs {own / time_taken:>8.2f} x")
    print(f"limit: {LIMIT} x transformers with the template as a dict")
    return int(over > 0)


if __name__ == "__main__":
    sys.exit(main())
