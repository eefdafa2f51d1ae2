"""Raw outputs as people hand them over: one text, or a stream of JSON lines, each with what is to read it.

Chooses the schema, derenders, and puts beside it what transformers alone would have returned. Prints nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from math import isfinite
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, ClassVar, Self

from rgw.errors import RgwError, SourceError, UnrecognisedTemplateError, UsageError
from rgw.model import ParsedOutput

if TYPE_CHECKING:
    from rgw.derender import Derenderer, Policy
    from rgw.derender.bounded import BoundedDerenderer
    from rgw.derender.compare import TransformersResult
    from rgw.registry.loader import Registry

Tools = Sequence[Mapping[str, Any]]

STDIN = "-"
OUTPUT_LIMIT = 64 * 1024 * 1024
READERS_KEPT = 64
DEEPEST_PRINTED = 200


@dataclass(frozen=True, slots=True)
class Reading:
    """One raw output and what came of it.

    Attributes:
        id: What the caller calls it: a line's `id`, else its number, else the file's name.
        transformers: What the installed transformers alone makes of it; `None` where that was not asked for.
    """

    id: str | int
    output: str
    schema: str
    engine: str
    parsed: ParsedOutput
    transformers: TransformersResult | None = None

    @property
    def readable(self) -> bool:
        """It could be read whole."""
        return not self.parsed.ill_formed

    @property
    def clean(self) -> bool:
        """Nothing at all is wrong."""
        return not self.parsed.issues

    def to_dict(self) -> dict[str, Any]:
        """The JSON form of the command line's contract."""
        result = {"id": self.id, "schema": self.schema, "engine": self.engine, **self.parsed.to_dict()}
        alone = self.transformers
        if alone is not None:
            result["transformers"] = {
                "agrees": alone.agrees_with(self.parsed),
                "error": alone.error or None,
                "reasoning": alone.reasoning,
                "text": alone.text,
                "tool_uses": alone.tool_uses,
            }
        return result


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line of a stream that could not be read at all; the lines around it are not affected."""

    line: int
    id: str | int
    error: RgwError

    def to_dict(self) -> dict[str, Any]:
        """The JSON form of the command line's contract."""
        return {"id": self.id, "line": self.line, "error": str(self.error)}


@dataclass(frozen=True, slots=True)
class NotRunnable:
    """A schema that the installed transformers cannot run."""

    schema: str
    error: RgwError
    readable: ClassVar[bool] = False
    clean: ClassVar[bool] = False

    def to_dict(self) -> dict[str, Any]:
        """The JSON form of the command line's contract."""
        return {"schema": self.schema, "error": str(self.error)}


@dataclass(frozen=True, slots=True)
class Choice:
    """What is to read an output: exactly one of a schema's name, a template file, a model.

    Raises:
        UsageError: More than one is given.
    """

    schema: str | None = None
    template: str | None = None
    model: str | None = None

    def __post_init__(self) -> None:
        if sum(choice is not None for choice in (self.schema, self.template, self.model)) > 1:
            raise UsageError("schema, template and model exclude each other", "name the one that is to read the output")

    def __bool__(self) -> bool:
        return any(choice is not None for choice in (self.schema, self.template, self.model))


@dataclass(frozen=True, slots=True)
class Request:
    """What is known of an output besides its text.

    Attributes:
        choice: What is to read it.
        prompt: The prompt that it continues; `None` when unknown.
        tools: The tools that were offered; `None` when unknown.
    """

    choice: Choice = Choice()
    prompt: str | None = None
    tools: Tools | None = None


@dataclass(frozen=True, slots=True)
class Reader:
    """A derenderer, and what the chosen template pre-writes of a turn when no prompt says so."""

    derenderer: Derenderer | BoundedDerenderer
    prefill: str | None = None

    def read(self, output: str, request: Request, *, name: str | int, compare: bool = False) -> Reading:
        """Derender one output.

        Args:
            output: The decoded completion, special tokens kept.
            request: Its prompt and tools.
            name: The `id` of the reading.
            compare: Put beside it what transformers alone makes of it.
        """
        prompt = self.prefill if request.prompt is None else request.prompt
        derenderer = self.derenderer
        parsed = derenderer.parse(output, prompt=prompt, tools=request.tools)
        alone = None
        if compare:
            from rgw.derender.compare import transformers_result

            alone = _printable(transformers_result(derenderer.schema, output, prompt, request.tools))
        return Reading(name, output, derenderer.schema.name, derenderer.engine, parsed, alone)


