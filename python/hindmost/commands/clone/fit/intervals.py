"""Intervals of the parameters by a block bootstrap, which draws blocks of successive requests.

For an empirical law, the quantiles are drawn again. For maximum-likelihood parameters, a bootstrap would have
to fit hundreds of times. Instead, each draw takes one Newton step from the fit with the scores of the drawn
blocks (A. C. Davison and D. V. Hinkley, Bootstrap Methods and their Application, 1997, section 2.7). This
equals the bootstrap up to second order in the deviation, and its variance is that of the sandwich estimator.
Each result becomes an interval on the scale on which the parameter is most nearly normal: times and spreads
on a log scale, weights on a logit scale. Student's t is used with the component's own samples as degrees of
freedom.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from hindmost.commands.clone.fit.bins import BINS, BinnedSamples, Floats, Grid, Ints
from hindmost.commands.clone.fit.laws.choice import Sample
from hindmost.commands.clone.fit.laws.families import (
    Gamma,
    Law,
    Lognormal,
    Mixture,
    Model,
    Pareto,
    round_digits,
)
from hindmost.commands.clone.fit.order.successive import autocorrelation, normal_scores

DRAWS = 300
MOST_BLOCKS = 400
LEAST_BLOCKS = 40
QUANTILES = {"p50_us": 0.5, "p95_us": 0.95, "p99_us": 0.99, "p999_us": 0.999}

Intervals = dict[str, tuple[float, float]]


def blocks(us: Floats) -> int:
    """Return the number of blocks, each as long as the memory of the log, and at least `LEAST_BLOCKS`.

    The memory is the longest lag at which the normal scores are still correlated.
    """
    scores = normal_scores(us[: 1 << 18])
    noise = 2.0 / math.sqrt(scores.size)
    memory, lag = 1, 1
    while lag < scores.size // LEAST_BLOCKS and abs(autocorrelation(scores, lag)) > noise:
        memory, lag = lag, lag * 2
    return int(np.clip(us.size // max(10 * memory, 1), LEAST_BLOCKS, MOST_BLOCKS))


def intervals(sample: Sample, model: Model, prefix: str, seed: int = 1) -> Intervals:
    """Return 95 % intervals of a law's parameters, and of mean and quantiles of the log.

    Parameters
    ----------
    sample : Sample
        The times, in order.
    model : Model
        The law fitted to them.
    prefix : str
        Path of the law in the document: ``service``, ``kinds[0].service``.
    seed : int
        Seed of the draws.
    """
    number = blocks(sample.us)
    label = np.arange(sample.us.size) * number // sample.us.size
    grid = _grid(sample, model)
    counts = grid.counts(label, number)
    draws = np.random.default_rng(seed).multinomial(number, np.full(number, 1.0 / number), DRAWS)
    drawn = draws @ counts  # (DRAWS, m): a log made of the drawn blocks
    sums = np.bincount(label, weights=sample.us, minlength=number)
    means = (draws @ sums) / drawn.sum(axis=1)
    found: Intervals = {f"{prefix}.mean_us": _interval_around(float(sample.us.mean()), means, math.inf)}
    for name, level in QUANTILES.items():
        if sample.us.size * (1.0 - level) >= 20:
            found[f"{prefix}.{name}"] = _quantile_interval(sample.us, level, label, number)
    if isinstance(model, Mixture):
        found |= _mixture_intervals(grid.binned, model, drawn, means, prefix)
    return {name: (round_digits(low), round_digits(high)) for name, (low, high) in found.items()}


def _quantile_interval(us: Floats, level: float, label: Ints, number: int) -> tuple[float, float]:
    """Return the interval of a quantile by Woodruff's method (1952).

    The share of requests below the quantile scatters between blocks. The interval holds the quantiles at the
    levels that this scatter allows. Unlike redrawn quantiles, it keeps a width despite ties and bins.
    """
    below = np.bincount(label, us <= np.quantile(us, level), minlength=number) / np.bincount(label)
    reach = float(special.stdtrit(number - 1, 0.975) * below.std(ddof=1)) / math.sqrt(number)
    # With few requests beyond, allow for at least one request more or less.
    reach = max(reach, 1.0 / us.size)
    low, high = np.quantile(us, np.clip([level - reach, level + reach], 0.0, 1.0))
    return float(low), float(high)


def shares(kind: Ints, values: Sequence[float]) -> Intervals:
    """Return 95 % intervals of the shares of kinds from their scatter over blocks (for bursts)."""
    count = len(values)
    label = np.arange(kind.size) * LEAST_BLOCKS // kind.size
    size = np.bincount(label, minlength=LEAST_BLOCKS)
    found: Intervals = {}
    for number, value in enumerate(values):
        own = np.bincount(label, kind == number, minlength=LEAST_BLOCKS) / size
        reach = float(special.stdtrit(LEAST_BLOCKS - 1, 0.975) * own.std(ddof=1)) / math.sqrt(LEAST_BLOCKS)
        found[f"kinds[{number}].share"] = (
            round_digits(max(0.0, value - reach)),
            round_digits(min(1.0, value + reach)),
        )
    return found if count > 1 else {}


def _grid(sample: Sample, model: Model) -> Grid:
    """Return coarser bins if they are narrower than a fifth of the narrowest component."""
    spreads = (
        [law.sigma for law in model.laws if isinstance(law, Lognormal)] if isinstance(model, Mixture) else []
    )
    if not spreads or 4 * sample.binned.width > min(spreads) / 5:
        return sample.grid
    return Grid.from_samples(
        np.log(sample.us), BINS // 8 if 8 * sample.binned.width < min(spreads) / 5 else BINS // 4
    )


def _interval_around(
    value: float, values: Floats, samples: float, *, logit: bool = False
) -> tuple[float, float]:
    """Return the interval of a positive parameter, or of a share."""
    change = special.logit if logit else np.log
    back = special.expit if logit else np.exp
    spread = float(np.std(change(values), ddof=1))
    reach = spread * (1.96 if math.isinf(samples) else float(special.stdtrit(max(samples - 1.0, 2.0), 0.975)))
    middle = float(change(value))
    return float(back(middle - reach)), float(back(middle + reach))


def _pack(mixture: Mixture) -> Floats:
    """Return unbounded parameters: logarithms of relative weights, then those of the laws."""
    weights = [math.log(w / mixture.weights[0]) for w in mixture.weights[1:]]
    return np.array([*weights, *(value for law in mixture.laws for value in _law_parameters(law))])


def _law_parameters(law: Law) -> tuple[float, ...]:
    match law:
        case Lognormal():
            return law.mu, math.log(law.sigma)
        case Gamma(parameters=1):
            return (math.log(law.mean),)
        case Gamma():
            return math.log(law.mean), math.log(law.shape)
        case Pareto():
            return (math.log(law.shape - 1.0),)
    raise TypeError(f"{type(law).__name__} has no parameters")


def _unpack(like: Mixture, values: Floats) -> Mixture:
    k = len(like.laws)
    weights = np.exp([0.0, *values[: k - 1]])
    laws: list[Law] = []
    at = k - 1
    for law in like.laws:
        own = values[at : at + len(_law_parameters(law))]
        at += own.size
        match law:
            case Lognormal():
                laws.append(Lognormal(float(own[0]), float(np.exp(own[1]))))
            case Gamma():
                shape = float(np.exp(own[1])) if law.parameters == 2 else 1.0
                laws.append(Gamma(float(np.exp(own[0])), shape, law.parameters))
            case Pareto():
                laws.append(Pareto(law.low, 1.0 + float(np.exp(own[0])), law.high))
    return Mixture(tuple(weights / weights.sum()), tuple(laws))


STEP = 1e-4
FARTHEST = 2.0
"""Newton steps are limited to a factor of e^2."""


def _scores(binned: BinnedSamples, mixture: Mixture, at: Floats) -> Floats:
    """Return the derivative of the log density in each bin, of shape ``(parameters, m)``."""
    rows = []
    for place in range(at.size):
        step = np.zeros(at.size)
        step[place] = STEP
        up = _unpack(mixture, at + step).log_density(binned.x)
        down = _unpack(mixture, at - step).log_density(binned.x)
        rows.append((up - down) / (2 * STEP))
    return np.nan_to_num(np.array(rows), nan=0.0, posinf=0.0, neginf=0.0)


def _information(binned: BinnedSamples, mixture: Mixture, at: Floats) -> Floats:
    """Return minus the second derivative of the likelihood, or the score products if indefinite."""
    rows = []
    for place in range(at.size):
        step = np.zeros(at.size)
        step[place] = 10 * STEP
        up = _scores(binned, _unpack(mixture, at + step), at + step) @ binned.count
        down = _scores(binned, _unpack(mixture, at - step), at - step) @ binned.count
        rows.append((down - up) / (20 * STEP))
    found = np.array(rows)
    found = (found + found.T) / 2.0
    if np.linalg.eigvalsh(found).min() > 0:
        return found
    scores = _scores(binned, mixture, at)
    return np.asarray((scores * binned.count) @ scores.T + 1e-6 * np.eye(at.size))


def _mixture_intervals(
    binned: BinnedSamples, mixture: Mixture, drawn: Floats, means: Floats, prefix: str
) -> Intervals:
    at = _pack(mixture)
    step = np.linalg.solve(_information(binned, mixture, at), _scores(binned, mixture, at) @ drawn.T).T
    # Matching the mean after the fit leaves a small score, which belongs to no draw.
    step = np.clip(step - step.mean(axis=0), -FARTHEST, FARTHEST)
    found: Intervals = {}
    columns: dict[str, list[float]] = {}
    for one, mean in zip(step, means, strict=True):
        moved = _unpack(mixture, at + one)
        for name, value in _parameters(moved.scale(float(mean) / moved.mean), prefix).items():
            columns.setdefault(name, []).append(value)
    for name, value in _parameters(mixture, prefix).items():
        component = int(name.removeprefix(prefix).partition("]")[0][1:])
        samples = mixture.weights[component] * binned.n
        found[name] = _interval_around(value, np.array(columns[name]), samples, logit=name.endswith("weight"))
    return found


def _parameters(mixture: Mixture, prefix: str) -> Mapping[str, float]:
    found = {}
    for place, (weight, law) in enumerate(zip(mixture.weights, mixture.laws, strict=True)):
        if len(mixture.laws) > 1:
            found[f"{prefix}[{place}].weight"] = weight
        for key, value in law.document().items():
            if isinstance(value, float) and key not in ("least_us", "at_most_us"):
                found[f"{prefix}[{place}].law.{key}"] = value
    return found
