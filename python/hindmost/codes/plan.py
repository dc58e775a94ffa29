"""Codes of options, plans, workloads, targets, settings, designs and packet captures."""

from __future__ import annotations

from hindmost.codes.code import Code

CODES: dict[str, Code] = {}
