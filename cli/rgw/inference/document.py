"""A candidate as the file of a response schema, each inferred line with a comment that explains it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from rgw.inference.agreement import Agreement
from rgw.inference.model import Explanation, Inference
from rgw.registry.model import PYTHON_CONSTANTS, LayoutRules, Schema, TurnRules
from rgw.registry.yaml_writing import dump_yaml

_LABELS_TOLD = 3
_KEY = re.compile(r"( *)([\w-]+):")


def schema_data(schema: Schema) -> dict[str, Any]:
    """What stands in the file of a schema, without what is so by default."""
    data: dict[str, Any] = {"name": schema.name, "title": schema.title, "origin": {"source": schema.origin.source}}
    turn = _changed(asdict(schema.turn), asdict(TurnRules()))
    layout = _changed(asdict(schema.layout), asdict(LayoutRules()))
    data |= {"turn": turn} if turn else {}
    data |= {"layout": layout} if layout else {}
    data |= {"untyped_values": schema.untyped_values.value}
    if schema.constants != PYTHON_CONSTANTS:
        data["constants"] = list(schema.constants)
    return {**data, "dialects": {dialect.value: dict(schema.dialects[dialect]) for dialect in schema.dialects}}


def _changed(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in values.items()
        if value != defaults[key]
    }


def explained_yaml(schema: Schema, explanations: Iterable[Explanation]) -> str:
    """The file of a schema, with comments."""
    reasons = {each.path: each for each in explanations}
    lines: list[str] = []
    path: list[str] = []
    for line in dump_yaml(schema_data(schema)).splitlines():
        key = _KEY.match(line)
        if key is not None:
            path[len(key[1]) // 2 :] = [key[2]]
            explanation = reasons.get(".".join(path).removesuffix("_pattern")) or reasons.get(".".join(path))
            if explanation is not None:
                lines.append(f"{key[1]}# {_comment(explanation)}")
        lines.append(line)
    return "\n".join(lines) + "\n"


def _comment(explanation: Explanation) -> str:
    seen = explanation.seen_in[:_LABELS_TOLD]
    more = len(explanation.seen_in) - len(seen)
    if not seen:
        return explanation.reason
    rest = f" and {more} more" if more else ""
    return f"{explanation.reason}; seen in: {', '.join(seen)}{rest}"


def inferred_file(ref: str, inference: Inference, agreement: Agreement | None = None) -> str:
    """The candidate's file, headed by what is known of it in comments; only those where there is no candidate."""
    verdict = "proved" if inference.proved else "not proved"
    head = [f"{verdict}: {ref}", *([inference.failure] if inference.failure else [])]
    head += [str(agreement)] if agreement is not None else []
    head += [f"not to be seen: {words}" for words in inference.unobservable]
    comments = "".join(f"# {words if words.isprintable() else ascii(words)}\n" for words in head)
    if inference.schema is None:
        return comments
    return comments + explained_yaml(inference.schema, inference.explanations)


def inference_document(
    ref: str, sha256: str, inference: Inference, agreement: Agreement | None = None
) -> dict[str, Any]:
    """What `rgw infer --json` prints."""
    schema = schema_data(inference.schema) if inference.schema is not None else None
    agreed = agreement.to_dict() if agreement is not None else None
    return {"version": 1, "ref": ref, "sha256": sha256, "schema": schema, "agreement": agreed, **inference.to_dict()}
