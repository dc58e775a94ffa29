"""The tail by parts of a request's path, and who held requests up: from the trace of a run."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from hindmost.explain.document import Culprit, Part
from hindmost.trace.advice import HELD_BACK_US, is_ours, share_of

CLIENT, NETWORK_IN, QUEUE, BEHIND = "client", "network in", "run queue", "behind other requests"
WORK, WAITS, NETWORK_OUT = "server work", "locks and other waits", "network out"
OTHERS, KERNEL, UNSEEN = "interference by others", "interrupts and kernel", "not seen"
PARTS = (CLIENT, NETWORK_IN, QUEUE, BEHIND, WORK, WAITS, NETWORK_OUT, OTHERS, KERNEL, UNSEEN)
"""In the order of a request's path, then what is no part of it."""
INSTRUMENT = re.compile(r"sentinel-\d+|hindmost.*")
"""Names of threads of our own that only watch."""
CLIENTS = re.compile(r"worker-\d+")
"""Names of the threads that send the load: where they share the server's CPUs, requests wait for them."""
LEAST_SHARE = 0.02
"""A culprit with less of both shares is not shown."""
MOST_CULPRITS = 8


def part_of(stage: str, cause: str | None, relation: str | None, name: str = "") -> str:
    """The part that a stage's time belongs to.

    >>> part_of("tcp_to_read", "run_queue", "other"), part_of("start_to_response", "running", None)
    ('interference by others', 'server work')
    """
    if relation == "other" and cause in ("run_queue", "interrupt"):
        return CLIENT if CLIENTS.fullmatch(name) else OTHERS
    if cause == "interrupt" or (relation in ("kernel", "interrupt") and cause == "run_queue"):
        return KERNEL
    if cause in ("lock", "blocked", "page_fault", "handed_on"):
        return WAITS
    match stage, cause:
        case "network_to_tcp", _:
            return NETWORK_IN
        case _, "unseen":
            return UNSEEN
        case "response_to_network", _:
            return NETWORK_OUT
        case _, "run_queue":
            return QUEUE
        case "start_to_response", "running" | None:
            return WORK
        case _, "running":
            return BEHIND
        case "start_to_response", _:
            return WAITS
    return QUEUE


def split(trace: Mapping[str, Any], client_variance_us2: float | None) -> tuple[Part, ...]:
    """Share the variance and the slowest requests out over the parts.

    Parameters
    ----------
    trace : mapping
        ``hindmost.trace/1``.
    client_variance_us2 : float or None
        Of the latency that the client saw in the same run; what exceeds the server's is the client's.
    """
    variance: dict[str, float] = defaultdict(float)
    for stage, cause, relation, name, share in _charged(trace):
        variance[part_of(stage, cause, relation, name)] += share
    inside = share_inside(trace, client_variance_us2)
    variance = defaultdict(float, {name: inside * share for name, share in variance.items()})
    variance[CLIENT] += 1.0 - inside
    slowest = _slowest_parts(trace)
    return tuple(
        Part(
            name,
            variance.get(name, 0.0),
            None if slowest is None else slowest.get(name, 0.0),
        )
        for name in PARTS
        if abs(variance.get(name, 0.0)) >= 0.001 or (slowest or {}).get(name, 0.0) >= 0.001
    )


def share_inside(trace: Mapping[str, Any], client_variance_us2: float | None) -> float:
    """The share of the client's variance that the server's own path has, as if both were independent."""
    server = trace["all"]["latency"]["variance_us2"]["value"]
    return min(1.0, server / client_variance_us2) if client_variance_us2 and server else 1.0


