"""Codes of runs: verdict reasons, notes, and why a run does not count."""

from __future__ import annotations

from hindmost.codes.code import Code

CODES: dict[str, Code] = {}
