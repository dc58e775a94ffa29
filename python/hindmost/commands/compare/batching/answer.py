"""The answer about batching: figures of each mode, ratios by round, and the best interval at each rate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

from hindmost import __version__
from hindmost._engine import Histogram
from hindmost.commands.compare.arms import why_excluded
from hindmost.commands.compare.batching.request import BatchingRequest, arm_name
from hindmost.commands.compare.documents import batching as documents
from hindmost.commands.compare.figures import (
    ArmFigures,
    Columns,
    decides_isolated,
    figure_text,
    isolated_names,
    lowest,
    moments,
    ratio_document,
    read_figures,
    summarise,
)
from hindmost.commands.compare.rounds import MARGIN, CompleteRounds, complete_rounds, no_complete_round
from hindmost.commands.compare.view.levels import format_ratio
from hindmost.core.plan.batching import Batching, batching_text
from hindmost.core.run.batches import batches
from hindmost.core.run.readings import plan_of
from hindmost.core.store import Study, now_utc
from hindmost.core.store.estimates import UNKNOWN, Value, number, to_value
from hindmost.core.store.measure.batches import Sizes
from hindmost.present import numbers
from hindmost.stats import Middle, contrasts, least_pairs, middle_interval

LEAST_ROUNDS = 2


def answer(study: Study) -> documents.Batching:
    """Answer from the complete rounds in the study's folder.

    Raises
    ------
    StudyError
        If no round is complete.
    """
    plan, request = plan_of(study), BatchingRequest.read(study)
    parts = {arm: Study.open(study.folder / arm_name(*arm)) for arm in request.arms}
    rounds, figures, isolated = _read(request, parts, isolated=decides_isolated(plan, request.by))
    if decides_isolated(plan, request.by) and request.by not in isolated:
        rounds, figures, isolated = _read(request, parts, isolated=False)
    if not rounds.numbers:
        raise no_complete_round(study)
    rates = [_describe_rate(request, rate, figures, rounds.valid_or_all) for rate in request.rates]
    last = next(iter(parts.values())).run(rounds.valid_or_all[-1])
    assert last is not None
    return documents.Batching(
        schema="hindmost.batching/1",
        version=__version__,
        created=now_utc(),
        headline=_headline(request, figure_text(request.by, isolated), rates, rounds),
        study=study.folder.resolve().name,
        target=last.record.target,
        connections=plan.connections,
        by=request.by,
        margin=MARGIN,
        rounds=len(rounds.valid),
        least_rounds=_least_rounds(request),
        aside={str(number): why.document() for number, why in rounds.excluded.items()},
        rates=rates,
        isolated=isolated,
    )


def _read(
    request: BatchingRequest, parts: Mapping[tuple[float, Batching], Study], *, isolated: bool
) -> tuple[CompleteRounds, dict[tuple[float, Batching], ArmFigures], list[str]]:
    """Return the rounds, the figures of each arm, and the percentiles of isolated latency.

    If `isolated` latency decides, interference excludes no round that has it.
    """
    rounds = complete_rounds(list(parts.values()), partial(why_excluded, isolated=isolated))
    figures = {arm: read_figures(part, rounds.valid_or_all) for arm, part in parts.items()}
    names = isolated_names(figures.values()) if isolated else []
    return rounds, {arm: one.with_isolated(names) for arm, one in figures.items()}, names


def _describe_rate(
    request: BatchingRequest,
    rate: float,
    read: Mapping[tuple[float, Batching], ArmFigures],
    counted: Sequence[int],
) -> documents.BatchingRate:
    by = request.by
    modes = [mode for rate_, mode in request.arms if rate_ == rate]
    figures = {mode: read[rate, mode] for mode in modes}
    arms = [_describe_arm(request, rate, mode, figures) for mode in modes]
    typical = {place: arm.latency_us[by].value for place, arm in enumerate(arms)}
    best = lowest(typical)
    close = []
    if best is not None and len(counted) >= LEAST_ROUNDS:
        first = {by: figures[modes[best]].columns[by]}
        for place, mode in enumerate(modes):
            second = {by: figures[mode].columns[by]}
            found = contrasts(first, second, MARGIN, paired=True, comparisons=len(modes) - 1)
            if place != best and found and found[by].word in ("same", "undecided"):
                close.append(place)
    intervals = {place: typical[place] for place, mode in enumerate(modes) if not isinstance(mode, str)}
    return documents.BatchingRate(
        rate_per_s=rate, sides=arms, best=best, best_interval=lowest(intervals), not_told=close
    )


def _describe_arm(
    request: BatchingRequest, rate: float, mode: Batching, figures: Mapping[Batching, ArmFigures]
) -> documents.BatchingSide:
    own, plan = figures[mode], request.plan_of(rate, mode)
    writes = own.totals.writes
    account = batches(own.runs, plan, writes)
    variations = [_variation(run.totals.whole["service"]) or math.nan for run in own.runs]
    return documents.BatchingSide(
        batching=mode,
        folder=arm_name(rate, mode),
        rounds=list(own.rounds),
        latency_us=summarise(own.columns, plan.middle),
        values_us={name: list(values) for name, values in own.columns.items()},
        distribution=own.distribution,
        requests_per_write=number(writes.mean),
        requests_per_segment=None if account is None else account.requests_per_segment,
        size_cv=_variation(writes),
        service_cv=summarise_known(variations, plan.middle),
        against={
            base: _against(figures[base].columns, own.columns, request)
            for base in ("none", "nagle")
            if base in figures and base != mode and len(own.rounds) >= LEAST_ROUNDS
        },
        sizes=Sizes(requests=[], share=[]) if account is None else account.sizes,
    )


def summarise_known(values: Sequence[float], middle: Middle) -> Value:
    """Summarise the runs that have a value; the value of a run without replies is NaN."""
    known = [value for value in values if not math.isnan(value)]
    return to_value(middle_interval(known, middle)) if known else UNKNOWN


def _against(first: Columns, second: Columns, request: BatchingRequest) -> dict[str, documents.Against]:
    names = [name for name in first if name in ("mean", "p99", "sd", request.by)]
    found = contrasts(
        {name: first[name] for name in names},
        {name: second[name] for name in names},
        MARGIN,
        paired=True,
        comparisons=request.modes_per_rate - 1,
    )
    return {name: documents.Against(ratio=ratio_document(one), word=one.word) for name, one in found.items()}


def _variation(histogram: Histogram) -> float | None:
    """Return the standard deviation over the mean; None if either is unknown or the mean is zero."""
    mean, sd = moments(histogram)
    return sd / mean if math.isfinite(sd) and mean > 0.0 else None


def _least_rounds(request: BatchingRequest) -> int:
    return least_pairs(request.modes_per_rate - 1)


def _headline(
    request: BatchingRequest,
    figure: str,
    rates: Sequence[documents.BatchingRate],
    rounds: CompleteRounds,
) -> str:
    least, count = _least_rounds(request), len(rounds.valid)
    texts = [_describe_best(request.by, figure, rate, enough=count >= least) for rate in rates]
    if not count:
        return (
            f"no round counts ({next(iter(rounds.excluded.values()))}); with all rounds: {'; '.join(texts)}"
        )
    if count < least:
        counted = numbers.plural(count, "round")
        texts.append(
            f"{counted} cannot rank {request.modes_per_rate} batching modes; at least {least} are needed"
        )
    return "; ".join(texts)


def _describe_best(by: str, figure: str, rate: documents.BatchingRate, *, enough: bool) -> str:
    at = numbers.rate(rate.rate_per_s)
    if rate.best is None:
        return f"at {at} no batching mode has a finite {figure}"
    arm = rate.sides[rate.best]
    value = arm.latency_us[by].value
    assert value is not None
    text = f"at {at} {_mode_name(arm.batching)} has the lowest {figure}, {numbers.latency(value)}"
    for base, table in arm.against.items():
        one = table.get(by)
        if one is not None and one.ratio.value is not None:
            text += f", {format_ratio(one.ratio)} of {_mode_name(base)}"
    if rate.not_told and enough:
        close = ", ".join(_mode_name(rate.sides[place].batching) for place in rate.not_told)
        text += f"; no difference shown to {close}"
    return text


def _mode_name(batching: Batching) -> str:
    if batching == "none":
        return "no batching"
    return "Nagle's algorithm" if batching == "nagle" else f"an interval of {batching_text(batching)}"
