"""From sides to the answer: the document ``hindmost.compare/1``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from hindmost import __version__
from hindmost.errors import StudyError, UsageError
from hindmost.notes import Note
from hindmost.plan import parse_changes
from hindmost.report.common import numbers
from hindmost.stats import Contrast, contrasts
from hindmost.stats.runs.contrast import CONFIDENCE
from hindmost.store import Study, now_utc
from hindmost.store import comparison as documents
from hindmost.store.comparison import Against, Comparison, Outcome
from hindmost.store.estimates import UNKNOWN, Value, encode, number, to_value, without_nan
from hindmost.store.types import Reason
from hindmost.studies.comparison.alike import refuse_unlike_loads, unlike
from hindmost.studies.comparison.asked import MARGIN, Asked
from hindmost.studies.comparison.limits import judged
from hindmost.studies.comparison.runs import unsound as why_not
from hindmost.studies.comparison.sides import Columns, Measured, first_words, labels_of, opened, result_of
from hindmost.studies.comparison.words import headline, said
from hindmost.studies.measure.answer import answer as measured
from hindmost.studies.sides import unsound_rounds

APART_S = 3_600.0
"""Runs of two studies that began further apart than this met another host."""


def compare(
    studies: Sequence[str | Path | Study],
    *,
    margin: float = MARGIN,
    fail_if: Sequence[str] = (),
    anyway: bool = False,
) -> Comparison:
    """Compare stored measurements with the first of them; nothing is measured, and nothing written.

    Parameters
    ----------
    studies : sequence
        Folders of studies of kind ``measure``, or open ones; at least two.
    margin : float
        Ratios of up to ``1 + margin`` count as the same.
    fail_if : sequence of str
        Limits of change, such as ``p99>+5%``.
    anyway : bool
        Compare those that were not loaded alike, too.

    Returns
    -------
    Comparison
        A document ``hindmost.compare/1``.

    Raises
    ------
    UsageError
        If there are fewer than two, one is no measurement, or they were not loaded alike.
    StudyError
        If one cannot be read, is being written, or has no finished run.
    """
    limits = parse_changes(fail_if)
    folders = [Path(one.folder if isinstance(one, Study) else one) for one in studies]
    if len(folders) < 2:
        raise UsageError(
            "missing-argument",
            "a comparison needs at least two studies",
            hint="hindmost compare STUDY STUDY",
            argument="STUDY",
            need=2,
            have=len(folders),
        )
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UsageError(
            "unexpected-argument",
            "the same study is given twice, and it does not differ from itself",
            hint="hindmost compare STUDY STUDY",
            argument="STUDY",
            value=[str(folder) for folder in folders],
        )
    opened_ = [opened(folder) for folder in folders]
    sides = [
        Measured(label, study, result_of(study))
        for label, study in zip(labels_of(folders), opened_, strict=True)
    ]
    differing = unlike(sides)
    if not anyway:
        refuse_unlike_loads(differing, [side.label for side in sides])
    counted = [(side.counted(), list(side.calm())) for side in sides]
    against = [
        _against(sides[0], side, (counted[0], mine), margin, comparisons=len(sides) - 1)
        for side, mine in zip(sides[1:], counted[1:], strict=True)
    ]
    document: Comparison = {
        "schema": "hindmost.compare/1",
        "version": __version__,
        "created": now_utc(),
        "how": "stored",
        "study": None,
        "margin": margin,
        "confidence": CONFIDENCE,
        "verdict": _overall([one["verdict"] for one in against]),
        "headline": headline(against, sides[0].label, margin),
        "reasons": [*_of_sides(sides), *_apart(sides), *_of_loads(differing)],
        "sides": [side.document(*runs) for side, runs in zip(sides, counted, strict=True)],
        "against": against,
        "unlike": differing,
        "left_out": [],
        "limits": judged(limits, against),
    }
    return without_nan(document)


def answer(study: Study) -> Comparison:
    """Everything that interleaved runs say, as far as they came.

    Raises
    ------
    StudyError
        If no round is finished.
    """
    asked = Asked.of(study)
    sides = []
    for place, label in enumerate(asked.labels, 1):
        folder = study.folder / str(place)
        if not any(folder.glob("runs/[0-9]*/run.json")):
            raise _no_rounds(study)
        part = Study.open(folder)
        result = measured(part)
        part.write("result.json", encode(result))
        sides.append(Measured(label, part, result))
    rounds = sorted(set.intersection(*({run["run"] for run in side.result["runs"]} for side in sides)))
    unsound = unsound_rounds([side.study for side in sides], rounds, why_not)
    sound = [number for number in rounds if number not in unsound]
    calm = [number for number in rounds if all(number in side.calm() for side in sides)]
    if not rounds:
        raise _no_rounds(study)
    counted = sound or rounds
    against = [
        _against(
            sides[0],
            side,
            ((counted, calm), (counted, calm)),
            asked.margin,
            comparisons=len(sides) - 1,
            paired=True,
        )
        for side in sides[1:]
    ]
    reasons = _of_sides(sides)
    if not sound:
        why = next(iter(unsound.values()))
        text = f"interference disturbed every round, so all of them count: {why}"
        values = {"rounds": len(rounds), "why": why.code, **why.values}
        reasons.insert(0, _reason("excluded-rounds", text, level="inconclusive", **values))
    document: Comparison = {
        "schema": "hindmost.compare/1",
        "version": __version__,
        "created": now_utc(),
        "how": "live",
        "study": study.folder.resolve().name,
        "margin": asked.margin,
        "confidence": CONFIDENCE,
        "verdict": _overall([one["verdict"] for one in against]),
        "headline": headline(against, sides[0].label, asked.margin),
        "reasons": reasons,
        "sides": [side.document(counted, calm) for side in sides],
        "against": against,
        "unlike": unlike(sides),
        "left_out": [
            Note(why.code, f"round {number_}: {why}", {**why.values, "round": number_}).document()
            for number_, why in unsound.items()
        ],
        "limits": judged(parse_changes(asked.fail_if), against),
    }
    return without_nan(document)


NO_RATIO: documents.Ratio = {
    "value": None,
    "low": None,
    "high": None,
    "within_low": None,
    "within_high": None,
}
LATER: documents.Ratio = {**NO_RATIO, "value": math.inf}
ENDLESS: Value = {**UNKNOWN, "value": math.inf}
"""Of a side that is slower without end."""
Runs = tuple[Sequence[int], Sequence[int]]
"""Numbers of runs that count, and of those that calm latency is known of."""


def _against(
    first: Measured,
    side: Measured,
    runs: tuple[Runs, Runs],
    margin: float,
    *,
    comparisons: int,
    paired: bool = False,
) -> Against:
    """One side next to the first."""
    (ours, calm_ours), (theirs, calm_theirs) = runs
    faults = side.faults() | first.faults()

    def table(a: Columns, b: Columns, *, faulty: bool) -> dict[str, documents.Contrast]:
        found = contrasts(a, b, margin, paired=paired, comparisons=comparisons)
        names = [name for name in a if name in b]
        why = {name: faults.get(name, faults.get("*")) for name in names} if faulty else {}
        return {name: _document(found.get(name), why.get(name)) for name in names}

    latency = table(first.values(ours), side.values(theirs), faulty=True)
    if not side.distorted:
        latency |= _silent(latency, first.values(ours), side.silent(theirs))
    calm = table(_calm(first, calm_ours), _calm(side, calm_theirs), faulty="*" in faults)
    words = [one["word"] for one in latency.values()]
    verdict: Outcome = "undecided"
    if {"slower", "faster"} & set(words):
        verdict = "different"
    elif (first.distorted or side.distorted) and all(one["why"] for one in latency.values()):
        verdict = "invalid"
    elif words and set(words) == {"same"}:
        verdict = "same"
    unit = "pair" if paired else "run"
    text = said(latency, margin, unit)
    if calm:
        text += f". Calm: {said(calm, margin, unit)}"
    return {
        "side": side.label,
        "runs": (len(ours), len(theirs)),
        "pairs": len(ours) if paired else None,
        "verdict": verdict,
        "text": text,
        "latency": latency,
        "calm": calm,
    }


def _silent(
    latency: Mapping[str, documents.Contrast], first: Columns, silent: float
) -> dict[str, documents.Contrast]:
    """Percentiles that are slower without end: the side left more requests unanswered than they leave."""
    return {
        name: {**one, "ratio": LATER, "difference_us": ENDLESS, "word": "slower", "more": 0, "why": None}
        for name, one in latency.items()
        if name[0] == "p" and silent > 1.0 - float(name[1:]) / 100.0 and all(map(math.isfinite, first[name]))
    }


def _calm(side: Measured, numbers_: Sequence[int]) -> Columns:
    known = side.calm()
    names = list(next(iter(known.values()), ())) if numbers_ else []
    return {name: [known[number_][name] for number_ in numbers_] for name in names}


def _document(one: Contrast | None, why: Note | None) -> documents.Contrast:
    """A contrast as it stands in the document; of none, both sides were infinitely late."""
    if one is None:
        return {
            "ratio": NO_RATIO,
            "difference_us": UNKNOWN,
            "p": None,
            "p_twin": None,
            "adjusted": None,
            "word": "undecided",
            "more": None,
            "why": (
                why or Note("infinitely-late", "both have runs that are infinitely late there")
            ).document(),
        }
    low, high = one.within
    return {
        "ratio": {**to_value(one.ratio), "within_low": number(low), "within_high": number(high)},
        "difference_us": to_value(one.difference),
        "p": one.p,
        "p_twin": number(one.p_twin),
        "adjusted": one.adjusted,
        "word": "undecided" if why else one.word,
        "more": None if why else one.more,
        "why": None if why is None else why.document(),
    }


def _overall(verdicts: Sequence[Outcome]) -> Outcome:
    for one in ("different", "invalid", "undecided"):
        if one in verdicts:
            return one
    return "same"


def _reason(
    code: str,
    text: str,
    hint: str | None = None,
    level: Literal["invalid", "inconclusive", "note"] = "note",
    **values: Any,  # noqa: ANN401 (numbers, names, lists of names)
) -> Reason:
    return {"code": code, "level": level, "text": text, "hint": hint, "values": values}


def _no_rounds(study: Study) -> StudyError:
    text = f"{study.folder} holds no finished round of runs"
    return StudyError("no-finished-runs", text, hint=study.resume_command, path=str(study.folder))


def _of_sides(sides: Sequence[Measured]) -> list[Reason]:
    """What each measurement says of itself that bears on this."""
    found = []
    for side in sides:
        # The verdict may rest on isolated latency; sides are compared by latency as well.
        grave = [one for one in side.result["reasons"] if one["level"] != "note"]
        if not grave:
            continue
        level: Literal["invalid", "inconclusive", "note"]
        level = "invalid" if side.distorted else "inconclusive" if "*" in side.faults() else "note"
        text = f"{side.label} is {grave[0]['level']}: {first_words(grave[0]['text'])}"
        again = f"hindmost study report {side.study.folder}"
        values = {"side": side.label, "verdict": grave[0]["level"], "why": grave[0]["code"]}
        found.append(_reason("side-not-valid", text, again, level, **values))
    return found


def _apart(sides: Sequence[Measured]) -> list[Reason]:
    """Whether hours lie between the studies: what drifted since is in the ratios."""
    begun = sorted(
        datetime.fromisoformat(run["started"]) for side in sides for run in side.result["runs"][:1]
    )
    gap = max(((later - earlier).total_seconds() for earlier, later in pairwise(begun)), default=0.0)
    if gap < APART_S:
        return []
    text = numbers.seconds(gap) if gap < 2 * 86_400 else numbers.plural(round(gap / 86_400), "day")
    return [
        _reason(
            "measured-apart",
            f"the studies were measured {text} apart: every ratio includes how the host changed meanwhile",
            "`hindmost compare --live TARGET TARGET` makes the runs in turn",
            apart_s=gap,
        )
    ]


def _of_loads(differing: Sequence[documents.Unlike]) -> list[Reason]:
    grave = [one for one in differing if one["grave"]]
    if not grave:
        return []
    names = ", ".join(one["what"] for one in grave)
    text = f"the loads differ ({names}): their latencies answer different questions"
    return [_reason("different-loads", text, differing={one["key"]: one["values"] for one in grave})]
