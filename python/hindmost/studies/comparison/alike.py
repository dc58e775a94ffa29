"""How two measurements differ, and which differences make a comparison meaningless."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hindmost.errors import UsageError
from hindmost.store.comparison import Unlike
from hindmost.studies.comparison.sides import Measured

LOADS = {
    "loop": "loop",
    "rate_per_s": "rate",
    "arrivals": "law of arrivals",
    "schedule": "schedule of the rate",
    "workload": "workload",
    "aggregate": "how clients make a run's figure",
}
"""Of the plan: where these differ, so does what a latency means."""
SETTINGS = {
    "duration_s": "length of a run",
    "warmup": "warm-up",
    "clients": "clients",
    "threads": "threads of a client",
    "connections": "connections",
    "client_cpus": "processors of the clients",
    "server_cpus": "processors of the server",
    "pacing": "pacing",
    "io": "io",
    "in_flight": "requests in flight on a connection",
    "requests_per_connection": "requests that a connection carries",
    "sharding": "which of several servers a request goes to",
    "batching": "batching",
    "timeout_s": "timeout",
    "sentinel": "sentinel",
    "stamp_every": "stamps",
    "verify_wire": "packet capture",
    "trace": "trace of stages",
}
"""Of the plan: these may make a difference, too, which is then told."""
HOST = {"hostname": "host", "cpu_model": "processor", "cpus_online": "processors", "kernel": "kernel"}
"""A host's fingerprint, of the facts in its manifest."""


def unlike(sides: Sequence[Measured]) -> list[Unlike]:
    """Everything that differs, the gravest first; targets that differ are what is compared."""
    # Studies before these were options batched nothing, bounded nothing, and had one server.
    plans = [
        {"batching": "none", "in_flight": None, "requests_per_connection": None, "sharding": "round-robin"}
        | side.study.manifest["plan"]
        for side in sides
    ]
    facts = [side.study.manifest["host"].get("facts", {}) for side in sides]
    protocols = {side.result["target"]["protocol"] for side in sides}
    found = [
        # The usual workload of one protocol is not that of another: the target's own matter.
        *_differing(
            {key: what for key, what in LOADS.items() if key != "workload" or len(protocols) == 1},
            plans,
            grave=True,
        ),
        *_differing(HOST, facts),
        *_differing(
            {"protocol": "protocol", "server_version": "server's version"},
            [s.result["target"] for s in sides],
        ),
        *_differing({"version": "version of Hindmost"}, [side.study.manifest for side in sides]),
        *_differing(SETTINGS, plans),
    ]
    return found


def refuse_unlike_loads(found: Sequence[Unlike], labels: Sequence[str]) -> None:
    """Refuse what cannot be compared.

    Raises
    ------
    UsageError
        Names what differs.
    """
    grave = [one for one in found if one["grave"]]
    if not grave:
        return
    said = "; ".join(
        f"{one['what']} "
        + ", ".join(f"{value} ({label})" for label, value in zip(labels, one["values"], strict=True))
        for one in grave
    )
    raise UsageError(
        "different-loads",
        f"the loads differ: {said}; their latencies answer different questions",
        hint="measure both under the same load, or add --anyway",
        studies=list(labels),
        differing={one["key"]: one["values"] for one in grave},
    )


def _differing(
    names: Mapping[str, str], documents: Sequence[Mapping[str, Any]], *, grave: bool = False
) -> list[Unlike]:
    found: list[Unlike] = []
    for key, what in names.items():
        values = [one.get(key) for one in documents]
        if any(value != values[0] for value in values):
            written = [_written(key, value) for value in values]
            found.append({"key": key, "what": what, "values": written, "grave": grave})
    return found


def _written(key: str, value: object) -> str:
    if key == "rate_per_s":
        return "flat out" if value is None else f"{value:g}/s"
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value)
