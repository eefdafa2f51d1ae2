"""The catalogue of rules. `docs/rules.md` is written from it."""

from __future__ import annotations

from collections.abc import Mapping

from rgw.errors import UsageError
from rgw.fitness.model import Rule, Severity

_ERROR, _WARNING, _NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

DOES_NOT_RENDER = Rule(
    "does-not-render",
    _ERROR,
    "The template does not compile, or refuses every conversation",
    "Not even a question and an answer can be rendered, in any form that templates are known to want. No other rule"
    " that needs a render was tried.",
)
EXCEEDS_LIMITS = Rule(
    "exceeds-limits",
    _ERROR,
    "Rendering takes too much time, memory or output",
    "A chat template is a program. This one ran into the limits of the bounded renderer on a conversation of a few"
    " words, as an endless loop or a bomb would. Do not render it outside a sandbox.",
)
DROPS_TOOL_CALLS = Rule(
    "drops-tool-calls",
    _ERROR,
    "Tool calls of the conversation are not written",
    "A model that is trained or prompted through this template never sees that it called a tool. It learns to answer"
    " without calling. Use a template that writes `tool_calls`.",
)
DROPS_TOOL_RESULTS = Rule(
    "drops-tool-results",
    _ERROR,
    "Results of tools are not written",
    "Messages with the role `tool` are refused or vanish, so that the model never sees what its call returned.",
)
DROPS_REASONING = Rule(
    "drops-reasoning",
    _WARNING,
    "Reasoning of the conversation is not written",
    "Reasoning is not read from any of the places where conversations keep it (`reasoning_content`, `thinking`,"
    " `reasoning`, blocks). That is right for a model that does not think; a thinking one would be trained without its"
    " thoughts.",
)
PREFIX_BROKEN_BY_TOOL = Rule(
    "prefix-broken-by-tool",
    _ERROR,
    "A tool's result changes what was rendered before it",
    "Multi-turn training appends to the token ids that were sampled. When a conversation renders differently up to the"
    " same place once a tool's result is appended, the ids that are trained on are not those that were sampled. Train"
    " with a template that keeps the prefix.",
)
PREFIX_BROKEN_BY_USER = Rule(
    "prefix-broken-by-user",
    _WARNING,
    "A user's message changes what was rendered before it",
    "Many templates drop the reasoning of earlier turns when the user speaks again. That is meant for serving, and it"
    " breaks the prefix on which multi-turn training and caches of prompts rely.",
)
NO_GENERATION_MARKERS = Rule(
    "no-generation-markers",
    _NOTE,
    "The template does not mark what the assistant generates",
    "Without `{% generation %}` the mask of the assistant's tokens cannot be taken from the template, so that training"
    " on the assistant's turns alone needs another way to find them.",
)
STOP_TOKEN_OUTSIDE_GENERATION = Rule(
    "stop-token-outside-generation",
    _ERROR,
    "The end of the assistant's turn lies outside what is marked as generated",
    "What is masked is not trained. A model that is never trained on the token that ends its turn does not learn to "
    "stop. Move `{% endgeneration %}` behind it.",
)
DOUBLE_ENCODES_ARGUMENTS = Rule(
    "double-encodes-arguments",
    _WARNING,
    "Arguments that come as a JSON string are encoded a second time",
    "OpenAI-compatible clients send `arguments` as a string of JSON. This template encodes it again, so that the model"
    " sees a string full of escaped quotes and learns to write one. Decode the arguments before rendering.",
)
REJECTS_OBJECT_ARGUMENTS = Rule(
    "rejects-object-arguments",
    _WARNING,
    "Arguments that come as an object are refused, or printed as Python would",
    "transformers' own documentation passes `arguments` as an object. This template fails on one or writes it with "
    "single quotes, `True` and `None`. Encode the arguments as JSON before rendering.",
)
PRINTS_NONE = Rule(
    "prints-none",
    _ERROR,
    "Content that is null is printed as None, or refused",
    "An assistant's message with tool calls often has `content: null`. The word None, which nobody said, then stands in"
    " the prompt and in the training data. Replace null by an empty text before rendering.",
)
REQUIRES_CALL_IDS = Rule(
    "requires-call-ids",
    _WARNING,
    "Tool calls without an id are refused",
    "Conversations for training rarely carry ids of calls, and this template raises without them. Some also ask for a"
    " certain length or form.",
)
REFUSES_PARALLEL_CALLS = Rule(
    "refuses-parallel-calls",
    _WARNING,
    "Several tool calls in one turn are refused",
    "The template raises when an assistant's message has more than one call. Split such turns, or filter them out "
    "before they reach it.",
)
DROPS_PARALLEL_CALLS = Rule(
    "drops-parallel-calls",
    _ERROR,
    "All but one of several tool calls in a turn vanish",
    "The conversation says two calls and the model sees one, without an error. Results then stand without their calls.",
)
DEPENDS_ON_DATE = Rule(
    "depends-on-date",
    _WARNING,
    "What is rendered depends on the day",
    "The template asks for the current date. The same conversation renders differently tomorrow: caches miss, runs are"
    " not reproducible, and a test fails at midnight. Pass a fixed date where the template takes one.",
)
READS_EXTRA_VARIABLES = Rule(
    "reads-extra-variables",
    _NOTE,
    "The template reads variables that are no part of a conversation",
    "What it renders depends on arguments such as `enable_thinking` that every caller has to pass alike. Pass them in"
    " training as in serving.",
)
CONDITIONS_ON_CONTENT = Rule(
    "conditions-on-content",
    _WARNING,
    "The template looks for words in what people say",
    "It compares the content of messages with a text that it does not itself write as part of its format. A template "
    "that behaves differently when certain words occur can hide instructions from whoever tests it with others. "
    "Read the line.",
)
CODE_LIKE_CONSTRUCT = Rule(
    "code-like-construct",
    _ERROR,
    "The template reaches for what only an attack needs",
    "Names with leading underscores, `attr`, `lipsum`, imports and their like are how templates break out of a sandbox."
    " No chat template needs them.",
)
INVISIBLE_CHARACTER = Rule(
    "invisible-character",
    _ERROR,
    "The template holds invisible or text-reordering characters",
    "Characters that nobody sees (zero-width, bidirectional controls, tags) can hide instructions in a prompt, or make"
    " source text look like what it is not.",
)
TEXT_WITHOUT_SOURCE = Rule(
    "text-without-source",
    _WARNING,
    "Sentences are rendered that nobody in the conversation said",
    "A conversation without tools renders with prose that comes from the template alone: a default system prompt, or"
    " something worse. It is part of every prompt, and of training data, unless it is switched off. Read it.",
)

