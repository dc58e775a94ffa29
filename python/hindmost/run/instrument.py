"""What the kernel says of the instrument: the figures that the verdict judges and the report shows.

Each is of the worst worker (or client) of a run; over runs their mean counts, as for latencies. None: the
kernel did not say. See docs/concepts/self-diagnosis.md for what each means, its limit and its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from hindmost.run.figures import RunFigures
from hindmost.store import engine
from hindmost.store.engine import HostSpan, SocketReport, TcpCounters, ThreadReport

Figure = Callable[[RunFigures], float | None]
TRACER = "hindmost-trace"
"""The thread of ``--trace``, as the kernel has its name (``crates/trace``)."""


def over(runs: Sequence[RunFigures], figure: Figure) -> float | None:
    """The mean of a figure over those runs that have it."""
    known = [value for run in runs if (value := figure(run)) is not None]
    return sum(known) / len(known) if known else None


def threads(run: RunFigures) -> list[ThreadReport]:
    """What the workers of a run's clients report of themselves."""
    return [thread for one in run.instances for thread in one.result["threads"]]


def _sockets(run: RunFigures) -> list[SocketReport]:
    return [thread["sockets"] for thread in threads(run) if "sockets" in thread]


def _hosts(run: RunFigures) -> list[HostSpan]:
    return [host for one in run.instances if (host := one.result.get("host"))]


def _named(host: HostSpan) -> list[engine.Neighbour]:
    return host["neighbours"]["named"]


