"""Requests of cells, by run, as samples or histograms, from which pooled quantiles are computed.

Histograms of runs need no samples: 480 runs take about 15 MB, whatever the number of requests, and a
quantile's error is at most the width of a bin. Infinitely late (censored) requests count as slower than all
others. A quantile among them is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from hindmost import _engine
from hindmost.errors import ArgumentError
from hindmost.stats.factors.coding import Cell
from hindmost.stats.tables import Floats

Bins = tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]
"""Lower edges, upper edges and counts of the bins of one run."""


class Requests:
    """Requests of every cell, by run.

    Create it with `of_samples` or `of_histograms`.

    Attributes
    ----------
    cells : tuple of cells
        Cells with requests, in order.
    run_cell : ndarray, shape (runs,)
        Index of each run's cell.
    totals : ndarray, shape (runs,)
        Number of requests of each run.
    """

    def __init__(
        self, cells: Sequence[Cell], runs_of_cell: Sequence[int], totals: Floats, late: float = np.inf
    ) -> None:
        self.cells = tuple(cells)
        self.run_cell: npt.NDArray[np.int64] = np.repeat(np.arange(len(cells)), runs_of_cell)
        self.totals = totals
        self._late = late
        self._samples: list[Floats] | None = None
        self._histograms: _engine.QuantileRuns | None = None
        self._sorted: _engine.QuantileCells | None = None
        self._bins: tuple[Floats, npt.NDArray[np.uint32], Floats] | None = None

    @classmethod
    def of_samples(cls, samples: Mapping[Cell, Sequence[npt.ArrayLike]]) -> Requests:
        """Create from samples: for each cell one array per run, in any unit.

        Raises
        ------
        ValueError
            If there are no runs, or a run has no requests.
        """
        cells = sorted(cell for cell, runs in samples.items() if len(runs))
        runs = [np.asarray(run, dtype=np.float64).ravel() for cell in cells for run in samples[cell]]
        if not runs or min(run.size for run in runs) == 0:
            raise ArgumentError(
                "bad-argument", "every cell needs runs, and every run requests", argument="samples"
            )
        counts = [len(samples[cell]) for cell in cells]
        out = cls(cells, counts, np.array([run.size for run in runs], dtype=np.float64))
        out._samples = runs
        return out

    @classmethod
    def of_histograms(cls, histograms: Mapping[Cell, Sequence[_engine.Histogram | Bins]]) -> Requests:
        """Create from histograms: one per run, the engine's (nanoseconds) or bins with edges and counts.

        Raises
        ------
        ValueError
            If there are no runs, a run has no requests, or bins of different runs overlap without being
            equal.
        """
        cells = sorted(cell for cell, runs in histograms.items() if len(runs))
        parts = [_bins(run) for cell in cells for run in histograms[cell]]
        if not parts:
            raise ArgumentError(
                "bad-argument", "every cell needs runs, and every run requests", argument="samples"
            )
        low, first, of_bin = np.unique(
            np.concatenate([part[0] for part in parts]), return_index=True, return_inverse=True
        )
        tops = np.concatenate([part[1] for part in parts])
        high = tops[first]
        if (high[of_bin] != tops).any():
            at = float(low[of_bin][high[of_bin] != tops][0])
            raise ArgumentError(
                "bad-argument",
                f"bins from {at:g} end at different places in different runs",
                argument="histograms",
            )
        counts = np.concatenate([part[2] for part in parts])
        late = np.array([part[3] for part in parts])
        ends = np.cumsum([len(part[0]) for part in parts])
        last = 2.0 * max(1.0, float(high[-1])) if high.size else 1.0
        if late.any():  # add one more bin far above the others, after the bins of each run
            low, high = np.append(low, last), np.append(high, last)
            of_bin, counts = np.insert(of_bin, ends, low.size - 1), np.insert(counts, ends, late)
            ends = ends + np.arange(1, ends.size + 1)
        runs_of_cell = [len(histograms[cell]) for cell in cells]
        totals = np.array([float(part[2].sum() + part[3]) for part in parts])
        out = cls(cells, runs_of_cell, totals, last if late.any() else np.inf)
        bins, times = of_bin.astype(np.uint32), counts.astype(np.uint32)
        out._histograms = _engine.QuantileRuns(low, high, bins, times, ends.tolist(), runs_of_cell)
        cell_of = np.repeat(out.run_cell, np.diff(ends, prepend=0)).astype(np.uint32)
        out._bins = ((low + high)[bins] / 2.0, cell_of, counts)
        return out

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Number of runs of each cell."""
        return np.bincount(self.run_cell, minlength=len(self.cells)).astype(np.int64)

    @property
    def mass(self) -> Floats:
        """Number of requests of each cell."""
        return np.asarray(np.bincount(self.run_cell, self.totals, len(self.cells)), dtype=np.float64)

    @property
    def sorted(self) -> _engine.QuantileCells:
        """The requests (or bins' midpoints) sorted by cell, for models with fewer coefficients."""
        if self._sorted is None:
            count = len(self.cells)
            if self._samples is not None:
                of_run = np.array([run.size for run in self._samples])
                cell_of = np.repeat(self.run_cell.astype(np.uint32), of_run)
                self._sorted = _engine.QuantileCells(np.concatenate(self._samples), cell_of, count)
            else:
                assert self._bins is not None
                self._sorted = _engine.QuantileCells(self._bins[0], self._bins[1], count, self._bins[2])
        return self._sorted

    @property
    def histograms(self) -> _engine.QuantileRuns:
        """The runs as histograms; for samples, with bins of 1/1024 of a doubling."""
        if self._histograms is None:
            assert self._samples is not None
            self._histograms = _histograms_of(self._samples, self.counts)
        return self._histograms

    def quantiles(self, tau: float) -> Floats:
        """Return the pooled quantile of each cell.

        Raises
        ------
        ValueError
            For a level that is not in (0, 1), or a cell that is infinitely late there.
        """
        if not 0.0 < tau < 1.0:
            raise ArgumentError(
                "bad-argument",
                f"a quantile lies between 0 and 1, ends excluded, got {tau}",
                argument="tau",
                value=tau,
            )
        of = self._histograms if self._histograms is not None and self._samples is None else self.sorted
        return self.finite(np.array(of.quantiles(tau), dtype=np.float64), tau)

    def finite(self, values: Floats, tau: float) -> Floats:
        """Return the values of cells unchanged, unless one is infinitely late."""
        if (values >= self._late * 0.75).any():
            cell = self.cells[int(values.argmax())]
            raise ArgumentError(
                "bad-argument",
                f"cell {cell} is infinitely late at p{100 * tau:g}, so its effects are undefined",
                argument="tau",
                value=tau,
                cell=list(cell),
            )
        return values

    def below(self, at: Floats) -> Floats:
        """Return the number of requests of each run at or below a value of its cell."""
        if self._samples is None:
            return np.array(self.histograms.below(at.tolist()))
        counts = [np.count_nonzero(run <= at[c]) for run, c in zip(self._samples, self.run_cell, strict=True)]
        return np.array(counts, dtype=np.float64)

    def together(self) -> _engine.QuantileCells:
        """Return all requests as one cell."""
        if self._samples is not None:
            everything = np.concatenate(self._samples)
            return _engine.QuantileCells(everything, np.zeros(everything.size, dtype=np.uint32), 1)
        assert self._bins is not None
        values, cell_of, mass = self._bins
        return _engine.QuantileCells(values, np.zeros_like(cell_of), 1, mass)


