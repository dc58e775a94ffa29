"""All pairs of programs next to each other: data to train and score predictors."""

from __future__ import annotations

import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

import numpy as np
from msgspec import UNSET
from msgspec.structs import asdict, replace

from hindmost import _engine
from hindmost.commands.colocate.corunner import CoRunner
from hindmost.commands.colocate.documents.pairs import PAIRS_SCHEMA, PairLoss, Pairs, Skill
from hindmost.commands.colocate.documents.profiles import Method, Processor, Profile, Share, WindowRow
from hindmost.commands.colocate.prediction.profiles import Array, profiles_from_cards, values_of
from hindmost.commands.colocate.prediction.skill import scores
from hindmost.commands.colocate.processor import read_processor
from hindmost.commands.colocate.runs import Runs
from hindmost.commands.colocate.shares import LEAST_ROUNDS, shares_lost
from hindmost.commands.colocate.stressors import call_engine, choose_cpus, make_stressors
from hindmost.commands.colocate.subject import Subject
from hindmost.commands.colocate.windows import WindowResult, WindowRunner, placement_of
from hindmost.core.notes import Note
from hindmost.errors import Inconclusive, UsageError

_INERT = "null"
LEAST_SCORED = 6
"""Programs needed for scores: predictors learn on half of them, and three programs make six pairs."""
LEAST_ABOVE = 4
"""Pairs above the noise needed for skill: with one or two it would be chance."""
SPLITS = 300
LEAST_CORRELATED = 6
"""Pairs needed for a correlation between two halves of the rounds."""


def pairs(
    cards: Sequence[Profile],
    *,
    cpu: int | None = None,
    other: str | None = None,
    window_ms: float = 40.0,
    budget_s: float = 60.0,
    real_time: bool = True,
    seed: int = 1,
    say: Callable[[str], None] = lambda _: None,
) -> Pairs:
    """Run every program next to every other, and next to itself, one window at a time.

    Parameters
    ----------
    cards : sequence of Profile
        Profiles of programs whose work is lines on stdout, or runs.
    cpu, other : optional
        CPU of the measured program, and of its neighbour
        (`hindmost.commands.colocate.stressors.choose_cpus`).
    window_ms, budget_s : float
        Length of a window, ms; time for all rounds, s. At least four rounds are made.
    real_time : bool
        Whether the measured program asks for real-time priority.
    seed : int
        Random seed for the order of windows, and for the halves from which predictors learn.
    say : callable

    Raises
    ------
    UsageError
        Profiles with the same name, of servers, with units in a file, or from another processor.
    TargetError
        A program cannot be started, or ends.
    Inconclusive
        Too few windows are usable.
    """
    here = read_processor()
    names = _check_names(cards, here)
    cpus, start, order = choose_cpus(cpu, other), time.monotonic(), random.Random(seed)
    results: dict[str, list[list[WindowResult]]] = {name: [] for name in names}
    rows: list[WindowRow] = []
    knees = json.dumps(call_engine(_engine.cache_knees, cpus[1], seed))
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        inert = make_stressors([_INERT], knees, folder, seed)
        runners = {
            name: stack.enter_context(CoRunner(card.command, cpus[1]))
            for name, card in zip(names, cards, strict=True)
        }
        stands = {}
        for name, card in zip(names, cards, strict=True):
            say(f"starting {name}")
            subject = _subject(card, cpus[0], real_time)
            stack.enter_context(subject)
            subject.pause()
            stands[name] = WindowRunner(subject, cpus, {**inert, **runners}, real_time=False)
        started, rounds = time.monotonic(), 0
        while True:
            rounds += 1
            say(f"round {rounds}: {len(names)} programs, all pairs")
            for name in order.sample(names, len(names)):
                windows = []
                for companion in order.sample([_INERT, *names], len(names) + 1):
                    windows.append(stands[name].window(companion, window_ms))
                    if companion in runners:
                        runners[companion].check()
                results[name].append(windows)
                rows += [one.row(rounds, name) for one in windows]
            spent = time.monotonic() - started
            if rounds >= LEAST_ROUNDS and spent * (1 + 1 / rounds) > budget_s:
                break
        method = Method(
            unit=", ".join(sorted({stand.subject.name for stand in stands.values()})),
            window_ms=window_ms,
            windows=len(rows),
            dropped=sum(not one.kept for one in rows),
            real_time=any(getattr(stand.subject, "real_time", False) for stand in stands.values()),
            seed=seed,
            took_s=time.monotonic() - start,
        )
    return replace(compute_pairs(results, cards, method), processor=here, rows=rows)


