"""Rings as arrays: what was sampled, what happened, latency by time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hindmost import _engine
from hindmost.watch.daemon import told

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Ring:
    """What a ring holds, the oldest first.

    Attributes
    ----------
    about : dict
        Whose it is: ``application``, ``host``, ``pid``, ``boot``.
    names : list of str
        Of the columns of `values`.
    totals : list of bool
        Which of them only grow.
    at_s : array, shape (n,)
        Seconds since 1970, by the clock of its host.
    values : array, shape (n, len(names))
        Whole numbers, as they were read; -1 where the host does not tell.
    events : list
        ``(at_s, what)``: gaps, set clocks, neighbours, threads that moved, collectors that were shed.
    histograms : list
        ``(at_s, {bin: count})`` of latencies.
    bins_an_octave : int
        Of the histograms.
    cut : bool
        The file is shorter than it was made.
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
        """One column; of totals, what was added a second. NaN where a value is not known."""
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
    """The middle of a histogram's bin, microseconds.

    Examples
    --------
    >>> bin_middle_us(100)
    0.1005
    """
    octave = max(0, number // an_octave - 1)
    low = (number - octave * an_octave) << octave
    return (low + (1 << octave) / 2) / 1000


def merged_quantile_us(histograms: Sequence[dict[int, int]], q: float, an_octave: int = 64) -> float:
    """A quantile of several histograms together, microseconds; NaN where they are empty."""
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
    """Read a ring, whole or cut off, while it is written or later.

    Raises
    ------
    HindmostError
        The file cannot be read, or is not a ring.
    """
    import numpy as np

    try:
        text, names, at, offset, values, events, histograms, cut = _engine.read_ring(str(path))
    except _engine.EngineError as error:
        raise told(error, path=str(path)) from None
    header = json.loads(text)
    at_us, offset_us = np.frombuffer(at, np.int64), np.frombuffer(offset, np.int64)
    last = int(offset_us[-1]) if len(offset_us) else 0
    # Events carry no offset of their own: that of the sample before them.
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


def merge(rings: Sequence[Ring], batch_s: float = 10.0) -> list[dict[str, Any]]:
    """Join rings of several hosts: latency of all together, by batches of the wall clock.

    Returns
    -------
    list of dict
        ``at_s``, ``requests``, ``p50_us``, ``p95_us``, ``p99_us``, and ``by_host``: each host's p99. Hosts'
        clocks are taken as they are: batches should be long against their offsets.
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
        every = [counts for all_of_it in by_host.values() for counts in all_of_it]
        rows.append(
            {
                "at_s": number * batch_s,
                "requests": sum(sum(counts.values()) for counts in every),
                **{f"p{q}_us": merged_quantile_us(every, q / 100, octave) for q in (50, 95, 99)},
                "by_host": {host: merged_quantile_us(one, 0.99, octave) for host, one in by_host.items()},
            }
        )
    return rows
