"""``hindmost harvest classify``: classify tenants by their utilisation traces."""

from __future__ import annotations

import json
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
    from hindmost.commands.harvest.view.terminal import render_classes
    from hindmost.core.plan.units import parse_duration
    from hindmost.core.store.files import install
    from hindmost.errors import UsageError

    counts = classes.split(",")
    if len(counts) != 3 or not all(count.strip().isdigit() for count in counts):
        raise UsageError(
            "bad-value",
            f"--classes {classes}: use three whole numbers",
            hint="--classes 13,5,5",
            option="--classes",
            value=classes,
        )
    if "0" in {count.strip().lstrip("0") or "0" for count in counts}:
        raise UsageError(
            "bad-value",
            f"--classes {classes}: each pattern needs at least one class",
            hint="--classes 13,5,5",
            option="--classes",
            value=classes,
            least=1,
        )
    settings = Settings(
        constant_below=constant_below,
        periodic_share=periodic_share,
        classes=(int(counts[0]), int(counts[1]), int(counts[2])),
    )
    slot_s = None if slot is None else parse_duration(slot)
    found = classified(read_traces(traces, slot_s=slot_s, format_=format_, balanced=False), settings)
    if out is not None:
        install(out.parent, {out.name: json.dumps(found, allow_nan=False, indent=1)})
    print(json.dumps(found, allow_nan=False) if json_ else render_classes(found), end="\n" if json_ else "")
    if out is not None:
        say(f"classes: {out}")
    return Exit.DONE