class Readers:
    """Makes the reader for each choice once. Use it as a context manager: leaving it ends the readers' processes.

    Args:
        registry: The schemas and templates.
        policy: What to do where projects disagree.
        revision: The branch, tag or commit of models on the hub.
        native: Read with what the models themselves ship, in processes of their own, not with registered schemas.
    """

    def __init__(
        self, registry: Registry, *, policy: Policy, revision: str | None = None, native: bool = False
    ) -> None:
        self._registry = registry
        self._policy = policy
        self._revision = revision
        self._native = native
        self._outcome = lru_cache(READERS_KEPT)(self._try)
        self._processes = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._processes.close()

    def reader(self, choice: Choice) -> Reader:
        """The reader for a choice.

        Raises:
            UsageError: No such schema.
            SourceError: The model or the template file could not be read.
            UnrecognisedTemplateError: No schema is registered for its template.
            EngineError: The installed transformers cannot run the schema.
        """
        outcome = self._outcome(choice)
        if isinstance(outcome, RgwError):
            raise outcome
        return outcome

    def readers(self) -> Iterator[Reader | NotRunnable]:
        """A reader for every schema of the registry."""
        for name in self._registry.schemas:
            try:
                yield self._for_schema(name)
            except RgwError as error:
                yield NotRunnable(name, error)

    def _try(self, choice: Choice) -> Reader | RgwError:
        """A failure is an outcome too, so that a stream does not ask for the same missing model line by line."""
        try:
            if self._native:
                return self._for_native(choice)
            return self._for_ref(choice) if choice.schema is None else self._for_schema(choice.schema)
        except RgwError as error:
            return error

    def _for_ref(self, choice: Choice) -> Reader:
        from rgw.detection import detect
        from rgw.templates.resolve import resolve

        detection = detect(resolve(choice.template or choice.model or "", revision=self._revision), self._registry)
        if detection.schema is None or detection.registered is None:
            raise UnrecognisedTemplateError(f"{detection.ref}: {detection.message}")
        return self._for_schema(detection.schema.name, prefill=detection.registered.prefill)

    def _for_native(self, choice: Choice) -> Reader:
        """A reader that trusts nothing: the schema is measured first, and each turn has a budget all the same."""
        from rgw.derender.bounded import BoundedDerenderer
        from rgw.derender.native import native_schema
        from rgw.derender.vetting import vet
        from rgw.templates.resolve import resolve

        if choice.schema is not None:
            raise UsageError("a schema's name is not native", "name a model or its tokenizer_config.json")
        schema = native_schema(resolve(choice.template or choice.model or "", revision=self._revision))
        vet(schema, self._policy)
        markers = self._registry.call_markers
        derenderer = BoundedDerenderer(schema, policy=self._policy, call_markers=markers)
        return Reader(self._processes.enter_context(derenderer))

    def _for_schema(self, name: str, *, prefill: str | None = None) -> Reader:
        from rgw.derender import Derenderer
        from rgw.derender.vetting import vet_foreign

        schema = self._registry.schema(name)
        vet_foreign(self._registry, name, self._policy)
        markers = self._registry.call_markers
        return Reader(Derenderer(schema, policy=self._policy, call_markers=markers), prefill)


def compare_schemas(output: str, readers: Readers, request: Request, *, name: str | int) -> list[Reading | NotRunnable]:
    """Read one output with every schema, those that read most of it first. A comparison: it identifies nothing."""
    results = [
        reader if isinstance(reader, NotRunnable) else reader.read(output, request, name=name)
        for reader in readers.readers()
    ]
    return sorted(results, key=_rank)


def read_lines(path: str, readers: Readers, default: Request, *, compare: bool = False) -> Iterator[Reading | BadLine]:
    """Read a stream of JSON lines, in order and in constant memory; blank lines are skipped.

    Args:
        path: A file or `-`. Each line is an object: `output`, optional `id`, `prompt` and `tools`, and one of
            `schema`, `template` and `model`.
        readers: Where readers come from.
        default: What holds for the lines that do not say.
        compare: Put beside each what transformers alone makes of it.

    Raises:
        SourceError: The file could not be opened or read on; what was read before has been yielded.
    """
    for number, content in enumerate(_lines(path), 1):
        if not content.strip():
            continue
        record: Mapping[str, Any] = {}
        try:
            record = _record(content)
            request = _request(record, default)
            reader = readers.reader(request.choice)
            yield reader.read(record["output"], request, name=_name(record, number), compare=compare)
        except RgwError as error:
            yield BadLine(number, _name(record, number), error)


