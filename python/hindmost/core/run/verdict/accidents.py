"""Events on host and network that hit requests: waits for a CPU, interrupts, losses, full buffers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from hindmost.core.plan.units import format_us
from hindmost.core.run import instrument, lateness, limits
from hindmost.core.run.instrument import Neighbour
from hindmost.core.run.sharing import SEPARATE_CPUS
from hindmost.core.run.text import join_names, percent
from hindmost.core.run.verdict.reason import Evidence, Level, Reason, mean

NAMED = 3
"""Most neighbours named in a sentence."""


def affected_quantiles(e: Evidence, share: float, limit: float, wait_us: float = math.inf) -> tuple[str, ...]:
    """Return the quantiles that these events can determine: frequent enough, and long enough to matter.

    Parameters
    ----------
    share : float
        Events per request.
    limit : float
        Events per request above the quantile from which it counts.
    wait_us : float
        Duration of one event: it does not matter for a quantile that is ten times as long.
    """
    names = []
    for level, name in zip(e.plan.quantiles, e.plan.labels, strict=True):
        latency = mean([run.values["latency"][name] for run in e.runs])
        # An infinite quantile has other reasons.
        if share > limit * (1.0 - level) and lateness.matters(wait_us, latency):
            names.append(name)
    return tuple(names)


def name_neighbours(neighbours: Sequence[Neighbour]) -> str:
    """Name the threads that ran on the clients' CPUs."""
    if not neighbours:
        return "the thread that used it has ended, or cannot be seen from here"
    return f"these ran there: {join_names([str(neighbour) for neighbour in neighbours[:NAMED]])}"


def neighbour_values(neighbours: Sequence[Neighbour]) -> list[dict[str, Any]]:
    """Return the same neighbours as values of a message."""
    return [
        {
            "name": neighbour.name,
            "pid": neighbour.pid,
            "share": neighbour.share,
            "bound": neighbour.bound,
            "kernel": neighbour.kernel,
            "server": neighbour.server,
            "tracer": neighbour.tracer,
        }
        for neighbour in neighbours[:NAMED]
    ]


def keep_off(e: Evidence, neighbours: Sequence[Neighbour]) -> str:
    """Return the command that keeps the busiest program off the clients' CPUs."""
    clients = {thread.cpu for run in e.runs for client in run.clients for thread in client.result.threads}
    cpus = ",".join(str(cpu) for cpu in sorted(cpu for cpu in clients if cpu is not None))
    programs = [other for other in neighbours if not other.kernel]
    if neighbours and neighbours[0].kernel:
        most = (
            f"{neighbours[0].name} is a kernel thread: see `hindmost host doctor`; isolcpus= at boot keeps"
            " most away"
        )
        remaining = [other for other in programs if other.share > limits.DELAYED]
        return f"{most}; and {keep_off(e, remaining)}" if remaining else most
    shared = f"the server shares CPU {cpus} with the client: {SEPARATE_CPUS}"
    if programs and programs[0].server:
        return shared
    if programs and programs[0].tracer:
        untraced = "leave out --trace where these percentiles matter, and trace in a separate study"
        remaining = [other for other in neighbours if not other.tracer]
        others = any(other.share > limits.DELAYED for other in remaining if not other.kernel)
        return f"{untraced}; and {keep_off(e, remaining)}" if others else untraced
    if programs:
        pid = programs[0].pid
        hint = f"`ps -o pid,psr,pcpu,args -p {pid}`, then stop it, or keep it off CPU {cpus} (taskset -acp)"
        both = any(other.server and other.share > limits.DELAYED for other in programs)
        return f"{hint}; and {shared}" if both else hint
    return "`top -H -o %CPU` shows what runs now; then `hindmost host doctor`"


