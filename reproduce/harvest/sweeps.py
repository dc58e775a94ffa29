"""Simulations over seeds: each question asked of several data centers, drawn alike."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from hindmost.harvest.simulation import Kind, published, simulate
from reproduce.harvest.document import CurvePoint

TENANTS_PER_SERVER = 0.15


@dataclass(frozen=True)
class Asked:
    """One question: a simulator, which data center, what of it is changed, and the settings."""

    kind: Kind
    number: int
    settings: Mapping[str, Any]
    center: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Sweep:
    """How many data centers are drawn for each question, and how large they are."""

    seeds: int
    servers: int

    def run(self, asked: Sequence[Asked]) -> list[list[Mapping[str, float]]]:
        """Ask all; for each question the results by seed. The engine works on all processors."""
        pairs = [(one, seed) for one in asked for seed in range(self.seeds)]
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            try:
                found = list(pool.map(lambda pair: self._one(*pair), pairs))
            except BaseException:  # Ctrl-C while they are handed out: those that wait would all be made first
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return [found[at : at + self.seeds] for at in range(0, len(found), self.seeds)]

    def _one(self, asked: Asked, seed: int) -> Mapping[str, float]:
        drawn = {
            "seed": 1000 * (seed + 1) + asked.number,
            "servers": self.servers,
            "tenants": max(9, round(self.servers * TENANTS_PER_SERVER)),
        }
        center = published(asked.number, **(drawn | dict(asked.center)))
        result = simulate(asked.kind, center, **asked.settings)["result"]
        return {name: number for name, number in result.items() if number is not None}


def point(x: float, values: Iterable[float]) -> CurvePoint:
    """Mean, lowest and highest over seeds, as the chapter's figures have them."""
    found = [*values]
    return {"x": x, "mean": sum(found) / len(found), "low": min(found), "high": max(found)}
