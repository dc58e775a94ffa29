"""Accuracy of clones on a host whose speed drifts: ``python benches/clones.py FOLDER``.

::

    cycle 1:   log at three loads   fit   2 pairs at each load       for each program in turn
    cycle 2:   log                  fit   2 pairs
    ...

On a typical shared host, the CPU time of a request changes by 5 to 10 % from one minute to the next, and a
clone describes the time of its logs. So logs and pairs alternate, every clone is fitted to logs made just
before, and all pairs count together: the result describes the fit, not one document. The requests of pairs
are never in the logs of their fit. Press Ctrl-C at any time: the results in FOLDER count, and the same
command continues.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hindmost.commands.clone.document import load_clone
from hindmost.commands.clone.documents.predictions import Interval, Prediction
from hindmost.commands.compare.clone.costs import CostRatios, cost_ratios
from hindmost.commands.compare.clone.draws import DRAWS, read_draw_ratios
from hindmost.commands.compare.clone.log_costs import read_logged
from hindmost.commands.compare.clone.ratios import MARGINS, SERIES, LoadPoint, compare_series, counted_pairs
from hindmost.commands.compare.clone.series import excluded_pairs
from hindmost.commands.compare.documents.clone import Ratio, Verification, VerifiedPoint
from hindmost.core.notes import Note
from hindmost.core.store import Study
from hindmost.core.store.reading import load as load_document

LOADS = (0.2, 0.5, 0.7)
TRIES = 4
ORIGINALS = Path(__file__).parent.parent / "originals"


def main() -> int:
    """Continue with the cycles, then print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--programs", default="sqlite,text,search,image,compress")
    parser.add_argument("--cycles", type=int, default=6)
    parser.add_argument(
        "--seconds", type=float, default=6.0, help="length of each log and each run of a pair"
    )
    parser.add_argument("--server-cpus", default="1")
    parser.add_argument("--only-show", action="store_true")
    asked = parser.parse_args()
    programs = asked.programs.split(",")
    for cycle in range(1, asked.cycles + 1):
        for program in programs:
            if (
                not asked.only_show
                and not (place(asked.folder, program, cycle) / "verification.json").exists()
            ):
                turn(asked.folder, program, cycle, asked.seconds, asked.server_cpus)
    for program in programs:
        show(program, list(join_cycles(asked.folder / program)))
    return 0


def place(folder: Path, program: str, cycle: int) -> Path:
    """Return the study of a cycle's pairs."""
    return folder / program / f"pairs-{cycle}"


def turn(folder: Path, program: str, cycle: int, seconds: float, cpus: str) -> None:
    """Run one cycle of one program: logs, fit, pairs."""
    home, target = (folder / program).resolve(), ORIGINALS / "targets" / f"{program}.toml"
    home.mkdir(parents=True, exist_ok=True)
    for number, rate in enumerate(rates(home, program, cycle, cpus)):
        log, study = home / f"log-{cycle}-{number}.csv", home / f"log-{cycle}-{number}"
        # Never a pair's seed: those are drawn from a study's seed, 64 bits wide.
        seed = 1_000 * cycle + number
        for _ in range(TRIES):  # discard logs of runs with interference
            if (study / "result.json").exists() and verdict(study) != "invalid":
                break
            shutil.rmtree(study, ignore_errors=True)
            hindmost(
                "measure",
                f"{target}?seed={seed}&log={log}",
                "--rate",
                f"{rate:.0f}",
                "--runs",
                "1",
                "--connections",
                "16",
                "--duration",
                f"{seconds:g}s",
                "--warmup",
                "1s",
                "--seed",
                seed,
                "--samples",
                "1000",
                "--stamps",
                "off",
                "--server-cpus",
                cpus,
                "--out",
                study,
            )
    logs = logs_of(home, cycle, ".csv")
    clone = home / f"clone-{cycle}.toml"
    hindmost("clone", "fit", *logs, home / f"log-{cycle}-0", "--same-host", "--name", program, "--out", clone)
    hindmost(
        "compare",
        target,
        "--clone",
        clone,
        "--pairs",
        "2",
        "--duration",
        f"{seconds:g}s",
        "--seed",
        cycle,
        "--server-cpus",
        cpus,
        "--out",
        place(folder, program, cycle),
    )


def logs_of(home: Path, cycle: int, ending: str) -> list[Path]:
    """Return the logs that a cycle's clone is fitted to (``.csv``), or the studies that produced them (no
    ending)."""
    return [home / f"log-{cycle}-{number}{ending}" for number in range(len(LOADS))]


