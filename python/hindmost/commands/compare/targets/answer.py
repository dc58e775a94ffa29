"""The answer of a comparison of targets: the document ``hindmost.compare/2``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from hindmost import __version__
from hindmost.commands.compare.arms import why_excluded
from hindmost.commands.compare.documents import targets as documents
from hindmost.commands.compare.documents.targets import Against, Comparison, Outcome
from hindmost.commands.compare.figures import Columns, ratio_document
from hindmost.commands.compare.rounds import MARGIN, complete_rounds, no_complete_round
from hindmost.commands.compare.targets.differences import find_differences, refuse_different_loads
from hindmost.commands.compare.targets.limits import judge_limits
from hindmost.commands.compare.targets.measurement import Measurement, load_measurements, shorten
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
from hindmost.stats.runs.contrast import CONFIDENCE

FAR_APART_S = 3_600.0
"""Studies that began further apart than this may have met different conditions on the host."""

NO_RATIO = documents.Ratio(value=None, low=None, high=None, within_low=None, within_high=None)
INFINITE_RATIO = replace(NO_RATIO, value=math.inf)
INFINITE = replace(UNKNOWN, value=math.inf)

RunNumbers = tuple[Sequence[int], Sequence[int]]
"""Numbers of the runs that count, and of those with isolated latency."""
ReasonLevel = Literal["invalid", "inconclusive", "note"]


def compare(
    studies: Sequence[str | Path | Study],
    *,
    margin: float = MARGIN,
    fail_if: Sequence[str] = (),
    anyway: bool = False,
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
    runs = [(arm.counted_runs(), list(arm.isolated_by_run())) for arm in arms]
    reasons = [*_reasons_of_arms(arms), *_reasons_of_dates(arms), *_reasons_of_loads(differences)]
    return _document(arms, runs, margin, limits, reasons, differences)


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


def answer(study: Study) -> Comparison:
    """Answer a live comparison from the complete rounds in its folder.

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
    rounds = complete_rounds([arm.study for arm in arms], why_excluded)
    if not rounds.numbers:
        raise no_complete_round(study)
    isolated = [one for one in rounds.numbers if all(one in arm.isolated_by_run() for arm in arms)]
    reasons = _reasons_of_arms(arms)
    if not rounds.valid:
        why = next(iter(rounds.excluded.values()))
        text = f"all rounds had interference and count all the same: {why}"
        values = {"rounds": len(rounds.numbers), "why": why.code, **why.values}
        reasons.insert(0, _reason("excluded-rounds", text, level="inconclusive", **values))
    runs = [(rounds.valid_or_all, isolated)] * len(arms)
    limits, differences = parse_changes(request.fail_if), find_differences(arms)
    document = _document(arms, runs, request.margin, limits, reasons, differences, paired=True)
    left_out = [
        Note(why.code, f"round {number_}: {why}", {**why.values, "round": number_}).document()
        for number_, why in rounds.excluded.items()
    ]
    return replace(document, study=study.folder.resolve().name, left_out=left_out)


def _document(
    arms: Sequence[Measurement],
    runs: Sequence[RunNumbers],
    margin: float,
    limits: Sequence[ChangeLimit],
    reasons: list[Reason],
    unlike: list[documents.Unlike],
    *,
    paired: bool = False,
) -> Comparison:
    against = [
        _contrast_arm(arms[0], arm, (runs[0], own), margin, comparisons=len(arms) - 1, paired=paired)
        for arm, own in zip(arms[1:], runs[1:], strict=True)
    ]
    verdicts = [one.verdict for one in against]
    ranked: tuple[Outcome, ...] = ("different", "invalid", "undecided")
    return Comparison(
        schema="hindmost.compare/2",
        version=__version__,
        created=now_utc(),
        how="live" if paired else "stored",
        study=None,
        margin=margin,
        confidence=CONFIDENCE,
        verdict=next((one for one in ranked if one in verdicts), "same"),
        headline=headline(against, arms[0].label, margin),
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
    runs: tuple[RunNumbers, RunNumbers],
    margin: float,
    *,
    comparisons: int,
    paired: bool,
) -> Against:
    (first_runs, first_isolated), (own_runs, own_isolated) = runs
    faults = arm.faults() | first.faults()

    def table(a: Columns, b: Columns, *, faulty: bool) -> dict[str, documents.Contrast]:
        found = contrasts(a, b, margin, paired=paired, comparisons=comparisons)
        names = [name for name in a if name in b]
        why = {name: faults.get(name, faults.get("*")) for name in names} if faulty else {}
        return {name: _contrast_document(found.get(name), why.get(name)) for name in names}

    first_latency = first.latency(first_runs)
    latency = table(first_latency, arm.latency(own_runs), faulty=True)
    if not arm.is_distorted:
        latency |= _infinitely_slower(latency, first_latency, arm.unanswered_share(own_runs))
    isolated = table(
        first.isolated_latency(first_isolated), arm.isolated_latency(own_isolated), faulty="*" in faults
    )
    words = {one.word for one in latency.values()}
    verdict: Outcome = "undecided"
    if {"slower", "faster"} & words:
        verdict = "different"
    elif (first.is_distorted or arm.is_distorted) and all(one.why for one in latency.values()):
        verdict = "invalid"
    elif words == {"same"}:
        verdict = "same"
    unit = "pair" if paired else "run"
    text = describe_arm(latency, margin, unit)
    if isolated:
        text += f". Isolated: {describe_arm(isolated, margin, unit)}"
    return Against(
        side=arm.label,
        runs=(len(first_runs), len(own_runs)),
        pairs=len(first_runs) if paired else None,
        verdict=verdict,
        text=text,
        latency=latency,
        isolated=isolated,
    )


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


def _reasons_of_arms(arms: Sequence[Measurement]) -> list[Reason]:
    found = []
    for arm in arms:
        # A verdict may rest on isolated latency, but arms are compared by latency, too.
        grave = [one for one in arm.result.reasons if one.level != "note"]
        if not grave:
            continue
        level: ReasonLevel = (
            "invalid" if arm.is_distorted else "inconclusive" if "*" in arm.faults() else "note"
        )
        text = f"{arm.label} is {grave[0].level}: {shorten(grave[0].text)}"
        hint = f"hindmost study report {arm.study.folder}"
        values = {"side": arm.label, "verdict": grave[0].level, "why": grave[0].code}
        found.append(_reason("side-not-valid", text, hint, level, **values))
    return found


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
