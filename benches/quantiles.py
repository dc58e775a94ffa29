"""Quantile regression of a factorial design, ours and others': ``python benches/quantiles.py``.

The paper's problem: 16 cells of four factors, 30 runs each, lognormal requests; every run has its own shift
and spread (5 %). Times are CPU seconds of one call, in alternation, so that a busy host disturbs ratios less;
memory is the peak of the process. Others: R's quantreg (``apt install r-cran-quantreg``) and statsmodels and
pyfixest (``--python``: an interpreter that has them); missing ones are skipped.

``--only saturated,submodels,histograms,bootstrap,errors,continuous``; ``--whole`` gives R's fastest method
all 9.6 million rows, too, which takes it a minute and five gigabytes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from hindmost import _engine
from hindmost.stats import Factorial, QuantileRegression, Requests, fit_pooled

FACTORS = Factorial(["a", "b", "c", "d"])
CELLS, RUNS = 16, 30
LEVELS = [0.5, 0.95, 0.99]
PEERS = Path(__file__).with_name("quantile_peers.py")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="saturated,submodels,histograms,bootstrap,errors,continuous")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--python", default=sys.executable, help="interpreter with statsmodels and pyfixest")
    parser.add_argument("--whole", action="store_true")
    asked = parser.parse_args()
    parts = {
        "saturated": time_saturated,
        "submodels": submodels,
        "histograms": histograms,
        "bootstrap": bootstrap,
    }
    for name in asked.only.split(","):
        print(f"\n{name}")
        if name == "errors":
            errors(asked.rounds, asked.python)
        elif name == "continuous":
            continuous(asked.python)
        elif name == "saturated":
            time_saturated(asked.rounds, asked.python, asked.whole)
        else:
            parts[name](asked.rounds)
    return 0


def problem(each: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return requests, cell and run of each; `each` per run, in the order of runs."""
    random = np.random.default_rng(1)
    runs = CELLS * RUNS
    level = 4.0 + 0.02 * (np.arange(runs) // RUNS) + random.normal(0.0, 0.05, runs)
    spread = 0.4 * np.exp(random.normal(0.0, 0.05, runs))
    y = np.exp(level[:, None] + spread[:, None] * random.standard_normal((runs, each), dtype=np.float32))
    run = np.repeat(np.arange(runs), each)
    return y.ravel().astype(np.float64), (run // RUNS).astype(np.uint32), run


def time_saturated(rounds: int, python: str, whole: bool) -> None:
    """Measure goal S1: all 16 coefficients at three levels."""
    y, cell, _ = problem(20_000)
    ours = measure_calls(lambda: _engine.quantiles_of_cells(y, cell, CELLS, LEVELS), rounds)
    extra = peak_memory(lambda: _engine.quantiles_of_cells(y, cell, CELLS, LEVELS))
    data = (y.nbytes + cell.nbytes) / 1e6
    say(f"ours, {y.size:,} rows, 3 levels", ours, f"+{extra / 1e6:.1f} MB on top of {data:.0f} MB of data")
    say("numpy.partition by cell, 3 levels", measure_calls(lambda: by_partition(y), 1))
    sizes = [(2_000, ["pfn", "fn"], ["statsmodels"])] + ([(20_000, ["pfn"], [])] if whole else [])
    for each, of_r, of_python in sizes:
        y, cell, _ = problem(each)
        mine = measure_calls(
            lambda y=y, cell=cell: _engine.quantiles_of_cells(y, cell, CELLS, [0.99]), rounds
        )
        say(f"ours, {y.size:,} rows, p99", mine)
        for name, found in run_other_tools(y, each, 0.99, of_r, of_python, python, se=False):
            say(f"{name}, {y.size:,} rows, p99", [found["seconds"]], versus(found, mine, y, cell))


def submodels(rounds: int) -> None:
    """Measure goal S2: main effects, and those with all pairs, after one sort."""
    y, cell, _ = problem(20_000)
    say(f"sorting {y.size:,} rows", measure_calls(lambda: _engine.QuantileCells(y, cell, CELLS), 1))
    cells = _engine.QuantileCells(y, cell, CELLS)
    for order, name in ((1, "main effects"), (2, "with pairs")):
        terms = [t for k in range(1, order + 1) for t in itertools.combinations(FACTORS.factors, k)]
        x = Factorial(FACTORS.factors, terms=terms).matrix(FACTORS.cells)
        for tau in LEVELS:
            flat = x.ravel().tolist()
            say(
                f"{name} ({x.shape[1]}), p{100 * tau:g}",
                measure_calls(lambda f=flat, t=tau, p=x.shape[1]: cells.fit(f, p, t), rounds),
            )


def histograms(rounds: int) -> None:
    """Measure goal S3: 480 histograms instead of 9.6 million rows."""
    y, cell, run = problem(20_000)
    exact = np.array(_engine.quantiles_of_cells(y, cell, CELLS, LEVELS))
    filled = []
    for of in np.split(np.round(y * 1e3).astype(np.int64), CELLS * RUNS):
        one = _engine.Histogram()
        for nanos, count in zip(*np.unique(of, return_counts=True), strict=True):
            one.record(int(nanos), int(count))
        filled.append(one)
    by_cell = {c: filled[i * RUNS : (i + 1) * RUNS] for i, c in enumerate(FACTORS.cells)}
    made = Requests.of_histograms(by_cell)
    bins = len({low for one in filled for low in np.frombuffer(one.bins()[0], np.uint64).tolist()})
    say(
        "adopting 480 histograms",
        measure_calls(lambda: Requests.of_histograms(by_cell), 1),
        f"{bins * 480 * 4 / 1e6:.1f} MB",
    )
    say("cells at three levels", measure_calls(lambda: [made.quantiles(tau) for tau in LEVELS], rounds))
    found = np.array([made.quantiles(tau) for tau in LEVELS]).T / 1e3
    print(f"  largest relative error {np.abs(found / exact - 1).max():.2e}; 2^-10 = {2**-10:.2e}")
    assert run.size == y.size


def bootstrap(rounds: int) -> None:
    """Measure goal S4: 2,000 draws of runs, three levels."""
    y, _, _ = problem(20_000)
    runs = np.split(y, CELLS * RUNS)
    made = Requests.of_samples({c: runs[i * RUNS : (i + 1) * RUNS] for i, c in enumerate(FACTORS.cells)})
    of = made.histograms
    took = measure_calls(lambda: of.bootstrap(LEVELS, 2_000, 1, False), rounds)
    say(
        "2,000 draws x 3 levels x 16 cells",
        took,
        f"{1e6 * float(np.median(took)) / 6_000:.1f} us per draw and level",
    )


def errors(rounds: int, python: str) -> None:
    """Measure goal S5: standard errors, with and without runs, 96,000 rows, p95."""
    y, cell, run = problem(200)
    runs = np.split(y, CELLS * RUNS)
    design = FACTORS.matrix(FACTORS.cells)[:, 1:][cell]

    def refit() -> object:
        made = Requests.of_samples({c: runs[i * RUNS : (i + 1) * RUNS] for i, c in enumerate(FACTORS.cells)})
        return fit_pooled(made, FACTORS, 0.95).effects()

    mine = measure_calls(refit, rounds)
    say("ours, cells: fit, cluster and naive errors", mine)
    say(
        "ours, QuantileRegression with clusters",
        measure_calls(lambda: QuantileRegression(0.95).fit(design, y, clusters=run), rounds),
    )
    naive = [one.error for one in QuantileRegression(0.95).fit(design, y).coefficients_]
    for name, found in run_other_tools(y, 200, 0.95, ["fn"], ["statsmodels", "pyfixest"], python, se=True):
        note = f"{found['seconds'] / np.median(mine):,.0f} times ours"
        if "errors" in found and name.startswith("R "):
            note += (
                f"; naive errors differ by {np.abs(np.array(found['errors']) / naive - 1).max():.1e} at most"
            )
        say(name, [found["seconds"]], note)


def continuous(python: str) -> None:
    """Measure columns of continuous covariates at p95, one fit each: the goal is to be faster than
    statsmodels."""
    for rows, columns in itertools.product((10_000, 100_000, 1_000_000), (3, 10, 30)):
        random = np.random.default_rng(1)
        x = random.standard_normal((rows, columns))
        y = 10.0 + x.sum(axis=1) + random.exponential(1.0, rows)
        found: list[QuantileRegression] = []
        took = measure_calls(
            lambda x=x, y=y, found=found: found.append(QuantileRegression(0.95).fit(x, y)), 1
        )
        name = f"{rows:,} rows, {columns} columns"
        say(f"ours, {name}", took)
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder) / "y"
            np.column_stack([y, x]).tofile(data)
            peer = run_peer(
                [python, str(PEERS), "statsmodels", str(data), str(columns), "0.95", "0", "columns"]
            )
        if peer:
            rest = y - found[0].predict(x)
            ours = float((rest * (0.95 - (rest < 0))).sum())
            ratio, off = peer["seconds"] / took[0], peer["objective"] / ours - 1.0
            say(f"statsmodels, {name}", [peer["seconds"]], f"{ratio:.1f} times ours; objective {off:+.1e}")


def run_other_tools(
    y: np.ndarray, each: int, tau: float, of_r: list[str], of_python: list[str], python: str, *, se: bool
) -> list[tuple[str, dict]]:
    """Return time and result of others for the saturated model; missing ones are named and skipped."""
    out = []
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "y"
        y.tofile(data)
        for method in of_r:
            out.append(
                (
                    f"R quantreg {method}",
                    run_peer(
                        [
                            "Rscript",
                            str(PEERS.with_suffix(".R")),
                            str(data),
                            str(each),
                            str(tau),
                            method,
                            str(int(se)),
                        ]
                    ),
                )
            )
        for name in of_python:
            out.append(
                (name, run_peer([python, str(PEERS), name, str(data), str(each), str(tau), str(int(se))]))
            )
    return [(name, found) for name, found in out if found]


def run_peer(command: list[str]) -> dict:
    """Run a peer and return the JSON that it prints last."""
    if shutil.which(command[0]) is None:
        print(f"  {command[0]} is not here", file=sys.stderr)
        return {}
    # Threads that wait for each other would count as CPU seconds.
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900, env=env)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        print(f"  {command[1]} left with {done.returncode}: {said}", file=sys.stderr)
        return {}
    return json.loads(done.stdout.strip().splitlines()[-1])


