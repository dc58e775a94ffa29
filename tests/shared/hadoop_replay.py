"""A synthetic day of primary tenants for real data nodes: history to classify, then loads to replay."""

from pathlib import Path

import numpy as np

from hindmost.commands.harvest.classes import classify
from hindmost.commands.harvest.hadoop import tenants_text
from hindmost.commands.harvest.reading import Tenant, Traces

SLOT_S = 600.0
SLOTS = 144
"""Slots of the replayed day."""
HISTORY = 7 * SLOTS


def generate_loads(tenants: int, seed: int) -> np.ndarray:
    """Utilisation of tenants: daily, roughly constant, and random walk in rotation. Shape: (tenants, history + day)."""
    draws = np.random.default_rng(seed)
    days = np.arange(HISTORY + SLOTS) * SLOT_S / 86_400
    rows = []
    for index in range(tenants):
        level = draws.lognormal(np.log(0.3), 0.5)
        noise = draws.normal(0, 0.02, len(days))
        kinds = (
            level * (1 + 0.7 * np.sin(2 * np.pi * (days + draws.normal(0, 0.08)))),  # one region's day
            np.full(len(days), level),
            level * (0.2 + 1.6 * np.abs(0.03 * np.cumsum(draws.normal(0, 1, len(days))) % 2 - 1)),
        )
        rows.append(np.clip(kinds[index % 3] + noise, 0.0, 1.0))
    return np.stack(rows)


def scale_loads(cpu: np.ndarray, mean: float) -> np.ndarray:
    """Scale loads so that the last day has this mean, clipped at one: the linear scaling of chapter IV."""
    low, high = 0.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if np.minimum(middle * cpu[:, HISTORY:], 1).mean() < mean else (low, middle)
        )
    return np.minimum(high * cpu, 1.0)


def write_replay(
    folder: Path, servers: int, means: list[float], seed: int = 1
) -> tuple[Path, dict[float, Path]]:
    """Write the input of the replay: tenants by their history, and a day's loads of all hosts at each mean.

    A tenant has two servers and its own environment. Servers are reimaged as in the chapter, once a month or less.
    """
    tenants = servers // 2
    cpu = generate_loads(tenants, seed)
    draws = np.random.default_rng(seed + 1)
    owners = [
        Tenant(
            f"t{index}",
            f"e{index}",
            [f"dn{2 * index + k}.test" for k in range(2)],
            float(draws.uniform(0, 1)),
            2.0,
        )
        for index in range(tenants)
    ]
    history = scale_loads(cpu, max(means))[:, :HISTORY]
    tenants_file = folder / "tenants.tsv"
    tenants_file.write_text(tenants_text(classify(Traces(owners, history, SLOT_S))))
    traces = {}
    for mean in means:
        day = scale_loads(cpu, mean)[:, HISTORY:]
        traces[mean] = folder / f"{mean * 100:.0f}"
        traces[mean].write_text(
            "".join(
                f"{host} {' '.join(f'{share:.3f}' for share in day[index])}\n"
                for index, owner in enumerate(owners)
                for host in owner.servers
            )
        )
    return tenants_file, traces
