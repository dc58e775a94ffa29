"""What host and network did to requests: waits for a CPU, interrupts, losses, full buffers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from hindmost.plan.units import format_us
from hindmost.run import instrument, lateness, limits
from hindmost.run.instrument import Neighbour
from hindmost.run.sharing import A_PROCESSOR_EACH
from hindmost.run.text import listed, percent
from hindmost.run.verdict.reason import Evidence, Level, Reason, mean

NAMED = 3
"""At most so many neighbors are named in a sentence."""


def reached(e: Evidence, share: float, limit: float, wait_us: float = math.inf) -> tuple[str, ...]:
    """Return the quantiles that events can determine: frequent enough, and long enough to matter.

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


def who(neighbours: Sequence[Neighbour]) -> str:
    """Name the threads that ran on the clients' CPUs."""
    if not neighbours:
        return "the thread that used it has ended, or cannot be seen from here"
    return f"these ran there: {listed([str(one) for one in neighbours[:NAMED]])}"


def neighbour_values(neighbours: Sequence[Neighbour]) -> list[dict[str, Any]]:
    """Return the same neighbors for programs."""
    return [
        {
            "name": one.name,
            "pid": one.pid,
            "share": one.share,
            "bound": one.bound,
            "kernel": one.kernel,
            "server": one.server,
            "tracer": one.tracer,
        }
        for one in neighbours[:NAMED]
    ]


def keep_off(e: Evidence, neighbours: Sequence[Neighbour]) -> str:
    """Return the command that keeps the busiest program off the clients' CPUs."""
    clients = {thread["cpu"] for run in e.runs for one in run.instances for thread in one.result["threads"]}
    where = ",".join(str(cpu) for cpu in sorted(cpu for cpu in clients if cpu is not None))
    programs = [one for one in neighbours if not one.kernel]
    if neighbours and neighbours[0].kernel:
        most = (
            f"{neighbours[0].name} is a kernel thread: see `hindmost host doctor`; isolcpus= at boot keeps"
            " most away"
        )
        rest = [one for one in programs if one.share > limits.DELAYED]
        return f"{most}; and {keep_off(e, rest)}" if rest else most
    shared = f"the server shares CPU {where} with the client: {A_PROCESSOR_EACH}"
    if programs and programs[0].server:
        return shared
    if programs and programs[0].tracer:
        untraced = "leave out --trace where these percentiles matter, and trace in a separate study"
        rest = [one for one in neighbours if not one.tracer]
        others = any(one.share > limits.DELAYED for one in rest if not one.kernel)
        return f"{untraced}; and {keep_off(e, rest)}" if others else untraced
    if programs:
        pid = programs[0].pid
        hint = f"`ps -o pid,psr,pcpu,args -p {pid}`, then stop it, or keep it off CPU {where} (taskset -acp)"
        both = any(one.server and one.share > limits.DELAYED for one in programs)
        return f"{hint}; and {shared}" if both else hint
    return "`top -H -o %CPU` shows what runs now; then `hindmost host doctor`"


def waits(e: Evidence) -> Iterator[Reason]:
    """Other threads used the client's CPU."""
    share = instrument.mean_over_runs(e.runs, instrument.wait_share) or 0.0
    wait_us = instrument.mean_over_runs(e.runs, instrument.wait_us) or 0.0
    level: Level = "inconclusive"
    part = "all"
    names = reached(e, share, limits.TAIL_INCONCLUSIVE, wait_us)
    if not names:
        level, part = "note", "a tenth"
        names = reached(e, share, limits.TAIL_MIND, wait_us)
    if not names:
        return
    neighbours = instrument.list_neighbours(e.runs)
    yield Reason(
        "run-delay",
        level,
        f"a client waited {percent(share)} of the time for its CPU, {format_us(wait_us)} each time,"
        f" while other threads used it: that can account for {part} of the requests above {listed(names)};"
        f" {who(neighbours)}",
        keep_off(e, neighbours),
        names,
        values={"share": share, "wait_us": wait_us, "neighbors": neighbour_values(neighbours)},
    )


