"""The answer of a comparison of targets: the document ``hindmost.compare/2``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from hindmost import __version__
from hindmost.commands.compare.arms import why_excluded
from hindmost.commands.compare.documents import targets as documents
from hindmost.commands.compare.documents.targets import Against, Comparison, Outcome
from hindmost.commands.compare.figures import Columns, ratio_document
from hindmost.commands.compare.rounds import MARGIN, CompleteRounds, complete_rounds, no_complete_round
from hindmost.commands.compare.targets.decision import deciding_contrasts, judge_contrasts
from hindmost.commands.compare.targets.differences import find_differences, refuse_different_loads
from hindmost.commands.compare.targets.limits import judge_limits
from hindmost.commands.compare.targets.measurement import (
    Measurement,
    Row,
    columns_of,
    errors_of,
    load_measurements,
    shorten,
)
from hindmost.commands.compare.targets.request import TargetsRequest, require_two
from hindmost.commands.compare.targets.wording import describe_arm, headline
from hindmost.commands.measure.answer import answer as answer_measurement
from hindmost.core.notes import Note
from hindmost.core.plan import ChangeLimit, parse_changes
from hindmost.core.store import Study, now_utc
from hindmost.core.store.estimates import UNKNOWN, encode, number, to_value
from hindmost.core.store.types import Reason
from hindmost.errors import UsageError
from hindmost.present import numbers
from hindmost.stats import Contrast, contrasts
from hindmost.stats.runs.contrast import CONFIDENCE, LEVEL

DecideOn = Literal["isolated", "raw"]
Contrasts = dict[str, documents.Contrast]
FAR_APART_S = 3_600.0
"""Studies that began further apart than this may have met different conditions on the host."""

NO_RATIO = documents.Ratio(value=None, low=None, high=None, within_low=None, within_high=None)
INFINITE_RATIO = replace(NO_RATIO, value=math.inf)
INFINITE = replace(UNKNOWN, value=math.inf)

Runs = tuple[Sequence[int], Mapping[int, Row]]
"""Numbers of an arm's runs whose latency counts, and isolated latency of those for which it does."""
ReasonLevel = Literal["invalid", "inconclusive", "note"]


@dataclass(frozen=True, slots=True)
class Method:
    """How arms are compared.

    Attributes
    ----------
    margin : float
        Ratios up to ``1 + margin`` count as the same.
    isolated : bool
        Whether isolated latency decides, if both arms have it.
    paired : bool
        Whether runs are paired by rounds.
    level : float
        Error that this look may make.
    looks : sequence of int
        Numbers of rounds at which the comparison may end.
    """

    margin: float
    isolated: bool
    paired: bool = False
    level: float = LEVEL
    looks: Sequence[int] = ()


def compare(
    studies: Sequence[str | Path | Study],
    *,
    margin: float = MARGIN,
    fail_if: Sequence[str] = (),
    anyway: bool = False,
    decide_on: DecideOn = "isolated",
) -> Comparison:
    """Compare stored measurements with the first of them; measure and write nothing.

    Parameters
    ----------
    studies : sequence
        Folders of studies of kind ``measure``, or open ones; at least two.
    margin : float
        Ratios up to ``1 + margin`` count as the same.
    fail_if : sequence of str
        Limits of change, such as ``p99>+5%``.
    anyway : bool
        Compare measurements under different loads, too.
    decide_on : {"isolated", "raw"}
        Latency that decides, if both arms have isolated latency.

    Returns
    -------
    Comparison
        A document ``hindmost.compare/2``.

    Raises
    ------
    UsageError
        If there are fewer than two studies, one is no measurement, or the loads differ.
    StudyError
        If a study cannot be read, is being written, or has no finished run.
    """
    limits = parse_changes(fail_if)
    folders = [Path(one.folder if isinstance(one, Study) else one) for one in studies]
    _check_folders(folders)
    arms = load_measurements(folders)
    differences = find_differences(arms)
    if not anyway:
        refuse_different_loads(differences, [arm.label for arm in arms])
    runs: list[Runs] = [(arm.counted_runs(), arm.isolated_by_run()) for arm in arms]
    method = Method(margin, decide_on == "isolated")
    reasons = [*_reasons_of_arms(arms, runs, method), *_reasons_of_dates(arms)]
    reasons += _reasons_of_loads(differences)
    return _document(arms, runs, method, limits, reasons, differences)


