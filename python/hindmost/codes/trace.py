"""Codes of tracing, watching and diagnosis."""

from __future__ import annotations

from hindmost.codes.code import Code

CODES: dict[str, Code] = {}
