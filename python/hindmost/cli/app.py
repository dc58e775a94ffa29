"""``hindmost``: finds the verb, runs it, and turns every failure into words and an exit code."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

import cyclopts

from hindmost import __version__
from hindmost.errors import HindmostError, Interrupted

app = cyclopts.App(
    name="hindmost",
    help="A laboratory for tail latency: measures how slow the slowest requests of a server are, and how sure that is.",
    version=__version__,
    help_format="plaintext",
    help_epilogue="Exit codes: 0 done; 1 error; 2 usage; 3 a --require threshold is crossed; 4 inconclusive; "
    "5 host unfit for what was asked; 6 invalid measurement; 130 interrupted.",
)
app.command("hindmost.cli.measure:measure", help="Measure a server's tail latency, end to end.")
app.command("hindmost.cli.doctor:doctor", help="List what on this host will distort a measurement.")
app.command("hindmost.cli.report:report", help="Build the page and the table again from a study's stored runs.")
app.command("hindmost.cli.load:load", help="Run one bare load instance from an engine plan.")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code and raises nothing."""
    signal.signal(signal.SIGTERM, _terminated)
    try:
        code = app(argv, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
        return int(code or 0)
    except cyclopts.CycloptsError as error:
        return _usage(error)
    except KeyboardInterrupt:
        return _tell(Interrupted("interrupted"))
    except HindmostError as error:
        return _tell(error)
    except BrokenPipeError:  # whoever read our output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _terminated(number: int, frame: FrameType | None) -> None:
    raise Interrupted(f"ended by {signal.Signals(number).name}")


def _usage(error: cyclopts.CycloptsError) -> int:
    verb = " ".join(error.command_chain or ())
    text = str(error).strip().splitlines()
    message = " ".join(line.strip(" │╭╰─╮╯") for line in text).strip()
    return _tell(HindmostError(message, hint=f"hindmost {verb} --help".replace("  ", " "), exit_code=2))


def _tell(error: HindmostError) -> int:
    print(f"error: {error.message}", file=sys.stderr)
    if error.hint:
        print(f"hint: {error.hint}", file=sys.stderr)
    return error.exit_code