def _check_folders(folders: Sequence[Path]) -> None:
    require_two(folders, "STUDY", "hindmost compare STUDY STUDY")
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UsageError(
            "unexpected-argument",
            "the same study is given twice, and it does not differ from itself",
            hint="hindmost compare STUDY STUDY",
            argument="STUDY",
            value=[str(folder) for folder in folders],
        )


def answer(study: Study, most: int | None = None) -> Comparison:
    """Answer a live comparison from the complete rounds in its folder.

    Parameters
    ----------
    study : Study
        The comparison.
    most : int, optional
        Look only at this many rounds that count, the first ones.

    Raises
    ------
    StudyError
        If no round is complete.
    """
    request = TargetsRequest.read(study)
    arms = []
    for place, label in enumerate(request.labels, 1):
        folder = study.folder / str(place)
        if not any(folder.glob("runs/[0-9]*/run.json")):
            raise no_complete_round(study)
        part = Study.open(folder)
        result = answer_measurement(part)
        part.write("result.json", encode(result))
        arms.append(Measurement(label, part, result))
    isolated = request.decide_on == "isolated"
    studies, why = [arm.study for arm in arms], partial(why_excluded, isolated=isolated)
    rounds = complete_rounds(studies, why)
    if most is not None and most < len(rounds.valid):
        rounds = complete_rounds(studies, why, range(1, rounds.valid[most - 1] + 1))
    if not rounds.numbers:
        raise no_complete_round(study)
    undisturbed = complete_rounds(studies, why_excluded, range(1, rounds.numbers[-1] + 1))
    runs = _count_runs(arms, rounds, undisturbed)
    level = request.error_at(len(rounds.valid))
    method = Method(request.margin, isolated, paired=True, level=level, looks=request.looks)
    reasons = _reasons_of_arms(arms, runs, method)
    if not undisturbed.valid:
        by_isolated = isolated and bool(rounds.valid and runs[0][1])
        reasons.insert(0, _reason_of_rounds(undisturbed, decides=not by_isolated))
    if isolated and rounds.excluded:
        reasons += _reasons_of_refusals(arms)
    limits, differences = parse_changes(request.fail_if), find_differences(arms)
    document = _document(arms, runs, method, limits, reasons, differences)
    left_out = [
        Note(why.code, f"round {number_}: {why}", {**why.values, "round": number_}).document()
        for number_, why in rounds.excluded.items()
    ]
    return replace(document, study=study.folder.resolve().name, left_out=left_out)


def _count_runs(
    arms: Sequence[Measurement], rounds: CompleteRounds, undisturbed: CompleteRounds
) -> list[Runs]:
    """Return which runs of each arm count.

    Isolated latency is compared in rounds in which all arms have it. If there is any, latency stands for it
    in undisturbed rounds without it.
    """
    isolated = [arm.isolated_by_run() for arm in arms]
    numbers = [one for one in rounds.valid_or_all if all(one in rows for rows in isolated)]
    others = [one for one in undisturbed.valid if one not in numbers] if numbers else []
    latency = undisturbed.valid or rounds.valid_or_all
    counted: list[Runs] = []
    for arm, rows in zip(arms, isolated, strict=True):
        own = {one: rows[one] for one in numbers} | arm.latency_by_run(others)
        counted.append((latency, dict(sorted(own.items()))))
    return counted


