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
from typing import Any, NamedTuple

from rgw.derender.engines import runnable_dialect
from rgw.derender.pattern_examples import example_of
from rgw.errors import EngineError, RegistryError
from rgw.registry.model import Dialect, LayoutRules, Origin, Schema, TurnRules, UntypedValues

MAXIMUM_RATIO = 2.6
"""How much longer twice the input may take: linear is 2, the rest is noise."""

_WALL_SECONDS = 600.0
"""A last resort where the worker cannot end itself: processor time is what counts, whatever else the machine does."""

NOISE_SECONDS = 0.004
"""Times below this say nothing about growth."""


@dataclass(frozen=True, slots=True)
class Growth:
    """The result of a growth check.

    Attributes:
        linear: No shape grew faster than linearly.
        shape: The shape that did, described; empty when none did.
        pattern: The pattern of the schema that is slow on it.
        size: How many characters it then had.
        seconds: How long reading it took, in processor time.
        ratio: How much longer than half of it.
    """

    linear: bool
    shape: str = ""
    pattern: str = ""
    size: int = 0
    seconds: float = 0.0
    ratio: float = 0.0

    def require_linear(self, name: str) -> None:
        """Refuse the schema of this name if it grows faster than linearly.

        Raises:
            RegistryError: It does; the message names the shape and the pattern.
        """
        if not self.linear:
            raise RegistryError(
                f"schema {name}: reading {self.shape} takes {self.seconds:.1f} s for {self.size} characters,"
                f" {self.ratio:.1f} times as long as half of it; the pattern is {self.pattern!r}",
                "rewrite the pattern so that no repetition can match what follows it",
            )


def check_growth(schema: Schema, *, largest: int = 16_000, limit: float = 3.0, lenient: bool = False) -> Growth:
    """Measure a schema in a separate process.

    Args:
        schema: The schema; it is not trusted.
        largest: Characters of the largest input of each shape; a suspicion is confirmed on four times as many.
        limit: Processor seconds that reading one input may take; more is growth enough.
        lenient: Read with the lenient policy, which reads an ill-formed turn twice and more of it. The legacy dialect
            has none.

    Returns:
        The first shape on which reading grows faster than linearly, or that there is none.

    Raises:
        EngineError: The process could not run the schema at all.
    """
    lenient = lenient and runnable_dialect(schema) is Dialect.RESPONSE_TEMPLATE
    last, complaint = _run(schema, ["measure", str(limit), str(largest), "lenient" if lenient else "strict"])
    if last is None:
        raise EngineError(f"the growth of schema {schema.name} could not be measured: {complaint or 'no answer'}")
    if "linear" in last:
        return Growth(**last)
    shape = Shape(*last["shape"])
    return Growth(False, str(shape), _slow_pattern(schema, shape), last["size"], limit, float("inf"))


def _slow_pattern(schema: Schema, shape: Shape) -> str:
    """Which pattern of the schema is slow on a shape: each is searched alone, in growing texts, until one hangs."""
    last, _ = _run(schema, ["patterns", "1.0", *shape])
    return str(last["pattern"]) if last else ""


