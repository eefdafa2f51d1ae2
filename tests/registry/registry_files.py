"""The files of a small registry of one schema and one template."""

from __future__ import annotations

HASH = "a" * 64

SCHEMA = """\
name: tag
title: A format with tags
origin:
  source: rgw
dialects:
  response_template:
    start_anchor: <bot>
    fields:
      content:
        close_pattern: </bot>\\s*
        content: text
"""

TEMPLATES = f"""\
templates:
  - sha256: {HASH}
    schema: tag
    variant: plain
    family: tag
"""
