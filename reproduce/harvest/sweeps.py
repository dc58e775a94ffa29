"""Simulations over seeds: each query is run on several data centers drawn alike."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from hindmost.commands.harvest.simulation import Kind, published_center, simulate
from reproduce.harvest.document import CurvePoint

TENANTS_PER_SERVER = 0.15


@dataclass(frozen=True)
class Query:
    """One query: a simulator, a data center, its changes, and the settings."""

    kind: Kind
    number: int
    settings: Mapping[str, Any]
    center: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Sweep:
    """The number and the size of the data centers drawn for each query."""

    seeds: int
    servers: int

    def run(self, asked: Sequence[Query]) -> list[list[Mapping[str, float]]]:
        """Run all queries; return for each the results by seed. The engine uses all CPUs."""
        pairs = [(one, seed) for one in asked for seed in range(self.seeds)]
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            try:
                found = list(pool.map(lambda pair: self._run_query(*pair), pairs))
            except BaseException:  # after Ctrl-C, all waiting simulations would otherwise run first
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return [found[at : at + self.seeds] for at in range(0, len(found), self.seeds)]

    def _run_query(self, asked: Query, seed: int) -> Mapping[str, float]:
        drawn = {
            "seed": 1000 * (seed + 1) + asked.number,
            "servers": self.servers,
            "tenants": max(9, round(self.servers * TENANTS_PER_SERVER)),
        }
        center = published_center(asked.number, **(drawn | dict(asked.center)))
        result = simulate(asked.kind, center, **asked.settings).result
        return {name: number for name, number in result.items() if number is not None}


def point(x: float, values: Iterable[float]) -> CurvePoint:
    """Return mean, lowest and highest value over seeds, as in the chapter's figures."""
    found = [*values]
    return {"x": x, "mean": sum(found) / len(found), "low": min(found), "high": max(found)}
