"""The command line: one file a verb, each loaded when it is called."""

from __future__ import annotations

from collections.abc import Sequence

from hindmost.exits import Exit


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code and raises nothing."""
    try:
        from hindmost.cli.app import run
    except KeyboardInterrupt:  # loading takes a fifth of a second, in which Ctrl-C means the same
        import sys

        print(
            "error[interrupted]: interrupted before the command started\nhint: run the command again",
            file=sys.stderr,
        )
        return Exit.INTERRUPTED
    return run(argv)


__all__ = ["main"]
