"""``hindmost harvest select``: choose the class on whose servers a job should run."""

from __future__ import annotations

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
    from hindmost.commands.harvest.view import selection_view
    from hindmost.core.store.estimates import encode, to_document
    from hindmost.errors import UsageError
    from hindmost.present.terminal import render_terminal

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
    numbers = selected(loaded, length, wants, now=loads, cores=cores, seed=seed)[0]
    picked = {number: loaded.classes[number] for number in numbers}
    if json_:
        found = [{"class": number, **to_document(one)} for number, one in picked.items()]
        print(encode({"length": length, "wants": wants, "classes": found}))
    else:
        print(render_terminal(selection_view(picked, wants)))
    return Exit.DONE if picked else Exit.ERROR
