"""How the time to read a turn grows with its length, on shapes made of the schema's own delimiters.

A schema from outside may hold a regular expression that takes minutes on a turn that a model can well write. The
measurement runs in a process of its own that is killed when it overruns; a schema that grows faster than linearly is
refused with the shape and the pattern named. One that has passed needs no watching.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rgw.errors import EngineError, RegistryError
from rgw.registry.model import Dialect, LayoutRules, Origin, Schema, TurnRules, UntypedValues

MAXIMUM_RATIO = 2.6
"""How much longer twice the input may take: linear is 2, the rest is noise."""

NOISE_SECONDS = 0.02
"""Times below this say nothing about growth."""


@dataclass(frozen=True, slots=True)
class Growth:
    """The result of a growth check.

    Attributes:
        linear: No shape grew faster than linearly.
        shape: The shape that did, described; empty when none did.
        pattern: The pattern of the schema that is slow on it.
        size: How many characters it then had.
        seconds: How long reading it took.
        ratio: How much longer than half of it.
    """

    linear: bool
    shape: str = ""
    pattern: str = ""
    size: int = 0
    seconds: float = 0.0
    ratio: float = 0.0


def check_growth(schema: Schema, *, largest: int = 64_000, budget: float = 20.0) -> Growth:
    """Measure a schema in a separate process.

    Args:
        schema: The schema; it is not trusted.
        largest: Characters of the largest input of each shape.
        budget: Wall-clock seconds for the whole check.

    Returns:
        The first shape on which reading grows faster than linearly, or that there is none.

    Raises:
        EngineError: The process could not run the schema at all.
    """
    last, overran, complaint = _run(schema, ["measure", str(largest)], budget)
    if last is None:
        raise EngineError(f"the growth of schema {schema.name} could not be measured: {complaint or 'no answer'}")
    if not overran:
        return Growth(**last)
    pattern = _slow_pattern(schema, last["prefix"], last["repeated"])
    return Growth(False, last["shape"], pattern, last["size"], budget, float("inf"))


def _slow_pattern(schema: Schema, prefix: str, repeated: str) -> str:
    """Which pattern of the schema is slow on a shape: each is searched alone, in growing texts, until one hangs."""
    last, _, _ = _run(schema, ["patterns", prefix, repeated], 2.0)
    return str(last["pattern"]) if last else ""


def _run(schema: Schema, arguments: Sequence[str], budget: float) -> tuple[dict[str, Any] | None, bool, str]:
    """Run the worker; return the last line it wrote, whether it overran, and the last line of its complaints."""
    command = [sys.executable, "-m", "rgw.derender.growth_worker", *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            answer, complaint = process.communicate(json.dumps(schema_to_dict(schema)).encode(), timeout=budget)
        except subprocess.TimeoutExpired:
            process.kill()
            answer, complaint = process.communicate()
            last = _last_line(answer)
            return (json.loads(last) if last else None), True, _last_line(complaint)
    last = _last_line(answer) if process.returncode == 0 else ""
    return (json.loads(last) if last else None), False, _last_line(complaint)


def require_linear(schema: Schema) -> None:
    """Refuse a schema that grows faster than linearly.

    Raises:
        RegistryError: It does; the message names the shape and the pattern.
    """
    growth = check_growth(schema)
    if not growth.linear:
        raise RegistryError(
            f"schema {schema.name}: reading {growth.shape} takes {growth.seconds:.1f} s for {growth.size} characters,"
            f" {growth.ratio:.1f} times as long as half of it; the pattern is {growth.pattern!r}",
            "rewrite the pattern so that no repetition can match what follows it",
        )


def _last_line(output: bytes | None) -> str:
    lines = (output or b"").decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""


def adversarial_shapes(schema: Schema) -> Iterator[tuple[str, str]]:
    """The shapes that a schema is measured on: what is repeated, and what stands before it.

    They are made of the literal parts of the schema's patterns: repeated opens, opens with white-space runs, nested
    opens, near-miss closers, and long runs of white space, brackets and text behind each of them.
    """
    atoms = _atoms(schema)
    prefixes = ["", *atoms]
    fillers = ["\n", " ", "\r\n", "a", "[", "{", '"', ",", "\\", "a=", "<"]
    for prefix in prefixes:
        for filler in fillers:
            yield prefix, filler
    for atom in atoms:
        for filler in ("", " ", "\n", "a"):
            yield "", atom + filler
        yield "", atom[:-1]
        for prefix in atoms:
            yield prefix, atom
    yield "", "".join(atoms)


def patterns_of(schema: Schema) -> list[str]:
    """Every regular expression and delimiter literal of a schema."""
    return sorted(set(_patterns([schema.dialects[dialect] for dialect in schema.dialects])))


_PATTERN_KEYS = (
    "open",
    "close",
    "open_pattern",
    "close_pattern",
    "tag_pattern",
    "start_anchor",
    "start_anchor_pattern",
)
_LEGACY_PATTERN_KEYS = ("x-regex", "x-regex-iterator", "x-regex-key-value")


def _patterns(node: Any) -> Iterator[str]:
    if isinstance(node, Mapping):
        for key, value in node.items():
            if key in _PATTERN_KEYS + _LEGACY_PATTERN_KEYS:
                yield from [value] if isinstance(value, str) else value
            else:
                yield from _patterns(value)
    elif isinstance(node, list | tuple):
        for value in node:
            yield from _patterns(value)


_LITERAL_RUN = re.compile(r"(?:\\[^A-Za-z0-9]|[^\\\[\](){}?*+.|^$])+")
_CLASS_OR_GROUP = re.compile(r"\[(?:\\.|[^\]\\])*\]|\(\?P?<[A-Za-z_]\w*>|\(\?[:=!]|\(\?<[=!]")


def _atoms(schema: Schema) -> list[str]:
    """The literal parts of the patterns, and each pattern's parts joined as a model would write them."""
    atoms: dict[str, None] = {}
    for pattern in patterns_of(schema):
        bare = _CLASS_OR_GROUP.sub("(", pattern)
        runs = [re.sub(r"\\(.)", r"\1", run) for run in _LITERAL_RUN.findall(bare)]
        runs = [run for run in runs if len(run) > 1 or not run.isalnum()]
        for atom in [*runs, "".join(runs), "a".join(runs)]:
            if atom.strip():
                atoms[atom] = None
    return sorted(atoms, key=len, reverse=True)[:24]


def schema_to_dict(schema: Schema) -> dict[str, Any]:
    """The parts of a schema that reading needs, as plain data for another process."""
    return {
        "name": schema.name,
        "dialects": {dialect.value: schema.dialects[dialect] for dialect in schema.dialects},
        "turn": asdict(schema.turn),
        "layout": asdict(schema.layout),
        "untyped_values": schema.untyped_values.value,
    }


def schema_from_dict(data: Mapping[str, Any]) -> Schema:
    """The inverse of `schema_to_dict`."""
    turn: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in data["turn"].items()
    }
    return Schema(
        name=data["name"],
        title=data["name"],
        origin=Origin("rgw"),
        dialects={Dialect(name): value for name, value in data["dialects"].items()},
        turn=TurnRules(**turn),
        layout=LayoutRules(**data["layout"]),
        untyped_values=UntypedValues(data["untyped_values"]),
    )
