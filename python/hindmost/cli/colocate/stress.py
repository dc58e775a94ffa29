"""``hindmost colocate stress``: rulers by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from hindmost.cli.options import LOAD, PROCEDURE, TARGET, Json, option, switch, whole
from hindmost.cli.streams import say
from hindmost.exits import Exit


def stress(
    *rulers: Annotated[str, option(TARGET, None, "Names of rulers; of none, all are listed.")],
    duty: Annotated[str, option(LOAD, "SHARE", "Share of each period in which they work.")] = "100%",
    period: Annotated[str, option(LOAD, "TIME", "A period of the duty cycle, 5us or more.")] = "10us",
    duration: Annotated[str, option(PROCEDURE, "TIME", "How long.")] = "10s",
    cpus: Annotated[
        str | None, option(PROCEDURE, "LIST", "A processor each. [default: the last ones]")
    ] = None,
    real_time: Annotated[
        bool, switch(PROCEDURE, "Before all that is not real-time, where that is allowed.", "--real-time")
    ] = False,
    folder: Annotated[
        Path | None, option(PROCEDURE, "FOLDER", "Where the ruler of the disk writes. [default: here]")
    ] = None,
    seed: Annotated[int, whole(PROCEDURE, "Of orders and sequences in memory.")] = 1,
    json_: Json = False,
) -> int:
    """Stress one resource a ruler, at a share of full strength, and count the work.

    Rulers begin at one moment, each on a processor of its own. Memory rulers take the caches as they are
    found, never as they are advertised. Ctrl-C ends them, and what was done is told.
    """
    from hindmost import _engine
    from hindmost.errors import UsageError
    from hindmost.plan import parse_duration, parse_share
    from hindmost.report.colocation.rulers import render_list, render_stress
    from hindmost.store.pairs import STRESS_SCHEMA, Stress
    from hindmost.studies.colocation.stress import stress as stressed
    from hindmost.targets.cpus import parse_cpus

    if not rulers:
        known = json.loads(_engine.rulers())
        print(json.dumps(known) if json_ else render_list(known), end="\n" if json_ else "")
        return Exit.DONE
    try:
        places = None if cpus is None else parse_cpus(cpus)
    except ValueError as error:
        raise UsageError(
            "bad-value", f"--cpus {cpus}: {error}", hint="--cpus 0-1", option="--cpus", value=cpus
        ) from None
    found = stressed(
        rulers,
        duty=parse_share(duty, "--duty", most=1.0),
        period_ns=round(parse_duration(period, "period") * 1e9),
        duration_s=parse_duration(duration, "duration", 0.01),
        cpus=places,
        real_time=real_time,
        folder=folder,
        seed=seed,
        say=say,
    )
    document: Stress = {"schema": STRESS_SCHEMA, "rulers": found}
    print(json.dumps(document) if json_ else render_stress(document), end="\n" if json_ else "")
    return Exit.DONE
