"""From raw output to `ParsedOutput`: an engine's reading, judged by the policy and the request's tools.

The degradation contract lives here: a turn with an error is its raw text, wholly, and nothing is ever raised because
of what a model wrote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rgw.derender.argument_types import Fit, ToolSchemas, fits, read_untyped
from rgw.derender.engines import engine_for
from rgw.derender.json_values import read_json
from rgw.derender.policy import BuiltinTool, CallInReasoning, CutCall, Policy, TextAfterCall, Tolerance
from rgw.derender.reading import Call, ContentError, Engine, RawValue, Reading
from rgw.model import Issue, IssueCode, ParsedOutput, Segment, SegmentKind, Severity, ToolUse
from rgw.registry.model import Schema

Tools = Iterable[Mapping[str, Any] | Callable[..., Any]]
"""The tools of a request, as `apply_chat_template` accepts them."""


class Derenderer:
    """Reads the raw output of models that one schema fits. Construct once, use for every turn; thread-safe.

    Args:
        schema: The response schema.
        policy: What to do where projects disagree.
        call_markers: Regular expressions of what a tool call looks like in any known format; a match in the text is
            worth a warning. Usually `Registry.call_markers`.

    Raises:
        EngineError: The installed transformers cannot run the schema.
        RegistryError: The schema is not valid.
    """

    def __init__(self, schema: Schema, *, policy: Policy | None = None, call_markers: Sequence[str] = ()) -> None:
        self.schema = schema
        self.policy = policy or Policy()
        self._engine: Engine = engine_for(schema, Policy())
        self._lenient_engine = engine_for(schema, self.policy) if self.policy.is_lenient else None
        self._call_markers = re.compile("|".join(call_markers)) if call_markers else None

    @property
    def engine(self) -> str:
        """The engine's name and version, for reports."""
        return self._engine.name

    def parse(self, output: str, *, prompt: str | None = None, tools: Tools | None = None) -> ParsedOutput:
        """Derender one turn.

        Args:
            output: The decoded completion, special tokens kept.
            prompt: The decoded prompt that it continues, or just what the prompt pre-wrote of the turn. `None`: the
                schema's usual prefill is assumed. An empty string: nothing was pre-written.
            tools: The tools of the request. `None`: unknown, so that no call is undeclared and no value is typed.

        Returns:
            The turn. Never raises because of `output`.

        Raises:
            UsageError: One of `tools` is a Python function without a schema.
        """
        offered = ToolSchemas(tools) if tools is not None else None
        parsed = self._read(self._engine, output, prompt, offered)
        if not parsed.ill_formed or self._lenient_engine is None:
            return parsed
        lenient = self._read(self._lenient_engine, output, prompt, offered)
        return parsed if lenient.ill_formed else lenient

    def _read(self, engine: Engine, output: str, prompt: str | None, tools: ToolSchemas | None) -> ParsedOutput:
        try:
            return _Judgement(self, engine.read(output, prompt), output, tools).verdict()
        except Exception as error:  # noqa: BLE001 - the contract: nothing that a model writes may raise
            return failed_turn(output, f"the engine failed: {type(error).__name__}")


def failed_turn(output: str, message: str) -> ParsedOutput:
    """The turn that a parser could not even look at: its raw text, flagged."""
    segments = (Segment(SegmentKind.UNCLAIMED, 0, len(output)),) if output else ()
    issue = Issue(IssueCode.ENGINE_FAILURE, Severity.ERROR, 0, len(output), message)
    return ParsedOutput(text=output, ill_formed=True, issues=(issue,), segments=segments)


