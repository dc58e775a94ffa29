"""The proof against a packet capture, written out."""

from typing import NamedTuple

from hindmost.report.common import numbers
from hindmost.store.measure import CaptureComparison, Measure


class Proof(NamedTuple):
    """One of our latencies next to the packet capture's, written."""

    what: str
    rows: list[tuple[str, str, str, str, str]]
    """Label, ours, the capture's, the gap with its interval, the differences request by request."""
    gaps: str
    constancy: str


def proofs(doc: Measure) -> list[Proof]:
    """Write what a packet capture says of our latencies; nothing where there was none."""
    found = doc.get("capture")
    if not found:
        return []
    return [
        _proof(what, one)
        for what, one in (("wire", found["wire"]), ("service", found["service"]))
        if one is not None
    ]


def _proof(what: str, one: CaptureComparison) -> Proof:
    def us(value: float | None) -> str:
        return f"−{numbers.number(-value)}" if value is not None and value < 0 else numbers.number(value)

    rows, gaps = [], []
    for name, gap in one["gap_us"].items():
        near = one["request_us"][name]
        known = f" [{us(gap['low'])}, {us(gap['high'])}]" if gap["low"] is not None else ""
        gaps.append(f"{name} {us(gap['value'])}{known}")
        rows.append(
            (
                name,
                us(one["ours_us"][name]["value"]),
                us(one["capture_us"][name]["value"]),
                us(gap["value"]) + known,
                f"{us(near['value'])} ({us(near['low'])} to {us(near['high'])})",
            )
        )
    off = one["constancy_us"]
    if off is None:
        constancy = "too few requests to tell whether that is a constant"
    else:
        holds = "a constant" if off <= one["goal_us"] else "no constant"
        constancy = f"{holds} within {us(off)} µs up to {one['upto']} (goal {one['goal_us']:g})"
    return Proof(what, rows, f"{', '.join(gaps)} µs", constancy)


def proof_text(doc: Measure) -> str:
    """Say in how many runs a packet capture is laid next to the measurement, and why in no more."""
    found = doc.get("capture")
    if not found:
        return ""
    text = f"{numbers.count(found['requests'])} requests in {found['runs']} of {found['of']} runs"
    if found["connections"]:
        text += f", of {numbers.plural(found['connections'], 'connection')} each"
    if found["fault"]:
        text += f"; {found['fault']}"
    return text
