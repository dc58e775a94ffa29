"""What host and network did to requests: waits for a processor, interrupts, losses, full buffers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from hindmost.plan.units import format_us
from hindmost.run import instrument, lateness, limits
from hindmost.run.instrument import Neighbour
from hindmost.run.sharing import A_PROCESSOR_EACH
from hindmost.run.verdict.reason import Evidence, Level, Reason, listed, mean

NAMED = 3
"""So many neighbours are named in a sentence."""


def reached(e: Evidence, share: float, limit: float, wait_us: float = math.inf) -> tuple[str, ...]:
    """Quantiles that accidents can make: enough of them for those beyond it, and long enough to matter.

    Parameters
    ----------
    share : float
        Accidents per request.
    limit : float
        Accidents per request beyond the quantile from which it counts.
    wait_us : float
        How long one takes: nothing beside a quantile of ten times that.
    """
    names = []
    for level, name in zip(e.plan.quantiles, e.plan.labels, strict=True):
        latency = mean([run.values["latency"][name] for run in e.runs])
        # An infinite quantile has other reasons.
        if share > limit * (1.0 - level) and lateness.matters(wait_us, latency):
            names.append(name)
    return tuple(names)


def who(neighbours: Sequence[Neighbour]) -> str:
    """Name those that ran on the clients' processors."""
    if not neighbours:
        return "whoever had it has ended, or cannot be seen from here"
    return f"there ran {listed([str(one) for one in neighbours[:NAMED]])}"


def keep_off(e: Evidence, neighbours: Sequence[Neighbour]) -> str:
    """The command that keeps the greediest program off the clients' processors."""
    clients = {thread["cpu"] for run in e.runs for one in run.instances for thread in one.result["threads"]}
    where = ",".join(str(cpu) for cpu in sorted(cpu for cpu in clients if cpu is not None))
    programs = [one for one in neighbours if not one.kernel]
    shared = f"the server shares CPU {where} with the client: {A_PROCESSOR_EACH}"
    if programs and programs[0].server:
        return shared
    if programs and programs[0].tracer:
        untraced = "leave --trace out where these percentiles count, and trace in a study of its own"
        rest = [one for one in neighbours if not one.tracer]
        others = any(one.share > limits.DELAYED for one in rest if not one.kernel)
        return f"{untraced}; and {keep_off(e, rest)}" if others else untraced
    if programs:
        pid = programs[0].pid
        hint = f"`ps -o pid,psr,pcpu,args -p {pid}`, then stop it, or keep it off CPU {where} (taskset -acp)"
        both = any(one.server and one.share > limits.DELAYED for one in programs)
        return f"{hint}; and {shared}" if both else hint
    if neighbours:
        return "these are the kernel's own threads: `hindmost doctor`; booting with isolcpus= keeps most away"
    return "`top -H -o %CPU` shows what runs now; then `hindmost doctor`"


def waits(e: Evidence) -> Iterator[Reason]:
    """Other threads had the client's processor."""
    share = instrument.over(e.runs, instrument.waiting) or 0.0
    wait_us = instrument.over(e.runs, instrument.wait_us) or 0.0
    level: Level = "inconclusive"
    part = "all"
    names = reached(e, share, limits.TAIL_INCONCLUSIVE, wait_us)
    if not names:
        level, part = "mind", "a tenth"
        names = reached(e, share, limits.TAIL_MIND, wait_us)
    if not names:
        return
    neighbours = instrument.neighbours(e.runs)
    yield Reason(
        "run_delay",
        level,
        f"a client waited {share:.2%} of the time for its processor, {format_us(wait_us)} each time, while"
        f" others had it: that can be {part} of what lies beyond {listed(names)}; {who(neighbours)}",
        keep_off(e, neighbours),
        names,
    )


def switches(e: Evidence) -> Iterator[Reason]:
    """A spinning client was taken off its processor too often."""
    often = instrument.over(e.runs, instrument.switches_per_s)
    if often is None or often <= limits.SWITCHES_MIND or e.plan.pacing == "sleep":
        return
    neighbours = instrument.neighbours(e.runs)
    yield Reason(
        "switches",
        "mind",
        f"a client was taken off its processor {often:.0f} times a second ({limits.SWITCHES_MIND:.0f} is the"
        f" limit); each time its caches grow cold; {who(neighbours)}",
        keep_off(e, neighbours),
    )


def throttled(e: Evidence) -> Iterator[Reason]:
    """The control group's quota stopped the clients."""
    share = instrument.over(e.runs, instrument.throttled)
    if share is None or share <= limits.THROTTLED_MIND:
        return
    yield Reason(
        "throttled",
        "inconclusive" if share > limits.THROTTLED_INCONCLUSIVE else "mind",
        f"the control group had used up its CPU quota in {share:.2%} of its periods, and clients stood still"
        " to the end of each",
        "a higher quota or none: `hindmost doctor` names the file that sets it",
    )


