"""Advice from a trace: changes that could reduce the variance, and the gain predicted for each.

There are two predictions. The first removes from every request the time charged to the culprit (``charged``).
The second applies if the culprit is part of the service: then the queue behind it shortens too, by the
formula of Pollaczek and Khinchine (``queue``). Both keep everything else unchanged. `hindmost compare --set`
tests them.
"""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from hindmost.core.plan.levels import write_levels
from hindmost.core.targets.presets import preset_names
from hindmost.core.tracing.document import (
    Advice,
    Culprit,
    CulpritPart,
    Part,
    PredictedGain,
    Relation,
    Service,
    StageFigures,
    Trace,
    Unknown,
)
from hindmost.core.tracing.profile import describe_function, top_functions
from hindmost.stats.stages.queueing import break_even_us, sojourn_us

if TYPE_CHECKING:
    from hindmost.core.tracing.inbound import Inbound

LEAST_SHARE = 0.05
"""Share of the variance of latency from which a part is worth a change."""
MOST = 6
HELD_BACK_US = 1000.0
"""Delay from hand-over to the network, µs, from which a response waits for an acknowledgement, not for a
CPU."""
FAULT_US = 0.25
"""Shortest time of a page fault, µs."""
FAULTS_SHARE = 0.1
"""Share of the server's work on a request from which page faults are reported."""
ASLEEP = 0.5
"""Ratio of CPU time to the server's time on a request below which the server sleeps most of that time."""
MAINTENANCE = re.compile(r"lru|maint|crawler|assoc|slab|bio_|gc|compact|flush|evict|jemalloc", re.IGNORECASE)
"""Names of threads that maintain a server's own data."""
MOST_FUNCTIONS = 3
NO_GAIN = "no setting of the host makes this work more even"


def advise(trace: Trace, packets: Inbound | None = None) -> list[Advice]:
    """Return candidate changes, those with the largest share of the variance first.

    Parameters
    ----------
    trace : Trace
        Without its advice.
    packets : Inbound, optional
        Where the requests' packets arrive.
    """
    advice: list[Advice] = []
    for part in [] if trace.who is None else trace.who.culprits:
        rule = _rule_for_culprit(part, trace.server.name, packets)
        if rule is not None and share_of(part) >= LEAST_SHARE:
            advice.append(_candidate(rule, part, trace))
    covered = {one.stage for one in advice}
    for stage in trace.all.stages:
        rule = _rule_for_stage(stage, trace, packets)
        if rule is not None and stage.stage not in covered and share_of(stage) >= LEAST_SHARE:
            advice.append(_candidate(rule, stage, trace))
    advice.sort(key=lambda one: -one.share_of_variance)
    return _merge_alike(advice)[:MOST]


def _merge_alike(found: Sequence[Advice]) -> list[Advice]:
    """Merge advice that the same trial would test: the first culprit stays, the others are listed."""
    alike: dict[object, list[Advice]] = {}
    for one in found:
        alike.setdefault((one.knob, *one.levels) if one.knob else one.change, []).append(one)
    once = []
    for first, *others in alike.values():
        names = dict.fromkeys(one.who.name for one in others if one.who is not None)
        names.pop(first.who.name if first.who is not None else "", None)
        also = f"; so did {', '.join(names)}" if names else ""
        once.append(msgspec.structs.replace(first, why=first.why + also, also=tuple(names)))
    return once


@dataclass(frozen=True, slots=True)
class _Rule:
    """A candidate change; ``knob`` and ``levels`` as for `hindmost compare --set`, present state first."""

    code: str
    change: str
    why: str
    knob: str | None = None
    levels: tuple[str, ...] = ()


