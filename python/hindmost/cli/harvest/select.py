"""``hindmost harvest select``: the class on whose servers a job should run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

from hindmost.cli.options import LOAD, PROCEDURE, TARGET, Json, option, whole
from hindmost.exits import Exit


def select(
    classes: Annotated[Path, option(TARGET, None, "What hindmost harvest classify wrote.")],
    *,
    length: Annotated[
        Literal["short", "medium", "long"], option(LOAD, None, "How long the job was the last time.")
    ] = "medium",
    wants: Annotated[float, option(LOAD, "CORES", "The most that it uses at once.")],
    now: Annotated[
        list[str] | None,
        option(LOAD, "CLASS=SHARE", "Utilisation of a class now, instead of its mean; may be repeated."),
    ] = None,
    cores: Annotated[float, option(TARGET, "N", "Cores of a server.")] = 12.0,
    seed: Annotated[int, whole(PROCEDURE, "Seed of the choice.")] = 1,
    json_: Json = False,
) -> int:
    """Choose the class for a job by its length and each class's headroom (algorithm 1).

    Long jobs prefer constant classes, medium ones periodic, short ones unpredictable, all in proportion to
    headroom. A job that no class holds alone gets several; one too wide for all gets none (exit 1).
    """
    from hindmost.errors import UsageError
    from hindmost.harvest import load_classes
    from hindmost.harvest import select as selected

    loaded = load_classes(classes)
    loads: dict[int, float] = {}
    for text in now or ():
        number, _, share = text.partition("=")
        try:
            loads[int(number)] = float(share)
        except ValueError:
            raise UsageError(
                "bad-value",
                f"--now {text}: use CLASS=SHARE",
                hint="--now 3=0.7",
                option="--now",
                value=text,
            ) from None
    wrong = [f"{number}={share:g}" for number, share in loads.items() if not 0.0 <= share <= 1.0]
    if wrong or not cores > 0.0:
        raise UsageError(
            "bad-value",
            f"--now {wrong[0]}: the share must be 0 to 1"
            if wrong
            else f"--cores {cores:g}: it must be above 0",
            hint="--now 3=0.7 --cores 12",
            option="--now" if wrong else "--cores",
            value=wrong[0] if wrong else cores,
        )
    picked = selected(loaded, length, wants, now=loads, cores=cores, seed=seed)[0]
    found = [{"class": at, **loaded["classes"][at]} for at in picked]
    if json_:
        print(json.dumps({"length": length, "wants": wants, "classes": found}, allow_nan=False))
    elif found:
        for one in found:
            print(
                f"class {one['class']}: {one['pattern']}, {one['tenants']} tenants,"
                f" {one['servers']:g} servers, {one['mean']:.0%} on average, {one['peak']:.0%} at most"
            )
    else:
        print(f"no class, nor all together, have room for {wants:g} cores: the job has to wait")
    return Exit.DONE if found else Exit.ERROR
