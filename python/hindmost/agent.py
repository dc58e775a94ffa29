"""What runs on a load host: ``python -m hindmost.agent``. Enters Rust at once and stays there.

``instance PLAN.json PLACE``
    One load instance; talks one JSON document a line over standard input and output, and ends when the
    input does, so that it never outlives whoever started it.
``synth CONFIG``
    The embedded server, from a JSON text; runs until SIGTERM or SIGINT. Its ``clone`` may be the name of a
    document: a file, or an application that ships with Hindmost.

Imports nothing but the engine: a load host needs the wheel and none of its dependencies.
"""

from __future__ import annotations

import json
import signal
import sys
from functools import partial
from pathlib import Path

from hindmost import _engine
from hindmost.errors import HindmostError
from hindmost.exits import Exit


def main(argv: list[str]) -> int:
    """Run one role; returns the exit code."""
    match argv:
        case ["instance", plan, place]:
            # Ctrl-C reaches the whole terminal group; the controller decides what it means.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            work = partial(_instance, plan, place)
        case ["synth", config]:
            work = partial(_synth, config)
        case _:
            print("usage: python -m hindmost.agent instance PLAN.json PLACE | synth CONFIG", file=sys.stderr)
            return Exit.USAGE
    try:
        work()
    except _engine.EngineError as error:
        code, message = error.args
        return _failed(code, message)
    except HindmostError as error:
        return _failed("usage", error.message)
    return Exit.DONE


def _failed(code: str, message: str) -> int:
    print(json.dumps({"event": "failed", "code": code, "message": message}), flush=True)
    return Exit.ERROR


def _instance(plan: str, place: str) -> None:
    _engine.run_instance(Path(plan).read_text(encoding="utf-8"), place, controlled=True)


def _synth(config: str) -> None:
    """Serve; a clone that is not a document but a name is looked up first."""
    try:
        options = json.loads(config)
        name = options["clone"] if isinstance(options, dict) else None
    except (ValueError, KeyError):
        name = None  # the engine says what is wrong, if anything is
    if isinstance(name, str):
        del options["clone"]
        if name:
            from hindmost.models.document import load_clone  # needs nothing but the engine either

            options["clone"] = load_clone(name).document
        if options.get("log") == "":
            del options["log"]
        config = json.dumps(options)
    _engine.serve_synth(config)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
