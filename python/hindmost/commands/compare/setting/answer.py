"""The answer about a setting: figures of each level, ratios to the present one, and which level to keep."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from msgspec.structs import replace

from hindmost import __version__
from hindmost.commands.compare.arms import why_excluded
from hindmost.commands.compare.documents import setting as documents
from hindmost.commands.compare.figures import (
    ArmFigures,
    Columns,
    decides_isolated,
    figure_text,
    isolated_names,
    lowest,
    read_figures,
    summarise,
)
from hindmost.commands.compare.rounds import MARGIN, complete_rounds, no_complete_round
from hindmost.commands.compare.setting.request import SettingRequest
from hindmost.commands.compare.view.levels import format_ratio
from hindmost.core.notes import Note
from hindmost.core.store import Study, now_utc
from hindmost.core.store.estimates import bounds
from hindmost.present import numbers
from hindmost.stats import compare_runs

ERROR_RATE = 0.05
"""Share of studies with any wrong comparison; each comparison gets an equal part (Bonferroni)."""
STAGE = 10_000
"""Rounds of stage n (from 0) have numbers above ``n * STAGE``; no stage has that many rounds."""


def answer(study: Study) -> documents.Trial:
    """Answer from the complete rounds in the study's folder.

    Raises
    ------
    StudyError
        If no round is complete.
    """
    request = SettingRequest.read(study)
    by_isolated, isolated = decides_isolated(request.plan, request.by), list[str]()
    rounds = _read(study, request, isolated=by_isolated)
    if by_isolated and request.by in (names := isolated_names(rounds.figures)):
        isolated = names
    elif by_isolated:
        rounds = _read(study, request, isolated=False)
    figures = [one.with_isolated(isolated) for one in rounds.figures]
    levels = [describe_level(request, place, figures) for place in range(len(figures))]
    best = best_level(levels, request.by, one_stage=len(rounds.stages) == 1)
    document = documents.Trial(
        schema="hindmost.trial/1",
        version=__version__,
        created=now_utc(),
        verdict="undecided",
        headline="",
        study=study.folder.resolve().name,
        target=request.plan.target,
        rate_per_s=request.plan.rate_per_s,
        knob=dict(request.what),
        by=request.by,
        isolated=isolated,
        rounds=rounds.counted_first,
        aside={name: why.document() for name, why in rounds.excluded.items()},
        levels=levels,
        best=best,
        keep=level_to_keep(levels, best, request.by),
        comparisons=request.comparisons,
        stages=[
            documents.Stage(levels=list(places), rounds=len(counted)) for places, counted in rounds.stages
        ],
    )
    document = replace(document, verdict=decide(document))
    return replace(document, headline=_headline(document))


@dataclass(frozen=True, slots=True)
class _Rounds:
    """The rounds that count.

    ``stages``: places of the levels and numbers of the rounds, by stage. ``figures``: by place of the level.
    """

    stages: list[tuple[tuple[int, ...], list[int]]]
    counted_first: int
    excluded: dict[str, Note]
    figures: list[ArmFigures]


def _read(study: Study, request: SettingRequest, *, isolated: bool) -> _Rounds:
    """Read the rounds; if `isolated` latency decides, interference excludes none that has it."""
    stages: list[tuple[tuple[int, ...], list[int]]] = []
    counted_first, excluded = 0, dict[str, Note]()
    for stage, places in enumerate(request.stages):
        numbers_of_stage = range(stage * STAGE, (stage + 1) * STAGE)
        why = partial(why_excluded, isolated=isolated)
        rounds = complete_rounds(_parts(study, places), why, numbers_of_stage)
        excluded |= {label_round(number): note for number, note in rounds.excluded.items()}
        if stage == 0:
            counted_first = len(rounds.valid)
        stages.append((places, rounds.valid if stage else rounds.valid_or_all))
    if not stages[0][1]:
        raise no_complete_round(study)
    stages = [(places, rounds) for places, rounds in stages if rounds]
    tried = 1 + max(place for places, _ in stages for place in places)
    figures = [
        read_figures(part, [one for places, rounds in stages if place in places for one in rounds])
        for place, part in enumerate(_parts(study, range(tried)))
    ]
    return _Rounds(stages, counted_first, excluded, figures)


def folder_name(place: int) -> str:
    """Return the folder of a level's runs; the present level is first."""
    return str(place + 1)


def label_round(number: int) -> str:
    """Return a round's number for people.

    >>> label_round(3), label_round(10_003)
    ('3', '3 of stage 2')
    """
    stage, own = divmod(number, STAGE)
    return str(own) if stage == 0 else f"{own} of stage {stage + 1}"


