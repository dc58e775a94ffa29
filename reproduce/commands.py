"""Runs commands of Hindmost as a user types them."""

from __future__ import annotations

import shlex

from hindmost.cli import main


def run(line: str, *more: str) -> int:
    """Print a command, run it, and return its exit code. `more` are arguments that may contain spaces."""
    words = [*shlex.split(line), *more]
    print(f"\n$ hindmost {shlex.join(words)}", flush=True)
    return main(words)
