"""Codes of load hosts and clients, as the engine and the fleet name them."""

from __future__ import annotations

from hindmost.codes.code import Code

CODES: dict[str, Code] = {}
