"""Codes of co-location, harvesting and Kubernetes."""

from __future__ import annotations

from hindmost.codes.code import Code

CODES: dict[str, Code] = {}
