"""Rings as arrays: samples, events, and latency over time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hindmost import _engine
from hindmost.commands.watch.daemon import translate_error
from hindmost.commands.watch.document import Batch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Ring:
    """Contents of a ring file, oldest first.

    Attributes
    ----------
    about : dict
        Owner of the ring: ``application``, ``host``, ``pid``, ``boot``.
    names : list of str
        Names of the columns of `values`.
    totals : list of bool
        Which columns are counters that only grow.
    at_s : array, shape (n,)
        Times of samples, seconds since 1970 by the host's clock.
    values : array, shape (n, len(names))
        Samples as whole numbers; -1 where the host does not report one.
    events : list
        ``(at_s, what)``: gaps, clock changes, neighbours, moved threads, disabled collectors.
    histograms : list
        ``(at_s, {bin: count})`` of latencies.
    bins_an_octave : int
        Bins per octave of the histograms.
    cut : bool
        Whether the file is shorter than it was created.
    """

    about: dict[str, Any]
    names: list[str]
    totals: list[bool]
    at_s: NDArray[np.float64]
    values: NDArray[np.int64]
    events: list[tuple[float, dict[str, Any]]]
    histograms: list[tuple[float, dict[int, int]]]
    bins_an_octave: int
    cut: bool

    def column(self, name: str) -> NDArray[np.float64]:
        """Return one column; for counters, the increase per second. NaN where a value is unknown."""
        import numpy as np

        at = self.names.index(name)
        values = self.values[:, at].astype(float)
        values[values < 0] = np.nan
        if not self.totals[at]:
            return values
        rates = np.full(len(values), np.nan)
        if len(values) > 1:
            seconds = np.diff(self.at_s)
            grown = np.diff(values)
            fine = (seconds > 0) & (grown >= 0)
            rates[1:][fine] = grown[fine] / seconds[fine]
        return rates


def bin_middle_us(number: int, an_octave: int = 64) -> float:
    """Return the middle of a histogram bin, µs.

    Examples
    --------
    >>> bin_middle_us(100)
    0.1005
    """
    octave = max(0, number // an_octave - 1)
    low = (number - octave * an_octave) << octave
    return (low + (1 << octave) / 2) / 1000


def merged_quantile_us(histograms: Sequence[dict[int, int]], q: float, an_octave: int = 64) -> float:
    """Return a quantile of several histograms merged, µs; NaN if they are empty."""
    counts: dict[int, int] = {}
    for one in histograms:
        for number, count in one.items():
            counts[number] = counts.get(number, 0) + count
    left = q * sum(counts.values())
    for number in sorted(counts):
        left -= counts[number]
        if left <= 0:
            return bin_middle_us(number, an_octave)
    return float("nan")


def read_ring(path: Path) -> Ring:
    """Read a ring file, complete or truncated, during or after the watch.

    Raises
    ------
    HindmostError
        The file cannot be read, or is not a ring.
    """
    import numpy as np

    try:
        text, names, at, offset, values, events, histograms, cut = _engine.read_ring(str(path))
    except _engine.EngineError as error:
        raise translate_error(error, path=str(path)) from None
    header = json.loads(text)
    at_us, offset_us = np.frombuffer(at, np.int64), np.frombuffer(offset, np.int64)
    last = int(offset_us[-1]) if len(offset_us) else 0
    # Events have no clock offset, so each gets the offset of the sample before it.
    shift = [
        int(offset_us[max(0, int(np.searchsorted(at_us, when)) - 1)]) if len(at_us) else last
        for when, _ in [*events, *histograms]
    ]
    moments = [(when + off) / 1e6 for (when, _), off in zip([*events, *histograms], shift, strict=True)]
    return Ring(
        about=header["about"],
        names=names,
        totals=header["totals"],
        at_s=(at_us + offset_us) / 1e6,
        values=np.frombuffer(values, np.int64).reshape(-1, len(names)),
        events=[(moment, json.loads(what)) for moment, (_, what) in zip(moments, events, strict=False)],
        histograms=[
            (moment, dict(counts))
            for moment, (_, counts) in zip(moments[len(events) :], histograms, strict=True)
        ],
        bins_an_octave=header["about"]["bins_an_octave"],
        cut=cut,
    )


def merge(rings: Sequence[Ring], batch_s: float = 10.0) -> list[Batch]:
    """Merge the latency of rings from several hosts, in batches of wall-clock time.

    Clock offsets between hosts are not corrected, so batches should be much longer than the offsets.
    """
    batches: dict[int, dict[str, list[dict[int, int]]]] = {}
    for ring in rings:
        host = str(ring.about["host"])
        for at, counts in ring.histograms:
            batches.setdefault(int(at // batch_s), {}).setdefault(host, []).append(counts)
    octave = rings[0].bins_an_octave if rings else 64
    rows = []
    for number in sorted(batches):
        by_host = batches[number]
        every = [counts for histograms in by_host.values() for counts in histograms]
        rows.append(
            Batch(
                at_s=number * batch_s,
                requests=sum(sum(counts.values()) for counts in every),
                p50_us=merged_quantile_us(every, 0.5, octave),
                p95_us=merged_quantile_us(every, 0.95, octave),
                p99_us=merged_quantile_us(every, 0.99, octave),
                by_host={host: merged_quantile_us(one, 0.99, octave) for host, one in by_host.items()},
            )
        )
    return rows