def _bins(run: _engine.Histogram | Bins) -> tuple[Floats, Floats, Floats, float]:
    """Return edges and counts of one run, and its number of infinitely late requests."""
    late = 0.0
    if isinstance(run, _engine.Histogram):
        parts = [np.frombuffer(raw, dtype=np.uint64) for raw in run.bins()]
        late = float(run.censored)
    else:
        parts = [np.asarray(part) for part in run]
    low, high, counts = (part.astype(np.float64) for part in parts)
    if low.shape != high.shape or low.shape != counts.shape or low.ndim != 1:
        raise ValueError(f"bins need as many edges as counts, got {low.shape}, {high.shape}, {counts.shape}")
    return low, high, counts, late


def _histograms_of(samples: list[Floats], runs_of_cell: npt.NDArray[np.int64]) -> _engine.QuantileRuns:
    least = min(float(run.min()) for run in samples)
    # Shift to positive values if necessary, because bins are even in the logarithm.
    shift = 0.0 if least > 0.0 else 1.0 - least
    of_bin = [np.floor(np.log2(run + shift) * 1024.0).astype(np.int64) for run in samples]
    first, last = min(int(b.min()) for b in of_bin), max(int(b.max()) for b in of_bin)
    edges = np.exp2(np.arange(first, last + 2) / 1024.0) - shift
    counted = [np.bincount(b - first, minlength=last - first + 1) for b in of_bin]
    used = [np.flatnonzero(count) for count in counted]
    return _engine.QuantileRuns(
        np.ascontiguousarray(edges[:-1]),
        np.ascontiguousarray(edges[1:]),
        np.concatenate(used).astype(np.uint32),
        np.concatenate([count[at] for count, at in zip(counted, used, strict=True)]).astype(np.uint32),
        np.cumsum([at.size for at in used]).tolist(),
        runs_of_cell.tolist(),
    )
