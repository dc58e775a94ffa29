"""Codes of attribution, comparison, trials, batching and verification."""

from __future__ import annotations

from hindmost.codes.code import Code

CODES: dict[str, Code] = {}