def switches(e: Evidence) -> Iterator[Reason]:
    """A spinning client was taken off its CPU too often."""
    often = instrument.mean_over_runs(e.runs, instrument.switches_per_s)
    if often is None or often <= limits.SWITCHES_MIND or e.plan.pacing == "sleep":
        return
    neighbours = instrument.list_neighbours(e.runs)
    yield Reason(
        "context-switches",
        "note",
        f"the kernel took a client off its CPU {often:.0f} times a second (limit:"
        f" {limits.SWITCHES_MIND:.0f});"
        f" its caches get cold each time; {who(neighbours)}",
        keep_off(e, neighbours),
        values={
            "per_s": often,
            "limit": limits.SWITCHES_MIND,
            "neighbors": neighbour_values(neighbours),
        },
    )


def throttled(e: Evidence) -> Iterator[Reason]:
    """A cgroup CPU quota stopped the clients."""
    share = instrument.mean_over_runs(e.runs, instrument.throttled_share)
    if share is None or share <= limits.THROTTLED_MIND:
        return
    yield Reason(
        "throttled",
        "inconclusive" if share > limits.THROTTLED_INCONCLUSIVE else "note",
        f"the cgroup used up its CPU quota in {percent(share)} of its periods; clients were stopped until the"
        " end of each",
        "raise or remove the quota: `hindmost host doctor` names the file that sets it",
        values={"share": share},
    )


def interrupts(e: Evidence) -> Iterator[Reason]:
    """Interrupts used the client's CPU."""
    often = instrument.mean_over_runs(e.runs, instrument.interrupts_per_s)
    if often is None or often <= limits.INTERRUPTS_MIND:
        return
    sources = instrument.interrupt_sources(e.runs)
    named = listed([f"{name} {count:.0f}/s" for name, count in sources[:NAMED]])
    yield Reason(
        "interrupts",
        "note",
        f"{often:.0f} interrupts a second hit a client's CPU, about {limits.INTERRUPT_US:.0f} µs each (limit:"
        f" {limits.INTERRUPTS_MIND:.0f}, 1 % of the time); most frequent: {named}",
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
    again = sum(instrument.retransmits(run) for run in e.runs)
    beside = sum(instrument.other_retransmits(run) for run in e.runs)
    counting = (
        "`nstat -az TcpRetransSegs TcpExtTCPTimeouts TcpExtTCPLossProbes` shows the counters; `ip -s link`"
        " shows which device drops packets"
    )
    if again:
        share = instrument.mean_over_runs(e.runs, instrument.retransmits_per_request) or 0.0
        names = reached(e, share, limits.TAIL_INCONCLUSIVE)
        reach = (
            f"they can account for all requests above {listed(names)}"
            if names
            else "they reach none of the requested percentiles"
        )
        many = f"{again} TCP segments were" if again > 1 else "1 TCP segment was"
        yield Reason(
            "retransmissions",
            "inconclusive" if names else "note",
            f"{many} retransmitted on the clients' connections ({percent(share)} of requests): each can add"
            f" {limits.RETRANSMIT_MS:.0f} ms to a request; {reach}",
            counting,
            names,
            values={"segments": again, "share": share},
        )
    if beside:
        yield Reason(
            "other-retransmissions",
            "note",
            f"{beside} more TCP segments were retransmitted in the network namespace of the clients or the"
            " server. The kernel does not report which program sent them; if they were replies, each can have"
            f" added {limits.RETRANSMIT_MS:.0f} ms",
            counting,
            values={"segments": beside},
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
    found = []
    blocked = instrument.mean_over_runs(e.runs, instrument.blocked_share) or 0.0
    if blocked > limits.BLOCKED_MIND:
        found.append(f"{percent(blocked)} of requests waited in the client because its send buffer was full")
    held = instrument.mean_over_runs(e.runs, instrument.peer_full) or 0.0
    if held > limits.PEER_FULL_MIND:
        found.append(f"the server's receive buffer was full {percent(held)} of the time")
    if found:
        yield Reason(
            "server-reads-slowly",
            "note",
            f"the server reads more slowly than requests arrive: {' and '.join(found)}; latency is"
            " that of its"
            " queue",
            "use a lower `--rate`, smaller values in `--workload`, or more `--connections`",
            brief="the server reads more slowly than requests arrive",
            values={"blocked": blocked, "peer_full": held},
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