def interrupts(e: Evidence) -> Iterator[Reason]:
    """Interrupts took the client's processor."""
    often = instrument.over(e.runs, instrument.interrupts_per_s)
    if often is None or often <= limits.INTERRUPTS_MIND:
        return
    sources = instrument.interrupt_sources(e.runs)
    told = listed([f"{name} {count:.0f}/s" for name, count in sources[:NAMED]])
    yield Reason(
        "interrupts",
        "mind",
        f"{often:.0f} interrupts a second hit a client's processor, some {limits.INTERRUPT_US:.0f} us each"
        f" ({limits.INTERRUPTS_MIND:.0f} is the limit: 1% of the time); most often {told}",
        f"`grep -e CPU -e '{sources[0][0]}' /proc/interrupts` shows its number N: a device's can be moved"
        " with echo CPU > /proc/irq/N/smp_affinity_list",
    )


def losses(e: Evidence) -> Iterator[Reason]:
    """Segments were lost, or connections dropped."""
    again = sum(instrument.retransmits(run) for run in e.runs)
    beside = sum(instrument.retransmits_beside(run) for run in e.runs)
    counting = (
        "`nstat -az TcpRetransSegs TcpExtTCPTimeouts TcpExtTCPLossProbes` goes on counting; `ip -s link`"
        " shows which device drops"
    )
    if again:
        share = instrument.over(e.runs, instrument.retransmitted) or 0.0
        names = reached(e, share, limits.TAIL_INCONCLUSIVE)
        reach = (
            f"can be all of what lies beyond {listed(names)}" if names else "reach no percentile asked for"
        )
        many = f"{again} TCP segments" if again > 1 else "a TCP segment"
        were = "were" if again > 1 else "was"
        yield Reason(
            "retransmits",
            "inconclusive" if names else "mind",
            f"{many} of the clients' connections {were} sent again ({100.0 * share:.2g}% of requests):"
            f" each can cost {limits.RETRANSMIT_MS:.0f} ms, which no server can make up for; they {reach}",
            counting,
            names,
        )
    if beside:
        yield Reason(
            "retransmits_beside",
            "mind",
            f"{beside} more TCP segments were sent again in the network namespace of the clients or the"
            " server, by the server or by any other program there: the kernel does not tell by whom; if they"
            f" were replies, each can have cost {limits.RETRANSMIT_MS:.0f} ms",
            counting,
        )
    dropped = sum(instrument.drops(run) for run in e.runs)
    earlier = sum(instrument.drops_before(run) for run in e.runs)
    if dropped + earlier > limits.DROPS_MIND:
        yield Reason(
            "listen_drops",
            "mind",
            f"the kernel dropped connections that a server did not accept in time: {earlier} while clients"
            f" connected, {dropped} in the measurement, those of other programs in the same network namespace"
            " included; each is tried again after 1 s",
            "a longer accept queue: `ss -ltn` shows it as Send-Q; the server's backlog setting, up to"
            " `sysctl net.core.somaxconn`",
        )


def buffers(e: Evidence) -> Iterator[Reason]:
    """Sockets were full, ours or the server's."""
    found = []
    blocked = instrument.over(e.runs, instrument.blocked) or 0.0
    if blocked > limits.BLOCKED_MIND:
        found.append(
            f"{blocked:.1%} of requests waited in the client because the kernel's send buffer was full"
        )
    held = instrument.over(e.runs, instrument.peer_full) or 0.0
    if held > limits.PEER_FULL_MIND:
        found.append(f"the server's receive buffer was full for {held:.1%} of the time")
    if found:
        yield Reason(
            "server_slow_to_read",
            "mind",
            f"{'; '.join(found)}: the server reads more slowly than requests come, and latency is that of its"
            " queue",
            "a lower `--rate`, smaller values in `--workload`, or more `--connections`",
            brief="the server reads more slowly than requests come",
        )
    fill = instrument.over(e.runs, instrument.receive_fill) or 0.0
    if fill > limits.RECEIVE_FILL_MIND:
        closed = sum(instrument.zero_windows(run) for run in e.runs)
        yield Reason(
            "client_slow_to_read",
            "mind",
            f"replies had filled {fill:.0%} of a client's receive buffer before it read them: at"
            f" {limits.RECEIVE_FILL_MIND:.0%} the server has to wait for the client; windows were closed"
            f" {closed} times",
            f"smaller values in `--workload`, a lower `--rate`, or `--clients {e.plan.clients + 1}`",
        )
    waiting = max(instrument.not_accepted(run) for run in e.runs)
    if waiting:
        yield Reason(
            "not_accepted",
            "mind",
            f"{waiting} connections still waited in the server's accept queue when the measurement began:"
            " requests on them wait, too",
            "`ss -ltn` shows the queue as Recv-Q; more threads in the server, or fewer `--connections`",
        )