def waits(e: Evidence) -> Iterator[Reason]:
    """Other threads used the client's CPU."""
    share = instrument.mean_over_runs(e.runs, instrument.wait_share) or 0.0
    wait_us = instrument.mean_over_runs(e.runs, instrument.wait_us) or 0.0
    level: Level = "inconclusive"
    part = "all"
    names = affected_quantiles(e, share, limits.TAIL_INCONCLUSIVE, wait_us)
    if not names:
        level, part = "note", "a tenth"
        names = affected_quantiles(e, share, limits.TAIL_MIND, wait_us)
    if not names:
        return
    neighbours = instrument.list_neighbours(e.runs)
    yield Reason(
        "run-delay",
        level,
        f"a client waited {percent(share)} of the time for its CPU, {format_us(wait_us)} each time,"
        f" while other threads used it: that can account for {part} of the requests above"
        f" {join_names(names)}; {name_neighbours(neighbours)}",
        keep_off(e, neighbours),
        names,
        values={"share": share, "wait_us": wait_us, "neighbors": neighbour_values(neighbours)},
    )


def switches(e: Evidence) -> Iterator[Reason]:
    """The kernel preempted a spinning client too often."""
    often = instrument.mean_over_runs(e.runs, instrument.switches_per_s)
    if often is None or often <= limits.SWITCHES_MIND or e.plan.pacing == "sleep":
        return
    neighbours = instrument.list_neighbours(e.runs)
    yield Reason(
        "context-switches",
        "note",
        f"the kernel preempted a client {often:.0f} times a second (limit:"
        f" {limits.SWITCHES_MIND:.0f});"
        f" each time its caches get cold; {name_neighbours(neighbours)}",
        keep_off(e, neighbours),
        values={
            "per_s": often,
            "limit": limits.SWITCHES_MIND,
            "neighbors": neighbour_values(neighbours),
        },
    )


def quota(e: Evidence) -> Iterator[Reason]:
    """A cgroup CPU quota stopped the clients."""
    share = instrument.mean_over_runs(e.runs, instrument.throttled_share)
    if share is None or share <= limits.THROTTLED_MIND:
        return
    yield Reason(
        "throttled",
        "inconclusive" if share > limits.THROTTLED_INCONCLUSIVE else "note",
        f"the cgroup used up its CPU quota in {percent(share)} of its periods; clients were throttled until"
        " the end of each",
        "raise or remove the quota: `hindmost host doctor` names the file that sets it",
        values={"share": share},
    )


def interrupts(e: Evidence) -> Iterator[Reason]:
    """Interrupts used the client's CPU."""
    often = instrument.mean_over_runs(e.runs, instrument.interrupts_per_s)
    if often is None or often <= limits.INTERRUPTS_MIND:
        return
    sources = instrument.interrupt_sources(e.runs)
    named = join_names([f"{name} {count:.0f}/s" for name, count in sources[:NAMED]])
    yield Reason(
        "interrupts",
        "note",
        f"{often:.0f} interrupts per second hit a client's CPU, about {limits.INTERRUPT_US:.0f} µs each"
        f" (limit: {limits.INTERRUPTS_MIND:.0f}, 1 % of the time); most frequent: {named}",
        f"`grep -e CPU -e '{sources[0][0]}' /proc/interrupts` shows the number N; move a device's interrupts"
        " with echo CPU > /proc/irq/N/smp_affinity_list",
        values={
            "per_s": often,
            "limit": limits.INTERRUPTS_MIND,
            "sources": dict(sources[:NAMED]),
        },
    )


