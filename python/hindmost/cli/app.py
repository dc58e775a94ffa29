"""``hindmost``: finds the verb, runs it, and turns every failure into words and an exit code."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

import cyclopts

from hindmost import __version__
from hindmost.cli.group import GROUPS, group_app
from hindmost.cli.help import PlainHelp
from hindmost.cli.usage import explained
from hindmost.errors import HindmostError, Interrupted
from hindmost.exits import EPILOGUE, Exit

app = cyclopts.App(
    name="hindmost",
    help="A laboratory for tail latency: measures how slow the slowest requests of a server are, and how sure"
    " that is.",
    version=__version__,
    help_format="plaintext",
    help_formatter=PlainHelp(),
    help_epilogue=EPILOGUE,
    suppress_keyboard_interrupt=False,
)
VERBS = {
    "measure": "Measure a server's tail latency, end to end.",
    "attribute": "Find which factors cause the tail, and what to set.",
    "doctor": "List what on this host will distort a measurement.",
    "report": "Build the page and the table again from a study's stored runs.",
    "load": "Run one bare load instance from an engine plan.",
}
USAGE = {
    "measure": "TARGET [OPTIONS]",
    "attribute": "STUDY.toml [OPTIONS]",
    "doctor": "[TARGET] [OPTIONS]",
    "report": "STUDY [OPTIONS]",
    "load": "PLAN.json [OPTIONS]",
}
EXAMPLES = {
    "measure": """\
Examples:
  hindmost measure memcached --rate 20k
  hindmost measure memcached://10.0.0.7:11211 --rate 50k --clients 4 --runs 5
  hindmost measure nginx --rate 2k --require 'p99<5ms' --json
  hindmost measure memcached --find-rate 'p99<500us' --duration 3s

""",
    "attribute": """\
Examples:
  hindmost attribute examples/attribution/memcached.toml --dry-run
  hindmost attribute examples/attribution/memcached.toml --budget 30m

""",
}
for place, (verb, purpose) in enumerate(VERBS.items()):
    app.command(
        f"hindmost.cli.{verb}:{verb}",
        help=purpose,
        usage=f"hindmost {verb} {USAGE[verb]}",
        help_epilogue=EXAMPLES.get(verb, "") + EPILOGUE,
        sort_key=place,
    )
for place, verb in enumerate(GROUPS, start=len(VERBS)):
    app.command(group_app(verb, EPILOGUE, place))
NEXT = {"": [*VERBS, *GROUPS], **{verb: list(group.SUBVERBS) for verb, group in GROUPS.items()}}
"""What may follow nothing, and each verb that has sub-verbs."""


ENDS = (signal.SIGTERM, signal.SIGHUP)
"""Asked to end from outside: like Ctrl-C, everything is put away first."""


def run(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code and raises nothing."""
    for number in ENDS:
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup(1) has had SIGHUP ignored, and it stays so
            signal.signal(number, _terminated)
    try:
        code = app(argv, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
        return int(code or 0)
    except cyclopts.CycloptsError as error:
        return _tell(
            explained(
                error,
                {"": [*VERBS, *GROUPS], **{verb: list(group.SUBVERBS) for verb, group in GROUPS.items()}},
            )
        )
    except KeyboardInterrupt:
        return _tell(Interrupted("interrupted", hint="run the command again"))
    except HindmostError as error:
        return _tell(error)
    except BrokenPipeError:  # whoever read our output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.ERROR


def _terminated(number: int, frame: FrameType | None) -> None:
    raise Interrupted(f"ended by {signal.Signals(number).name}", hint="run the command again")


def _tell(error: HindmostError) -> int:
    if error.exit_code == Exit.INTERRUPTED:  # it is put away; impatience must not spoil the exit code
        for number in (signal.SIGINT, *ENDS):
            signal.signal(number, signal.SIG_IGN)
    for note in getattr(error, "__notes__", ()):
        print(note, file=sys.stderr)
    print(f"error: {error.message}", file=sys.stderr)
    if error.hint:
        print(f"hint: {error.hint}", file=sys.stderr)
    return error.exit_code
