"""Time of a fit, from file to document, and of a mixture compared with scikit-learn: ``python
benches/fit.py``.

One million requests of moses (three components, one of them 0.05 %). scikit-learn (``pip install
scikit-learn``) gets the logarithms, already in memory, and chooses from 1 to 4 components by BIC; our
mixtures are fitted to the same samples in alternation: to all of them with ``--whole``, else to a tenth.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from hindmost.commands.clone.document import load_clone
from hindmost.commands.clone.fit import account, fit_clone, read_log
from hindmost.commands.clone.fit.bins import Grid
from hindmost.commands.clone.fit.laws.mixture import fit_lognormals


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--whole", action="store_true", help="give scikit-learn all samples")
    asked = parser.parse_args()
    us = times(asked.requests)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.csv"
        write_log(log, us)
        column = Path(folder) / "column.csv"
        np.savetxt(column, us, fmt="%.3f", header="service_us", comments="")
        rows = [
            ("server's log (CSV, six columns) to document", lambda: account(fit_clone(read_log(log)))),
            ("column of times (CSV) to document", lambda: account(fit_clone(read_log(column)))),
            ("reading the server's log, as a part of it", lambda: read_log(log)),
        ]
        print(f"{asked.requests:,} requests, {asked.rounds} rounds: median [least, most] s")
        for name, work in rows:
            print(f"  {name:<46}{spread(work, asked.rounds)}")
    logs = np.log(us)
    print(f"  {'1 to 4 lognormals, ours':<46}{spread(lambda: ours(logs), asked.rounds)}")
    compare_with_sklearn(logs if asked.whole else logs[::10], asked.rounds)
    return 0


def ours(logs: np.ndarray) -> object:
    """Fit mixtures of 1 to 4 lognormals, as a fit does before it chooses."""
    return fit_lognormals(Grid.from_samples(logs).binned)


def compare_with_sklearn(logs: np.ndarray, rounds: int) -> None:
    """Fit scikit-learn's mixtures, chosen by BIC, and ours to the same samples, in alternation."""
    try:
        from sklearn.mixture import GaussianMixture
    except ImportError:
        print("  scikit-learn is not installed: no comparison", file=sys.stderr)
        return
    column = logs.reshape(-1, 1)

    def theirs() -> GaussianMixture:
        found = [GaussianMixture(k, random_state=1).fit(column) for k in (1, 2, 3, 4)]
        return min(found, key=lambda one: one.bic(column))

    took = []
    for _ in range(rounds):
        started = time.perf_counter()
        ours(logs)
        between = time.perf_counter()
        best = theirs()
        took.append((between - started, time.perf_counter() - between))
    mine, other = np.array(took).T
    ratios = other / mine
    print(
        f"  the same of {len(logs):,} requests: ours {np.median(mine):.3f} s,"
        f" scikit-learn {np.median(other):.2f} s,"
    )
    print(f"    {np.median(ratios):.0f} times as long [{ratios.min():.0f}, {ratios.max():.0f}]")
    medians = ", ".join(f"{m:.4g}" for m in np.sort(np.exp(best.means_.ravel())))
    print(f"    it chose {best.n_components}, with medians {medians} us (planted: 840, 1525, 11450)")


def spread(work: Callable[[], object], rounds: int) -> str:
    """Return median, minimum and maximum seconds."""
    took = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        took.append(time.perf_counter() - started)
    return f"{np.median(took):.2f} [{min(took):.2f}, {max(took):.2f}]"


def times(n: int) -> np.ndarray:
    """Return service times of moses."""
    draws = np.random.default_rng(1)
    parts = load_clone("moses").document["service"]
    place = draws.choice(len(parts), size=n, p=[part["weight"] for part in parts])
    median = np.array([part["law"]["median_us"] for part in parts])[place]
    sigma = np.array([part["law"]["sigma_log"] for part in parts])[place]
    return np.asarray(median * np.exp(sigma * draws.standard_normal(n)))


def write_log(path: Path, us: np.ndarray) -> None:
    """Write a log of one busy thread."""
    wall = np.round(us * 1e3).astype(np.int64)
    start = 10**12 + np.concatenate([[0], np.cumsum(wall + 100)[:-1]])
    rows = np.column_stack([start, start, start + wall, wall, np.zeros_like(wall), np.zeros_like(wall)])
    with path.open("w", encoding="utf-8") as file:
        file.write("arrival_ns,start_ns,end_ns,cpu_ns,thread,kind\n")
        np.savetxt(file, rows, fmt="%d", delimiter=",")


if __name__ == "__main__":
    sys.exit(main())