def _run(schema: Schema, arguments: Sequence[str]) -> tuple[dict[str, Any] | None, str]:
    """Run the worker; return the last line that it wrote before it ended or was ended, and its last complaint."""
    command = [sys.executable, "-m", "rgw.derender.growth_worker", *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            answer, complaint = process.communicate(json.dumps(schema_to_dict(schema)).encode(), timeout=_WALL_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            answer, complaint = process.communicate()
    failed = process.returncode > 0
    last = "" if failed else _last_line(answer)
    return (json.loads(last) if last else None), _last_line(complaint)


def require_linear(schema: Schema) -> None:
    """Refuse a schema that grows faster than linearly, with the lenient policy or without.

    Raises:
        RegistryError: It does; the message names the shape and the pattern.
    """
    check_growth(schema, lenient=True).require_linear(schema.name)


def _last_line(output: bytes | None) -> str:
    lines = (output or b"").decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""


class Shape(NamedTuple):
    """An adversarial input: `prefix`, then `repeated` again and again, then `suffix`."""

    prefix: str
    repeated: str
    suffix: str

    def text(self, size: int) -> str:
        """The shape at about `size` characters."""
        return self.prefix + self.repeated * (size // len(self.repeated)) + self.suffix

    def __str__(self) -> str:
        before = f"{self.prefix[:60]!r}, then " if self.prefix else ""
        behind = f", then {self.suffix[:60]!r}" if self.suffix else ""
        return f"{before}{self.repeated[:60]!r} again and again{behind}"


def adversarial_shapes(schema: Schema) -> Iterator[Shape]:
    """The shapes that a schema is measured on.

    They are made of the literal parts of the schema's patterns: repeated opens, opens with runs of white space,
    brackets or text behind them, nested opens, alternating parts and near-miss closers. Each repetition also comes
    with every part far behind it, so that no engine can give up early because a required part is missing.
    """
    parts, wholes = _atoms(schema)
    everything = "".join(f'x"\n{part}' for part in reversed(parts))
    for prefix in ["", *parts, *wholes, *_unfinished_calls(schema)]:
        for filler in ("\n", " ", "\r\n", "a", "[", "{", '"', ",", "\\", "a=", "<"):
            yield Shape(prefix, filler, "")
    for atom in [*parts, *wholes]:
        for filler in ("", " ", "\n", "a"):
            yield Shape("", atom + filler, everything)
        yield Shape("", atom, "")
        if len(atom) > 1:
            yield Shape("", atom[:-1], everything)
    for first in parts:
        for second in parts:
            yield Shape("", first + second, everything)
            yield Shape(first, second, "")


def _unfinished_calls(schema: Schema) -> Iterator[str]:
    """The beginnings of a call: each opener as a model would write it, and an inline argument cut at every mark."""
    fields = schema.dialects.get(Dialect.RESPONSE_TEMPLATE, {}).get("fields", {})
    for field in fields.values():
        opener = example_of(field["open_pattern"]) if "open_pattern" in field else field.get("open")
        if not isinstance(opener, str):
            continue
        yield opener
        tag = field.get("content_args", {}).get("tag_pattern")
        argument = example_of(tag) if isinstance(tag, str) else ""
        for end in range(1, len(argument) + 1):
            if not argument[end - 1].isalnum():
                yield opener + argument[:end]


def patterns_of(schema: Schema) -> list[str]:
    """Every regular expression of the dialect that runs here; delimiters that are literals, escaped."""
    return sorted(set(map(_without_comments, _patterns(schema.dialects[runnable_dialect(schema)]))))


_VERBOSE = "(?x)"
_COMMENT_OR_SPACE = re.compile(r"(\\.|\[(?:\\.|[^\]\\])*\])|#[^\n]*|\s+", re.DOTALL)


def _without_comments(pattern: str) -> str:
    """A verbose pattern without its comments and white space, so that only what it matches is left."""
    if not pattern.startswith(_VERBOSE):
        return pattern
    return _COMMENT_OR_SPACE.sub(lambda match: match[1] or "", pattern.removeprefix(_VERBOSE))


_LITERAL_KEYS = ("open", "close", "start_anchor")
_PATTERN_KEYS = (
    "open_pattern",
    "close_pattern",
    "start_anchor_pattern",
    "tag_pattern",
    "x-regex",
    "x-regex-iterator",
    "x-regex-key-value",
)


def _patterns(node: Any) -> Iterator[str]:
    if isinstance(node, Mapping):
        for key, value in node.items():
            if key in _LITERAL_KEYS:
                yield from map(re.escape, [value] if isinstance(value, str) else value)
            elif key in _PATTERN_KEYS:
                yield value
            else:
                yield from _patterns(value)
    elif isinstance(node, list | tuple):
        for value in node:
            yield from _patterns(value)


_LITERAL_RUN = re.compile(r"(?:\\[^A-Za-z0-9]|[^\\\[\](){}?*+.|^$])+")
_NOT_LITERAL = re.compile(r"\{\d+,?\d*\}|\[(?:\\.|[^\]\\])*\]|\(\?P?<[A-Za-z_]\w*>|\(\?[:=!]|\(\?<[=!]")


def _atoms(schema: Schema) -> tuple[list[str], list[str]]:
    """The literal parts of the patterns, and each pattern's parts joined about as a model would write them."""
    parts: dict[str, None] = {}
    wholes: dict[str, None] = {}
    for pattern in patterns_of(schema):
        bare = _NOT_LITERAL.sub("(", pattern)
        runs = [re.sub(r"\\(.)", r"\1", run) for run in _LITERAL_RUN.findall(bare)]
        runs = [run for run in runs if len(run) > 1 or not run.isalnum()]
        parts.update(dict.fromkeys(run for run in runs if run.strip()))
        if len(runs) > 1:
            wholes.update(dict.fromkeys(("".join(runs), "a".join(runs))))
    longest_first = sorted(parts, key=lambda part: (-len(part), part))
    return longest_first[:12], sorted(wholes, key=lambda whole: (-len(whole), whole))[:12]


def schema_to_dict(schema: Schema) -> dict[str, Any]:
    """The parts of a schema that reading needs, as plain data for another process."""
    return {
        "name": schema.name,
        "dialects": {dialect.value: schema.dialects[dialect] for dialect in schema.dialects},
        "turn": asdict(schema.turn),
        "layout": asdict(schema.layout),
        "untyped_values": schema.untyped_values.value,
        "constants": schema.constants,
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
        constants=tuple(data["constants"]),
    )
