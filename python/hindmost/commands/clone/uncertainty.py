"""The uncertainty of a fitted clone's predictions that comes from the finite log.

A fitted document states the interval of each parameter. The service law is drawn again: a sample of the log's
effective size, drawn from the law, becomes an empirical law. The effective size follows from the interval of
the mean service time, which accounts for dependence between successive requests. Other parameters are drawn
from their intervals. Each draw gets the same requests as the fit, so figures differ only through the
parameters.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from hindmost.commands.clone.document import Clone
from hindmost.stats.tables import Floats

DRAWS = 16
MOST = 200_000
"""Requests drawn for a law; for larger effective sizes, deviations are scaled down."""

Change = dict[str, Any]
"""New values by JSON pointer."""


def draw_changes(clone: Clone, seed: int) -> list[Change]:
    """Draw parameters as other logs of the server could have given them; none for unfitted clones."""
    stated: dict[str, list[float]] = (clone.document.get("origin") or {}).get("intervals", {})
    if not stated:
        return []
    random = np.random.default_rng(seed)
    return [_draw(clone.document, stated, random) for _ in range(DRAWS)]


def _draw(
    document: Mapping[str, Any], stated: Mapping[str, list[float]], random: np.random.Generator
) -> Change:
    changes: Change = {}
    for name, (low, high) in stated.items():
        if name.endswith("service.mean_us"):
            pointer = _pointer(name.removesuffix(".mean_us"))
            changes[pointer] = _law(_value_at(document, pointer), math.log(high / low) / 3.92, random)
        elif "service" not in name and isinstance(value := _value_at(document, _pointer(name)), float):
            changes[_pointer(name)] = _between(value, low, high, random)
    shares = [pointer for pointer in changes if pointer.endswith("/share")]
    total = math.fsum(changes[pointer] for pointer in shares)
    return changes | {pointer: changes[pointer] / total for pointer in shares}


def _law(service: list[dict[str, Any]], error: float, random: np.random.Generator) -> list[dict[str, Any]]:
    """Draw an empirical law from a law such that its mean has this relative error."""
    from hindmost.commands.clone.fit.laws.families import Empirical  # fits simulate, too

    weights = np.array([one["weight"] for one in service], dtype=np.float64)
    laws = [one["law"] for one in service]
    place = np.searchsorted(np.cumsum(weights)[:-1], np.sort(random.random(MOST)))
    us = np.concatenate([_times(law, int((place == k).sum()), random) for k, law in enumerate(laws)])
    worth = max(2.0, float(us.var()) / (float(us.mean()) * max(error, 1e-9)) ** 2)
    taken = np.sort(random.choice(us, int(min(worth, MOST)), replace=False))
    found = Empirical.from_sorted(taken)
    if worth > MOST:  # deviate as a log of that effective size would, not as one of `MOST`
        whole = Empirical.from_sorted(np.sort(us))
        near = np.interp(found.p, whole.p, whole.us)
        found = Empirical(found.p, near * (found.us / near) ** math.sqrt(MOST / worth))
    return found.document()


def _times(law: Mapping[str, Any], count: int, random: np.random.Generator) -> Floats:
    """Draw service times of one component, us."""
    match law["kind"]:
        case "lognormal":
            return np.asarray(law["median_us"] * random.lognormal(0.0, law["sigma_log"], count))
        case "exponential":
            return random.exponential(law["mean_us"], count)
        case "gamma":
            return random.gamma(law["shape"], law["mean_us"] / law["shape"], count)
        case "pareto":
            times = law["least_us"] * random.random(count) ** (-1.0 / law["shape"])
            return np.asarray(np.minimum(times, law["at_most_us"]))
        case _:
            p, us = np.array(law["points"], dtype=np.float64).T
            return np.asarray(np.interp(random.random(count), p, us))


def _between(value: float, low: float, high: float, random: np.random.Generator) -> float:
    """Draw from a normal law with this 95 % interval, limited to it, in logarithms if positive."""
    step = float(np.clip(random.standard_normal() / 1.96, -1.0, 1.0))
    if low > 0.0 and value > 0.0:
        return float(value * (high / value if step > 0.0 else value / low) ** step)
    return value + step * (high - value if step > 0.0 else value - low)


def _pointer(name: str) -> str:
    return "/" + re.sub(r"\[(\d+)\]", r"/\1", name).replace(".", "/")


def _value_at(document: Any, pointer: str) -> Any:  # noqa: ANN401 (any value of a document)
    for key in pointer[1:].split("/"):
        try:
            document = document[int(key)] if isinstance(document, list) else document[key]
        except (KeyError, IndexError, TypeError):
            return None
    return document