class _Judgement:
    """What becomes of one reading."""

    def __init__(self, derenderer: Derenderer, reading: Reading, output: str, tools: ToolSchemas | None) -> None:
        self._policy = derenderer.policy
        self._untyped = derenderer.schema.untyped_values
        self._constants = derenderer.schema.constants
        self._call_markers = derenderer._call_markers
        self._reading = reading
        self._output = output
        self._tools = tools

    def verdict(self) -> ParsedOutput:
        tool_uses = [tool_use for call in self._reading.calls if (tool_use := self._tool_use(call)) is not None]
        self._judge_text()
        self._judge_cut()
        reading = self._reading
        reading.issues.sort(key=lambda issue: (issue.start, issue.end))
        errors = {issue.code for issue in reading.issues if issue.severity is Severity.ERROR}
        result = ParsedOutput(
            reasoning="".join(reading.reasoning),
            text="".join(text for text, _ in reading.text),
            tool_uses=tool_uses,
            ill_formed=bool(errors),
            end_of_turn=reading.end_of_turn,
            issues=tuple(reading.issues),
            segments=tuple(reading.segments),
        )
        return self._degraded(result, errors) if errors else result

    def _degraded(self, result: ParsedOutput, errors: set[IssueCode]) -> ParsedOutput:
        """The raw text; only a thought that was cut off stays what it is."""
        keeps_thought = errors == {IssueCode.UNCLOSED_REASONING}
        return ParsedOutput(
            reasoning=result.reasoning if keeps_thought else "",
            text="" if keeps_thought else self._output,
            ill_formed=True,
            end_of_turn=result.end_of_turn,
            issues=result.issues,
            segments=result.segments,
        )

    # -- calls --------------------------------------------------------------------------------------------------

    def _tool_use(self, call: Call) -> ToolUse | None:
        if not isinstance(call.name, str) or not call.name.strip() or call.name != call.name.strip():
            message = "the call has no name" if call.name in (None, "") else "the call's name is not a plain string"
            self._reading.error(IssueCode.INVALID_NAME, call.start, call.end, message)
            return None
        arguments = {} if call.arguments is None else call.arguments
        if not isinstance(arguments, dict):
            self._judge_arguments(call, arguments)
            return None
        if self._tools is None:
            values = {key: self._value(call, key, value, None) for key, value in arguments.items()}
            return {"name": call.name, "input": values}
        if not self._tools.declares(call.name):
            message = f"the tool {call.name!r} was not offered"
            self._deviation(self._policy.undeclared_tool, IssueCode.UNDECLARED_TOOL, call.start, call.end, message)
        return {
            "name": call.name,
            "input": {key: self._value(call, key, value, self._tools) for key, value in arguments.items()},
        }

    def _judge_arguments(self, call: Call, arguments: Any) -> None:
        if isinstance(arguments, str) and _is_json_object(arguments):
            message = "the arguments are an object encoded a second time, as a string"
            self._reading.error(IssueCode.DOUBLE_ENCODED_ARGUMENTS, call.start, call.end, message)
        else:
            message = f"the arguments are no object but {type(arguments).__name__}"
            self._reading.error(IssueCode.INVALID_ARGUMENTS, call.start, call.end, message)

    def _value(self, call: Call, key: str, value: Any, tools: ToolSchemas | None) -> Any:
        raw = value if isinstance(value, RawValue) else None
        declaration = tools.declared(call.name, key) if tools is not None else None
        start, end = (raw.start, raw.end) if raw is not None else (call.start, call.end)
        if declaration is None and tools is not None and tools.undeclared_argument(call.name, key):
            message = f"{call.name} declares no argument {key!r}"
            self._deviation(self._policy.argument_type, IssueCode.UNDECLARED_ARGUMENT, start, end, message)
        if raw is not None:
            value, fit = read_untyped(raw.text, declaration, self._untyped, constants=self._constants)
        else:
            fit = Fit.FITS if declaration is None or fits(value, declaration) else Fit.MISFIT
        if fit is not Fit.FITS and declaration is not None:
            what = _MISFITS[fit]
            message = f"the argument {key!r} of {call.name} {what}; declared: {' or '.join(declaration.types)}"
            self._deviation(self._policy.argument_type, IssueCode.ARGUMENT_TYPE, start, end, message)
        return value

    def _deviation(self, tolerance: Tolerance, code: IssueCode, start: int, end: int, message: str) -> None:
        record = self._reading.error if tolerance is Tolerance.ERROR else self._reading.warning
        record(code, start, end, message)

    # -- text ---------------------------------------------------------------------------------------------------

    def _judge_text(self) -> None:
        first_call_end = self._reading.calls[0].end if self._reading.calls else None
        for text, start in self._reading.text:
            if first_call_end is not None and start >= first_call_end and not text.isspace():
                code, message = IssueCode.TEXT_AFTER_CALL, "text after a tool call"
                is_error = self._policy.text_after_call is TextAfterCall.ERROR or self._reading.call_ended_reasoning
                record = self._reading.error if is_error else self._reading.warning
                record(code, start, start + len(text), message)
            if self._call_markers is not None and (marker := self._call_markers.search(text)):
                message = f"{marker[0][:40]!r} looks like a tool call, but no call was read here"
                begin, end = start + marker.start(), start + marker.end()
                self._reading.warning(IssueCode.LOOKS_LIKE_CALL, begin, end, message)

    def _judge_cut(self) -> None:
        reading = self._reading
        if reading.unclosed_reasoning is not None and self._call_markers is not None:
            marker = self._call_markers.search(self._output, reading.unclosed_reasoning)
            if marker is not None:
                record = reading.error if self._policy.call_in_reasoning is CallInReasoning.ERROR else reading.warning
                message = "a tool call inside reasoning that is not closed"
                record(IssueCode.CALL_IN_REASONING, marker.start(), marker.end(), message)
        is_quoted = reading.call_ended_reasoning and not reading.calls
        if reading.cut_call is not None and self._policy.cut_call is CutCall.KEEP_COMPLETE and not is_quoted:
            self._let_pass(IssueCode.UNCLOSED_CALL)
        if self._policy.builtin_tool is BuiltinTool.DROP:
            self._let_pass(IssueCode.BUILTIN_TOOL)

    def _let_pass(self, code: IssueCode) -> None:
        self._reading.issues[:] = [
            issue._replace(severity=Severity.WARNING) if issue.code is code else issue for issue in self._reading.issues
        ]


_MISFITS = {
    Fit.PYTHON_LITERAL: "is a Python literal, not JSON",
    Fit.OTHER_CONSTANT: "is kept as a string, because the format writes this constant otherwise",
    Fit.MISFIT: "is of another type",
}


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(read_json(text, 0)[0], dict)
    except ContentError:
        return False
