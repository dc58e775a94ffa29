"""``hindmost load``: one bare load instance, for those who bring their own procedure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from hindmost import _engine
from hindmost.cli.options import OUTPUT, TARGET, option
from hindmost.cli.streams import say
from hindmost.errors import InstanceError, UsageError
from hindmost.exits import Exit


def load(
    plan: Annotated[Path, option(TARGET, None, "An engine plan (schemas/plan.schema.json).")],
    *,
    out: Annotated[Path, option(OUTPUT, "FOLDER", "Folder for the instance's files; made if absent.")] = Path(
        "load-result"
    ),
) -> int:
    """Run one bare load instance, decided by nobody but its plan."""
    try:
        text = plan.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"plan {plan} cannot be read: {error.strerror}", hint=f"ls -l {plan}") from None
    except UnicodeDecodeError:
        raise UsageError(f"plan {plan} is not JSON", hint="see schemas/plan.schema.json") from None
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{out} cannot be made: {error.strerror}", hint="choose another --out") from None
    try:
        result = json.loads(_engine.run_instance(text, str(out)))
    except _engine.EngineError as error:
        code, message = error.args
        kind = UsageError if code == "plan" else InstanceError
        raise kind(message, hint="see schemas/plan.schema.json" if code == "plan" else None) from None
    for bulky in ("series", "raw_gaps_ns"):
        result.pop(bulky)
    print(json.dumps(result))
    say(f"files: {out}")
    return Exit.DONE