RULES: Mapping[str, Rule] = {
    rule.id: rule
    for rule in (
        DOES_NOT_RENDER,
        EXCEEDS_LIMITS,
        DROPS_TOOL_CALLS,
        DROPS_TOOL_RESULTS,
        DROPS_REASONING,
        PREFIX_BROKEN_BY_TOOL,
        PREFIX_BROKEN_BY_USER,
        NO_GENERATION_MARKERS,
        STOP_TOKEN_OUTSIDE_GENERATION,
        DOUBLE_ENCODES_ARGUMENTS,
        REJECTS_OBJECT_ARGUMENTS,
        PRINTS_NONE,
        REQUIRES_CALL_IDS,
        REFUSES_PARALLEL_CALLS,
        DROPS_PARALLEL_CALLS,
        DEPENDS_ON_DATE,
        READS_EXTRA_VARIABLES,
        CONDITIONS_ON_CONTENT,
        CODE_LIKE_CONSTRUCT,
        INVISIBLE_CHARACTER,
        TEXT_WITHOUT_SOURCE,
    )
}
"""Every rule, by id, in the order of the documentation."""


def rule(id: str) -> Rule:
    """The rule of this id.

    Raises:
        UsageError: There is none.
    """
    if id not in RULES:
        from difflib import get_close_matches

        close = get_close_matches(id, RULES)
        raise UsageError(
            f"there is no rule {id!r}", f"did you mean {' or '.join(close)}?" if close else "`rgw explain` lists them"
        )
    return RULES[id]
