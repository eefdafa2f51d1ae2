"""Which engine reads a schema on the installed transformers."""

from __future__ import annotations

import re
from functools import cache

from rgw.derender.policy import Policy
from rgw.derender.reading import Engine
from rgw.errors import EngineError
from rgw.registry.model import Dialect, Schema

_RESPONSE_TEMPLATE_SINCE = (5, 13)
_RESPONSE_SCHEMA_SINCE = (5, 0)
_RESPONSE_SCHEMA_BEFORE = (5, 15)


@cache
def transformers_version() -> tuple[int, int]:
    """Major and minor version of the installed transformers."""
    from importlib.metadata import version

    match = re.match(r"(\d+)\.(\d+)", version("transformers"))
    return (int(match[1]), int(match[2])) if match else (0, 0)


def runnable_dialect(schema: Schema) -> Dialect:
    """The dialect in which the installed transformers runs a schema; the newer one where both would do.

    Raises:
        EngineError: It can run none of them; the message names the version that can.
    """
    installed = transformers_version()
    if Dialect.RESPONSE_TEMPLATE in schema.dialects and installed >= _RESPONSE_TEMPLATE_SINCE:
        return Dialect.RESPONSE_TEMPLATE
    if Dialect.RESPONSE_SCHEMA in schema.dialects and (_RESPONSE_SCHEMA_SINCE <= installed < _RESPONSE_SCHEMA_BEFORE):
        return Dialect.RESPONSE_SCHEMA
    wanted = ">= 5.13" if Dialect.RESPONSE_TEMPLATE in schema.dialects else ">= 5.0, < 5.15"
    raise EngineError(
        f"schema {schema.name} needs transformers {wanted}; transformers {installed[0]}.{installed[1]} is installed",
        f"install it with: pip install 'transformers{wanted.replace(' ', '')}'",
    )


def engine_for(schema: Schema, policy: Policy) -> Engine:
    """The engine that reads a schema here.

    Args:
        schema: The schema.
        policy: What the engine lets pass: `call_in_reasoning=call` and `unclosed_value=next_tag`. Of the other points
            it knows nothing.

    Raises:
        EngineError: The installed transformers runs none of the schema's dialects, or lacks a content parser; or it
            runs the schema in a dialect that cannot follow the policy.
        RegistryError: transformers refuses the schema.
    """
    if runnable_dialect(schema) is Dialect.RESPONSE_TEMPLATE:
        from rgw.derender.response_template import ResponseTemplateEngine

        return ResponseTemplateEngine(schema, policy)
    if policy.is_lenient:
        raise EngineError(
            f"schema {schema.name} is read in the response_schema dialect, which knows neither call_in_reasoning=call"
            " nor unclosed_value=next_tag nor builtin_tool=drop",
            "leave them out, or install a transformers that reads response templates: >= 5.13",
        )
    from rgw.derender.response_schema import ResponseSchemaEngine

    return ResponseSchemaEngine(schema)
