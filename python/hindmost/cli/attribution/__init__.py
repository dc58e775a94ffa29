"""What stands behind ``hindmost attribute``: from a study file to a plan."""

from hindmost.cli.attribution.resolve import resolve, told_before

__all__ = ["resolve", "told_before"]
