"""``hindmost harvest simulate``: a synthetic data center for months, in seconds."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from hindmost.cli.options import PROCEDURE, TARGET, Json, option, whole
from hindmost.exits import Exit


def simulate(
    kind: Annotated[
        Literal["durability", "hazard", "availability", "scheduling"],
        option(TARGET, None, "What is asked: blocks lost, their exact rate, failed accesses, or kills."),
    ],
    *,
    center: Annotated[int, whole(TARGET, "Which of ten synthetic data centers, 0 to 9.")] = 9,
    servers: Annotated[int | None, whole(TARGET, "Servers, instead of 5,000.")] = None,
    setting: Annotated[
        list[str] | None, option(PROCEDURE, "KEY=VALUE", "A setting of the simulator; may be repeated.")
    ] = None,
    json_: Json = False,
) -> int:
    """Simulate a synthetic data center, made to the bands that chapter IV publishes.

    Settings are those of the simulator: policy=stock|racks|environments|grid|cost, blocks, replicas, months,
    utilisation, root=true, scheduler=aware|history, demand; those of the data center begin with center.
    """
    from hindmost.errors import UsageError
    from hindmost.harvest.simulation import published
    from hindmost.harvest.simulation import simulate as simulated

    asked: dict[str, Any] = {}
    made = published(center)
    if servers is not None:
        made |= {"servers": servers, "tenants": max(3, made["tenants"] * servers // made["servers"])}
    for text in setting or ():
        key, equal, value = text.partition("=")
        if not equal:
            raise UsageError(f"--setting {text} has no value", hint="--setting policy=stock")
        try:
            given = json.loads(value)
        except ValueError:
            given = value
        if key.startswith("center."):
            made[key.removeprefix("center.")] = given
        else:
            asked[key] = given
    found = simulated(kind, made, **asked)
    if json_:
        print(json.dumps(found, allow_nan=False))
    else:
        print(f"{kind} of a synthetic DC-{center}: {made['servers']:,} servers, {made['tenants']:,} tenants")
        for name, number in found["result"].items():
            print(f"  {name.replace('_', ' '):20} {number:,.6g}")
    return Exit.DONE