def compute_pairs(
    results: Mapping[str, Sequence[Sequence[WindowResult]]],
    cards: Sequence[Profile],
    method: Method,
) -> Pairs:
    """Compute the losses, their noise, and the scores of predictors."""
    names = list(results)
    placement, notes = placement_of([one for each in results.values() for windows in each for one in windows])
    lost = [
        [shares_lost(results[name], beside, "program", (_INERT, True)) for beside in names] for name in names
    ]
    halves = [one.half_width for row in lost for one in row if one is not None]
    if not halves:
        have = method.windows - method.dropped
        raise Inconclusive(
            "few-windows",
            f"{have} of {method.windows} windows were usable, too few for any pair",
            hint="stop other programs (top -H -o %CPU), or measure more rounds: --budget 5m",
            have=have,
            windows=method.windows,
        )
    noise = statistics.median(halves)
    table = [[None if one is None else _pair_loss(one, noise) for one in row] for row in lost]
    values = values_of(lost)
    shown = np.array([[one is not None and not one.noise for one in row] for row in table])
    above = int((values > 3 * noise).sum())
    odd, even = (_half(results, names, at) for at in (0, 1))
    skills: list[Skill] = []
    if len(names) >= LEAST_SCORED:
        skills = [
            Skill(
                name=one.name,
                trivial=one.trivial,
                error=one.error,
                low=one.low,
                high=one.high,
                skill=one.skill if above >= LEAST_ABOVE else None,
            )
            for one in scores(
                profiles_from_cards(cards), values, splits=SPLITS, seed=method.seed, noise=noise
            )
        ]
    else:
        notes.append(
            Note(
                "few-programs",
                f"{len(names)} programs are too few to learn from half of them; scores need {LEAST_SCORED}",
                {"have": len(names), "need": LEAST_SCORED},
            )
        )
    both = np.isfinite(odd) & np.isfinite(even)
    return Pairs(
        schema=PAIRS_SCHEMA,
        processor=cards[0].processor,
        placement=placement,
        programs=names,
        cards=[replace(card, rows=UNSET) for card in cards],
        lost=table,
        noise=noise,
        above=above,
        split_half=_correlation(odd, even, both),
        split_half_told=_correlation(odd, even, shown & both),
        splits=SPLITS if skills else 0,
        scores=skills,
        method=method,
        notes=[one.document() for one in notes],
        rows=[],
    )


def _pair_loss(one: Share, noise: float) -> PairLoss:
    """A loss is significant by its own interval, and by the typical width of intervals."""
    return PairLoss(**asdict(one), noise=not (one.excludes_zero and abs(one.value) > noise))


def _half(results: Mapping[str, Sequence[Sequence[WindowResult]]], names: Sequence[str], first: int) -> Array:
    """Return the median losses of every other round."""

    def middle(rounds: Sequence[Sequence[WindowResult]], beside: str) -> float:
        ratios = []
        for windows in rounds[first::2]:
            by = {one.stressor: one.program for one in windows if one.is_usable}
            mine, alone = by.get(beside), by.get(_INERT)
            if mine and alone:
                ratios.append(1 - mine / alone)
        return statistics.median(ratios) if ratios else float("nan")

    return np.array([[middle(results[name], beside) for beside in names] for name in names])


def _correlation(one: Array, other: Array, which: np.ndarray) -> float | None:
    if which.sum() < LEAST_CORRELATED or one[which].std() == 0 or other[which].std() == 0:
        return None
    return float(np.corrcoef(one[which], other[which])[0, 1])


def _check_names(cards: Sequence[Profile], here: Processor) -> list[str]:
    if len(cards) < 2:
        raise UsageError(
            "missing-argument",
            "a pair needs two profiles",
            hint="hindmost colocate pairs zstd.json sqlite.json",
            have=len(cards),
            need=2,
        )
    names = [card.name for card in cards]
    for name, card in zip(names, cards, strict=True):
        if name in (_INERT, "alone") or names.count(name) > 1:
            raise UsageError(
                "duplicate-name",
                f"two profiles are named {name!r}, or the name is reserved",
                hint="hindmost colocate profile --name NAME",
                name=name,
            )
        unit = card.method.unit
        if unit not in ("lines", Runs.name):
            raise UsageError(
                "shared-counter",
                f"{name} counts {unit}, so two copies of it would be counted as one",
                hint="hindmost colocate predict --measure, for a server"
                if card.loaded
                else "use a program that prints its units",
                name=name,
                unit=unit,
            )
        if card.processor != here:
            raise UsageError(
                "other-processor",
                f"{name} was profiled on {card.processor.name}, but this machine has {here.name}",
                hint="profile it on this machine",
                name=name,
                value=card.processor.name,
                need=here.name,
            )
    return names


def _subject(card: Profile, cpu: int, real_time: bool) -> Subject | Runs:
    if card.method.unit == Runs.name:
        return Runs(card.command, cpu)
    return Subject(card.command, cpu, real_time=real_time)
