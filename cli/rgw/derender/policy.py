"""The points where serious projects disagree about a turn, as choices; the defaults are the strict ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class CallInReasoning(StrEnum):
    """What a tool call inside reasoning that was never closed is."""

    REASONING = "reasoning"
    ERROR = "error"
    CALL = "call"


class TextAfterCall(StrEnum):
    """What becomes of text that follows a tool call."""

    KEEP = "keep"
    ERROR = "error"


class CutCall(StrEnum):
    """What becomes of a turn that was cut off inside a call."""

    DEGRADE = "degrade"
    KEEP_COMPLETE = "keep_complete"


class UnclosedValue(StrEnum):
    """What an argument value is whose closing tag is missing."""

    ERROR = "error"
    NEXT_TAG = "next_tag"


class BuiltinTool(StrEnum):
    """What becomes of a message to a tool that the model brings along, whose content is no arguments."""

    ERROR = "error"
    DROP = "drop"


class Tolerance(StrEnum):
    """Whether a deviation from the request's tool schemas keeps the parse."""

    WARN = "warn"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Policy:
    """How a derender decides where projects disagree.

    Attributes:
        call_in_reasoning: `reasoning`: a thought that is not closed and holds a call stays reasoning; `error`: the turn
            degrades to raw text; `call`: the thought ends where the call begins, with a warning, when nothing but calls
            follows.
        text_after_call: `keep`: text after a call is text, with a warning; `error`: it makes the turn ill-formed.
        undeclared_tool: `warn` or `error` for a call of a tool that was not offered.
        cut_call: `degrade`: a turn that ends inside a call is raw text; `keep_complete`: what was complete before the
            cut call is kept, with a warning.
        argument_type: `warn` or `error` for an argument that its tool schema does not declare or declares otherwise.
        unclosed_value: `error`: a value without its closing tag makes the turn ill-formed; `next_tag`: it ends where
            the next parameter or the end of the call stands, with a warning. For formats with a tag for each value.
        builtin_tool: `error`: a message to a built-in tool, such as gpt-oss's `python`, makes the turn ill-formed;
            `drop`: it is left out, with a warning.

    `call`, `next_tag` and `drop` are for schemas in the `response_template` dialect only. They change nothing of a turn
    that is well-formed without them.
    """

    call_in_reasoning: CallInReasoning = CallInReasoning.REASONING
    text_after_call: TextAfterCall = TextAfterCall.KEEP
    undeclared_tool: Tolerance = Tolerance.WARN
    cut_call: CutCall = CutCall.DEGRADE
    argument_type: Tolerance = Tolerance.WARN
    unclosed_value: UnclosedValue = UnclosedValue.ERROR
    builtin_tool: BuiltinTool = BuiltinTool.ERROR

    @property
    def is_lenient(self) -> bool:
        """Whether it lets pass what only an engine for the `response_template` dialect can read."""
        return (
            self.call_in_reasoning is CallInReasoning.CALL
            or self.unclosed_value is UnclosedValue.NEXT_TAG
            or self.builtin_tool is BuiltinTool.DROP
        )


LENIENT_POLICY = Policy(
    call_in_reasoning=CallInReasoning.CALL,
    cut_call=CutCall.KEEP_COMPLETE,
    unclosed_value=UnclosedValue.NEXT_TAG,
    builtin_tool=BuiltinTool.DROP,
)
"""What most serving engines do, each point with a warning of the turn."""


def policy_from_dict(choices: Mapping[str, str]) -> Policy:
    """The policy of these choices, as `asdict` gives them."""
    return Policy(
        call_in_reasoning=CallInReasoning(choices["call_in_reasoning"]),
        text_after_call=TextAfterCall(choices["text_after_call"]),
        undeclared_tool=Tolerance(choices["undeclared_tool"]),
        cut_call=CutCall(choices["cut_call"]),
        argument_type=Tolerance(choices["argument_type"]),
        unclosed_value=UnclosedValue(choices["unclosed_value"]),
        builtin_tool=BuiltinTool(choices["builtin_tool"]),
    )
