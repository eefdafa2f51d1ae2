"""What the installed transformers makes of a schema's samples, as digests that a lockfile or the registry can record.

A result is recorded under a digest of everything that it depends on but transformers itself, so that only results of
the same question are ever compared.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rgw.derender import Derenderer
from rgw.derender.compare import transformers_result
from rgw.derender.engines import runnable_dialect
from rgw.registry.model import Sample, Schema

_DIGITS = 16


@dataclass(frozen=True, slots=True)
class SampleResult:
    """What `parse_response` returned for one sample.

    Attributes:
        title: The sample's title.
        question: A digest of the schema's dialect and the sample.
        answer: A digest of the message that was returned, or of the kind of exception that was raised.
        agrees: Whether the message says what the sample means.
    """

    title: str
    question: str
    answer: str
    agrees: bool


@dataclass(frozen=True, slots=True)
class Recording:
    """What one version of transformers returned for samples: a digest of the answer by one of the question."""

    transformers: str
    results: Mapping[str, str]


def sample_results(schema: Schema) -> Iterator[SampleResult]:
    """Run the installed transformers on every sample of a schema.

    Raises:
        EngineError: It cannot run the schema.
    """
    specification = schema.dialects[runnable_dialect(schema)]
    derenderer = Derenderer(schema)
    for sample in schema.samples:
        result = transformers_result(schema, sample.output, sample.prompt, sample.tools or None)
        parsed = derenderer.parse(sample.output, prompt=sample.prompt, tools=sample.tools or None)
        yield SampleResult(
            title=sample.title,
            question=_digest([specification, schema.turn.prefill, sample.output, sample.prompt, sample.tools]),
            answer=_digest([result.error.partition(":")[0], result.message]),
            agrees=result.agrees_with(parsed),
        )


def misread(derenderer: Derenderer, sample: Sample) -> str:
    """How the reading of a sample differs from what the sample means, in one line; empty when it does not."""
    parsed = derenderer.parse(sample.output, prompt=sample.prompt, tools=sample.tools or None)
    found = {
        "reasoning": parsed.reasoning,
        "text": parsed.text,
        "tool_uses": parsed.tool_uses,
        "issues": [issue.code.value for issue in parsed.issues],
    }
    expected = {"reasoning": "", "text": "", "tool_uses": [], "issues": [], **sample.expected}
    different = [key for key in found if found[key] != expected[key]]
    if not different:
        return ""
    key = different[0]
    return f"sample {sample.title!r}: {key} is {found[key]!r}, not {expected[key]!r}"


def _digest(value: Any) -> str:
    # Not sorted: an engine tries the fields of a schema in their order.
    return hashlib.sha256(json.dumps(value, default=str).encode()).hexdigest()[:_DIGITS]
