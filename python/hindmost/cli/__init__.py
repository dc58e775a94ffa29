"""The command line: one module per command, loaded when the command is called."""

from __future__ import annotations

from collections.abc import Sequence

from hindmost.core.exits import Exit


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Raise nothing."""
    try:
        from hindmost.cli.app import run
    except KeyboardInterrupt:  # loading takes about 0.2 s, and Ctrl-C may come during it
        import sys

        print(
            "error[interrupted]: interrupted before the command started\nhint: run the command again",
            file=sys.stderr,
        )
        return Exit.INTERRUPTED
    return run(argv)


__all__ = ["main"]
