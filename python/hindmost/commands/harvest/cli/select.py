"""``hindmost harvest select``: choose the class on whose servers a job should run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

from hindmost.cli.options import LOAD, PROCEDURE, TARGET, Json, integer_option, option
from hindmost.core.exits import Exit


def select(
    classes: Annotated[Path, option(TARGET, None, "Output of `hindmost harvest classify`.")],
    *,
    length: Annotated[
        Literal["short", "medium", "long"], option(LOAD, None, "Length of the job's previous run.")
    ] = "medium",
    wants: Annotated[float, option(LOAD, "CORES", "Maximum number of cores that the job uses at once.")],
    now: Annotated[
        list[str] | None,
        option(LOAD, "CLASS=SHARE", "Current utilisation of a class, instead of its mean. May be repeated."),
    ] = None,
    cores: Annotated[float, option(TARGET, "N", "Cores of a server.")] = 12.0,
    seed: Annotated[int, integer_option(PROCEDURE, "Random seed.")] = 1,
    json_: Json = False,
) -> int:
    """Choose the class for a job by its length and each class's headroom (algorithm 1).

    Long jobs prefer constant classes, medium jobs periodic ones and short jobs unpredictable ones, all in
    proportion to headroom. A job that is too large for one class gets several. If all classes together are
    too small, no class is chosen (exit code 1).
    """
    from hindmost.commands.harvest.classes import load_classes
    from hindmost.commands.harvest.decisions import select as selected
    from hindmost.errors import UsageError

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
        print(f"all classes together have no room for {wants:g} cores: the job has to wait")
    return Exit.DONE if found else Exit.ERROR