def _charged(trace: Mapping[str, Any]) -> list[tuple[str, str | None, str | None, str, float]]:
    """Stage, cause, relation and name of who is charged, share of the variance; the shares add up to 1."""
    stages = trace["all"]["stages"]
    if trace["who"] is None:
        return [(one["stage"], None, None, "", share_of(one)) for one in stages]
    rest = {(one["stage"], one["cause"]): share_of(one) for one in trace["who"]["parts"]}
    found: list[tuple[str, str | None, str | None, str, float]] = []
    for one in trace["who"]["culprits"]:
        key = (one["stage"], one["cause"])
        if key in rest:
            rest[key] -= share_of(one)
            found.append((*key, one["who"]["relation"], one["who"]["name"], share_of(one)))
    found += [(*key, None, "", share) for key, share in rest.items()]
    inside = {stage for stage, *_ in found}
    return found + [
        (one["stage"], None, None, "", share_of(one)) for one in stages if one["stage"] not in inside
    ]


def _slowest_parts(trace: Mapping[str, Any]) -> dict[str, float] | None:
    slowest = None if trace["who"] is None else trace["who"]["slowest"]
    if slowest is None or not slowest["latency_us"]:
        return None
    found: dict[str, float] = defaultdict(float)
    found[NETWORK_IN] = slowest["network_to_tcp_us"]
    for one in slowest["parts"]:
        found[part_of(one["stage"], one["cause"], one["relation"], one["name"] or "")] += one["mean_us"]
    return {name: us / slowest["latency_us"] for name, us in found.items()}


def culprits(trace: Mapping[str, Any], client_variance_us2: float | None) -> tuple[Culprit, ...]:
    """Who held requests up, those with the greatest share first; threads of one name are one."""
    inside = share_inside(trace, client_variance_us2)
    who = trace["who"]
    if who is None:
        return ()
    groups: dict[tuple[str, int, str], list[Mapping[str, Any]]] = defaultdict(list)
    for one in who["culprits"]:
        if not is_ours(one["who"]) and not INSTRUMENT.fullmatch(one["who"]["name"]):
            groups[one["who"]["name"], one["who"]["process"], kind_of(one)].append(one)
    slowest = who["slowest"] or {"parts": [], "latency_us": 0.0}
    found = []
    for (name, process, kind), ones in groups.items():
        causes = {(one["stage"], one["cause"]) for one in ones}
        slow_us = sum(
            one["mean_us"]
            for one in slowest["parts"]
            if (one["name"], one["process"]) == (name, process) and (one["stage"], one["cause"]) in causes
        )
        found.append(
            Culprit(
                name,
                kind,
                process or None,
                max(one["who"]["requests"] for one in ones),
                sum(one["mean_us"]["value"] or 0.0 for one in ones),
                inside * sum(map(share_of, ones)),
                slow_us / slowest["latency_us"] if slowest["latency_us"] else None,
                tuple(sorted({f"{one['cause']} in {one['stage']}" for one in ones})),
            )
        )
    found = [one for one in found if max(one.of_variance or 0.0, one.of_slowest or 0.0) >= LEAST_SHARE]
    return tuple(sorted(found, key=weight, reverse=True)[:MOST_CULPRITS])


def weight(one: Part | Culprit) -> float:
    """By which parts and culprits are ranked: the share of the slowest requests, else of the variance."""
    return one.of_slowest if one.of_slowest is not None else one.of_variance or 0.0


def kind_of(part: Mapping[str, Any]) -> str:
    """The kind of a culprit."""
    who, cause, stage = part["who"], part["cause"], part["stage"]
    relation, name = who["relation"], who["name"]
    if cause == "page_fault":
        return "page faults"
    if relation == "other" and CLIENTS.fullmatch(name):
        return CLIENT
    if name == "timer":
        return "timer"
    if stage == "response_to_network" and cause == "wake" and (part["mean_us"]["value"] or 0) >= HELD_BACK_US:
        return "delayed ACK"
    if stage == "start_to_response" and cause == "wake" and relation in ("interrupt", "other"):
        return "upstream"
    kinds = {"own": "thread", "other": "process", "kernel": "kernel work", "idle": "idle CPU"}
    return kinds.get(relation, "interrupt")


def own_code(parts: tuple[Part, ...]) -> float | None:
    """The share of the variance that arises while the server works on the request, or on those before it."""
    found = [one.of_variance or 0.0 for one in parts if one.name in (WORK, BEHIND)]
    return sum(found) if parts else None
