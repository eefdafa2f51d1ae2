"""The library face for rollout gateways: a tokenizer's chat template rendered to ids, and sampled ids read back.

Detection happens once, at construction. Any object with `chat_template`, `decode` and `apply_chat_template` will do.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from rgw.derender.derenderer import Derenderer, Tools, failed_turn
from rgw.derender.policy import Policy
from rgw.derender.vetting import vet_foreign
from rgw.errors import UnrecognisedTemplateError
from rgw.model import ParsedOutput, Segment, SegmentKind, ToolUse
from rgw.registry.loader import Registry, load_registry
from rgw.registry.model import RegisteredTemplate
from rgw.templates.tokenizer import templates_of_tokenizer

_PROBE = [{"role": "user", "content": "Hello"}]


class Tokenizer(Protocol):
    """What a renderer needs of a tokenizer or processor."""

    chat_template: Any

    def decode(self, token_ids: Any, **options: Any) -> str:
        """Turn ids into text."""

    def apply_chat_template(self, conversation: Any, **options: Any) -> Any:
        """Render a conversation."""


class ReasoningParser(Protocol):
    """A stage that a caller injects: splits a decoded completion."""

    def __call__(self, text: str, /) -> tuple[str, str]:
        """Return the reasoning and the text that is left."""


class ToolParser(Protocol):
    """A stage that a caller injects: takes the tool calls out of what the reasoning stage left."""

    def __call__(self, text: str, tools: Sequence[Any], /) -> tuple[str, list[ToolUse]]:
        """Return the text that is left and the calls."""


class HfTemplateRenderer:
    """Renders conversations for a model and derenders what it samples.

    Args:
        tokenizer: The tokenizer or processor that the model is served with.
        stop_sequences: Where sampling stops, instead of the schema's end-of-turn markers.
        reasoning_parser: Your own reasoning stage. Injecting either stage switches detection off: explicit wins.
        tool_parser: Your own tool-call stage.
        policy: What to do where projects disagree.
        registry: A loaded registry; the packaged one, or the one at `overlay` laid over it, when absent.
        overlay: The directory of a project's own registry.

    Raises:
        EngineError: The template is recognised, and the installed transformers cannot run its schema.
        RegistryError: A registry file is not valid, or the overlay's schema could take minutes on a turn.
    """

    def __init__(  # noqa: PLR0913 - each is a choice of its own, and all but one are by name
        self,
        tokenizer: Tokenizer,
        *,
        stop_sequences: Sequence[str] | None = None,
        reasoning_parser: ReasoningParser | None = None,
        tool_parser: ToolParser | None = None,
        policy: Policy | None = None,
        registry: Registry | None = None,
        overlay: Path | None = None,
    ) -> None:
        self._tokenizer = tokenizer
        self._stop_sequences = stop_sequences
        self._reasoning_parser = reasoning_parser
        self._tool_parser = tool_parser
        self._decode_options = _accepted_options(tokenizer.decode)
        self._derenderer: Derenderer | None = None
        if reasoning_parser is not None or tool_parser is not None:
            return
        registry = registry or load_registry(overlay)
        registered = _registered(tokenizer, registry)
        if registered is not None and registered.schema is not None:
            schema = registry.schema(registered.schema)
            vet_foreign(registry, schema.name, policy)
            self._derenderer = Derenderer(schema, policy=policy, call_markers=registry.call_markers)

    @property
    def schema_name(self) -> str | None:
        """The schema that reads this tokenizer's turns; `None` when unrecognised or switched off."""
        return self._derenderer.schema.name if self._derenderer is not None else None

    def render(
        self, messages: Sequence[Mapping[str, Any]], *, tools: Tools | None = None, add_generation_prompt: bool = True
    ) -> list[int]:
        """Render a conversation to token ids.

        Args:
            messages: The conversation, as `apply_chat_template` takes it.
            tools: The tools on offer.
            add_generation_prompt: Whether to open an assistant turn at the end.

        Raises:
            UnrecognisedTemplateError: Tools are in play and nothing would read the calls back.
        """
        tools = list(tools) if tools is not None else None
        self._require_reader(tools)
        rendered = self._tokenizer.apply_chat_template(
            list(messages), tools=tools, add_generation_prompt=add_generation_prompt, tokenize=True
        )
        ids = rendered["input_ids"] if isinstance(rendered, Mapping) or hasattr(rendered, "input_ids") else rendered
        ids = ids[0] if len(ids) and isinstance(ids[0], list | tuple) else ids
        return [int(token) for token in ids]

    def get_stop_sequences(self) -> list[str]:
        """Where sampling shall stop: what was injected, else the schema's end-of-turn markers, else the eos token."""
        if self._stop_sequences is not None:
            return list(self._stop_sequences)
        markers = list(self._derenderer.schema.turn.end) if self._derenderer is not None else []
        eos = getattr(self._tokenizer, "eos_token", None)
        if not markers and isinstance(eos, str) and eos:
            markers.append(eos)
        return markers

    def parse(
        self, output_ids: Sequence[int], *, tools_schema: Tools | None = None, prompt_ids: Sequence[int] | None = None
    ) -> ParsedOutput:
        """Read sampled ids back.

        Args:
            output_ids: The completion as sampled, without the prompt.
            tools_schema: The tools of the request; they type arguments where the wire carries no types.
            prompt_ids: The prompt that was sampled from. Without it, what the template's own generation prompt
                pre-writes is assumed.

        Returns:
            The turn. Never raises because of what the model wrote.

        Raises:
            UnrecognisedTemplateError: Tools are in play and nothing reads calls.
        """
        tools = list(tools_schema) if tools_schema is not None else None
        self._require_reader(tools)
        output = self._decode(output_ids)
        if self._derenderer is None:
            return self._injected(output, tools or [])
        prompt = self._decode(prompt_ids) if prompt_ids is not None else self._generation_prompt
        return self._derenderer.parse(output, prompt=prompt, tools=tools)

    def _require_reader(self, tools: Sequence[Any] | None) -> None:
        if not tools or self._derenderer is not None or self._tool_parser is not None:
            return
        if self._reasoning_parser is not None:
            raise UnrecognisedTemplateError(
                "a reasoning_parser is injected, which switches detection off, and no tool_parser is, but tools are in"
                " play: their calls would come back as text",
                "inject a tool_parser too, or neither",
            )
        raise UnrecognisedTemplateError(
            f"{_template_name(self._tokenizer)} is not registered, and tools are in play: their calls would come back"
            " as text",
            "see what is nearest with `rgw detect`, register a schema in an overlay registry (overlay=…), or inject a"
            " tool_parser",
        )

    def _injected(self, output: str, tools: Sequence[Any]) -> ParsedOutput:
        """Read with the injected stages; without any, the output is text."""
        reasoning, text, tool_uses = "", output, list[ToolUse]()
        try:
            if self._reasoning_parser is not None:
                reasoning, text = self._reasoning_parser(text)
            if self._tool_parser is not None:
                text, tool_uses = self._tool_parser(text, tools)
        except Exception as error:  # noqa: BLE001 - the contract: nothing that a model writes may raise
            return failed_turn(output, f"an injected parser failed: {type(error).__name__}")
        segments = (Segment(SegmentKind.TEXT, 0, len(output)),) if output else ()
        return ParsedOutput(reasoning=reasoning, text=text, tool_uses=tool_uses, segments=segments)

    def _decode(self, token_ids: Sequence[int]) -> str:
        return self._tokenizer.decode(list(token_ids), **self._decode_options)

    @cached_property
    def _generation_prompt(self) -> str | None:
        """The template's own generation prompt behind a user message; `None` when it does not render."""
        try:
            prompt = self._tokenizer.apply_chat_template(_PROBE, add_generation_prompt=True, tokenize=False)
        except Exception:  # noqa: BLE001 - a template may raise anything; the schema's usual prefill is used then
            return None
        return prompt if isinstance(prompt, str) else None


