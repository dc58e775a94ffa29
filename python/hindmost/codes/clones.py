"""Codes of clones: fitting, simulating, serving."""

from __future__ import annotations

from hindmost.codes.code import Code

CODES: dict[str, Code] = {}
