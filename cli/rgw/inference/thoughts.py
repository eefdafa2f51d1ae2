"""Reasoning that a template never writes: what closes it shows in the texts that the template takes apart.

A template that strips thoughts from earlier answers looks for their closer in the text. Which of its string constants
that is, is found by writing each into an answer and looking whether what stands before it is gone.
"""

from __future__ import annotations

import re

from jinja2 import Environment, TemplateSyntaxError

from rgw.inference.sightings import Words
from rgw.proof.model import Conversation, Role, Turn
from rgw.proof.shapes import PROBE_DATE, Shape
from rgw.templates.rendering import Rendered, Renderer, RenderRequest

_BACKSLASH = re.compile(r"\\[nrt]")
_LONGEST_TEMPLATE = 1_000_000
_LONGEST_CONSTANT = 40
_MOST_CONSTANTS = 64


def thought_closers(pool: Renderer, template: str, shape: Shape) -> tuple[str, ...]:
    """The string constants that close a thought to the template, in its order, none of which holds another."""
    words = Words(0)
    thought, answer, question = words.word(), words.word(), words.word()
    constants = _constants(template)
    requests = []
    for constant in constants:
        turns = (
            Turn(Role.USER, question),
            Turn(Role.ASSISTANT, f"{thought}{constant}{answer}"),
            Turn(Role.USER, question),
        )
        conversation = Conversation(turns)
        requests.append(RenderRequest(shape.messages(turns), tools=shape.tools(conversation), now=PROBE_DATE))
    answers = pool.render(template, requests)
    closers = [
        constant
        for constant, rendered in zip(constants, answers, strict=True)
        if isinstance(rendered, Rendered) and answer in rendered.text and thought not in rendered.text
    ]
    return tuple(closer for closer in closers if not any(other in closer for other in closers if other != closer))


def _constants(template: str) -> list[str]:
    """The string constants that may be delimiters."""
    if len(template) > _LONGEST_TEMPLATE:
        return []
    try:
        literals = [value for _, kind, value in Environment(autoescape=True).lex(template) if kind == "string"]
    except TemplateSyntaxError:
        return []
    texts = (_BACKSLASH.sub("", literal[1:-1]).strip() for literal in literals)
    marked = (text for text in texts if not text.isalnum() and any(map(str.isalnum, text)))
    return [text for text in dict.fromkeys(marked) if len(text) <= _LONGEST_CONSTANT][:_MOST_CONSTANTS]
