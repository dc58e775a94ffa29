"""The command line: one file a verb, each loaded when it is called."""

from hindmost.cli.app import main

__all__ = ["main"]
