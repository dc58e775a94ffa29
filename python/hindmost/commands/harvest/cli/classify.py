"""``hindmost harvest classify``: classify tenants by their utilisation traces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from hindmost.cli.options import OUTPUT, PROCEDURE, TARGET, Json, option
from hindmost.cli.streams import say
from hindmost.core.exits import Exit


def classify(
    traces: Annotated[
        Path,
        option(
            TARGET,
            None,
            "A folder with traces (CSV, Parquet, or the formats of Azure, Alibaba or Bitbrains) and"
            " tenants.csv.",
        ),
    ],
    *,
    slot: Annotated[
        str | None,
        option(PROCEDURE, "DURATION", "Length of a slot. [default: the usual gap between readings]"),
    ] = None,
    format_: Annotated[
        str | None,
        option(PROCEDURE, "NAME", "Format of the traces. [default: from each file's first line]"),
    ] = None,
    classes: Annotated[
        str,
        option(
            PROCEDURE, "P,C,U", "Maximum number of classes for periodic, constant and unpredictable tenants."
        ),
    ] = "13,5,5",
    constant_below: Annotated[
        float, option(PROCEDURE, "SHARE", "A tenant with a smaller standard deviation counts as constant.")
    ] = 0.03,
    periodic_share: Annotated[
        float, option(PROCEDURE, "SHARE", "Share of the variance that a period must explain.")
    ] = 0.3,
    out: Annotated[Path | None, option(OUTPUT, "CLASSES.json", "Write the classes to this file.")] = None,
    json_: Json = False,
) -> int:
    """Classify tenants by a month of utilisation: periodic, constant or unpredictable, then K-Means.

    The command first averages the servers of each tenant (`tenants.csv`:
    server,tenant,environment,rack,reimages,space). A period need not be a day. A tenant whose pattern appears
    in only one half of the window counts as unpredictable.
    """
    from hindmost.commands.harvest.classes import Settings
    from hindmost.commands.harvest.classes import classify as classified
    from hindmost.commands.harvest.reading import read_traces
    from hindmost.commands.harvest.view import classes_view
    from hindmost.core.plan.units import parse_duration
    from hindmost.core.store.estimates import encode
    from hindmost.core.store.files import install
    from hindmost.errors import UsageError
    from hindmost.present.terminal import render_terminal

    counts = [int(count) if count.strip().isdecimal() else 0 for count in classes.split(",")]
    if len(counts) != 3 or not all(counts):
        raise UsageError(
            "bad-value",
            f"--classes {classes}: use three whole numbers above zero",
            hint="--classes 13,5,5",
            option="--classes",
            value=classes,
            least=1,
        )
    settings = Settings(
        constant_below=constant_below,
        periodic_share=periodic_share,
        classes=(counts[0], counts[1], counts[2]),
    )
    slot_s = None if slot is None else parse_duration(slot)
    found = classified(read_traces(traces, slot_s=slot_s, format_=format_, balanced=False), settings)
    if out is not None:
        install(out.parent, {out.name: encode(found, indent=1)})
    print(encode(found) if json_ else render_terminal(classes_view(found)))
    if out is not None:
        say(f"classes: {out}")
    return Exit.DONE
