"""The client's self-diagnosis as text."""

from hindmost.core.store.measure import Figure, Instrument, Measure
from hindmost.present import numbers
from hindmost.present.writing import FINDING_MARKS

NOTHING: Instrument = Instrument(figures=[], neighbours=[], interrupts=[])
LINES: dict[str, tuple[str, dict[str, str]]] = {
    "CPU": (
        "",
        {
            "working": "{} sending and receiving",
            "on_cpu": "{} on CPU",
            "waiting": "{} in the run queue",
            "stolen": "{} stolen by the hypervisor",
            "throttled": "{} of its quota's periods throttled",
            "switches": "preempted {}",
            "interrupts": "interrupted {}",
        },
    ),
    "late": (
        "sent more than 5 µs late: ",
        {
            "late_writing": "{} behind other sends",
            "late_reading": "{} behind replies",
            "late_waiting": "{} off CPU or asleep",
            "own_send_delay": "send delay p99 {} beyond that of its write calls alone",
        },
    ),
    "network": (
        "",
        {
            "retransmitted": "retransmissions {} of requests",
            "dropped": "{} connections dropped",
            "blocked": "{} of writes blocked",
            "peer_full": "the server's receive buffer full {} of the time",
            "receive_fill": "its own receive buffer at most {} full",
        },
    ),
}
"""Lines of the self-diagnosis: the key of each, an introduction, the texts of the figures by their id."""
SHOWN_WHEN_ZERO = ("waiting", "stolen", "retransmitted")


def self_diagnosis(doc: Measure) -> Instrument:
    """Return the self-diagnosis. It is empty in documents of versions without one."""
    return doc.instrument or NOTHING


def amount(value: float | None, unit: str) -> str:
    """Format a share, a rate, a count or a time."""
    if unit == "us":
        return numbers.latency(value)
    if unit == "share":
        return numbers.percent(value)
    return numbers.rate(value) if unit == "per_s" else numbers.count(value)


def lines(doc: Measure) -> list[tuple[str, str]]:
    """Return the self-diagnosis, one line per cause. Figures that are too high are marked."""
    found = self_diagnosis(doc)
    shown = {
        one.id: one
        for one in found.figures
        if one.value is not None and (one.value or one.id in SHOWN_WHEN_ZERO)
    }
    rows = []
    for key, (about, words) in LINES.items():
        parts = [_mark_text(shown[name], text) for name, text in words.items() if name in shown]
        if parts:
            rows.append((key, about + ", ".join(parts)))
    if found.neighbours:
        rows.append(("others", neighbours(found)))
    return rows


def _mark_text(one: Figure, text: str) -> str:
    mark = "" if one.mark == "fine" else f"{FINDING_MARKS.get(one.mark, '!')} "
    return mark + text.format(amount(one.value, one.unit))


def neighbours(found: Instrument, most: int = 3) -> str:
    """List the programs that ran on the clients' CPUs, by share of a CPU."""
    return ", ".join(
        f"{one.name} {'' if one.bound else 'up to '}{numbers.percent(one.share)}"
        for one in found.neighbours[:most]
    )
