"""``hindmost load``: one bare load instance, for those who bring their own procedure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from hindmost import _engine
from hindmost.cli.options import OUTPUT, PROCEDURE, TARGET, option, switch
from hindmost.cli.streams import say
from hindmost.errors import InstanceError, UsageError
from hindmost.exits import Exit


def load(
    plan: Annotated[
        Path,
        option(
            TARGET, None, "An engine plan (schemas/plan.schema.json); with --clean-up, a study's folder, too."
        ),
    ],
    *,
    clean_up: Annotated[
        bool, switch(PROCEDURE, "No load: remove the keys that the plan or study stores.", "--clean-up")
    ] = False,
    out: Annotated[Path, option(OUTPUT, "FOLDER", "Folder for the instance's files; made if absent.")] = Path(
        "load-result"
    ),
) -> int:
    """Run one bare load instance, decided by nobody but its plan."""
    if clean_up:
        return _clean_up(plan)
    text = _read(plan)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            "todo", f"{out} cannot be made: {error.strerror}", hint="choose another --out"
        ) from None
    with _refusing():
        result = json.loads(_engine.run_instance(text, str(out)))
    for bulky in ("series", "raw_gaps_ns"):
        result.pop(bulky)
    print(json.dumps(result))
    say(f"files: {out}")
    return Exit.DONE


def _clean_up(plan: Path) -> int:
    """Remove what a killed measurement left on a server."""
    with _refusing():
        removed = _engine.clean_up(_plan_of_study(plan) if plan.is_dir() else _read(plan))
    print(json.dumps({"removed": removed}))
    return Exit.DONE


def _plan_of_study(folder: Path) -> str:
    """The engine plan of a measurement's first run."""
    from hindmost.run.readings import plan_of
    from hindmost.store import Study
    from hindmost.targets import parse_target

    plan = plan_of(Study.open(folder))
    target = parse_target(plan.target)
    if target.managed:
        raise UsageError(
            "todo",
            f"{plan.target} is started for each run and stopped after it: nothing of it is left",
            hint="--clean-up is for servers that are attached by address",
        )
    return plan.engine_plan(1, 0, target.protocol, target.address, tls=plan.tls, secrets=True)


def _read(plan: Path) -> str:
    try:
        return plan.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(
            "todo", f"plan {plan} cannot be read: {error.strerror}", hint=f"ls -l {plan}"
        ) from None
    except UnicodeDecodeError:
        raise UsageError("todo", f"plan {plan} is not JSON", hint="see schemas/plan.schema.json") from None


@contextmanager
def _refusing() -> Iterator[None]:
    """Say what the engine refuses."""
    try:
        yield
    except _engine.EngineError as error:
        code, message = error.args
        kind = UsageError if code == "plan" else InstanceError
        raise kind(code, message, hint="see schemas/plan.schema.json" if code == "plan" else None) from None
