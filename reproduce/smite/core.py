"""Predictors of co-location on a simulated core, where the truth of every pair is known."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from hindmost.commands.colocate.prediction.models import Linear, default_model
from hindmost.commands.colocate.prediction.profiles import Array, Profiles
from hindmost.commands.colocate.prediction.promise import learn_admission
from hindmost.commands.colocate.prediction.skill import keep_known, pairs_of, scores
from hindmost.errors import UsageError
from reproduce.simulate import simulate
from reproduce.smite.arrivals import arrivals_from_pods, generate_arrivals
from reproduce.smite.steering import loss_of_tail, steer
from reproduce.smite.tco import saving, tornado

FILLED, WARM, TICKS = 100_000, 5_000, 100_000
"""Instructions that fill the caches, ticks before counting, and ticks counted. Losses differ by .015 on
average from those with 400,000 ticks. With empty caches and 20,000 ticks before counting they were .04 too
low, because programs running alone had not yet filled the third-level cache."""
STEERED_TICKS = 20_000
"""Ticks for steering a cluster: noisier losses, but an answer in a few seconds."""
LEAST_PROGRAMS = 8
LIMITS = (0.3, 0.55)
"""Limits of the lost fraction in queries: around the loss of the programs (0.42), where prediction is
hardest."""
TARGETS = np.linspace(0.5, 0.975, 20)


def run_core(
    programs: int,
    seed: int,
    *,
    warm: int = WARM,
    ticks: int = TICKS,
    filled: int = FILLED,
    partners: int | None = None,
) -> tuple[Profiles, Array]:
    """Return profiles and true losses of random programs.

    Parameters
    ----------
    programs, seed : int warm, ticks, filled : int
        Parameters of the simulated core.
    partners : int, optional
        Number of other programs that each runs with, the next ones; NaN for the rest. Default: all.

    Raises
    ------
    UsageError
        If there are too few programs to split into halves.
    """
    if programs < LEAST_PROGRAMS:
        raise UsageError(
            "few-programs",
            f"{programs} programs are too few to learn from half of them",
            hint=f"--programs {LEAST_PROGRAMS}",
            option="--programs",
            have=programs,
            need=LEAST_PROGRAMS,
        )
    asked: dict[str, int] = {
        "programs": programs,
        "seed": seed,
        "warm": warm,
        "ticks": ticks,
        "filled": filled,
    }
    if partners is not None:
        asked["partners"] = partners
    return of_core(simulate("hindmost-twin", "measure", asked))


def of_core(matrix: Mapping[str, Any]) -> tuple[Profiles, Array]:
    """Return profiles and true losses (victims x companions) of programs on the simulated core.

    Parameters
    ----------
    matrix : dict
        Output of the simulator.
    """
    solo = np.asarray(matrix["solo"], dtype=float)
    lost = 1 - np.asarray(matrix["beside_stressor"], dtype=float) / solo[:, None]
    stressor = np.asarray(matrix["stressor_beside_null"], dtype=float)
    taken = 1 - np.asarray(matrix["stressor_beside"], dtype=float) / stressor
    profiles = Profiles(
        tuple(matrix["programs"]), tuple(matrix["stressors"][1:]), lost[:, 1:], taken[:, 1:], lost[:, 0]
    )
    return profiles, 1 - np.asarray(matrix["beside"], dtype=float) / solo[:, None]


def compare(
    programs: int = 28,
    *,
    splits: int = 100,
    seed: int = 1,
    rate: float = 0.05,
    draws: int = 100,
    warm: int = WARM,
    ticks: int = TICKS,
    filled: int = FILLED,
    partners: int | None = None,
) -> dict[str, Any]:
    """Score every predictor, and the promise at a rate of violations.

    Parameters
    ----------
    programs, splits, seed : int
    rate : float
        Fraction of the admitted pairs that may break the limit.
    draws : int
        Number of queries: a limit, some known programs, pairs of unknown ones.
    warm, ticks, filled, partners : int
        Parameters of the simulated core (`run_core`).
    """
    begun = time.monotonic()
    profiles, lost = run_core(programs, seed, warm=warm, ticks=ticks, filled=filled, partners=partners)
    found = scores(profiles, lost, splits=splits, seed=seed, noise=0.01)
    return {
        "programs": programs,
        "seed": seed,
        "splits": splits,
        "mean_lost": float(np.nanmean(lost)),
        "scores": [asdict(one) for one in found],
        "promise": promise(profiles, lost, rate=rate, draws=draws, seed=seed),
        "took_s": time.monotonic() - begun,
    }


def promise(profiles: Profiles, lost: Array, *, rate: float, draws: int, seed: int) -> dict[str, float]:
    """Count violations among admitted unknown pairs, and the fraction of an oracle's admissions."""
    rng = np.random.default_rng(seed)
    admitted = violated = oracle = refused = asked = 0
    least: list[float] = []
    shares: list[float] = []
    for draw in range(draws):
        order = rng.permutation(len(profiles.names))
        known, strangers = np.split(order, [len(order) * 7 // 10])
        limit = float(rng.uniform(*LIMITS))
        rule = learn_admission(default_model, profiles, known, lost, limit=limit, rate=rate, seed=draw)
        least.append(rule.least_rate)
        pairs = keep_known(pairs_of(strangers), lost)
        predicted, truth = rule.model.predict(profiles, *pairs), lost[pairs]
        yes = rule.admits(predicted)
        admitted += int(yes.sum())
        broken = int((truth[yes] > limit).sum())
        violated += broken
        shares.append(broken / max(1, int(yes.sum())))
        oracle += int((truth <= limit).sum())
        refused += sum(rule.answer(float(one)) == "no" for one in predicted)
        asked += len(truth)
    return {
        "rate": rate,
        "asked": asked,
        "yes": admitted,
        "no": refused,
        "violated": violated / max(1, admitted),
        "violated_a_question": float(np.mean(shares)),
        "of_oracle": admitted / max(1, oracle),
        "least_rate": float(np.median(least)),
    }


def steering(
    programs: int = 28,
    *,
    servers: int = 4000,
    seed: int = 1,
    load: float = 0.5,
    speed: float | None = None,
    pods: str | None = None,
) -> dict[str, Any]:
    """Steer a cluster by predictions learned on the simulated core, for the mean and for a tail.

    Parameters
    ----------
    programs, servers, seed : int
        A seventh of the programs serve; the model knows half of the others, the batch work.
    load : float
        Load of the latency-sensitive servers, for the tail.
    speed : float, optional
        Speed of a batch job next to a server; default: from the simulated core.
    pods : str, optional
        A list of pods (`reproduce.smite.arrivals`) as the source of programs and offers.
    """
    begun = time.monotonic()
    profiles, lost = run_core(programs, seed, ticks=STEERED_TICKS)
    order = np.random.default_rng(seed).permutation(programs)
    serving, batch = np.split(order, [max(2, programs // 7)])
    known = pairs_of(batch[: len(batch) // 2 + 2])
    truth = lost[np.ix_(serving, batch)]
    rng = np.random.default_rng(seed)
    make: Callable[..., Any] = generate_arrivals if pods is None else partial(arrivals_from_pods, pods)
    arrivals = make(servers, *truth.shape, rng)
    levels: dict[str, Any] = {}
    for model in (Linear("Eq 3.3"), default_model()):
        model.fit(profiles, *known, lost[known])
        guess = model.predict(profiles, *pairs_of(serving, batch)).reshape(truth.shape)
        for what, share in (("mean", lambda kept: kept), ("tail", lambda kept: loss_of_tail(kept, load))):
            found = steer(truth, guess, TARGETS, servers=servers, seed=seed, share=share, arrivals=arrivals)
            levels.setdefault(what, {})[model.name] = [asdict(one) for one in found]
    fast = float(1 - lost[np.ix_(batch, serving)].mean()) if speed is None else speed
    return {
        "servers": servers,
        "seed": seed,
        "load": load,
        "arrivals": arrivals.origin.document(),
        "levels": levels,
        "batch_speed": fast,
        "paper": {name: asdict(saving(gain, speed=fast)) for name, gain in PAPER_GAINS.items()},
        "tornado": tornado(PAPER_GAINS["mean, 85 %"], speed=fast),
        "took_s": time.monotonic() - begun,
    }


PAPER_GAINS = {"mean, 85 %": 0.4297, "tail, 85 %": 0.2203}
"""Gains in utilisation of the paper (Figures 3.14, 3.16), from which its savings of 21.05 and 10.70 %
follow."""
