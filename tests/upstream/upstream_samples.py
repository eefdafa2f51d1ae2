"""Small modules written the way TRL's `chat_template_utils.py` was written at three points of its history."""

from __future__ import annotations

FIRST_GENERATION = '''
from transformers import PreTrainedTokenizer

alpha_schema = {"x-regex": r"^(?P<content>.*)$", "type": "object"}

alpha_chat_template = r"""{{ 'alpha' }}"""


def add_response_schema(tokenizer: PreTrainedTokenizer) -> PreTrainedTokenizer:
    """Docstring."""
    if tokenizer.chat_template == alpha_chat_template:
        tokenizer.response_schema = alpha_schema
        return tokenizer
    raise ValueError("Unrecognized chat template.")


alpha_training_chat_template = r"""{{ 'alpha for training' }}"""
'''

SECOND_GENERATION = """
from pathlib import Path

from transformers import ProcessorMixin

_CHAT_TEMPLATES_DIR = Path(__file__).parent / "chat_templates"

alpha_schema = {"x-regex": r"^(?P<content>.*)$", "type": "object"}
beta_schema = {"x-regex": r"^b(?P<content>.*)$", "type": "object"}

alpha_chat_template = (_CHAT_TEMPLATES_DIR / "alpha.jinja").read_text(encoding="utf-8")
beta_chat_template = (_CHAT_TEMPLATES_DIR / "beta.jinja").read_text(encoding="utf-8")
gamma_chat_template = (_CHAT_TEMPLATES_DIR / "gamma.jinja").read_text(encoding="utf-8")
plain_chat_template = (_CHAT_TEMPLATES_DIR / "plain.jinja").read_text(encoding="utf-8")


def add_response_schema(processing_class):
    chat_template = processing_class.chat_template
    if isinstance(processing_class, ProcessorMixin):
        tokenizer = processing_class.tokenizer
    else:
        tokenizer = processing_class
    if chat_template == alpha_chat_template:
        tokenizer.response_schema = alpha_schema
    elif chat_template in [beta_chat_template, gamma_chat_template]:
        # The format of gamma is that of beta.
        tokenizer.response_schema = beta_schema
    else:
        raise ValueError("Unrecognized chat template.")
    return processing_class
"""

THIRD_GENERATION = '''
from pathlib import Path
from typing import TypeVar

import transformers
from packaging.version import Version
from transformers import PreTrainedTokenizerBase, ProcessorMixin

_CHAT_TEMPLATES_DIR = Path(__file__).parent / "chat_templates"
_SUPPORTS_RESPONSE_TEMPLATE = Version(transformers.__version__) >= Version("5.13.0.dev0")
_SUPPORTS_TOOLS = Version(transformers.__version__) >= Version("5.15.0")

alpha_schema = {"x-regex": r"^(?P<content>.*)$", "type": "object"}
beta_schema = {"x-regex": r"^b(?P<content>.*)$", "type": "object"}

alpha_template = {"start_anchor": "<a>", "fields": {"content": {"close": "</a>", "content": "text"}}}

_VALUE_PARSER = {"name": "text"} if _SUPPORTS_TOOLS else {"name": "json", "args": {"allow_non_json": True}}
beta_template = {"start_anchor": "<b>", "fields": {"tool_calls": {"content_args": {"value_parser": _VALUE_PARSER}}}}

_ATOM = r"[^{}]"
_NESTED = _ATOM
for _ in range(2):
    _NESTED = rf"{_ATOM}|{{(?:{_NESTED})*}}"
gamma_template = {"start_anchor": "<g>", "fields": {"content": {"close_pattern": _NESTED, "content": "text"}}}

alpha_chat_template = (_CHAT_TEMPLATES_DIR / "alpha.jinja").read_text(encoding="utf-8")
beta_chat_template = (_CHAT_TEMPLATES_DIR / "beta.jinja").read_text(encoding="utf-8")
gamma_chat_template = (_CHAT_TEMPLATES_DIR / "gamma.jinja").read_text(
    encoding="utf-8"
)
delta_chat_template = (_CHAT_TEMPLATES_DIR / "delta.jinja").read_text(encoding="utf-8")
plain_chat_template = (_CHAT_TEMPLATES_DIR / "plain.jinja").read_text(encoding="utf-8")

ProcessingClassT = TypeVar("ProcessingClassT", PreTrainedTokenizerBase, ProcessorMixin)


def add_response_schema(processing_class: ProcessingClassT) -> ProcessingClassT:
    r"""Docstring."""
    chat_template = processing_class.chat_template
    if isinstance(processing_class, ProcessorMixin):
        tokenizer = processing_class.tokenizer
    else:
        tokenizer = processing_class
    if chat_template == alpha_chat_template:
        schema, template = alpha_schema, alpha_template
    elif chat_template in [beta_chat_template]:
        schema, template = beta_schema, beta_template
    elif chat_template in [gamma_chat_template]:
        schema, template = beta_schema, gamma_template
    elif chat_template == delta_chat_template:
        schema, template = None, alpha_template
    else:
        raise ValueError("Unrecognized chat template.")
    if _SUPPORTS_RESPONSE_TEMPLATE:
        tokenizer.response_template = template
    elif schema is None:
        raise ValueError(f"Needs transformers >= 5.13 (installed: {transformers.__version__}).")
    else:
        tokenizer.response_schema = schema
    return processing_class


def parse_response(tokenizer, ids):
    try:
        return tokenizer.parse_response(ids)
    except ValueError:
        return None
'''

TEXTS = {
    f"chat_templates/{name}.jinja": f"{{{{ '{name}' }}}}\n" for name in ("alpha", "beta", "gamma", "delta", "plain")
}


def texts(*names: str) -> dict[str, str]:
    """The template files with these names, by their path."""
    return {path: TEXTS[path] for path in (f"chat_templates/{name}.jinja" for name in names)}
