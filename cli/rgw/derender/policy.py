"""The points where serious projects disagree about a turn, as choices; the defaults are the strict ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class CallInReasoning(StrEnum):
    """What a tool call inside reasoning that was never closed is."""

    REASONING = "reasoning"
    ERROR = "error"


class TextAfterCall(StrEnum):
    """What becomes of text that follows a tool call."""

    KEEP = "keep"
    ERROR = "error"


class CutCall(StrEnum):
    """What becomes of a turn that was cut off inside a call."""

    DEGRADE = "degrade"
    KEEP_COMPLETE = "keep_complete"


class Tolerance(StrEnum):
    """Whether a deviation from the request's tool schemas keeps the parse."""

    WARN = "warn"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Policy:
    """How a derender decides where projects disagree.

    Attributes:
        call_in_reasoning: `reasoning`: a cut thought that holds a call stays reasoning; `error`: the turn degrades to
            raw text.
        text_after_call: `keep`: text after a call is text, with a warning; `error`: it makes the turn ill-formed.
        undeclared_tool: `warn` or `error` for a call of a tool that was not offered.
        cut_call: `degrade`: a turn that ends inside a call is raw text; `keep_complete`: what was complete before the
            cut call is kept, with a warning.
        argument_type: `warn` or `error` for an argument that its tool schema does not declare or declares otherwise.
    """

    call_in_reasoning: CallInReasoning = CallInReasoning.REASONING
    text_after_call: TextAfterCall = TextAfterCall.KEEP
    undeclared_tool: Tolerance = Tolerance.WARN
    cut_call: CutCall = CutCall.DEGRADE
    argument_type: Tolerance = Tolerance.WARN


def policy_from_dict(choices: Mapping[str, str]) -> Policy:
    """The policy of these choices, as `asdict` gives them."""
    return Policy(
        call_in_reasoning=CallInReasoning(choices["call_in_reasoning"]),
        text_after_call=TextAfterCall(choices["text_after_call"]),
        undeclared_tool=Tolerance(choices["undeclared_tool"]),
        cut_call=CutCall(choices["cut_call"]),
        argument_type=Tolerance(choices["argument_type"]),
    )