def _rule_for_culprit(part: CulpritPart, server: str, packets: Inbound | None) -> _Rule | None:
    cause, name, relation = part.cause, part.who.name, part.who.relation
    if is_ours(part.who):
        return None
    if name == "timer" and cause in ("blocked", "wake"):
        return _Rule(
            "remove-sleep",
            "find the sleep or timeout in the server's code (strace -f -k -p PID shows where)",
            "the server slept until a timer expired",
        )
    if cause == "wake" and part.stage == "start_to_response" and relation in ("interrupt", "other"):
        return _Rule(
            "measure-upstream",
            "measure or trace the server that it calls",
            "after reading a request, the server waited for input, such as another server's reply",
        )
    if cause == "lock" and relation == "own" and MAINTENANCE.search(name):
        off = server == "memcached" and "lru" in name
        return _Rule(
            "maintenance-lock",
            f"let {name} hold its lock for shorter times, or turn it off",
            f"requests waited for a lock that the server's own maintenance ({name}) held",
            'argument = "-o no_lru_maintainer"' if off else None,
            ("off", "on") if off else (),
        )
    if cause == "lock" and relation != "interrupt":  # an interrupt means that the wait timed out
        return _Rule(
            "fewer-threads",
            f"use fewer threads, so that they wait less for locks that {name} holds",
            f"requests waited for a lock that {name} held",
            'option = "threads"' if server == "memcached" else None,
            ("4", "2", "1") if server == "memcached" else (),
        )
    if cause == "handed_on":
        return _Rule(
            "no-listener-thread",
            "give each worker its own process or socket, without a listener in between",
            f"requests passed through {name} before they reached a worker",
        )
    if cause == "wake" and relation != "idle":
        return None
    if cause not in ("run_queue", "interrupt", "wake"):
        return None
    return _rule_for_runner(relation, name, server, packets)


def _rule_for_runner(relation: Relation, name: str, server: str, packets: Inbound | None) -> _Rule | None:
    had = f"used the CPU that requests waited for: {name}"
    match relation:
        case "own" if server == "memcached" and "lru" in name:
            return _Rule(
                "maintenance-off",
                'turn the LRU maintainer off, or give it a lower priority (schedule = "mc-lrumaint")',
                f"the server's own maintenance {had}",
                'argument = "-o no_lru_maintainer"',
                ("off", "on"),
            )
        case "own" if MAINTENANCE.search(name):
            return _Rule(
                "maintenance-last",
                f"give {name} a lower priority than the workers",
                f"the server's own maintenance {had}",
                f'schedule = "{name}"',
                ("found", "nice:19"),
            )
        case "own":
            return _Rule(
                "pin-threads",
                "pin each thread to its own CPU, with no more threads than CPUs",
                f"another thread of the server {had}",
                "pinning = true",
                ("free", "each"),
            )
        case "other":
            return _Rule(
                "move-program",
                f"move {name} to other CPUs (taskset, cpuset), or give the server priority over it",
                f"another process {had}",
                "schedule = true",
                ("found", "nice:-10"),
            )
        case "kernel" if not name.startswith("ksoftirqd"):
            return _Rule(
                "isolate-cpus",
                f"keep {name} off the server's CPUs (isolcpus, workqueue.cpumask)",
                f"a kernel thread {had}",
            )
        case "kernel" | "interrupt":
            return _steering_rule(f"{name} used the server's CPU to handle packets or timers", packets)
        case "idle":
            return _Rule(
                "shallow-idle",
                "keep CPUs out of deep idle states",
                "a CPU that slept had to wake up first",
                "cpu_dma_latency = true",
                ("free", "0"),
            )
    return None


def _steering_rule(why: str, packets: Inbound | None) -> _Rule:
    change = "process packets on other CPUs: interrupts (knob irqs@INTERFACE), receive packet steering"
    if packets is None:
        return _Rule("steer-packets", change, why)
    return _Rule(
        "steer-packets",
        f"{change} (rps@{packets.interface})",
        why,
        packets.knob,
        (packets.now, packets.elsewhere),
    )


