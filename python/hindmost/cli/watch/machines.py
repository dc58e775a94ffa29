"""``hindmost watch machines``: how large an analysis cluster must be."""

from __future__ import annotations

import json
from typing import Annotated

from hindmost.cli.options import PROCEDURE, Json, option
from hindmost.errors import UsageError
from hindmost.exits import Exit


def machines(
    *,
    diagnosis: Annotated[str, option(PROCEDURE, "TIME", "Of one diagnosis, without the detection.")] = "90s",
    servers: Annotated[
        str, option(PROCEDURE, "LIST", "Sizes of the production cluster.")
    ] = "10,100,1000,10000,100000",
    anomalies: Annotated[str, option(PROCEDURE, "LIST", "Anomalies a server and day.")] = "1,10",
    wait: Annotated[str, option(PROCEDURE, "SHARE", "Of anomalies that may wait for a machine.")] = "10%",
    batches: Annotated[
        str, option(PROCEDURE, "SHARE", "Of anomalies that come with a bad roll-out.")
    ] = "20%",
    json_: Json = False,
) -> int:
    """Count the machines that must analyse a fleet's anomalies.

    The dissertation's M/M/c takes anomalies for independent, at 60 s each. Beside it stand your time a
    diagnosis and a simulation in which a part of the anomalies comes with roll-outs that make a tenth of the
    servers sick within ten minutes. Experiments keep a machine; the sick host and its twin are not counted.
    """
    from hindmost.plan.units import parse_duration, parse_share
    from hindmost.report.watch.machines import render_machines
    from hindmost.watch.cluster import analysis_machines

    document = analysis_machines(
        parse_duration(diagnosis, "diagnosis", 0.001),
        [int(one) for one in _numbers(servers, "--servers", 1.0, 1e6)],
        _numbers(anomalies, "--anomalies", 1e-6, 1e3),
        wait=parse_share(wait, "wait"),
        in_batches=parse_share(batches, "batches"),
    )
    print(json.dumps(document) if json_ else render_machines(document), end="\n" if json_ else "")
    return Exit.DONE


def _numbers(text: str, what: str, least: float, most: float) -> list[float]:
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(
            "bad-value",
            f"{what} {text}: it must be a list of numbers",
            hint=f"{what} 10,100",
            option=what,
            value=text,
        ) from None
    for number in numbers:
        if not least <= number <= most:
            raise UsageError(
                "bad-value",
                f"{what} {number:g}: it must be between {least:g} and {most:g}",
                option=what,
                value=number,
                least=least,
                most=most,
            )
    return numbers
