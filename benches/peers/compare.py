"""Computes figures from the rows of a contest: medians over rounds, ratios within a round."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benches.peers.freeze import right_answer

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Middle:
    """Median, minimum and maximum over `n` rounds; NaN if there is none."""

    value: float
    low: float
    high: float
    n: int


def middle(values: Iterable[float | None]) -> Middle:
    """Return the median of the values that exist.

    Examples
    --------
    >>> middle([3.0, None, 1.0, 2.0])
    Middle(value=2.0, low=1.0, high=3.0, n=3)
    """
    found = sorted(value for value in values if value is not None and not math.isnan(value))
    if not found:
        return Middle(math.nan, math.nan, math.nan, 0)
    return Middle(median(found), found[0], found[-1], len(found))


class ContestRows:
    """The rows of a contest by server, peer and mode.

    Parameters
    ----------
    rows : sequence of mapping
        As `contest.load` returns them; rows with a failure are kept separately.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self.failures = [row for row in rows if "failure" in row]
        self._rows = [row for row in rows if "failure" not in row]

    def rounds(self, protocol: str, peer: str, mode: str) -> list[Row]:
        """Return all rounds of one peer in one mode."""
        return [
            row for row in self._rows if (row["protocol"], row["peer"], row["mode"]) == (protocol, peer, mode)
        ]

    def middle(self, protocol: str, peer: str, mode: str, pick: Callable[[Row], float | None]) -> Middle:
        """Return the median over rounds."""
        return middle(pick(row) for row in self.rounds(protocol, peer, mode))

    def ratio(
        self, protocol: str, ours: str, theirs: str, mode: str, pick: Callable[[Row], float | None]
    ) -> Middle:
        """Return the median over rounds of the ratio ours : theirs in the same round."""
        other = {row["round"]: pick(row) for row in self.rounds(protocol, theirs, mode)}
        ratios = []
        for row in self.rounds(protocol, ours, mode):
            mine, its = pick(row), other.get(row["round"])
            if mine is not None and its:
                ratios.append(mine / its)
        return middle(ratios)


def per_core(row: Row) -> float | None:
    """Return requests per second of the client's CPU time."""
    share = row["cpu_share"]
    return None if not share else row["report"]["per_s"] / share


def cost_us(row: Row) -> float | None:
    """Return the client's CPU time per request in microseconds."""
    found = per_core(row)
    return None if found is None else 1e6 / found


def spread(row: Row) -> float | None:
    """Return the coefficient of variation of the gaps on the wire."""
    return row["wire"]["spread"] if "wire" in row else None


def achieved_share(row: Row) -> float | None:
    """Return the fraction of the requested rate that was on the wire."""
    return row["wire"]["per_s"] / row["requested_per_s"] if row["requested_per_s"] else None


def reported_latency(row: Row, kind: str) -> Mapping[str, float]:
    """Return one kind of latency that a row reports: ``latency``, or one of Hindmost's other kinds."""
    others: Mapping[str, Mapping[str, float]] = row["report"]["others_us"]
    return others.get(kind) or (row["report"]["latency_us"] if kind == "latency" else {})


def error_us(kind: str, name: str) -> Callable[[Row], float | None]:
    """Return a function that computes reported minus captured latency in microseconds."""

    def pick(row: Row) -> float | None:
        said = reported_latency(row, kind).get(name)
        return None if said is None or "wire" not in row else said - row["wire"]["latency_us"][name]

    return pick


def error_share(kind: str, name: str) -> Callable[[Row], float | None]:
    """Return a function that computes the same as a fraction of the captured latency."""

    def pick(row: Row) -> float | None:
        error = error_us(kind, name)(row)
        return None if error is None else error / row["wire"]["latency_us"][name]

    return pick


def size(pick: Callable[[Row], float | None]) -> Callable[[Row], float | None]:
    """Return a function that computes the absolute value."""

    def absolute(row: Row) -> float | None:
        value = pick(row)
        return None if value is None else abs(value)

    return absolute


def of_right(name: str, capacity: float) -> Callable[[Row], float | None]:
    """Return a function that computes the latency reported in a freeze as a fraction of the right answer."""

    def pick(row: Row) -> float | None:
        said = row["report"]["latency_us"].get(name)
        usual = row["report"]["latency_us"].get("p50", 0.0)
        rate = row["requested_per_s"] or 0.0
        right = right_answer(row["frozen_s"], row["seconds"], rate, capacity, usual)
        return None if said is None else said / right[name]

    return pick