def read_text(path: str) -> str:
    """The text of a file or of standard input, byte for byte.

    Raises:
        SourceError: It could not be read, is no UTF-8 text or is over the limit.
    """
    with _opened(path) as file:
        content = file.read(OUTPUT_LIMIT + 1)
    if len(content) > OUTPUT_LIMIT:
        raise SourceError(f"{path} is over the limit of {OUTPUT_LIMIT // 1024**2} MiB", "pass a single raw output")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{path} is no UTF-8 text: byte {error.start} does not decode", "pass decoded output"
        ) from error


def read_tools(path: str) -> Tools:
    """The tools of a request from a JSON file.

    Raises:
        SourceError: It could not be read.
        UsageError: It is not a JSON list of objects.
    """
    try:
        return _tools(json.loads(read_text(path)))
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}, line {error.lineno}: {error.msg}", "write the tools as a JSON list") from error
    except (RecursionError, ValueError) as error:
        raise UsageError(f"{path}: {error}", "write the tools as a JSON list") from error


def _lines(path: str) -> Iterator[bytes]:
    with _opened(path) as file:
        yield from file


@contextmanager
def _opened(path: str) -> Iterator[IO[bytes]]:
    try:
        if path != STDIN:
            with Path(path).open("rb") as file:
                yield file
        elif sys.stdin is not None:
            yield sys.stdin.buffer
        else:
            raise SourceError("standard input is closed", "name a file")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SourceError(f"{path}: {reason}", "name a file that can be read, or - for standard input") from error


def _record(content: bytes) -> Mapping[str, Any]:
    try:
        record = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_without_repetition)
    except UnicodeDecodeError as error:
        raise UsageError(f"byte {error.start} is no UTF-8", "write the line as UTF-8 JSON") from error
    except json.JSONDecodeError as error:
        raise UsageError(
            f"invalid JSON at column {error.colno}: {error.msg}", "write one JSON object a line"
        ) from error
    except (RecursionError, ValueError) as error:
        raise UsageError(f"invalid JSON: {error}", "write one JSON object a line") from error
    if not isinstance(record, dict):
        raise UsageError("it is no JSON object", "write one JSON object a line")
    return {key: value for key, value in record.items() if value is not None}


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a key appears twice in one object")
    return record


def _name(record: Mapping[str, Any], number: int) -> str | int:
    name = record.get("id", number)
    return name if _names_line(name) else number


def _names_line(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _tools(value: Any) -> Tools:
    if not isinstance(value, list) or not all(isinstance(tool, dict) for tool in value):
        raise UsageError("the tools are no list of objects", "write them as apply_chat_template takes them")
    return value


def _request(record: Mapping[str, Any], default: Request) -> Request:
    if not isinstance(record.get("output"), str):
        raise UsageError("it has no 'output' string", "put the raw output there")
    if not _names_line(record.get("id", "")):
        raise UsageError("'id' is no string and no integer", "name the line by one, or leave it out")
    if not isinstance(record.get("prompt", ""), str):
        raise UsageError("'prompt' is no string", "put the decoded prompt there, or leave it out")
    names = {key: record[key] for key in ("schema", "template", "model") if key in record}
    for key, value in names.items():
        if not isinstance(value, str):
            raise UsageError(f"{key!r} is no string", "name it as on the command line")
    choice = Choice(**names) or default.choice
    if not choice:
        raise UsageError("nothing says what reads it", "add a schema, template or model, or give one as an option")
    tools = _tools(record["tools"]) if "tools" in record else default.tools
    return Request(choice, record.get("prompt", default.prompt), tools)


def _printable(alone: TransformersResult) -> TransformersResult:
    """What transformers returned, in values that JSON has; nested past what can be printed, it counts as a failure."""
    try:
        return replace(alone, tool_uses=_plain(alone.tool_uses, DEEPEST_PRINTED))
    except RecursionError:
        return replace(alone, tool_uses=[], error=f"its result nests deeper than {DEEPEST_PRINTED} levels")


def _plain(value: Any, depth: int) -> Any:
    if depth == 0:
        raise RecursionError
    if isinstance(value, dict):
        return {str(key): _plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, depth - 1) for item in value]
    if value is None or isinstance(value, str | int) or (isinstance(value, float) and isfinite(value)):
        return value
    return str(value)


def _rank(result: Reading | NotRunnable) -> tuple[Any, ...]:
    if isinstance(result, NotRunnable):
        return (3, 0, 0, result.schema)
    parsed = result.parsed
    state = 2 if parsed.ill_formed else 1 if parsed.issues else 0
    return (state, -len(parsed.tool_uses), len(parsed.issues), -len(parsed.reasoning), result.schema)
