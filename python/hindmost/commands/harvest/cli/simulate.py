"""``hindmost harvest simulate``: simulate months of a data center in seconds, synthetic or from traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from hindmost.cli.options import PROCEDURE, TARGET, Json, integer_option, option
from hindmost.core.exits import Exit


def simulate(
    kind: Annotated[
        Literal["durability", "hazard", "availability", "scheduling"],
        option(
            TARGET,
            None,
            "Quantity to simulate: lost blocks, their exact rate, failed accesses, or killed tasks.",
        ),
    ],
    *,
    traces: Annotated[
        Path | None,
        option(TARGET, "FOLDER", "Your own traces, as for `classify`, instead of a synthetic data center."),
    ] = None,
    slot: Annotated[
        str | None,
        option(
            PROCEDURE, "DURATION", "Length of the traces' slots. [default: the usual gap between readings]"
        ),
    ] = None,
    center: Annotated[
        int, integer_option(TARGET, "Number of one of the ten synthetic data centers, 0 to 9.")
    ] = 9,
    servers: Annotated[int | None, integer_option(TARGET, "Number of servers, instead of 5,000.")] = None,
    setting: Annotated[
        list[str] | None, option(PROCEDURE, "KEY=VALUE", "A setting of the simulator. May be repeated.")
    ] = None,
    json_: Json = False,
) -> int:
    """Simulate a synthetic data center with the ranges that chapter IV publishes, or your own servers.

    The first half of the traces is history, and the second half is simulated. tenants.csv provides racks and
    reimages. Settings of the simulator are: policy=stock|racks|environments|grid|cost, blocks, replicas,
    months, utilisation, root=true, scheduler=aware|balanced|history|headroom, demand, days. Settings of the
    data center begin with `center.`.
    """
    from hindmost.commands.harvest.reading import read_traces
    from hindmost.commands.harvest.simulation import published_center
    from hindmost.commands.harvest.simulation import simulate as simulated
    from hindmost.commands.harvest.view import simulation_view
    from hindmost.core.plan.units import parse_duration
    from hindmost.core.store.estimates import encode
    from hindmost.errors import UsageError
    from hindmost.present.terminal import render_terminal

    asked: dict[str, Any] = {}
    made = published_center(center)
    if traces is not None and servers is not None:
        raise UsageError(
            "conflicting-options",
            "--servers sets the size of a synthetic data center, so it excludes --traces",
            hint="leave out --servers",
            options=["--servers", "--traces"],
        )
    if servers is not None:
        made |= {"servers": servers, "tenants": max(3, made["tenants"] * servers // made["servers"])}
    for text in setting or ():
        key, equal, value = text.partition("=")
        if not equal:
            raise UsageError(
                "bad-value",
                f"--setting {text}: use KEY=VALUE",
                hint="--setting policy=stock",
                option="--setting",
                value=text,
            )
        try:
            given = json.loads(value)
        except ValueError:
            given = value
        if key.startswith("center."):
            made[key.removeprefix("center.")] = given
        else:
            asked[key] = given
    recorded = None
    if traces is not None:
        recorded = read_traces(traces, slot_s=None if slot is None else parse_duration(slot), balanced=True)
    found = simulated(kind, made, traces=recorded, **asked)
    what = f"synthetic DC-{center}: {made['servers']:,} servers, {made['tenants']:,} tenants"
    if recorded is not None:
        servers = sum(len(one.servers) for one in recorded.tenants)
        what = f"{traces}: {servers:,} servers, {len(recorded.tenants):,} tenants, as recorded"
    print(encode(found) if json_ else render_terminal(simulation_view(found, what)))
    return Exit.DONE
