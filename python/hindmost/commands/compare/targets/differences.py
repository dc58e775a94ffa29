"""Differences between the plans, hosts and targets of compared measurements."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hindmost.commands.compare.documents.targets import Unlike
from hindmost.commands.compare.targets.measurement import Measurement
from hindmost.core.store.estimates import to_document
from hindmost.errors import UsageError

LOADS = {
    "loop": "loop",
    "rate_per_s": "rate",
    "arrivals": "law of arrivals",
    "schedule": "schedule of the rate",
    "workload": "workload",
    "aggregate": "aggregation of clients",
}
"""Keys of the plan that decide what a latency means; different values make a comparison meaningless."""
SETTINGS = {
    "duration_s": "duration of a run",
    "warmup": "warm-up",
    "clients": "clients",
    "threads": "threads of a client",
    "connections": "connections",
    "client_cpus": "CPUs of the clients",
    "server_cpus": "CPUs of the server",
    "pacing": "pacing",
    "io": "io",
    "in_flight": "requests in flight on a connection",
    "requests_per_connection": "requests on a connection before it is closed",
    "sharding": "choice of a server for each request",
    "batching": "batching",
    "timeout_s": "timeout",
    "sentinel": "sentinel",
    "stamp_every": "time stamps",
    "verify_wire": "packet capture",
    "trace": "trace of stages",
    "live": "live view",
}
"""Keys of the plan that may affect latency; different values are reported."""
HOST = {"hostname": "host", "cpu_model": "CPU model", "cpus_online": "CPUs", "kernel": "kernel"}
"""Facts of the host in a manifest."""
OLD_DEFAULTS = {
    "batching": "none",
    "in_flight": None,
    "live": False,
    "requests_per_connection": None,
    "sharding": "round-robin",
}
"""Values of options that manifests of older versions do not have."""


def find_differences(arms: Sequence[Measurement]) -> list[Unlike]:
    """Return all differences except the target, the gravest first."""
    plans = [OLD_DEFAULTS | arm.study.manifest["plan"] for arm in arms]
    facts = [arm.study.manifest["host"].get("facts", {}) for arm in arms]
    targets = [to_document(arm.result.target) for arm in arms]
    # Two protocols cannot have the same workload, so a different one is not grave then.
    same_protocol = len({target["protocol"] for target in targets}) == 1
    loads = {key: name for key, name in LOADS.items() if key != "workload" or same_protocol}
    return [
        *_compare_keys(loads, plans, grave=True),
        *_compare_keys(HOST, facts),
        *_compare_keys({"protocol": "protocol", "server_version": "server's version"}, targets),
        *_compare_keys({"version": "version of Hindmost"}, [arm.study.manifest for arm in arms]),
        *_compare_keys(SETTINGS, plans),
    ]


def refuse_different_loads(differences: Sequence[Unlike], labels: Sequence[str]) -> None:
    """Refuse to compare measurements under different loads.

    Raises
    ------
    UsageError
        If a difference is grave; the error names all that are.
    """
    grave = [one for one in differences if one.grave]
    if not grave:
        return
    said = "; ".join(
        f"{one.what} "
        + ", ".join(f"{value} ({label})" for label, value in zip(labels, one.values, strict=True))
        for one in grave
    )
    raise UsageError(
        "different-loads",
        f"the loads differ: {said}; their latencies answer different questions",
        hint="measure both under the same load, or add --anyway",
        studies=list(labels),
        differing={one.key: one.values for one in grave},
    )


def _compare_keys(
    names: Mapping[str, str], documents: Sequence[Mapping[str, Any]], *, grave: bool = False
) -> list[Unlike]:
    found = []
    for key, name in names.items():
        values = [one.get(key) for one in documents]
        if any(value != values[0] for value in values):
            texts = [_format(key, value) for value in values]
            found.append(Unlike(key=key, what=name, values=texts, grave=grave))
    return found


def _format(key: str, value: object) -> str:
    if key == "rate_per_s":
        return "flat out" if value is None else f"{value:g}/s"
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value)
