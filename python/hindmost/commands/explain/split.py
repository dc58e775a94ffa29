"""The tail split by parts of a request's path, and the culprits that delayed requests, from a run's trace."""

from __future__ import annotations

import re
from collections import defaultdict

from hindmost.commands.explain.document import Culprit, Part
from hindmost.core.tracing.advice import HELD_BACK_US, is_ours, share_of
from hindmost.core.tracing.document import CulpritPart, Trace

CLIENT, NETWORK_IN, QUEUE, BEHIND = "client", "network in", "run queue", "behind other requests"
WORK, WAITS, NETWORK_OUT = "server work", "locks and other waits", "network out"
OTHERS, KERNEL, UNSEEN = "interference by others", "interrupts and kernel", "not seen"
PARTS = (CLIENT, NETWORK_IN, QUEUE, BEHIND, WORK, WAITS, NETWORK_OUT, OTHERS, KERNEL, UNSEEN)
"""In the order of a request's path, followed by causes outside it."""
INSTRUMENT = re.compile(r"sentinel-\d+|hindmost.*")
"""Names of our own threads that only observe."""
CLIENTS = re.compile(r"worker-\d+")
"""Names of the threads that send the load. On the server's CPUs, requests wait for them."""
OWN = 0.5
"""Share of the variance from which the tail counts as the server's own work."""
LEAST_SHARE = 0.02
"""A culprit is shown if one of its two shares is at least this large."""
MOST_CULPRITS = 8


def part_of(stage: str, cause: str | None, relation: str | None, name: str = "") -> str:
    """Return the part of the path to which a stage's time belongs.

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


def split_tail(trace: Trace, client_variance_us2: float | None) -> tuple[Part, ...]:
    """Divide the variance and the slowest requests among the parts of the path.

    Parameters
    ----------
    trace : Trace
    client_variance_us2 : float or None
        Variance of the latency that the client saw in the same run. The client is charged with what exceeds
        the server's variance.
    """
    variance: dict[str, float] = defaultdict(float)
    for stage, cause, relation, name, share in _charged_shares(trace):
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


def share_inside(trace: Trace, client_variance_us2: float | None) -> float:
    """Return the share of the client's variance from the server's path, assuming independence."""
    server = trace.all.latency.variance_us2.value
    return min(1.0, server / client_variance_us2) if client_variance_us2 and server else 1.0


def _charged_shares(trace: Trace) -> list[tuple[str, str | None, str | None, str, float]]:
    """Return stage, cause, relation, thread name and share of the variance; the shares sum to 1."""
    stages = trace.all.stages
    if trace.who is None:
        return [(one.stage, None, None, "", share_of(one)) for one in stages]
    rest = {(one.stage, one.cause): share_of(one) for one in trace.who.parts}
    shares: list[tuple[str, str | None, str | None, str, float]] = []
    for one in trace.who.culprits:
        key = (one.stage, one.cause)
        if key in rest:
            rest[key] -= share_of(one)
            shares.append((*key, one.who.relation, one.who.name, share_of(one)))
    shares += [(*key, None, "", share) for key, share in rest.items()]
    inside = {stage for stage, *_ in shares}
    return shares + [(one.stage, None, None, "", share_of(one)) for one in stages if one.stage not in inside]


def _slowest_parts(trace: Trace) -> dict[str, float] | None:
    slowest = None if trace.who is None else trace.who.slowest
    if slowest is None or not slowest.latency_us:
        return None
    found: dict[str, float] = defaultdict(float)
    found[NETWORK_IN] = slowest.network_to_tcp_us
    for one in slowest.parts:
        found[part_of(one.stage, one.cause, one.relation, one.name or "")] += one.mean_us
    return {name: us / slowest.latency_us for name, us in found.items()}


def find_culprits(trace: Trace, client_variance_us2: float | None) -> tuple[Culprit, ...]:
    """Return the culprits that delayed requests, largest share first; threads of one name are merged."""
    inside = share_inside(trace, client_variance_us2)
    who = trace.who
    if who is None:
        return ()
    groups: dict[tuple[str, int, str], list[CulpritPart]] = defaultdict(list)
    for one in who.culprits:
        if not is_ours(one.who) and not INSTRUMENT.fullmatch(one.who.name):
            groups[one.who.name, one.who.process, kind_of(one)].append(one)
    slow_parts, slow_mean_us = (who.slowest.parts, who.slowest.latency_us) if who.slowest else ([], 0.0)
    culprits = []
    for (name, process, kind), ones in groups.items():
        causes = {(one.stage, one.cause) for one in ones}
        slow_us = sum(
            one.mean_us
            for one in slow_parts
            if (one.name, one.process) == (name, process) and (one.stage, one.cause) in causes
        )
        culprits.append(
            Culprit(
                name,
                kind,
                process or None,
                max(one.who.requests for one in ones),
                sum(one.mean_us.value for one in ones),
                inside * sum(map(share_of, ones)),
                slow_us / slow_mean_us if slow_mean_us else None,
                tuple(sorted({f"{one.cause} in {one.stage}" for one in ones})),
            )
        )
    culprits = [one for one in culprits if max(one.of_variance or 0.0, one.of_slowest or 0.0) >= LEAST_SHARE]
    return tuple(sorted(culprits, key=weight, reverse=True)[:MOST_CULPRITS])


def weight(one: Part | Culprit) -> float:
    """Return the share that ranks parts and culprits: of the slowest requests, else of the variance."""
    return one.of_slowest if one.of_slowest is not None else one.of_variance or 0.0


def kind_of(part: CulpritPart) -> str:
    """Return the kind of a culprit."""
    who, cause, stage = part.who, part.cause, part.stage
    relation, name = who.relation, who.name
    if cause == "page_fault":
        return "page faults"
    if relation == "other" and CLIENTS.fullmatch(name):
        return CLIENT
    if name == "timer":
        return "timer"
    if stage == "response_to_network" and cause == "wake" and part.mean_us.value >= HELD_BACK_US:
        return "delayed ACK"
    if stage == "start_to_response" and cause == "wake" and relation in ("interrupt", "other"):
        return "upstream"
    kinds = {"own": "thread", "other": "process", "kernel": "kernel work", "idle": "idle CPU"}
    return kinds.get(relation, "interrupt")


def own_work_leads(parts: tuple[Part, ...]) -> bool:
    """Whether the server's work, on a request or on earlier ones, leads the tail."""
    if not parts:
        return False
    first = max(parts, key=lambda one: one.of_variance or 0.0)
    slowest = max(parts, key=weight)
    return (own_code(parts) or 0.0) >= OWN or {first.name, slowest.name} <= {WORK, BEHIND}


def own_code(parts: tuple[Part, ...]) -> float | None:
    """Return the share of the variance that arises while the server works on this or earlier requests."""
    found = [one.of_variance or 0.0 for one in parts if one.name in (WORK, BEHIND)]
    return sum(found) if parts else None