def _parts(study: Study, places: Iterable[int]) -> list[Study]:
    # None at all if one level has not begun: then no round of the stage is complete.
    folders = [study.folder / folder_name(place) for place in places]
    begun = all((folder / "manifest.json").exists() for folder in folders)
    return [Study.open(folder) for folder in folders] if begun else []


def best_level(levels: Sequence[documents.Level], by: str, *, one_stage: bool) -> int | None:
    """Return the place of the level with the lowest figure.

    Levels of one stage share all rounds, so their figures compare. Levels of several stages compare by their
    ratios to the present level, which every stage has, since conditions on the host may have changed between.
    """

    def standing(level: documents.Level) -> float | None:
        value = _value(level, by)
        if one_stage or value is None or value == math.inf:
            return value
        return level.against[by].ratio.value if by in level.against else 1.0

    return lowest({place: standing(level) for place, level in enumerate(levels)})


def level_to_keep(levels: Sequence[documents.Level], best: int | None, by: str) -> int | None:
    """Return the best level if it is proven better; a level with an infinite run has no ratio, so None."""
    against = levels[best].against.get(by) if best else None
    return best if against is not None and against.change == "lower" else None


def decide(doc: documents.Trial) -> Literal["set", "leave", "undecided"]:
    """Decide whether to set the best level, to leave the present one, or neither."""
    if not doc.rounds or doc.best is None:
        return "undecided"
    if doc.keep is not None:
        return "set"
    known = _value(doc.levels[0], doc.by)
    finite = known is not None and known < math.inf
    return "leave" if finite and all(_no_better(one, doc.by) for one in doc.levels[1:]) else "undecided"


def _no_better(level: documents.Level, by: str) -> bool:
    # Proven not to lower the figure by more than the margin.
    if by not in level.against:
        return _value(level, by) == math.inf
    low = level.against[by].ratio.low
    return low is not None and low > 1.0 / (1.0 + MARGIN)


def describe_level(request: SettingRequest, place: int, figures: Sequence[ArmFigures]) -> documents.Level:
    """Return a level as the document has it, with its ratios to the present level."""
    own, present = figures[place], figures[0]
    confidence = 1.0 - ERROR_RATE / request.comparisons
    return documents.Level(
        level=request.levels[place],
        folder=folder_name(place),
        latency_us=summarise(own.columns, request.plan.middle),
        values_us={name: list(values) for name, values in own.columns.items()},
        distribution=own.distribution,
        against={} if place == 0 else _against(present.select(own.rounds), own.columns, confidence),
    )


def _against(before: Columns, after: Columns, confidence: float) -> dict[str, documents.Change]:
    found: dict[str, documents.Change] = {}
    for name, values in after.items():
        if not all(0.0 < value < math.inf for value in [*before[name], *values]):
            continue
        one = compare_runs(before[name], values, confidence)
        ratio = documents.Span(value=one.ratio.value, **bounds(one.ratio.low, one.ratio.high))
        found[name] = documents.Change(change=one.change, ratio=ratio)
    return found


def _value(level: documents.Level, name: str) -> float | None:
    return level.latency_us[name].value


def _headline(doc: documents.Trial) -> str:
    by, levels, best = doc.by, doc.levels, doc.best
    setting = ", ".join(key if value is True else f"{key} {value}" for key, value in doc.knob.items())
    present = levels[0].level
    if not doc.rounds:
        why = next(iter(doc.aside.values())).text
        return f"no round of {setting} counts: {why}"
    if best is None:
        return f"no level of {setting} has a finite {figure_text(by, doc.isolated)}"
    one = levels[best].against.get(by)
    ratio = "" if one is None else f" ({format_ratio(one.ratio)} of {present})"
    named = figure_text(by, doc.isolated)
    figure = f"{named} {numbers.latency(_value(levels[best], by))}{ratio}"
    text = {
        "set": f"set {setting} to {levels[best].level}: {figure}",
        "leave": f"leave {setting} at {present}: no level lowers {named} by more than"
        f" {numbers.percent(MARGIN)}",
        "undecided": f"not decided: lowest so far is {setting} {levels[best].level}, {figure}",
    }[doc.verdict]
    conflicts = conflicting_levels(levels, by)
    changes = {one.level: one.against for one in levels if one.level in conflicts}
    warnings = [
        f"{level} has a {one['mean'].change} mean and a {one[by].change} {named}"
        for level, one in changes.items()
    ]
    return "; ".join([text, *warnings])


def conflicting_levels(levels: Sequence[documents.Level], by: str) -> list[str]:
    """Return the levels that lower either the mean or the figure `by`, and raise the other one."""
    return [
        one.level
        for one in levels[1:]
        if {one.against[name].change for name in ("mean", by) if name in one.against} == {"lower", "higher"}
    ]
