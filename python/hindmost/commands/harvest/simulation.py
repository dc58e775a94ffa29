"""Fast simulations of data centers over years, synthetic or replayed from traces."""

from __future__ import annotations

import json
from typing import Any, Final, Literal

from hindmost import _engine
from hindmost.commands.harvest.classes import engine
from hindmost.commands.harvest.document import HarvestSimulation
from hindmost.commands.harvest.reading import Traces
from hindmost.core.progress import step
from hindmost.errors import UsageError

SCHEMA: Final = "hindmost.harvest-simulation/1"
Kind = Literal["durability", "hazard", "availability", "scheduling"]
CENTERS = 10
MOST_MISSING = 0.25
"""Tenants with a larger share of missing slots are excluded, as in `classify`."""


def published_center(number: int, **changes: float) -> dict[str, Any]:
    """Return a synthetic model of one of the ten data centers of chapter IV, optionally changed.

    Published values lie within the ranges of the chapter; unpublished ones (sizes, waves of reimages,
    amplitudes) are assumed. ``crates/harvest/src/simulate/center.rs`` documents both.
    """
    if not 0 <= number < CENTERS:
        raise UsageError(
            "bad-value",
            f"--center {number}: data centers are 0 to {CENTERS - 1}",
            hint="--center 9",
            option="--center",
            value=number,
            least=0,
            most=CENTERS - 1,
        )
    made: dict[str, Any] = engine("center", number)
    return made | changes


def simulate(
    kind: Kind, center: dict[str, Any] | None = None, *, traces: Traces | None = None, **asked: object
) -> HarvestSimulation:
    """Simulate a data center.

    Parameters
    ----------
    kind
        ``durability``: blocks lost to reimages; ``hazard``: the exact rate of such losses if they are too
        rare for a simulation; ``availability``: accesses that find all replicas busy; ``scheduling``: jobs
        and kills.
    center : dict, optional
        A result of `published_center`. With traces, only the pattern of reimages (waves, seed) is used.
    traces : Traces, optional
        A result of `read_traces` with servers, racks, reimages and loads. The first half is history, and the
        rest is simulated; loads are scaled only if ``utilisation`` is given.
    **asked
        Settings of the simulator, as in ``crates/harvest/src/simulate``: ``policy`` (stock, racks,
        environments, grid, cost), ``blocks``, ``replicas``, ``months``, ``utilisation``, ``scheduler``
        (aware, balanced, history, headroom).

    Raises
    ------
    UsageError
        A setting is unknown or out of range, or traces lack the required data.

    Examples
    --------
    >>> small = published_center(9, servers=300, tenants=60)
    >>> found = simulate("availability", small, utilisation=0.1, blocks=500, days=1.0)
    >>> found.result["failed"]
    0
    """
    document = {**asked, "center": published_center(9) if center is None else center}
    check(document)
    if traces is None:
        result = engine(kind, document)
    else:
        document = _recorded_defaults(kind, traces) | document
        result = _replay(kind, document, traces)
    return HarvestSimulation(
        schema=SCHEMA, kind=kind, synthetic=traces is None, request=document, result=result
    )


LEAST: dict[str, float] = {"replicas": 1, "blocks": 1, "repair_hours": 1e-9, "notice_hours": 0.0, "cores": 1}
LEAST_OF_CENTER: dict[str, float] = {
    "servers": 2,
    "tenants": 1,
    "rack": 1,
    "reimages": 0.0,
    "wave_hours": 1e-6,
}


def check(document: dict[str, Any]) -> None:
    """Raise an error for impossible settings.

    Raises
    ------
    UsageError
        Names the setting and its allowed values.
    """
    center = document["center"]
    for where, least, prefix in ((document, LEAST, ""), (center, LEAST_OF_CENTER, "center.")):
        for name, low in least.items():
            found = where.get(name, low)
            if isinstance(found, (int, float)) and not low <= found < float("inf"):
                raise UsageError(
                    "bad-value",
                    f"{prefix}{name} is {found:g}; it must be at least {low:g}",
                    hint=f"--setting {prefix}{name}={low:g}",
                    key=f"{prefix}{name}",
                    value=found,
                    least=low,
                )
    for name in ("wave_share", "environment_share", "wave_reach"):
        found = center.get(name, 0.5)
        if isinstance(found, (int, float)) and not 0.0 <= found <= 1.0:
            raise UsageError(
                "bad-value",
                f"center.{name} is {found:g}; it must be 0 to 1",
                hint=f"--setting center.{name}=0.5",
                key=f"center.{name}",
                value=found,
                least=0,
                most=1,
            )


def _settings(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != "center"}


def _recorded_defaults(kind: Kind, traces: Traces) -> dict[str, Any]:
    """Return defaults for traces: unscaled loads over the recorded time (at most 7 or 3 days)."""
    slots = traces.cpu.shape[1]
    days = (slots - slots // 2) * traces.slot_s / 86_400
    most = {"availability": 7.0, "scheduling": 3.0}.get(kind)
    return {} if most is None else {"utilisation": None, "days": min(days, most)}


def _replay(kind: Kind, document: dict[str, Any], traces: Traces) -> dict[str, float | None]:
    import numpy as np

    missing = 1.0 - np.isfinite(traces.cpu).mean(axis=1)
    good = [at for at in range(len(traces.tenants)) if missing[at] <= MOST_MISSING]
    known = [traces.tenants[at] for at in good]
    servers = [server for tenant in known for server in tenant.servers]
    if len(servers) < 2:
        raise UsageError(
            "few-readings",
            f"only {len(servers)} servers of {len(traces.tenants)} tenants have complete enough traces; a"
            " simulation needs 2",
            hint="use a longer --slot if readings are rare",
            have=len(servers),
            need=2,
            tenants=len(traces.tenants),
        )
    if kind in {"durability", "hazard"} and not any(tenant.reimages > 0.0 for tenant in known):
        raise UsageError(
            "no-reimages",
            f"none of {len(known)} tenants was ever reimaged, so no block would be lost",
            hint="add a column reimages (per server and month) to tenants.csv",
            tenants=len(known),
        )
    number = {name: at for at, name in enumerate(servers)}
    environments = {name: at for at, name in enumerate(dict.fromkeys(one.environment for one in known))}
    racks: dict[str, int] = {}
    # A server with an unknown rack gets its own.
    named = {server: rack for one in known for server, rack in one.racks.items()}
    rack_of = [racks.setdefault(named.get(server, f"\0{server}"), len(racks)) for server in servers]
    inventory = {
        "tenants": [
            {
                "environment": environments[one.environment],
                "reimages": one.reimages,
                "peak": 0.0,
                "space": one.space or float(len(one.servers)),
                "servers": [number[server] for server in one.servers],
            }
            for one in known
        ],
        "rack_of": rack_of,
        "balance": [traces.balance.get(server, 1.0) for server in servers],
    }
    cpu = np.ascontiguousarray(traces.cpu[good], dtype=np.float64)
    asked = kind, json.dumps(document), json.dumps(inventory), cpu.reshape(-1), (cpu.shape[1], traces.slot_s)
    try:
        with step(f"simulating {kind}"):
            answer: dict[str, float | None] = json.loads(_engine.harvest_replay(*asked))
    except _engine.EngineError as error:
        hint = "--setting days=1, or traces of a longer time" if error.args[0] == "harvest-long" else None
        raise UsageError(error.args[0], error.args[1], hint=hint, settings=_settings(document)) from None
    return answer
