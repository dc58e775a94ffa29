"""The comparison with a packet capture, as text."""

from typing import NamedTuple

from hindmost.core.store.measure import CaptureComparison, Measure
from hindmost.present import numbers


class Proof(NamedTuple):
    """One kind of latency next to the packet capture's, formatted."""

    what: str
    rows: list[tuple[str, str, str, str, str]]
    """Label, the client's value, the capture's, their gap with its interval, the differences per request."""
    gaps: str
    constancy: str


def proofs(doc: Measure) -> list[Proof]:
    """Return the comparisons with a packet capture. Empty without a capture."""
    found = doc.capture
    if not found:
        return []
    return [
        _proof(what, one)
        for what, one in (("wire", found.wire), ("service", found.service))
        if one is not None
    ]


def _proof(what: str, one: CaptureComparison) -> Proof:
    def us(value: float | None) -> str:
        return f"−{numbers.number(-value)}" if value is not None and value < 0 else numbers.number(value)

    rows, gaps = [], []
    for name, gap in one.gap_us.items():
        near = one.request_us[name]
        known = f" [{us(gap.low)}, {us(gap.high)}]" if gap.low is not None else ""
        gaps.append(f"{name} {us(gap.value)}{known}")
        rows.append(
            (
                name,
                us(one.ours_us[name].value),
                us(one.capture_us[name].value),
                us(gap.value) + known,
                f"{us(near.value)} ({us(near.low)} to {us(near.high)})",
            )
        )
    off = one.constancy_us
    if off is None:
        constancy = "too few requests to test whether the gap is constant"
    else:
        holds = "constant" if off <= one.goal_us else "not constant"
        constancy = f"{holds} within {us(off)} µs up to {one.upto} (goal {one.goal_us:g})"
    return Proof(what, rows, f"{', '.join(gaps)} µs", constancy)


def proof_text(doc: Measure) -> str:
    """Describe the extent of the packet capture, and why it does not cover every run."""
    found = doc.capture
    if not found:
        return ""
    text = f"{numbers.count(found.requests)} requests in {found.runs} of {found.of} runs"
    if found.connections:
        text += f", of {numbers.plural(found.connections, 'connection')} each"
    if found.fault:
        text += f"; {found.fault}"
    return text
