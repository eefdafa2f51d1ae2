"""The chat templates of a tokenizer that is already in memory.

Works with any object that has a `chat_template`; it imports no tokenizer library.
"""

from __future__ import annotations

from rgw.templates.identity import chat_template, mark_effective, named_texts
from rgw.templates.model import ResolvedTemplates


def templates_of_tokenizer(tokenizer: object, *, tools: bool = True) -> ResolvedTemplates:
    """Identify the chat templates that a tokenizer or processor holds: a text, or several by name.

    Args:
        tokenizer: Any object with a `chat_template` attribute.
        tools: Whether tools are in play, which decides between `tool_use` and `default`.

    Raises:
        SourceError: `chat_template` is neither a text nor named texts.
    """
    ref = str(getattr(tokenizer, "name_or_path", "") or type(tokenizer).__name__)
    texts = named_texts(getattr(tokenizer, "chat_template", None), ref)
    templates = [chat_template(name, text, source="tokenizer", where=ref) for name, text in texts.items()]
    native = getattr(tokenizer, "response_template", None)
    return ResolvedTemplates(
        ref,
        templates=mark_effective(templates, tools=tools),
        native_response_template=native if isinstance(native, dict) else None,
    )
