"""The entry point on a load host: ``python -m hindmost.agent``. It calls Rust at once and stays there.

``client PLAN.json PLACE [COUNTERS]``
    One load client. It reads and writes one JSON document per line on standard input and output. It ends when
    its input ends, so it never outlives the process that started it. COUNTERS is a file of shared memory that
    the other process reads during the load.
``synth CONFIG``
    The embedded server, configured by a JSON text. It runs until SIGTERM or SIGINT. Its ``clone`` may be a
    name: a file with a document, or an application that ships with Hindmost.

Imports nothing but the engine: a load host needs the wheel and none of its dependencies.
"""

from __future__ import annotations

import json
import signal
import sys
from functools import partial
from pathlib import Path

from hindmost import _engine
from hindmost.core.exits import Exit
from hindmost.errors import HindmostError


def main(argv: list[str]) -> int:
    """Run one role and return the exit code."""
    match argv:
        case ["client", plan, place, *counters] if len(counters) <= 1:
            # Ctrl-C reaches the whole terminal group. The controller decides what to do about it.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            work = partial(_run_client, plan, place, *counters)
        case ["synth", config]:
            work = partial(_serve_synth, config)
        case _:
            print(
                "usage: python -m hindmost.agent client PLAN.json PLACE [COUNTERS] | synth CONFIG",
                file=sys.stderr,
            )
            return Exit.USAGE
    try:
        work()
    except _engine.EngineError as error:
        code, message = error.args
        return _report_failure(code, message)
    except HindmostError as error:
        return _report_failure("usage", error.message)
    return Exit.DONE


def _report_failure(code: str, message: str) -> int:
    print(json.dumps({"event": "failed", "code": code, "message": message}), flush=True)
    return Exit.ERROR


def _run_client(plan: str, place: str, counters: str | None = None) -> None:
    _engine.run_client(Path(plan).read_text(encoding="utf-8"), place, controlled=True, live=counters)


def _serve_synth(config: str) -> None:
    """Serve. A clone that is given by name is loaded first."""
    try:
        options = json.loads(config)
        name = options["clone"] if isinstance(options, dict) else None
    except (ValueError, KeyError):
        name = None  # the engine reports the error, if there is one
    if isinstance(name, str):
        del options["clone"]
        if name:
            from hindmost.commands.clone.document import load_clone  # needs nothing but the engine either

            options["clone"] = load_clone(name).document
        if options.get("log") == "":
            del options["log"]
        config = json.dumps(options)
    _engine.serve_synth(config)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