def losses(e: Evidence) -> Iterator[Reason]:
    """Segments were lost, or connections dropped."""
    retransmits = sum(instrument.retransmits(run) for run in e.runs)
    others = sum(instrument.other_retransmits(run) for run in e.runs)
    counting = (
        "`nstat -az TcpRetransSegs TcpExtTCPTimeouts TcpExtTCPLossProbes` shows the counters; `ip -s link`"
        " shows which device drops packets"
    )
    if retransmits:
        share = instrument.mean_over_runs(e.runs, instrument.retransmits_per_request) or 0.0
        names = affected_quantiles(e, share, limits.TAIL_INCONCLUSIVE)
        reach = (
            f"they can account for all requests above {join_names(names)}"
            if names
            else "they reach none of the requested percentiles"
        )
        many = f"{retransmits} TCP segments were" if retransmits > 1 else "1 TCP segment was"
        yield Reason(
            "retransmissions",
            "inconclusive" if names else "note",
            f"{many} retransmitted on the clients' connections ({percent(share)} of requests): each can add"
            f" {limits.RETRANSMIT_MS:.0f} ms to a request; {reach}",
            counting,
            names,
            values={"segments": retransmits, "share": share},
        )
    if others:
        many = f"{others} other TCP segments were" if others > 1 else "1 other TCP segment was"
        yield Reason(
            "other-retransmissions",
            "note",
            f"{many} retransmitted in the network namespace of the clients or the server. The kernel does not"
            " report which program sent them; if they were replies, each can have"
            f" added {limits.RETRANSMIT_MS:.0f} ms",
            counting,
            values={"segments": others},
        )
    dropped = sum(instrument.drops(run) for run in e.runs)
    earlier = sum(instrument.drops_before(run) for run in e.runs)
    if dropped + earlier > limits.DROPS_MIND:
        yield Reason(
            "dropped-connections",
            "note",
            f"the kernel dropped connections because an accept queue was full: {earlier} while clients"
            f" connected, {dropped} during the measurement (all programs in the network namespace); each is"
            " retried after 1 s",
            "use a longer accept queue: `ss -ltn` shows it as Send-Q; set the server's backlog, up to"
            " `sysctl net.core.somaxconn`",
            values={"connecting": earlier, "measuring": dropped},
        )


def buffers(e: Evidence) -> Iterator[Reason]:
    """Socket buffers or the accept queue were full."""
    parts = []
    blocked = instrument.mean_over_runs(e.runs, instrument.blocked_share) or 0.0
    if blocked > limits.BLOCKED_MIND:
        parts.append(f"{percent(blocked)} of requests waited in the client because its send buffer was full")
    peer_full = instrument.mean_over_runs(e.runs, instrument.peer_full) or 0.0
    if peer_full > limits.PEER_FULL_MIND:
        parts.append(f"the server's receive buffer was full {percent(peer_full)} of the time")
    if parts:
        yield Reason(
            "server-reads-slowly",
            "note",
            f"the server reads more slowly than requests arrive: {' and '.join(parts)}; latency is that of"
            " its queue",
            "use a lower `--rate`, smaller values in `--workload`, or more `--connections`",
            brief="the server reads more slowly than requests arrive",
            values={"blocked": blocked, "peer_full": peer_full},
        )
    fill = instrument.mean_over_runs(e.runs, instrument.receive_fill) or 0.0
    if fill > limits.RECEIVE_FILL_MIND:
        closed = sum(instrument.zero_windows(run) for run in e.runs)
        yield Reason(
            "client-reads-slowly",
            "note",
            f"replies filled {percent(fill)} of a client's receive buffer before it read them; above"
            f" {percent(limits.RECEIVE_FILL_MIND)} the server may have to wait for the client. The window was"
            f" closed {closed} times",
            f"use smaller values in `--workload`, a lower `--rate`, or `--clients {e.plan.clients + 1}`",
            values={"fill": fill, "limit": limits.RECEIVE_FILL_MIND, "zero_windows": closed},
        )
    waiting = max(instrument.not_accepted(run) for run in e.runs)
    if waiting:
        yield Reason(
            "accept-queue",
            "note",
            f"{waiting} connections were still in the server's accept queue when the measurement began;"
            " requests on them wait, too",
            "`ss -ltn` shows the queue as Recv-Q; give the server more threads, or use fewer `--connections`",
            values={"connections": waiting},
        )
