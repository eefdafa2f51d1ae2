"""Derendering: raw output back to reasoning, text and tool calls, with every byte accounted for.

`Derenderer` reads text with a schema; `HfTemplateRenderer` does it for a tokenizer. Engines know wire formats,
`derenderer` knows policies and tools, and only `renderer` knows that there are tokenizers.
"""

from __future__ import annotations

from rgw.derender.derenderer import Derenderer
from rgw.derender.policy import (
    LENIENT_POLICY,
    BuiltinTool,
    CallInReasoning,
    CutCall,
    Policy,
    TextAfterCall,
    Tolerance,
    UnclosedValue,
)
from rgw.derender.renderer import HfTemplateRenderer, resolve_schema_name
from rgw.model import ParsedOutput

__all__ = [
    "LENIENT_POLICY",
    "BuiltinTool",
    "CallInReasoning",
    "CutCall",
    "Derenderer",
    "HfTemplateRenderer",
    "ParsedOutput",
    "Policy",
    "TextAfterCall",
    "Tolerance",
    "UnclosedValue",
    "resolve_schema_name",
]
