"""Checks of the host and of the method."""

from __future__ import annotations

from collections.abc import Iterator

from hindmost.core.plan.batching import batching_text
from hindmost.core.plan.units import format_us
from hindmost.core.run import limits
from hindmost.core.run.connections import connections
from hindmost.core.run.figures import add_counts
from hindmost.core.run.readings import CONNECT
from hindmost.core.run.text import percent
from hindmost.core.run.verdict.fleet import host_of
from hindmost.core.run.verdict.reason import Evidence, Reason, mean

INTERFERENCE = ("steal", "noise_floor", "preemption", "load_average", "cpu_pressure")
"""Findings of `hindmost host doctor` about interference, which isolated latency excludes."""


def host(e: Evidence) -> Iterator[Reason]:
    """The machine is too noisy."""
    steal = [s for run in e.runs for one in run.clients if (s := one.result.steal_share) is not None]
    steal += [s for run in e.runs if (s := run.record.server_steal_share) is not None]
    if steal and max(steal) > limits.STEAL_MIND:
        yield Reason(
            "steal-time",
            "inconclusive" if max(steal) > limits.STEAL_INCONCLUSIVE else "note",
            f"the hypervisor used up to {percent(max(steal))} of a CPU in use",
            "repeat when the machine is quieter, or use dedicated hardware",
            values={"share": max(steal)},
        )
    for finding in e.findings:
        values = {"finding": finding.get("id"), "title": finding.get("title"), "value": finding["value"]}
        if finding["mark"] == "unfit":
            yield Reason(
                "noisy-host" if finding.get("id") in INTERFERENCE else "host-setting",
                "inconclusive",
                f"{finding['title']}: {finding['value']}; {finding.get('why') or ''}",
                finding.get("hint") or "`hindmost host doctor`",
                values=values,
            )
        elif finding.get("id") in ("knobs_left", "settings-left") and finding["mark"] == "note":
            yield Reason(
                "settings-left",
                "note",
                f"settings of this host were still changed when the study began: {finding['value']};"
                f" {finding.get('why') or ''}",
                finding.get("hint") or "`hindmost host doctor`",
                values=values,
            )


def method(e: Evidence) -> Iterator[Reason]:
    """Limits of the method."""
    for note in e.plan.notes:
        yield Reason(note["code"], "note", note["text"], note.get("hint"), values=note["values"])
    if not e.target.managed:
        yield Reason(
            "not-restarted",
            "note",
            "the server was not restarted between runs, so hysteresis cannot be seen: intervals describe only"
            " this one start of the server",
            "let Hindmost start it: a preset, or a target file (examples/targets)",
        )
    if e.plan.loop == "closed":
        yield Reason(
            "closed-loop",
            "note",
            "a closed loop waits for replies before it sends, so it understates queueing and the tail",
            "leave out `--closed`",
        )
    if e.plan.pacing == "sleep":
        last = mean([run.values["send_delay"][e.plan.labels[-1]] for run in e.runs])
        first = mean([run.values["send_delay"][e.plan.labels[0]] for run in e.runs])
        yield Reason(
            "sleeping-clients",
            "note",
            f"clients sleep between sends: send delay is {format_us(first)} at {e.plan.labels[0]} and"
            f" {format_us(last)} at {e.plan.labels[-1]}",
            "use fewer `--clients` than CPUs, so that each can spin",
            values={"send_delay_us": {e.plan.labels[0]: first, e.plan.labels[-1]: last}},
        )
    if e.owner.owner is not None:
        host = host_of(e, e.owner.owner)
        yield Reason(
            "dominant-client",
            "note",
            e.owner.text + (f" (on host {host})" if host else ""),
            "trust the means per client, not the merged figures",
            values={
                "client": e.owner.owner,
                "host": host,
                "share": e.owner.shares[e.owner.owner],
                "fair": e.owner.fair[e.owner.owner],
            },
        )
    yield from _connections(e)


def _connections(e: Evidence) -> Iterator[Reason]:
    """The server closed connections after every reply, or now and then."""
    account = connections(e.runs)
    closed = account.closed if account else sum(o.result.reconnects for run in e.runs for o in run.clients)
    if account and account.by_turns:
        connect_us = [run.values[CONNECT][e.plan.labels[0]] for run in e.runs if CONNECT in run.values]
        time_text = f" ({format_us(mean(connect_us))} at {e.plan.labels[0]})" if connect_us else ""
        batching = e.plan.batching
        scheduled = add_counts([run.counts for run in e.runs]).scheduled
        unbatched = (
            ""
            if batching == "none"
            else f". `--batching {batching_text(batching)}` had no effect, as connections carry one request"
        )
        yield Reason(
            "connection-per-request",
            "note",
            f"the server closes almost every connection after its reply: clients opened {account.made} for"
            f" {scheduled} requests, and latency includes the time to connect{time_text}{unbatched}",
            "correct if users also connect for each request; otherwise let it keep connections open"
            " (HTTP/1.1, keep-alive)",
            values={
                "connections": account.made,
                "requests": scheduled,
                "connect_us": mean(connect_us) if connect_us else None,
                "batching_unused": batching != "none",
            },
        )
    elif closed:
        yield Reason(
            "reconnections",
            "note",
            f"the server closed {closed} connections during the load; clients opened them again",
            "let the server keep connections open (nginx: keepalive_requests, keepalive_timeout)",
            values={"connections": closed},
        )
