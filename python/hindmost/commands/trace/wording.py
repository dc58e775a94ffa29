"""How a trace names stages, causes and culprits, and how it writes figures."""

from __future__ import annotations

from collections.abc import Iterator

from hindmost.core.tracing.advice import share_of
from hindmost.core.tracing.document import (
    Cause,
    CpuUseByOthers,
    Culprit,
    DelaySources,
    Figure,
    Part,
    PredictedGain,
    Relation,
    SlowPart,
    Windows,
)
from hindmost.core.tracing.windows import MOST_COST
from hindmost.present.blocks import Cell, Text
from hindmost.present.numbers import MISSING, count, number, percent, seconds

STAGES = {
    "network_to_tcp": "network to TCP",
    "tcp_to_read": "TCP to read",
    "read_to_start": "read to start",
    "start_to_response": "start to response",
    "response_to_network": "response to network",
    "latency": "in the server's host",
}
CAUSES: dict[Cause, str] = {
    "running": "running",
    "run_queue": "waited for a CPU",
    "interrupt": "interrupted",
    "handed_on": "passed on by another thread",
    "wake": "wake-up",
    "lock": "waited for a lock",
    "page_fault": "page fault",
    "blocked": "blocked",
    "unseen": "unknown",
}
RELATIONS: dict[Relation, str] = {
    "own": "the server's own",
    "other": "another process",
    "kernel": "the kernel's",
    "interrupt": "an interrupt",
    "idle": "a sleeping CPU",
    "unknown": "unknown",
}
"""Relation of a culprit to the server."""
LEAST_OF_IT = 0.5
TIMES_ANOTHER = 2.0
"""A thread is named separately if it has at least half of the total of all threads with its name, and at
least twice as much as each of the others. (Of two threads, the larger always has half.)
"""


def delay_text(one: Part | SlowPart) -> str:
    """Say what delayed requests: the culprit, if it is known, the cause and the stage."""
    who = one if isinstance(one, SlowPart) else one.who
    where = f"{CAUSES[one.cause]}, {STAGES[one.stage]}"
    return where if who is None or who.relation is None else f"{culprit_text(who)}: {where}"


def culprit_text(who: Culprit | SlowPart) -> str:
    """Format the name and the relation of a culprit.

    >>> culprit_text(Culprit(name="mc-lrumaint", process=7, relation="own", requests=1))
    "mc-lrumaint (the server's own)"
    >>> culprit_text(Culprit(name="backup", process=9, relation="other", requests=1))
    'backup, process 9 (another process)'
    >>> from hindmost.core.tracing.document import Foremost
    >>> most = Foremost(thread=31, share=0.91)
    >>> pool = Culprit(name="pool", process=7, relation="own", requests=1, threads=8, foremost=most)
    >>> culprit_text(pool).replace("\u202f", " ")
    "pool (the server's own; thread 31 of 8 has 91 % of it)"
    """
    process = f", process {who.process}" if who.relation == "other" else ""
    most = who.foremost if isinstance(who, Culprit) else None
    apart = ""
    if isinstance(who, Culprit) and most and most.share >= max(LEAST_OF_IT, double_share(who.threads)):
        share = percent(round(min(1.0, most.share), 2))
        apart = f"; thread {most.thread} of {who.threads} has {share} of it"
    return f"{who.name}{process} ({RELATIONS[who.relation or 'unknown']}{apart})"


def double_share(threads: int) -> float:
    """Return the share at which a thread has twice as much as each other thread.

    >>> double_share(3)
    0.5
    """
    return TIMES_ANOTHER / (TIMES_ANOTHER + threads - 1)


def figure_cell(one: Figure) -> Cell:
    """Format a figure and its interval."""
    return Cell(
        number(one.value), detail="" if one.low is None else f"[{number(one.low)}, {number(one.high)}]"
    )


def share_cell(one: Figure | None) -> Cell:
    """Format a share and its interval in percent."""
    if one is None:
        return Cell(MISSING)
    ends = "" if one.low is None else f"[{percent(one.low)}, {percent(one.high)}]"
    return Cell(percent(one.value), detail=ends)


def unknown_texts(who: DelaySources) -> Iterator[str]:
    """Yield one sentence per reason about the requests' time without a known culprit."""
    for why in dict.fromkeys(one.why for one in who.unknown):
        alike = [one for one in who.unknown if one.why == why]
        mean, share = sum(one.mean_us.value for one in alike), sum(map(share_of, alike))
        yield (
            f"No culprit is known for {number(mean)} µs on average, {percent(share)} of the variance, in"
            f" {count(max(one.requests for one in alike))} of {count(who.requests)} requests: {why}."
        )


def prediction_text(gain: PredictedGain) -> str:
    """Format the predicted latency without the culprit."""
    (mean, less), (sd, narrow) = gain.mean_us, gain.sd_us
    text = (
        f"Without it: mean {number(mean)} to {number(less)} µs, standard deviation {number(sd)} to"
        f" {number(narrow)} µs"
    )
    if gain.queue_us is not None:
        now, then = gain.queue_us
        text += f"; waiting and service at a worker {number(now)} to {number(then)} µs (Pollaczek-Khinchine)"
    if gain.service_may_grow_to_us is not None:
        text += f"; worthwhile while the service time stays below {number(gain.service_may_grow_to_us)} µs"
    return f"{text}, all else being equal."


def windows_texts(found: Windows) -> Iterator[Text]:
    """Yield which part of the time was traced, unless the user asked for all of it.

    >>> [one.text for one in windows_texts(Windows(one_in=1, window_s=0.1, expected_cost=None))]
    []
    """
    cost = found.expected_cost
    price = "" if cost is None else f", for about {percent(cost)} of the server's CPU time"
    if cost is not None and cost > MOST_COST:
        price += " (less with a longer --duration)"
    if found.one_in > 1:
        yield Text(
            f"One in {found.one_in} windows of {seconds(found.window_s)} was traced, at random places{price}."
            " --windows 1 traces all the time."
        )
    elif price:
        yield Text(f"All requests were traced{price}.")


def interference_text(found: CpuUseByOthers) -> str:
    """Format the share of the server's CPUs used by others; empty if it is unknown."""
    stolen, others = found.hypervisor_share, found.other_programs
    parts = [] if stolen is None else [f"the hypervisor used {percent(stolen)} of CPUs {found.cpus}"]
    if others is not None:
        share = percent(others.share_of_variance)
        parts.append(
            f"other programs delayed a request by {number(others.mean_us)} µs ({share} of the variance)"
        )
    return f"Interference: {', '.join(parts)}." if parts else ""