def _worst(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def working(run: RunFigures) -> float | None:
    """Share of the time sending and receiving, of the busiest worker."""
    return _worst(thread["busy_share"] for thread in threads(run))


def on_cpu(run: RunFigures) -> float | None:
    """Share of the time on a processor, spinning included, of the worker that had least of it."""
    known = [thread["cpu_share"] for thread in threads(run) if "cpu_share" in thread]
    return min(known, default=None)


def waiting(run: RunFigures) -> float | None:
    """Share of the time ready to run while another thread had the processor."""
    return _worst(thread["run_delay_share"] for thread in threads(run))


def kept_off(run: RunFigures) -> float | None:
    """The same, less the server under test where it shares the client's processors, and less the run's trace.

    There a slow server makes longer waits, and a limit on them would favour fast runs; the trace is asked for
    and in all runs alike. Others had what is left of the wait if these ran there all of their time, and what
    those took that can run nowhere else.
    """
    waited = waiting(run)

    def known(one: engine.Neighbour) -> bool:
        return is_server(run, one) or is_tracer(run, one)

    if waited is None or not any(known(one) for host in _hosts(run) for one in _named(host)):
        return waited
    bound = _on_cpu(run, lambda one: one["bound"] and not known(one))
    return max(waited - _on_cpu(run, known), min(waited, bound), 0.0)


def _on_cpu(run: RunFigures, whose: Callable[[engine.Neighbour], bool]) -> float:
    """Share of the time that some of the neighbours ran, next to the client where it was most."""
    shares = [
        sum(one["on_cpu_ns"] for one in _named(host) if whose(one)) / host["wall_ns"]
        for host in _hosts(run)
        if host["wall_ns"]
    ]
    return max(shares, default=0.0)


def is_server(run: RunFigures, one: engine.Neighbour) -> bool:
    """Whether a neighbour of the clients is the server under test, or a process that it made.

    Older studies know no processes of it, but its name, which others may have, too.
    """
    pids = run.record.get("server_pids")
    return one["process"] == server_process(run) if pids is None else one["pid"] in pids


def is_tracer(run: RunFigures, one: engine.Neighbour) -> bool:
    """Whether a neighbour of the clients is the trace of this run: of the instrument, no other program."""
    return one["name"] == TRACER and "trace" in run.record


def server_process(run: RunFigures) -> str | None:
    """The name of the server's process, as the kernel has it; None where it is not here, or not known."""
    name = run.record.get("server_process")
    return name if isinstance(name, str) else None


def wait_us(run: RunFigures) -> float | None:
    """Mean length of these waits."""
    return _worst(
        schedule["run_delay_ns"] / 1e3 / turns
        for thread in threads(run)
        if (schedule := thread["span"].get("schedule"))
        and (turns := thread["span"]["involuntary_switches"] + thread["span"]["voluntary_switches"])
    )


def switches_per_s(run: RunFigures) -> float | None:
    """Times a second that a worker was taken off its processor while it wanted to run."""
    return _worst(
        thread["span"]["involuntary_switches"] / (wall / 1e9)
        for thread in threads(run)
        if (wall := thread["span"].get("wall_ns"))
    )


def stolen(run: RunFigures) -> float | None:
    """Share of the time of a processor in use that the hypervisor took."""
    return _worst(
        [*(one.result.get("steal_share") for one in run.instances), run.record.get("server_steal_share")]
    )


def throttled(run: RunFigures) -> float | None:
    """Share of a quota's periods in which a client's control group was stopped."""
    return _worst(
        min(1.0, quota["periods"] * quota["period_us"] * 1e3 / host["wall_ns"])
        for host in _hosts(run)
        if (quota := host["throttled"]) and host["wall_ns"]
    )


def interrupts_per_s(run: RunFigures) -> float | None:
    """Hardware interrupts a second on each processor of an instance."""
    return _worst(
        host["interrupts"]["hard_total"] / len(host["cpus"]) / (host["wall_ns"] / 1e9)
        for host in _hosts(run)
        if host["cpus"] and host["wall_ns"]
    )


def late(run: RunFigures, stage: Literal["writing", "reading", "waiting"]) -> float | None:
    """Share of requests that left more than 5 us late because of one stage of the worker's loop.

    Parameters
    ----------
    run : RunFigures
        A run of an open loop.
    stage : {"writing", "reading", "waiting"}
        Handing other requests to the kernel; taking replies; nothing (its processor was away, or, where
        clients sleep, it woke late).
    """
    known = [thread["late"][stage]["requests"] for thread in threads(run) if "late" in thread]
    return sum(known) / max(1, run.counts["due"]) if known else None


def own_slip(run: RunFigures) -> float | None:
    """Send delay at p99 (else at the highest quantile below it) beyond that of the write calls, in µs.

    The write calls' part is the send delay of a client that does nothing else (Lindley's recursion over the
    measured calls): one thread cannot be earlier on this host.
    """
    if "ideal_slip" not in run.values:
        return None
    levels = {float(name[1:]): name for name in run.values["slip"] if name != "mean"}
    name = levels[max((level for level in levels if level <= 99.0), default=min(levels))]
    return run.values["slip"][name] - run.values["ideal_slip"][name]


def retransmits(run: RunFigures) -> int:
    """Segments that our connections sent again."""
    return sum(one["retransmits"] for one in _sockets(run))


def retransmits_beside(run: RunFigures) -> int:
    """Segments that others sent again in our or the server's network namespace: the server, any program."""
    whole = max((tcp["retransmits"] for tcp in _namespaces(run)), default=0)
    return max(0, whole - retransmits(run))


def retransmitted(run: RunFigures) -> float | None:
    """Segments that our connections sent again for each request."""
    return retransmits(run) / max(1, run.counts["due"]) if _sockets(run) else None


def drops(run: RunFigures) -> int:
    """Connections dropped by a full accept queue, or on arrival for another reason, in the measurement."""
    return max((tcp["listen_drops"] for tcp in _namespaces(run)), default=0)


def drops_before(run: RunFigures) -> int:
    """The same while clients connected and warmed up."""
    before = [tcp for one in run.instances if (tcp := one.result.get("tcp_before"))]
    return max((tcp["listen_drops"] for tcp in before), default=0)


def _namespaces(run: RunFigures) -> list[TcpCounters]:
    """TCP counters: each client's namespace, and the server's where it is another."""
    seen = [one.result.get("tcp") for one in run.instances]
    return [tcp for tcp in (*seen, run.record.get("server_tcp")) if tcp]


def blocked(run: RunFigures) -> float | None:
    """Share of requests whose write the kernel did not take whole."""
    sockets = _sockets(run)
    return sum(one["blocked_writes"] for one in sockets) / max(1, run.counts["due"]) if sockets else None


def receive_fill(run: RunFigures) -> float | None:
    """How full a client's receive buffer was when it was read, at most."""
    return _worst(
        min(1.0, max(one["largest_read_bytes"], one["receive"]["bytes"]) / limit)
        for one in _sockets(run)
        if (limit := one["receive"]["limit_bytes"])
    )


def zero_windows(run: RunFigures) -> int:
    """Times that a receive buffer, a client's or a local server's, was full and its sender stopped."""
    return max((tcp.get("zero_windows", 0) for tcp in _namespaces(run)), default=0)


def peer_full(run: RunFigures) -> float | None:
    """Share of the time in which a connection could not send because the server's buffer was full."""
    return _worst(
        sockets["peer_full_us"] * 1e3 / sockets["looked_at"] / wall
        for thread in threads(run)
        if (sockets := thread.get("sockets"))
        and sockets["looked_at"]
        and (wall := thread["span"].get("wall_ns"))
    )


def not_accepted(run: RunFigures) -> int:
    """Connections that waited in the server's accept queue when the measurement began."""
    queues = run.record.get("server_queues")
    return int(queues["begin"]["accept"]) if queues else 0


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Who ran next to the clients: its name, its process in the last run that saw it, what it took.

    ``share`` is of one processor's time; where it is not ``bound`` to the clients' processors, part of it may
    have been spent elsewhere. ``server``: it is the server under test; ``tracer``: the trace of these runs.
    """

    name: str
    pid: int
    share: float
    turns_per_s: float
    bound: bool
    kernel: bool
    server: bool = False
    tracer: bool = False

    def __str__(self) -> str:
        most = "" if self.bound else "up to "
        whose = ", the server under test" if self.server else ", the trace of this run" if self.tracer else ""
        return f"{self.name}{whose} (pid {self.pid}: {most}{self.share:.2%}, {self.turns_per_s:.0f} turns/s)"


def neighbours(runs: Sequence[RunFigures]) -> list[Neighbour]:
    """All that ran on the clients' processors, by name, those that took most first."""
    wall_s = sum(host["wall_ns"] for run in runs for host in _hosts(run)) / 1e9
    rows: dict[tuple[str, bool, bool], list[engine.Neighbour]] = {}
    for run in runs:
        for host in _hosts(run):
            for one in _named(host):
                which = (_name(one), is_server(run, one), is_tracer(run, one))
                rows.setdefault(which, []).append(one)
    found = [
        Neighbour(
            name,
            ones[-1]["pid"],
            sum(one["on_cpu_ns"] for one in ones) / 1e9 / wall_s,
            sum(one["turns"] for one in ones) / wall_s,
            all(one["bound"] for one in ones),
            ones[-1]["kernel"],
            server,
            tracer,
        )
        for (name, server, tracer), ones in rows.items()
        if wall_s
    ]
    return sorted(found, key=lambda one: (one.share, one.turns_per_s), reverse=True)


def _name(one: engine.Neighbour) -> str:
    """A thread as people know it; what a kernel worker does at the moment is left out."""
    if one["kernel"]:
        return one["name"].partition("-")[0] if one["name"].startswith("kworker") else one["name"]
    return one["process"] if one["process"] == one["name"] else f"{one['process']}/{one['name']}"


def interrupt_sources(runs: Sequence[RunFigures]) -> list[tuple[str, float]]:
    """Sources of interrupts on the clients' processors and how often a second they came."""
    wall_s = sum(host["wall_ns"] for run in runs for host in _hosts(run)) / 1e9
    totals: dict[str, int] = {}
    for run in runs:
        for host in _hosts(run):
            for one in host["interrupts"]["hard"]:
                totals[one["source"]] = totals.get(one["source"], 0) + one["count"]
    return sorted(((name, n / wall_s) for name, n in totals.items()), key=lambda one: -one[1])
