"""The results of a fit as one document (``hindmost.fit/1``), the only input of tables, page and JSON."""

from __future__ import annotations

import numpy as np

from hindmost.commands.clone.documents.fit import Curves, FitResult, FittedLaw, Gaps, Law, Own
from hindmost.commands.clone.fit.bins import Floats
from hindmost.commands.clone.fit.laws.choice import Candidate, Sample
from hindmost.commands.clone.fit.laws.families import Mixture, Model
from hindmost.commands.clone.fit.laws.kinds import Part
from hindmost.commands.clone.fit.laws.replay import LOADS, STATISTICS
from hindmost.commands.clone.fit.own_load import OwnLoad
from hindmost.commands.clone.fit.pauses.detection import Pauses
from hindmost.commands.clone.fit.procedure import Fit
from hindmost.core.notes import Note

QUANTILES = (0.5, 0.95, 0.99, 0.999)
BARS = 120
"""Bars in the plot of the density."""

POINTS = 160


def account(fit: Fit) -> FitResult:
    """Return all results of a fit as a JSON document."""
    asked, order, gaps = fit.demand, fit.order, fit.disturbance
    return {
        "schema": "hindmost.fit/1",
        "clone": fit.clone.document,
        "mean_busy_us": fit.clone.mean_busy_us,
        "capacity_per_s": fit.clone.capacity_per_s,
        "log": {
            "source": fit.log.source,
            "column": fit.log.what,
            "samples": fit.log.n,
            "threads": fit.log.threads,
            "utilisation": fit.log.utilisation,
            "wall_us": _quantiles(fit.log.wall_us),
            "cpu_us": None if fit.log.cpu_us is None else _quantiles(fit.log.cpu_us),
        },
        "demand": {
            "of": asked.of,
            "cpu_share": asked.cpu_share,
            "wall_over_cpu": asked.wall_over_cpu,
            "contaminated": asked.contaminated and (gaps is None or gaps.scope.whom != "request"),
        },
        "law": part_account(fit.whole),
        "kinds": [part_account(part) for part in fit.kinds],
        "by_kind_error": fit.by_kind_error,
        "floor": fit.whole.choice.floor,
        "order": {
            "autocorrelation": order.found,
            "interval": list(order.interval),
            "errors": order.errors,
            "taken": order.document(),
        },
        "disturbance": None if gaps is None else _pauses(gaps),
        "beside": None if fit.beside is None else fit.beside.note().document(),
        "load": None
        if fit.load is None
        else {
            "time": fit.load.time,
            "low": fit.load.low,
            "high": fit.load.high,
            "at": list(fit.load.at),
            "bend": fit.load.bend,
            "seen": fit.load.seen,
            "said": str(fit.load),
        },
        "threads": [one.document() for one in fit.threads],
        "own": [_own(one) for one in fit.own],
        "unknown": [one.document() for one in fit.unknown],
    }


def _pauses(found: Pauses) -> Gaps:
    judged = found.scope
    return {
        "hits": found.hits,
        "exposed_s": found.parts[0].exposed_s,
        "per_second": found.hits / found.parts[0].exposed_s,
        "every_us": next((one.every_us for one in found.parts if one.every_us is not None), None),
        "length_us": _quantiles(found.lengths_us),
        "whom": judged.whom,
        "longer_us": judged.longer_us,
        "idle_delayed": judged.delayed,
        "idle_expected": judged.expected,
        "clock_share": list(judged.clock),
        "why": None if judged.why is None else judged.why.document(),
        "parts": [
            {
                "name": one.name,
                "hits": one.hits,
                "per_second": None if one.requests is not None else one.per_second,
                "chance": None if one.requests is None else one.hits / one.requests,
                "every_us": one.every_us,
                "length_us": _quantiles(one.lengths_us),
            }
            for one in found.parts
        ],
    }


def _own(found: OwnLoad | Note) -> Own:
    if isinstance(found, Note):
        return {"why": found.document(), "source": None, "utilisation": None, "requests": None, "rows": []}
    return {
        "why": None,
        "source": found.source,
        "utilisation": found.utilisation,
        "requests": found.requests,
        "rows": [
            {
                "name": row.name,
                "log_us": {"value": row.log_us, "low": row.low_us, "high": row.high_us},
                "clone_us": row.clone_us,
                "off": row.off,
                "chance": row.chance,
                "differs": row.differs,
            }
            for row in found.rows
        ],
    }


def part_account(part: Part) -> FittedLaw:
    """Describe one law: the candidates with their errors, and the curves to draw."""
    choice, sample = part.choice, part.sample
    return {
        "name": part.name,
        "share": part.share,
        "samples": int(sample.us.size),
        "taken": choice.taken.name,
        "floor": choice.floor,
        "candidates": [_candidate(one) for one in choice.candidates],
        "curves": curves(sample, choice.taken.model),
    }


def _candidate(one: Candidate) -> Law:
    errors = np.abs(one.errors).mean(axis=0)
    return {
        "name": one.name,
        "parameters": one.model.parameters,
        "error": one.score,
        "errors": {
            f"{statistic} at {load:.0%}": float(errors[row, column])
            for row, load in enumerate(LOADS)
            for column, statistic in enumerate(STATISTICS)
        },
        "misfit": one.misfit.note().document() if one.misfit else None,
    }


def _quantiles(us: Floats) -> dict[str, float]:
    found = {
        f"p{100 * level:g}": float(value)
        for level, value in zip(QUANTILES, np.quantile(us, QUANTILES), strict=True)
    }
    return {"mean": float(us.mean()), **found, "max": float(us.max())}


def curves(sample: Sample, model: Model) -> Curves:
    """Return density over the logarithm of time and tail quantiles, for the samples and for the law."""
    ordered = sample.ordered
    n = ordered.size
    low, high = np.log(ordered[[0, -1]])
    edges = np.linspace(low, high, BARS + 1)
    step = float(edges[1] - edges[0])
    counts = np.histogram(np.log(sample.us), edges)[0]
    beyond = np.unique(np.concatenate([np.linspace(0, 0.9, 40), 1 - np.logspace(-1, -np.log10(n), POINTS)]))
    beyond = beyond[beyond < 1.0]
    found: Curves = {
        "edges_us": np.exp(edges).tolist(),
        "density": (counts / (n * step)).tolist(),
        "law": (np.diff(model.distribution(edges)) / step).tolist(),
        "levels": beyond.tolist(),
        "samples_us": np.quantile(ordered, beyond).tolist(),
        "law_us": model.quantile(beyond.clip(1e-9)).tolist(),
    }
    if isinstance(model, Mixture) and len(model.laws) > 1:
        found["components"] = [
            (w * np.diff(law.distribution(edges)) / step).tolist()
            for w, law in zip(model.weights, model.laws, strict=True)
        ]
    return found