def _document(
    arms: Sequence[Measurement],
    runs: Sequence[Runs],
    method: Method,
    limits: Sequence[ChangeLimit],
    reasons: list[Reason],
    unlike: list[documents.Unlike],
) -> Comparison:
    against = [
        _contrast_arm(arms[0], arm, (runs[0], own), method, comparisons=len(arms) - 1)
        for arm, own in zip(arms[1:], runs[1:], strict=True)
    ]
    verdicts = [one.verdict for one in against]
    ranked: tuple[Outcome, ...] = ("different", "invalid", "undecided")
    return Comparison(
        schema="hindmost.compare/2",
        version=__version__,
        created=now_utc(),
        how="live" if method.paired else "stored",
        study=None,
        margin=method.margin,
        confidence=CONFIDENCE,
        looks=list(method.looks),
        look_error=method.level,
        verdict=next((one for one in ranked if one in verdicts), "same"),
        headline=headline(against, arms[0].label, method.margin),
        reasons=reasons,
        sides=[arm.document(*own) for arm, own in zip(arms, runs, strict=True)],
        against=against,
        unlike=unlike,
        left_out=[],
        limits=judge_limits(limits, against),
    )


def _contrast_arm(
    first: Measurement,
    arm: Measurement,
    runs: tuple[Runs, Runs],
    method: Method,
    *,
    comparisons: int,
) -> Against:
    (first_runs, first_isolated), (own_runs, own_isolated) = runs

    def table(numbers: Sequence[int], a: Columns, b: Columns, *, isolated: bool) -> Contrasts:
        errors = _errors_of_pairs(first_isolated, own_isolated) if isolated and method.paired else None
        found = contrasts(
            a,
            b,
            method.margin,
            paired=method.paired,
            errors=errors,
            comparisons=comparisons,
            level=method.level,
        )
        faults = arm.faults(isolated=isolated) | first.faults(isolated=isolated)
        made = {
            name: _contrast_document(found.get(name), faults.get(name, faults.get("*")))
            for name in a
            if name in b
        }
        if not made or arm.is_distorted(isolated=isolated):
            return made
        return made | _infinitely_slower(made, a, arm.unanswered_share(numbers))

    latency = table(own_runs, first.latency(first_runs), arm.latency(own_runs), isolated=False)
    isolated = table(list(own_isolated), columns_of(first_isolated), columns_of(own_isolated), isolated=True)
    by_isolated = method.isolated and bool(isolated)
    counts = (len(first_runs), len(own_runs))
    if by_isolated:
        counts = (len(first_isolated), len(own_isolated))
    found = Against(
        side=arm.label,
        runs=counts,
        pairs=counts[0] if method.paired else None,
        decided_on="isolated" if by_isolated else "latency",
        verdict="undecided",
        text="",
        latency=latency,
        isolated=isolated,
    )
    found = replace(found, text=describe_arm(found, method.margin))
    distorted = first.is_distorted(isolated=by_isolated) or arm.is_distorted(isolated=by_isolated)
    return replace(found, verdict=judge_contrasts(deciding_contrasts(found), distorted=distorted))


def _errors_of_pairs(first: Mapping[int, Row], second: Mapping[int, Row]) -> Columns:
    """Return the standard error of each pair's log ratio from the requests of its runs, by percentile."""
    errors = errors_of(first)
    return {
        name: [math.hypot(*pair) for pair in zip(errors[name], own, strict=True)]
        for name, own in errors_of(second).items()
        if name in errors
    }


def _infinitely_slower(
    latency: Mapping[str, documents.Contrast], first: Columns, unanswered: float
) -> dict[str, documents.Contrast]:
    # A percentile of the arm is infinite if more requests were unanswered than lie above that percentile.
    return {
        name: replace(one, ratio=INFINITE_RATIO, difference_us=INFINITE, word="slower", more=0, why=None)
        for name, one in latency.items()
        if name[0] == "p"
        and unanswered > 1.0 - float(name[1:]) / 100.0
        and all(map(math.isfinite, first[name]))
    }


