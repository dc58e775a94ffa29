"""Time and memory as a function of size, for code that reads files and stored runs: ``python
benches/growth.py [NAME ...]``.

Each figure comes from a separate process, at four sizes. Time that grows faster than size is a defect.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

ENTRIES, RUNS = (12_500, 25_000, 50_000, 100_000), (125, 250, 500, 1_000)
SERVERS, TENANTS = (2_500, 5_000, 10_000, 20_000), (500, 1_000, 2_000, 4_000)
ROWS, CELLS = (12_500, 25_000, 50_000, 100_000), (8, 16, 32, 64)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help=", ".join(CASES))
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--limit", type=float, default=120.0, help="time limit of one figure in seconds")
    asked = parser.parse_args()
    if asked.one is not None:
        return measure(asked.names[0], asked.one, asked.folder)
    print(f"{'':18}{'size':>9}{'seconds':>9}{'MB':>7}")
    for name in asked.names or CASES:
        for size in CASES[name][0]:
            with tempfile.TemporaryDirectory() as folder:
                command = [sys.executable, __file__, name, "--one", str(size), "--folder", folder]
                try:
                    told = subprocess.run(
                        command, capture_output=True, timeout=asked.limit, check=True
                    ).stdout
                    found = json.loads(told.splitlines()[-1])
                    print(f"{name:18}{size:9,}{found['seconds']:9.2f}{found['mb']:7.0f}", flush=True)
                except subprocess.TimeoutExpired:
                    print(f"{name:18}{size:9,}{f'> {asked.limit:.0f}':>9}", flush=True)
                    break
    return 0


def measure(name: str, size: int, folder: Path) -> int:
    """Create the input; print CPU time and memory of the step, without its imports."""
    step = CASES[name][1](size, folder)
    began, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with redirect_stdout(StringIO()):
        step()
    seconds = time.process_time() - began
    print(
        json.dumps(
            {"seconds": seconds, "mb": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024}
        )
    )
    return 0


def _har(size: int, folder: Path) -> Callable[[], object]:
    headers = [{"name": "Accept", "value": "text/html"}]
    entries = [
        {"request": {"method": "GET", "url": f"http://h/{n}", "headers": headers}} for n in range(size)
    ]
    return _workload(folder / "a.har", json.dumps({"log": {"entries": entries}}))


def _openapi(size: int, folder: Path) -> Callable[[], object]:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}
    one = {"requestBody": {"content": {"application/json": {"schema": schema}}}, "responses": {"201": {}}}
    paths = {f"/{n}": {"post": one | {"operationId": f"make{n}"}} for n in range(size)}
    return _workload(folder / "a.json", json.dumps({"openapi": "3.0.3", "paths": paths}))


def _vegeta(size: int, folder: Path) -> Callable[[], object]:
    return _workload(
        folder / "a.txt", "\n\n".join(f"GET http://h/{n}\nAccept: text/html" for n in range(size))
    )


def _workload(path: Path, text: str) -> Callable[[], object]:
    from hindmost.cli import main as hindmost

    path.write_text(text)
    hindmost(["workload", "facebook-etc"])  # imports
    return lambda: hindmost(["workload", str(path)])


def _plan(size: int, _: Path) -> Callable[[], object]:
    from hindmost import MeasurePlan

    requests = [{"method": "GET", "path": f"/{n}", "name": f"k{n % 60}"} for n in range(size)]
    plan = MeasurePlan(target="http://h:1", workload={"kind": "http", "requests": requests})
    return lambda: plan.engine_plan(1, 0, "http", "h:1")


def _study(size: int, folder: Path) -> Path:
    """Create a study of `size` identical runs."""
    from hindmost.cli import main as hindmost

    study = folder / "study"
    options = ["--rate", "2k", "--runs", "1..1", "--duration", "1s", "--quiet", "--out", str(study)]
    with redirect_stdout(StringIO()):
        hindmost(["measure", "synth", *options])
    for number in range(2, size + 1):
        shutil.copytree(study / "runs/0001", study / f"runs/{number:04d}")
    return study


def _report(size: int, folder: Path) -> Callable[[], object]:
    from hindmost.cli import main as hindmost

    study = _study(size, folder)
    for kept in study.glob("runs/*/figures.msgpack"):
        kept.unlink()
    return lambda: hindmost(["study", "report", str(study)])


def _report_again(size: int, folder: Path) -> Callable[[], object]:
    step = _report(size, folder)
    step()
    return step


def _compare(size: int, folder: Path) -> Callable[[], object]:
    from hindmost.cli import main as hindmost

    study = _study(size // 2, folder)
    other = shutil.copytree(study, folder / "other")
    return lambda: hindmost(["compare", str(study), str(other)])


def _classify(size: int, _: Path) -> Callable[[], object]:
    from benches.harvest import month
    from hindmost.commands.harvest.classes import Settings, classify

    traces = month(size)
    return lambda: classify(traces, Settings(stability=False))


def _place(size: int, _: Path) -> Callable[[], object]:
    from benches.harvest import month
    from hindmost.commands.harvest.classes import Settings, classify
    from hindmost.commands.harvest.decisions import place

    classes = classify(month(100), Settings(stability=False))
    return lambda: place(classes, size)


def _scheduling(size: int, _: Path) -> Callable[[], object]:
    from hindmost.commands.harvest.simulation import simulate

    return lambda: simulate("scheduling", {"servers": size}, days=1.0)


def _regression(size: int, _: Path) -> Callable[[], object]:
    import numpy as np

    from hindmost.stats import QuantileRegression

    random = np.random.default_rng(1)
    x = random.standard_normal((size, 30))
    y = 10.0 + x.sum(axis=1) + random.exponential(1.0, size)
    return lambda: QuantileRegression(0.95).fit(x, y)


def _coefficients(size: int, _: Path) -> Callable[[], object]:
    import numpy as np

    from hindmost.stats import Factorial, fit_runs
    from hindmost.stats.factors.permutation import coefficient_ps

    random = np.random.default_rng(1)
    factorial = Factorial([f"f{at}" for at in range(size.bit_length() - 1)])
    fit = fit_runs({cell: random.lognormal(4.0, 0.05, 10) for cell in factorial.cells}, factorial)
    return lambda: coefficient_ps(fit)


CASES: dict[str, tuple[tuple[int, ...], Callable[[int, Path], Callable[[], object]]]] = {
    "har": (ENTRIES, _har),
    "openapi": (ENTRIES, _openapi),
    "vegeta": (ENTRIES, _vegeta),
    "plan": (ENTRIES, _plan),
    "report": (RUNS, _report),
    "report again": (RUNS, _report_again),
    "compare": (RUNS, _compare),
    "classify": (TENANTS, _classify),
    "place": (ENTRIES, _place),
    "scheduling": (SERVERS, _scheduling),
    "regression": (ROWS, _regression),
    "coefficients": (CELLS, _coefficients),
}

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    sys.exit(main())
