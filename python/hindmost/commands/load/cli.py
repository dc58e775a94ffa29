"""``hindmost load``: run one bare load client, for users with their own procedure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from hindmost import _engine
from hindmost.cli.options import OUTPUT, PROCEDURE, TARGET, option, switch
from hindmost.cli.streams import say
from hindmost.core.documents import read_text
from hindmost.core.exits import Exit
from hindmost.core.plan.positions import SourceText, locate_refusal
from hindmost.errors import ClientError, UsageError, unreadable_file


def load(
    plan: Annotated[
        Path,
        option(TARGET, None, "An engine plan; with --clean-up also the folder of a study."),
    ],
    *,
    clean_up: Annotated[
        bool, switch(PROCEDURE, "Send no load. Remove the keys that the plan or study stores.", "--clean-up")
    ] = False,
    out: Annotated[
        Path, option(OUTPUT, "FOLDER", "Folder for the client's files. It is created if it does not exist.")
    ] = Path("load-result"),
) -> int:
    """Run one load client that follows an engine plan."""
    if clean_up:
        return _clean_up(plan)
    text = _read(plan)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            "unwritable-file",
            f"cannot create the folder {out}: {error.strerror}",
            hint="choose another --out",
            path=str(out),
            option="--out",
        ) from None
    with _converted_errors(plan, text):
        result = json.loads(_engine.run_client(text, str(out)))
    for bulky in ("series", "raw_gaps_ns"):
        result.pop(bulky)
    print(json.dumps(result))
    say(f"files: {out}")
    return Exit.DONE


def _clean_up(plan: Path) -> int:
    """Remove the keys that an interrupted measurement left on a server."""
    text = _plan_of_study(plan) if plan.is_dir() else _read(plan)
    with _converted_errors(plan, text):
        removed = _engine.clean_up(text)
    print(json.dumps({"removed": removed}))
    return Exit.DONE


def _plan_of_study(folder: Path) -> str:
    """Return the engine plan of a measurement's first run."""
    from hindmost.core.run.readings import plan_of
    from hindmost.core.store import Study
    from hindmost.core.targets import parse_target

    plan = plan_of(Study.open(folder))
    target = parse_target(plan.target)
    if target.managed:
        raise UsageError(
            "unsupported",
            f"{plan.target} is restarted for each run, so there is nothing to clean up",
            hint="use --clean-up with servers that Hindmost does not start",
            option="--clean-up",
            name=plan.target,
        )
    return plan.engine_plan(1, 0, target.protocol, target.address, tls=plan.tls, secrets=True)


def _read(plan: Path) -> str:
    try:
        return read_text(plan)
    except OSError as error:
        raise unreadable_file(plan, error, place="plan ") from None
    except UnicodeDecodeError:
        raise UsageError(
            "bad-file", f"plan {plan} is not JSON", hint="examples: examples/plans", path=str(plan)
        ) from None


@contextmanager
def _converted_errors(plan: Path, text: str) -> Iterator[None]:
    """Convert a refusal by the engine into a Hindmost error."""
    try:
        yield
    except _engine.EngineError as error:
        code, message = error.args
        if code != "plan":
            raise ClientError(code, message) from None
        refusal = locate_refusal(
            message,
            text,
            f"plan {plan}",
            SourceText(text, toml=False, path=str(plan)),
            fields=getattr(error, "fields", None),
        )
        raise UsageError(refusal.code, message, hint="examples: examples/plans", **refusal.fields) from None