def _contrast_document(one: Contrast | None, why: Note | None) -> documents.Contrast:
    if one is None:
        both_infinite = Note("infinitely-late", "both have runs that are infinitely late there")
        return documents.Contrast(
            ratio=NO_RATIO,
            difference_us=UNKNOWN,
            p=None,
            p_textbook=None,
            adjusted=None,
            word="undecided",
            more=None,
            why=(why or both_infinite).document(),
        )
    return documents.Contrast(
        ratio=ratio_document(one),
        difference_us=to_value(one.difference),
        p=one.p,
        p_textbook=number(one.p_textbook),
        adjusted=one.adjusted,
        word="undecided" if why else one.word,
        more=None if why else one.more,
        why=None if why is None else why.document(),
    )


def _reason(
    code: str,
    text: str,
    hint: str | None = None,
    level: ReasonLevel = "note",
    **values: Any,  # noqa: ANN401 (numbers, names, lists of names)
) -> Reason:
    return Reason(code=code, level=level, text=text, hint=hint, values=values)


def _reasons_of_arms(arms: Sequence[Measurement], runs: Sequence[Runs], method: Method) -> list[Reason]:
    found = []
    isolated = method.isolated and all(rows for _, rows in runs)
    for arm in arms:
        # A verdict may rest on isolated latency, but arms are compared by latency, too.
        grave = [one for one in arm.result.reasons if one.level != "note"]
        if not grave:
            continue
        level: ReasonLevel = "inconclusive" if "*" in arm.faults() else "note"
        if arm.is_distorted(isolated=isolated):
            level = "invalid"
        text = f"{arm.label} is {grave[0].level}: {shorten(grave[0].text)}"
        hint = f"hindmost study report {arm.study.folder}"
        values = {"side": arm.label, "verdict": grave[0].level, "why": grave[0].code}
        found.append(_reason("side-not-valid", text, hint, level, **values))
    return found


def _reason_of_rounds(rounds: CompleteRounds, *, decides: bool) -> Reason:
    """Return the reason that all rounds had interference. `decides`: latency decides the comparison."""
    why = next(iter(rounds.excluded.values()))
    values = {"rounds": len(rounds.numbers), "why": why.code, **why.values}
    if decides:
        text = f"all rounds had interference and count all the same: {why}"
        return _reason("excluded-rounds", text, level="inconclusive", **values)
    text = f"all rounds had interference, which latency contains and isolated latency leaves out: {why}"
    return _reason("excluded-rounds", text, **values)


def _reasons_of_refusals(arms: Sequence[Measurement]) -> list[Reason]:
    """Return why an arm has no isolated latency, with which rounds with interference would count."""
    return [
        _reason(
            why.code,
            f"{arm.label} has no isolated latency, so rounds with interference do not count: {why.text}",
            f"isolated latency needs {why.need}",
            **{**(why.values or {}), "side": arm.label},
        )
        for arm in arms
        if arm.result.isolated is not None and (why := arm.result.isolated.refused) is not None
    ]


def _reasons_of_dates(arms: Sequence[Measurement]) -> list[Reason]:
    begun = sorted(datetime.fromisoformat(run.started) for arm in arms for run in arm.result.runs[:1])
    gap = max(((later - earlier).total_seconds() for earlier, later in pairwise(begun)), default=0.0)
    if gap < FAR_APART_S:
        return []
    text = numbers.seconds(gap) if gap < 2 * 86_400 else numbers.plural(round(gap / 86_400), "day")
    return [
        _reason(
            "measured-apart",
            f"the studies were measured {text} apart: every ratio includes how the host changed meanwhile",
            "`hindmost compare --live TARGET TARGET` interleaves the runs",
            apart_s=gap,
        )
    ]


def _reasons_of_loads(differences: Sequence[documents.Unlike]) -> list[Reason]:
    grave = [one for one in differences if one.grave]
    if not grave:
        return []
    names = ", ".join(one.what for one in grave)
    text = f"the loads differ ({names}): their latencies answer different questions"
    return [_reason("different-loads", text, differing={one.key: one.values for one in grave})]
