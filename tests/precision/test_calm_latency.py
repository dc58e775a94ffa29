"""Calm latency is the latency of the same server undisturbed: memcached, a thief with known spells, turn by turn."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from measuring import need, need_two_processors

from benches.thefts import QUANTILES, calm_of, made, plan_of
from hindmost.run.figures import RunFigures
from hindmost.store import Study
from tests.precision.claims import Claim
from tests.precision.judging import Finding

SHARE, SPELL_MS = 0.1, 3.0
CLOSE = 0.1
ROUNDS = 3


def attempt(place: Path, which: int) -> Finding:
    """Runs with and without the thief, in turns, 8 s each: a minute."""
    cpu = need_two_processors()[which]
    plan = plan_of("memcached", "20k", 8.0)
    study = Study.create(place, {"plan": plan.model_dump(mode="json"), "host": {}})
    runs: dict[float, list[RunFigures]] = {0.0: [], SHARE: []}
    numbers = itertools.count(1)
    for _, share in itertools.product(range(ROUNDS), runs):
        run, _ = made(study, next(numbers), plan, cpu, share, SPELL_MS)
        runs[share].append(run)
    ratios = {name: calm_of(runs[SHARE], name) / calm_of(runs[0.0], name) for name in QUANTILES}
    told = ", ".join(f"{name} {ratio:.3f}" for name, ratio in ratios.items())
    return Finding(
        all(abs(ratio - 1.0) < CLOSE for ratio in ratios.values()), f"calm over undisturbed: {told}"
    )


@pytest.mark.memcached
@pytest.mark.parametrize("which", [0, 1], ids=["server", "client"])
def test_calm_latency_is_that_of_the_undisturbed_server(claim: Claim, tmp_path: Path, which: int) -> None:
    need("memcached")
    tries = itertools.count()
    claim.settle(
        f"with a tenth of a processor stolen, calm p50, p95 and p99 are within {CLOSE:.0%} of the undisturbed",
        lambda: attempt(tmp_path / str(next(tries)), which),
    )
