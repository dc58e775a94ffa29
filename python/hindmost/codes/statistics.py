"""Codes of statistics, stored studies and Python results."""

from __future__ import annotations

from hindmost.codes.code import Code

CODES: dict[str, Code] = {}