def _rule_for_stage(stage: StageFigures, trace: Trace, packets: Inbound | None) -> _Rule | None:
    mean_us, faults = stage.mean_us.value, _faults(trace)
    match stage.stage:
        case "network_to_tcp":
            return _steering_rule(
                "the variance arises before TCP, in the softirq that receives packets", packets
            )
        case "read_to_start":
            return _Rule(
                "batch-at-client",
                "batch at the clients by an interval: hindmost compare TARGET --batch auto --rate RATE",
                f"requests wait for others of their batch ({trace.all.batch.mean:.3g} requests on average)",
            )
        case "tcp_to_read" if trace.who is None:
            return _Rule(
                "trace-threads",
                "trace again with --who, which shows for whom requests wait before the server reads them",
                "it arises between TCP and the server's read",
            )
        case "start_to_response" if (trace.between_kinds or 0.0) > 0.5:
            return _Rule(
                "split-kinds",
                "serve kinds of requests by separate servers; " + NO_GAIN,
                "kinds of requests differ more than requests of one kind",
            )
        case "response_to_network" if mean_us >= HELD_BACK_US:
            return _Rule(
                "no-delay",
                "set TCP_NODELAY, or write each response at once",
                "responses waited in the server's TCP, as the second of two small writes does until the"
                " client has acknowledged the first (Nagle's algorithm)",
            )
        case "start_to_response" if faults * FAULT_US >= FAULTS_SHARE * mean_us:
            return _Rule(
                "fewer-faults",
                "keep memory instead of returning it to the kernel (for glibc MALLOC_TRIM_THRESHOLD_ and"
                " MALLOC_MMAP_THRESHOLD_), or use huge pages",
                f"the server has {faults:.0f} page faults per request",
            )
        case "start_to_response" if _sleeps(stage, trace):
            if trace.who is not None:
                return None
            return _Rule(
                "trace-threads",
                "trace again with --who, which shows what the server waits for",
                "the server sleeps for most of the time that it works on a request",
            )
        case "start_to_response":
            named = map(describe_function, top_functions(trace.profile, MOST_FUNCTIONS))
            where = ", ".join(named) or "the server itself with a profiler"
            return _Rule(
                "profile-server",
                f"look into {where}; {NO_GAIN}",
                "the variance arises in the server's own work on a request",
            )
    return None


def _faults(trace: Trace) -> float:
    """Return the page faults of the server's threads per request; 0 if unknown."""
    return (
        0.0 if trace.who is None else sum(one.page_faults for one in trace.who.threads) / trace.who.requests
    )


def _sleeps(stage: StageFigures, trace: Trace) -> bool:
    """Whether a CPU profiler would miss most of what varies in the server's own work."""
    if trace.who is None:
        return trace.service is not None and trace.service.mean_us < ASLEEP * stage.mean_us.value
    parts = [part for part in trace.who.parts if part.stage == stage.stage]
    return bool(parts) and max(parts, key=share_of).cause != "running"


def share_of(part: StageFigures | Part | Unknown) -> float:
    """Return a part's share of the variance of latency; 0 if unknown."""
    return 0.0 if part.share_of_variance is None else part.share_of_variance.value


def is_ours(who: Culprit) -> bool:
    """Whether a culprit is the trace itself, which this process reads."""
    return (who.relation, who.process) == ("other", os.getpid())


def _candidate(rule: _Rule, part: StageFigures | CulpritPart, trace: Trace) -> Advice:
    culprit = part if isinstance(part, CulpritPart) else None
    return Advice(
        stage=part.stage,  # type: ignore[arg-type]
        cause=None if culprit is None else culprit.cause,
        who=None if culprit is None else culprit.who,
        share_of_variance=share_of(part),
        code=rule.code,
        change=rule.change,
        why=rule.why,
        knob=rule.knob,
        levels=list(rule.levels),
        trial=_trial(rule, trace),
        predicted=None if culprit is None else _predict(culprit, trace.all.latency, trace.service),
    )


def _trial(rule: _Rule, trace: Trace) -> str | None:
    if rule.knob is None:
        return None
    name, service = trace.server.name, trace.service
    target = name if name in preset_names() else "TARGET"
    rate = "RATE"
    if service is not None:
        rate = f"{float(format(service.workers * service.rate_per_s, '.2g')):.0f}"
    levels = shlex.quote(write_levels(rule.levels))
    setting = shlex.quote(f"{rule.knob} = {levels}")
    return f"hindmost compare {target} --rate {rate} --set {setting}"


def _predict(part: Part, latency: StageFigures, service: Service | None) -> PredictedGain:
    """Predict latency without the part."""
    mean, variance, own = latency.mean_us.value, latency.variance_us2.value, part.mean_us.value
    gain = PredictedGain(mean_us=(mean, mean - own), sd_us=(variance**0.5, part.sd_without_us))
    if service is None or part.stage not in ("start_to_response", "response_to_network"):
        return gain
    # A part of the service: the variance it adds, assuming that it is independent of the rest.
    less = min(max(0.0, variance - part.sd_without_us**2), service.variance_us2)
    whole = service.occupied_us
    now = sojourn_us(service.rate_per_s, whole, service.variance_us2)
    then = sojourn_us(service.rate_per_s, max(whole - own, 0.0), service.variance_us2 - less)
    if now == math.inf:
        return gain
    grown = break_even_us(service.rate_per_s, whole, service.variance_us2, less)
    return msgspec.structs.replace(gain, queue_us=(now, then), service_may_grow_to_us=grown)
