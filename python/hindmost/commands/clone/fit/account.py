"""The results of a fit as one document (``hindmost.fit/1``), the only input of tables, page and JSON."""

from __future__ import annotations

import numpy as np
from msgspec import UNSET

from hindmost.commands.clone.documents.fit import (
    Curves,
    DemandKind,
    FitResult,
    FittedLaw,
    Gaps,
    Law,
    LoadFound,
    OrderFound,
    Pause,
    Source,
)
from hindmost.commands.clone.fit.bins import Floats
from hindmost.commands.clone.fit.laws.choice import Candidate, Sample
from hindmost.commands.clone.fit.laws.families import Mixture, Model
from hindmost.commands.clone.fit.laws.kinds import Part
from hindmost.commands.clone.fit.laws.replay import LOADS, STATISTICS
from hindmost.commands.clone.fit.load import Load
from hindmost.commands.clone.fit.pauses.detection import Pauses
from hindmost.commands.clone.fit.procedure import Fit

QUANTILES = (0.5, 0.95, 0.99, 0.999)
BARS = 120
"""Bars in the plot of the density."""

POINTS = 160


def account(fit: Fit) -> FitResult:
    """Return all results of a fit as a document."""
    log, asked, order, gaps = fit.log, fit.demand, fit.order, fit.disturbance
    return FitResult(
        schema="hindmost.fit/1",
        clone=fit.clone.document,
        mean_busy_us=fit.clone.mean_busy_us,
        capacity_per_s=fit.clone.capacity_per_s,
        log=Source(
            source=log.source,
            column=log.what,
            samples=log.n,
            threads=log.threads,
            utilisation=log.utilisation,
            wall_us=_quantiles(log.wall_us),
            cpu_us=None if log.cpu_us is None else _quantiles(log.cpu_us),
        ),
        demand=DemandKind(
            of=asked.of,
            cpu_share=asked.cpu_share,
            wall_over_cpu=asked.wall_over_cpu,
            contaminated=asked.contaminated and (gaps is None or gaps.scope.whom != "request"),
        ),
        law=_law(fit.whole),
        kinds=[_law(part) for part in fit.kinds],
        by_kind_error=fit.by_kind_error,
        floor=fit.whole.choice.floor,
        order=OrderFound(
            autocorrelation=order.found,
            interval=list(order.interval),
            errors=order.errors,
            taken=order.document(),
        ),
        disturbance=None if gaps is None else _pauses(gaps),
        beside=None if fit.beside is None else fit.beside.note().document(),
        load=None if fit.load is None else _load(fit.load),
        threads=[one.document() for one in fit.threads],
        own=list(fit.own),
        unknown=[one.document() for one in fit.unknown],
    )


def _load(found: Load) -> LoadFound:
    return LoadFound(
        time=found.time,
        low=found.low,
        high=found.high,
        at=list(found.at),
        bend=found.bend,
        seen=found.seen,
        said=str(found),
    )


def _pauses(found: Pauses) -> Gaps:
    judged, exposed_s = found.scope, found.parts[0].exposed_s
    return Gaps(
        hits=found.hits,
        exposed_s=exposed_s,
        per_second=found.hits / exposed_s,
        every_us=next((one.every_us for one in found.parts if one.every_us is not None), None),
        length_us=_quantiles(found.lengths_us),
        whom=judged.whom,
        longer_us=judged.longer_us,
        idle_delayed=judged.delayed,
        idle_expected=judged.expected,
        clock_share=list(judged.clock),
        why=None if judged.why is None else judged.why.document(),
        parts=[
            Pause(
                name=one.name,
                hits=one.hits,
                per_second=None if one.requests is not None else one.per_second,
                chance=None if one.requests is None else one.hits / one.requests,
                every_us=one.every_us,
                length_us=_quantiles(one.lengths_us),
            )
            for one in found.parts
        ],
    )


def _law(part: Part) -> FittedLaw:
    choice, sample = part.choice, part.sample
    return FittedLaw(
        name=part.name,
        share=part.share,
        samples=int(sample.us.size),
        taken=choice.taken.name,
        floor=choice.floor,
        candidates=[_candidate(one) for one in choice.candidates],
        curves=_curves(sample, choice.taken.model),
    )


def _candidate(one: Candidate) -> Law:
    errors = np.abs(one.errors).mean(axis=0)
    return Law(
        name=one.name,
        parameters=one.model.parameters,
        error=one.score,
        errors={
            f"{statistic} at {load:.0%}": float(errors[row, column])
            for row, load in enumerate(LOADS)
            for column, statistic in enumerate(STATISTICS)
        },
        misfit=one.misfit.note().document() if one.misfit else None,
    )


def _quantiles(us: Floats) -> dict[str, float]:
    found = {
        f"p{100 * level:g}": float(value)
        for level, value in zip(QUANTILES, np.quantile(us, QUANTILES), strict=True)
    }
    return {"mean": float(us.mean()), **found, "max": float(us.max())}


def _curves(sample: Sample, model: Model) -> Curves:
    """Return density over the logarithm of time and tail quantiles, for the samples and for the law."""
    ordered = sample.ordered
    n = ordered.size
    low, high = np.log(ordered[[0, -1]])
    edges = np.linspace(low, high, BARS + 1)
    step = float(edges[1] - edges[0])
    counts = np.histogram(np.log(sample.us), edges)[0]
    beyond = np.unique(np.concatenate([np.linspace(0, 0.9, 40), 1 - np.logspace(-1, -np.log10(n), POINTS)]))
    beyond = beyond[beyond < 1.0]
    mixture = model if isinstance(model, Mixture) and len(model.laws) > 1 else None
    parts = list(zip(mixture.weights, mixture.laws, strict=True)) if mixture else []
    return Curves(
        edges_us=np.exp(edges).tolist(),
        density=(counts / (n * step)).tolist(),
        law=(np.diff(model.distribution(edges)) / step).tolist(),
        levels=beyond.tolist(),
        samples_us=np.quantile(ordered, beyond).tolist(),
        law_us=model.quantile(beyond.clip(1e-9)).tolist(),
        components=[(w * np.diff(one.distribution(edges)) / step).tolist() for w, one in parts] or UNSET,
    )