def resolve_schema_name(tokenizer: Tokenizer, *, registry: Registry | None = None) -> str | None:
    """The name of the schema that is registered for a tokenizer's chat template.

    Args:
        tokenizer: Any object with a `chat_template`: a text, or several by name.
        registry: A loaded registry; the packaged one when absent.

    Returns:
        The name; `None` when the template is unrecognised, known to have no schema, or missing.
    """
    registered = _registered(tokenizer, registry or load_registry())
    return registered.schema if registered is not None else None


def _registered(tokenizer: Tokenizer, registry: Registry) -> RegisteredTemplate | None:
    effective = templates_of_tokenizer(tokenizer).effective
    return registry.find_template(effective.sha256) if effective is not None else None


def _template_name(tokenizer: Tokenizer) -> str:
    effective = templates_of_tokenizer(tokenizer).effective
    return f"the chat template {effective.sha256}" if effective is not None else "a tokenizer without a chat template"


def _accepted_options(decode: Callable[..., str]) -> dict[str, bool]:
    """The options that keep `decode` from dropping special tokens or tidying spaces, as far as it knows them."""
    wanted = {"skip_special_tokens": False, "clean_up_tokenization_spaces": False}
    try:
        parameters = inspect.signature(decode).parameters
    except (TypeError, ValueError):
        return wanted
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()):
        return wanted
    return {name: value for name, value in wanted.items() if name in parameters}
