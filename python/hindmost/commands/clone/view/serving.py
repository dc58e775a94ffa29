"""View of a clone that serves: how accurate spinning is at the start, and its account at the end."""

from __future__ import annotations

from collections.abc import Iterator

from hindmost.commands.clone.documents.serving import Serving
from hindmost.core.store.engine import Certificate, ServerSummary, TimeDistribution
from hindmost.present.blocks import Table, Text, View


def view(doc: Serving) -> View:
    """Return the view of an account: true times in microseconds, and interference from the host."""
    account = doc.account
    times = "wall time" if account.occupy == "wall" else "CPU time of the thread"
    return View(
        title=f"Served by {doc.clone}",
        word="",
        tone="",
        headline=f"{doc.clone}: {account.total.served:,} requests; services take {times}",
        meta=(f"seed {doc.seed}",),
        schema=doc.schema,
        blocks=[
            Table(("µs", "mean", "p50", "p95", "p99", "longest"), list(_rows(account))),
            Text(_host(account)),
            Text(_log(account)),
        ],
    )


def _rows(account: ServerSummary) -> Iterator[tuple[str, ...]]:
    times: dict[str, TimeDistribution] = {
        "service": account.service,
        "queueing": account.queueing,
        "both": account.sojourn,
        "waits for locks": account.lock_waits,
    }
    for name, one in times.items():
        if one.count:
            figures = (one.mean_ns, one.p50_ns, one.p95_ns, one.p99_ns, one.max_ns)
            yield name, *(f"{figure / 1e3:.2f}" for figure in figures)


def _host(account: ServerSummary) -> str:
    threads = account.host
    share = sum(one.cpu_ns for one in threads) / max(1, sum(one.wall_ns for one in threads))
    taken = sum(one.involuntary_switches for one in threads)
    text = f"host: CPU share {share:.2%}, preempted {taken} times"
    waits = [one.run_delay_ns for one in threads if one.run_delay_ns is not None]
    if len(waits) == len(threads):
        text += f", {sum(waits) / 1e6:.3g} ms in the run queue"
    if account.steal_share is not None:
        text += f", {account.steal_share:.2%} stolen by the hypervisor"
    gaps, p99_ns = account.gaps, account.sojourn.p99_ns
    if not gaps.over_5us:
        return text + "; no pause above 5 µs in a service"
    longest = f"the longest {gaps.longest_ns / 1e3:,.0f} µs"
    text += f"; {gaps.over_5us} pauses above 5 µs in services, {longest}"
    return f"{text}, {gaps.longest_ns / p99_ns:.3g} times p99" if p99_ns else text


def _log(account: ServerSummary) -> str:
    if (log := account.log) is None:
        return ""
    lost = f"; {log.beyond:,} more did not fit" if log.beyond else ""
    return f"log: {log.path}, {log.requests:,} requests{lost}"


def certificate_lines(certificate: Certificate, mean_busy_us: float) -> Iterator[str]:
    """Describe the accuracy of spinning on this host, and what it means for a clone.

    A server prints this when it starts, so it loads no renderer.
    """
    host, noise, trusted = certificate.host, certificate.noise, certificate.trusted_from_us
    accurate = "no service time is accurate now"
    if trusted is not None:
        accurate = f"service times of at least {trusted:g} µs are accurate"
    yield f"spinning on this host: {accurate} (median within 1 %, p99 within 8 % of the intended time)"
    parts = [
        f"CPU share {host.cpu_ns / host.wall_ns:.2%}",
        f"preempted {host.involuntary_switches} times",
    ]
    if host.run_delay_ns is not None:
        parts.append(f"{host.run_delay_ns / 1e6:.3g} ms in the run queue")
    if noise.steal_share is not None:
        parts.append(f"{noise.steal_share:.2%} stolen by the hypervisor")
    gaps = host.gaps
    parts.append(f"{gaps.over_5us} pauses above 5 µs, the longest {gaps.longest_ns / 1e3:,.0f} µs")
    yield f"  {', '.join(parts)}"
    yield (
        f"  reading the clock takes {certificate.clock_read_ns:.0f} ns, a thread's CPU clock"
        f" {certificate.cpu_clock_read_ns / 1e3:.2g} µs"
    )
    if trusted is None or mean_busy_us < trusted:
        yield (
            f"  this clone's mean of {mean_busy_us:.4g} µs is below that, so the host will dominate its tail;"
            " keep the processors free, or use `hindmost clone simulate`"
        )
