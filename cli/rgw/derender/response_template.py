"""The engine for the `response_template` dialect (transformers 5.13 and newer).

transformers loads the template and parses leaf content; the regions are found by a walk of our own, because only a
walk that knows where content ends can tell a delimiter from the same characters inside a value, and account for both.
"""

from __future__ import annotations

from rgw.derender.grammar import compile_grammar
from rgw.derender.policy import Policy
from rgw.derender.reading import Reading
from rgw.derender.walk import Walk
from rgw.registry.model import Schema


class ResponseTemplateEngine:
    """Reads turns with a schema's response template.

    Args:
        schema: A schema that has the dialect.
        policy: What it lets pass; see `compile_grammar`.

    Raises:
        RegistryError: The template is not valid.
        EngineError: The installed transformers is too old for it.
    """

    def __init__(self, schema: Schema, policy: Policy) -> None:
        import transformers

        self._grammar = compile_grammar(schema, policy)
        self._name = f"response_template (transformers {transformers.__version__})"

    @property
    def name(self) -> str:
        """See `Engine.name`."""
        return self._name

    def read(self, output: str, prompt: str | None) -> Reading:
        """See `Engine.read`."""
        grammar = self._grammar
        if not prompt and (anchor := grammar.start_anchor.match(output)):
            return Walk(grammar, output, 0, anchor.end()).run()
        prefill = grammar.turn.prefill if prompt is None else self._prefill_of(prompt)
        return Walk(grammar, prefill + output, len(prefill), 0).run()

    def _prefill_of(self, prompt: str) -> str:
        """What the prompt already wrote of the turn: all behind its last start anchor."""
        end = 0
        for match in self._grammar.start_anchor.finditer(prompt):
            end = match.end()
        return prompt[end:]
