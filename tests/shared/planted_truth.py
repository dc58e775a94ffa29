"""The true latencies of the planted server: its clone document, simulated for each cell."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hindmost.commands.clone.document import load_clone
from hindmost.commands.clone.simulation import Design, run_points
from hindmost.core.targets import parse_target
from hindmost.core.targets.placeholders import render
from hindmost.stats import Factorial

EXAMPLES = Path(__file__).parents[2] / "examples" / "attribution"
OPTIONS = {"body": "body_us", "hold": "hold_us", "rare": "rare", "pause": "pause_us", "nothing": "seed"}
REQUESTS = 1_000_000


def true_latency_us(folder, levels, rate, labels):
    """Simulate one cell."""
    spec = parse_target(str(EXAMPLES / "planted-server.toml")).spec
    values = spec.options | {OPTIONS[name]: float(level) for name, level in levels.items()}
    file = folder / "clone.toml"
    file.write_text(render(spec.files["clone.toml"], values))
    design = Design(requests=REQUESTS, seed=5, quantiles=tuple(float(q[1:]) / 100.0 for q in labels))
    (outcome,) = run_points(load_clone(str(file)), [{"load": {"rate_per_s": rate}}], design)
    return {label: outcome.prediction["latency_us"][label]["value"] for label in labels}


def true_effects(document, folder):
    """Effects averaged over the other factors, by quantile and term, in microseconds."""
    (load,) = document["loads"]
    labels = document["quantiles"]
    model = Factorial([factor["name"] for factor in document["factors"]])
    cells = [true_latency_us(folder, cell["levels"], load["rate_per_s"], labels) for cell in load["cells"]]
    solve = np.linalg.inv(model.matrix(model.cells, "average"))
    return {
        label: dict(
            zip((c.name for c in model.columns), solve @ [cell[label] for cell in cells], strict=True)
        )
        for label in labels
    }