def versus(found: dict, mine: list[float], y: np.ndarray, cell: np.ndarray) -> str:
    """Return a comparison with a peer: time, memory, objective."""
    at = [q[0] for q in _engine.quantiles_of_cells(y, cell, CELLS, [0.99])]
    ours = sum(_engine.QuantileCells(y, cell, CELLS).losses(at, 0.99))
    ratio = found["seconds"] / float(np.median(mine))
    off = found["objective"] / ours - 1.0
    return f"{ratio:,.0f} times ours; peak {found['peak_mb']:,.0f} MB; objective {off:+.1e}"


def by_partition(y: np.ndarray) -> list[np.ndarray]:
    """Compute the quantiles like a careful user of numpy."""
    ranks = [int(tau * y.size / CELLS) for tau in LEVELS]
    return [np.partition(of, ranks)[ranks] for of in np.split(y, CELLS)]


def measure_calls(work: Callable[[], object], rounds: int) -> list[float]:
    """Return the CPU seconds of each call."""
    out = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        out.append(time.process_time() - started)
    return out


def say(name: str, took: list[float], note: str = "") -> None:
    """Print one line: median, minimum and maximum milliseconds."""
    least, most = 1e3 * min(took), 1e3 * max(took)
    print(
        f"  {name:<46}{1e3 * float(np.median(took)):>10.2f} ms [{least:.2f}, {most:.2f}]  {note}", flush=True
    )


def peak_memory(work: Callable[[], object]) -> float:
    """Return the peak of additional bytes that the process held while it worked."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # resets the peak
    before = status("VmRSS")
    work()
    return status("VmHWM") - before


def status(key: str) -> float:
    """Return a value of /proc/self/status in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024.0 * float(next(line for line in lines if line.startswith(key)).split()[1])


if __name__ == "__main__":
    sys.exit(main())
