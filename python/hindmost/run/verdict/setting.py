"""What of host and method has to be borne in mind."""

from __future__ import annotations

from collections.abc import Iterator

from hindmost.plan.batching import batching_text
from hindmost.plan.units import format_us
from hindmost.run import limits
from hindmost.run.connections import connections
from hindmost.run.figures import summed
from hindmost.run.readings import CONNECT
from hindmost.run.verdict.fleet import host_of
from hindmost.run.verdict.reason import Evidence, Reason, mean

THEFT = ("steal", "noise_floor", "preemption", "load_average", "cpu_pressure")
"""What doctor finds of others who take the processors; calm latency is without them."""


def host(e: Evidence) -> Iterator[Reason]:
    """The machine itself is too noisy."""
    steal = [s for run in e.runs for one in run.instances if (s := one.result.get("steal_share")) is not None]
    steal += [s for run in e.runs if (s := run.record.get("server_steal_share")) is not None]
    if steal and max(steal) > limits.STEAL_MIND:
        yield Reason(
            "steal",
            "inconclusive" if max(steal) > limits.STEAL_INCONCLUSIVE else "mind",
            f"the hypervisor took up to {max(steal):.2%} of the time of a processor in use",
            "repeat when the machine is quieter, or on hardware of your own",
        )
    for finding in e.findings:
        if finding["mark"] == "unfit":
            yield Reason(
                "host_unfit" if finding.get("id") in THEFT else "host_setting",
                "inconclusive",
                f"the host is too noisy: {finding['title']}: {finding['value']}; {finding.get('why') or ''}",
                finding.get("hint") or "`hindmost doctor`",
            )
        elif finding.get("id") == "knobs_left" and finding["mark"] == "mind":
            yield Reason(
                "knobs_left",
                "mind",
                f"settings left changed on this host when the study began: {finding['value']};"
                f" {finding.get('why') or ''}",
                finding.get("hint") or "`hindmost doctor`",
            )


def method(e: Evidence) -> Iterator[Reason]:
    """How it was measured limits what it says."""
    if not e.target["managed"]:
        yield Reason(
            "attached",
            "mind",
            "the server was not restarted between runs, so hysteresis cannot be seen: intervals show only how"
            " this one start of the server varies",
            "let Hindmost start it: a preset, or a target file (examples/targets)",
        )
    if e.plan.loop == "closed":
        yield Reason(
            "closed_loop",
            "mind",
            "a closed loop waits for replies before it sends, so it understates queueing and the tail",
            "leave out `--closed`",
        )
    if e.plan.pacing == "sleep":
        slips = [run.values["slip"][e.plan.labels[-1]] for run in e.runs]
        middle = [run.values["slip"][e.plan.labels[0]] for run in e.runs]
        yield Reason(
            "sleeping",
            "mind",
            f"clients sleep between due times: that costs {format_us(mean(middle))} of slip at"
            f" {e.plan.labels[0]} and {format_us(mean(slips))} at {e.plan.labels[-1]}",
            "fewer `--clients` than processors, so that each can spin",
        )
    if e.owner.owner is not None:
        yield Reason(
            "owner",
            "mind",
            e.owner.text + (f" (on host {where})" if (where := host_of(e, e.owner.owner)) else ""),
            "the per-instance means are the figures to trust, not the merged ones",
        )
    yield from _connections(e)


def _connections(e: Evidence) -> Iterator[Reason]:
    """Connections that the server closed: all the time, or now and then."""
    found = connections(e.runs)
    lost = found["closed"] if found else sum(o.result["reconnects"] for run in e.runs for o in run.instances)
    if found and found["by_turns"]:
        known = [run.values[CONNECT][e.plan.labels[0]] for run in e.runs if CONNECT in run.values]
        took = f" ({format_us(mean(known))} at {e.plan.labels[0]})" if known else ""
        asked = e.plan.batching
        unbatched = (
            ""
            if asked == "none"
            else f"; `--batching {batching_text(asked)}` had no effect: each carries one request at a time"
        )
        yield Reason(
            "new_connections",
            "mind",
            f"the server closes its connections after each reply, or nearly so: {found['made']} were made for"
            f" {summed([run.counts for run in e.runs])['due']} requests, and latency holds the time to"
            f" connect{took}{unbatched}",
            "right if its users connect for each request, too; else let it keep connections open (HTTP/1.1,"
            " keep-alive)",
        )
    elif lost:
        yield Reason(
            "reconnects",
            "mind",
            f"the server closed {lost} connections during the load; each was made anew",
            "let the server keep connections open (nginx: keepalive_requests, keepalive_timeout)",
        )
