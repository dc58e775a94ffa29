"""The true latencies of the planted server: its clone document, simulated for each cell."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np

from hindmost.commands.clone.document import Clone, load_clone
from hindmost.commands.clone.simulation import Design, run_points
from hindmost.core.targets import parse_target
from hindmost.core.targets.placeholders import render
from hindmost.stats import Factorial

EXAMPLES = Path(__file__).parents[2] / "examples" / "attribution"
OPTIONS = {"body": "body_us", "hold": "hold_us", "rare": "rare", "pause": "pause_us", "nothing": "seed"}
REQUESTS = 1_000_000


def load_cell(folder: Path, levels: dict[str, str], own_us: float) -> Clone:
    """Load the clone of one cell. `own_us` of the server's own work per request pass with the critical section."""
    spec = parse_target(str(EXAMPLES / "planted-server.toml")).spec
    values = spec.options | {OPTIONS[name]: float(level) for name, level in levels.items()}
    values["hold_us"] += own_us
    file = folder / "clone.toml"
    file.write_text(render(spec.files["clone.toml"], values))
    return load_clone(str(file))


def own_work_us(document: dict[str, Any], folder: Path) -> float:
    """The server's CPU time per request beyond what is planted: its system calls and parsing, in us.

    The thread is busy for this time too, so it makes queues, and thereby all effects on the tail, longer. It comes
    from the CPU time of the server's process in each run, not from a latency or from the use of its CPU, which other
    programs share.
    """
    (load,) = document["loads"]
    rate = load["rate_per_s"]
    own = []
    for cell in load["cells"]:
        clone = load_cell(folder, cell["levels"], 0.0)
        planted_us = clone.mean_busy_us + 1e6 * clone.stopped_share / rate
        places = [factor["levels"].index(cell["levels"][factor["name"]]) for factor in document["factors"]]
        for run in folder.glob(f"study/*/{'-'.join(map(str, places))}/runs/*/run.json"):
            own.append(1e6 * json.loads(run.read_text())["server_cpu_share"] / rate - planted_us)
    return max(0.0, statistics.median(own))


def true_effects(document: dict[str, Any], folder: Path) -> dict[str, dict[str, float]]:
    """Effects averaged over the other factors, by quantile and term, in microseconds."""
    (load,) = document["loads"]
    labels = document["quantiles"]
    own_us = own_work_us(document, folder)
    design = Design(requests=REQUESTS, seed=5, quantiles=tuple(float(q[1:]) / 100.0 for q in labels))
    model = Factorial([factor["name"] for factor in document["factors"]])

    def simulate(levels: dict[str, str]) -> list[float]:
        clone = load_cell(folder, levels, own_us)
        (outcome,) = run_points(clone, [{"load": {"rate_per_s": load["rate_per_s"]}}], design)
        return [outcome.prediction.latency_us[label].value for label in labels]

    latency_us = np.array([simulate(cell["levels"]) for cell in load["cells"]])
    effects = np.linalg.inv(model.matrix(model.cells, "average")) @ latency_us
    names = [column.name for column in model.columns]
    return {label: dict(zip(names, effects[:, i], strict=True)) for i, label in enumerate(labels)}