def rates(home: Path, program: str, cycle: int, cpus: str) -> list[float]:
    """Return the rate of each load in requests/s: from the previous clone, or from requests sent back to
    back."""
    before = home / f"clone-{cycle - 1}.toml"
    if before.exists():
        clone = load_clone(before)
        return [clone.rate_at(load) or 0.0 for load in LOADS]
    log = home / "alone.csv"
    command = [ORIGINALS / "bin" / "originals", program, "--integrated", "--requests", "8000", "--cpus", cpus]
    subprocess.run([*command, "--log", log], check=True, capture_output=True)
    took = [int(line.split(",")[3]) for line in log.read_text().splitlines()[1:]]
    return [load * 1e9 / (sum(took) / len(took) + 8_000.0) for load in LOADS]


def verdict(study: Path) -> str:
    """Return the verdict of a study."""
    return str(json.loads((study / "result.json").read_text())["verdict"])


def hindmost(*words: object) -> None:
    """Run the program as a user would; invalid runs and pairs that differ are not errors."""
    ended = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from hindmost.cli import main; sys.exit(main())",
            *map(str, words),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if ended.returncode not in (0, 3, 4, 6):
        sys.exit(f"{' '.join(map(str, words))}\n{ended.stderr}")


def join_cycles(home: Path) -> Iterator[VerifiedPoint]:
    """Yield each load with the pairs of all cycles."""
    studies = sorted(home.glob("pairs-*/verification.json"), key=lambda path: int(path.parent.name[6:]))
    for load in LOADS:
        runs: dict[str, list[Any]] = {who: [] for who in SERIES}
        drawn: dict[int, Mapping[str, float]] = {}
        costs: CostRatios = {}
        excluded: dict[int, Note] = {}
        points = []
        for study in studies:
            found = load_document(study, Verification).points
            (own,) = (one for one in found if abs(one.load - load) < 1e-9)
            points.append(own)
            part, before = study.parent / f"{load:.4g}", len(runs["clone"])
            results = {who: json.loads((part / who / "result.json").read_text()) for who in SERIES}
            for who in SERIES:
                runs[who] += [run | {"run": before + run["run"]} for run in results[who]["runs"]]
            logged = read_logged(logs_of(home, int(study.parent.name[6:]), ""))
            clone = load_clone(study.parent / "clone.json")
            bad = excluded_pairs({who: Study.open(part / who) for who in SERIES}, mean_prediction([own]))
            by_cost = cost_ratios(clone, own.rate_per_s, *counted_pairs(results, bad), logged)
            excluded |= {before + number: why for number, why in bad.items()}
            by_draws = read_draw_ratios(part / "clone" / DRAWS)
            drawn |= {before + number: found for number, found in by_draws.items()}
            costs |= {before + number: found for number, found in by_cost.items()}
        if points:
            rate = sum(one.rate_per_s for one in points) / len(points)
            results = {who: {"runs": of} for who, of in runs.items()}
            yield compare_series(
                LoadPoint(load, rate), results, mean_prediction(points), excluded, drawn, costs
            )


def mean_prediction(points: Sequence[VerifiedPoint]) -> Prediction:
    """Return the mean of the simulator's predictions for the cycles' clones."""
    predicted = {name: [one.figures[name].predicted_us.value for one in points] for name in MARGINS}
    return Prediction(
        state="done",
        threads=1,
        rate_per_s=None,
        capacity_per_s=None,
        load=None,
        latency_us={
            name: Interval(value=sum(us) / len(us), low=None, high=None) for name, us in predicted.items()
        },
    )


def show(program: str, points: Sequence[VerifiedPoint]) -> None:
    """Print a row for each load and figure."""
    for one in points:
        print(
            f"{program} {one.load:.0%} {one.rate_per_s:,.0f}/s: {one.pairs} pairs"
            f" (+{one.left_out} excluded), {one.requests:,} requests of the original;"
            f" a request cost {format_ratio(one.cost)}"
        )
        for name, figure in one.figures.items():
            series_us = (figure.original_us.value, figure.clone_us.value, figure.predicted_us.value)
            values = [us or 0.0 for us in series_us]
            sides = map(format_ratio, (figure.clone, figure.as_logged, figure.floor))
            print(f"  {name:>4}  {'  '.join(f'{value:7,.0f}' for value in values)}  {''.join(sides)}")


def format_ratio(ratio: Ratio | None) -> str:
    """Return a ratio with its interval and outcome as text."""
    if ratio is None or ratio.low is None:
        return f"{'unknown':<34}"
    return f"{ratio.ratio:.3f} [{ratio.low:.3f}, {ratio.high:.3f}] {ratio.outcome:<12}"


if __name__ == "__main__":
    sys.exit(main())
