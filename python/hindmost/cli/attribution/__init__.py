"""What stands behind ``hindmost attribute``: from a study file to a plan, to trials, to progress in words."""

from hindmost.cli.attribution.carry import Talk, carry_out
from hindmost.cli.attribution.resolve import begun, reopened, resolve, told_before

__all__ = ["Talk", "begun", "carry_out", "reopened", "resolve", "told_before"]
