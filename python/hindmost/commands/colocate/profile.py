"""A profile: what a program loses next to each stressor, and what the stressor loses."""

from __future__ import annotations

import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec.structs import replace

from hindmost import _engine
from hindmost.commands.colocate.documents.profiles import PROFILE_SCHEMA, Axis, Method, Profile
from hindmost.commands.colocate.processor import choose_spare, read_processor
from hindmost.commands.colocate.program import identify_command
from hindmost.commands.colocate.runs import Runs
from hindmost.commands.colocate.server import ServerUnderLoad
from hindmost.commands.colocate.shares import LEAST_ROUNDS, growth, shares_lost, summarize_load
from hindmost.commands.colocate.stressors import call_engine, choose_cpus, known_stressors, make_stressors
from hindmost.commands.colocate.subject import Subject
from hindmost.commands.colocate.units import Units
from hindmost.commands.colocate.windows import LEAST_CPU, WindowResult, WindowRunner, placement_of, rows_of
from hindmost.commands.watch.latency import LatencySource
from hindmost.core.notes import Note
from hindmost.errors import Inconclusive, UsageError

STRESSORS = (
    "fp_mul",
    "int_add",
    "l1",
    "l2",
    "l3",
    "dram",
    "dram_write",
    "tlb_walk",
    "kernel_entry",
    "page_fault",
)
"""One stressor per resource. Cores share nothing of ``fp_mul`` and ``int_add``, which serve as controls."""
PROBED_REQUESTS = 1000
"""Requests of a probe in a window; ten are beyond its p99."""
LEAST_PROBED = 100
LONE_MS = 100.0
MUCH = 0.05
"""A loss with which p99 grows by a tenth at half load (Eq 3.6). An interval from 0 to it decides nothing."""
TIGHT = 0.01
"""Half the width of an interval, as a share of the rate, at which a profile ends early."""


_NO_CHILDREN = Note(
    "children-not-counted",
    "the CPU time of the program's children is not counted, because perf_event_open is refused"
    " (kernel.perf_event_paranoid)",
)


def profile(
    command: Sequence[str],
    *,
    name: str | None = None,
    units: Units | LatencySource | Literal["cpu"] | None = None,
    stressors: Sequence[str] = STRESSORS,
    cpu: int | None = None,
    other: str | None = None,
    window_ms: float | None = None,
    budget_s: float | None = None,
    real_time: bool = True,
    seed: int = 1,
    say: Callable[[str], None] = lambda _: None,
) -> Profile:
    """Profile a program that runs until it is ended.

    Parameters
    ----------
    command : sequence of str
    name : str, optional
        Name of the profile; by default the program's.
    units : Units, optional
        Where units of work are counted; by default lines on stdout. ``"cpu"``: the program ends, and each run
        is a unit. A latency source: the program is a server, this probe loads it, and an answered request is
        a unit.
    stressors : sequence of str
    cpu, other : optional
        CPU of the program, and of the stressors (`hindmost.commands.colocate.stressors.choose_cpus`).
    window_ms, budget_s : float, optional
        Length of a window, by default 40 ms or `PROBED_REQUESTS` of a probe; time for all rounds, by default
        10 s, or 60 s with a probe.
    real_time : bool
        Whether program and stressors ask for real-time priority. Never used next to a server, which shares
        its CPU with the kernel's own work.
    seed : int
        Random seed for the order of windows.
    say : callable

    Raises
    ------
    TargetError
        The program cannot be started, ends, or reports no unit.
    Inconclusive
        Too few windows are usable.
    """
    known = [one.name for one in known_stressors()]
    if unknown := [one for one in stressors if one not in known]:
        raise UsageError(
            "unknown-name",
            f"there is no stressor {unknown[0]}",
            hint=f"use one of {', '.join(known)}",
            option="--stressors",
            value=unknown[0],
            known=known,
        )
    cpus, start, order = choose_cpus(cpu, other), time.monotonic(), random.Random(seed)
    rate = units.document["probe"]["rate"] if isinstance(units, LatencySource) else None
    window_ms, budget_s = _lengths(window_ms, budget_s, rate)
    real_time = real_time and rate is None
    say(f"stressors on CPU {cpus[1]}")
    knees = json.dumps(call_engine(_engine.cache_knees, cpus[1], seed))
    with tempfile.TemporaryDirectory() as folder:
        beside = make_stressors(("null", *stressors), knees, folder, seed)
    rounds: list[list[WindowResult]] = []
    started = time.monotonic()
    with _subject(command, cpus, units, real_time) as subject:
        if isinstance(subject, Runs):
            window_ms = min(window_ms, subject.run_ms / 4)
            round_s = (len(stressors) + 2) * subject.run_ms / 1000
            say(f"a run takes {subject.run_ms:.0f} ms, and a round at least {round_s:.1f} s")
        stand = WindowRunner(subject, cpus, beside, real_time=real_time)
        while True:
            say(f"round {len(rounds) + 1}: {command[0]} next to each stressor")
            rounds.append(_round(stand, stressors, window_ms, order))
            spent = time.monotonic() - started
            tight = rate is None and _tight(rounds, stressors)
            if len(rounds) >= LEAST_ROUNDS and (tight or spent * (1 + 1 / len(rounds)) > budget_s):
                break
        method = Method(
            unit=subject.name,
            window_ms=window_ms,
            windows=sum(map(len, rounds)),
            dropped=sum(not one.is_usable for windows in rounds for one in windows),
            real_time=any(one.real_time for windows in rounds for one in windows),
            seed=seed,
            took_s=time.monotonic() - start,
        )
        notes = [] if subject.counts_children else [_NO_CHILDREN]
        card = _card(rounds, stressors, command, name, method, notes, subject.hint)
        if not isinstance(subject, ServerUnderLoad):
            return card
        axes = [replace(axis, latency=growth(rounds, axis.stressor, "null")) for axis in card.axes]
        return replace(card, axes=axes, loaded=summarize_load(rounds, subject, window_ms))


def _lengths(window_ms: float | None, budget_s: float | None, rate: float | None) -> tuple[float, float]:
    if rate is None:
        return window_ms or 40.0, budget_s or 10.0
    window_ms = window_ms or max(40.0, 1000 * PROBED_REQUESTS / rate)
    if rate * window_ms / 1000 < LEAST_PROBED:
        raise UsageError(
            "few-requests",
            f"a window of {window_ms:g} ms has {rate * window_ms / 1000:.0f} requests of the probe; its p99"
            f" needs {LEAST_PROBED}",
            hint=f"--window {1000 * PROBED_REQUESTS / rate:.0f}ms, or a higher rate: --probe",
            have=rate * window_ms / 1000,
            need=LEAST_PROBED,
        )
    return window_ms, budget_s or 60.0


def _subject(
    command: Sequence[str],
    cpus: tuple[int, int],
    units: Units | LatencySource | Literal["cpu"] | None,
    real_time: bool,
) -> Subject | Runs | ServerUnderLoad:
    if units == "cpu":
        return Runs(command, cpus[0])
    if isinstance(units, LatencySource):
        return ServerUnderLoad(command, cpus[0], units, choose_spare(cpus))
    return Subject(command, cpus[0], units, real_time=real_time)


def _round(
    stand: WindowRunner, stressors: Sequence[str], window_ms: float, order: random.Random
) -> list[WindowResult]:
    """Make a window of every state, in a random order; each stressor also runs without the program."""
    states = [("alone", True), ("null", True)]
    states += [(one, with_program) for one in stressors for with_program in (True, False)]
    order.shuffle(states)
    # A stressor without the program needs no window for a percentile.
    return [
        stand.window(one, window_ms if with_program else min(window_ms, LONE_MS), with_program=with_program)
        for one, with_program in states
    ]


def _axis(rounds: Sequence[Sequence[WindowResult]], stressor: str) -> Axis:
    return Axis(
        stressor=stressor,
        sensitivity=shares_lost(rounds, stressor, "program", ("null", True)),
        contentiousness=shares_lost(rounds, stressor, "of_stressor", (stressor, False)),
    )


def _tight(rounds: Sequence[Sequence[WindowResult]], stressors: Sequence[str]) -> bool:
    axes = [_axis(rounds, one) for one in stressors]
    shares = [one for axis in axes for one in (axis.sensitivity, axis.contentiousness)]
    return all(one is not None and one.half_width <= TIGHT for one in shares)


def _too_few(windows: Sequence[WindowResult], rates: int, hint: str) -> Inconclusive:
    ran = [one for one in windows if one.with_program]
    silent, starved = (sum(one.lost == why for one in ran) for why in ("units", "processor"))
    kept = sum(one.is_usable for one in windows)
    if silent > starved:
        hint = f"{hint}; or use longer windows: --window"
    else:
        hint = (
            "stop other programs (top -H -o %CPU); the program must not wait, and must not report more than"
            " one unit per microsecond"
        )
    return Inconclusive(
        "few-windows",
        f"{kept} of {len(windows)} windows were usable, {rates} of them next to the inert stressor. Of"
        f" {len(ran)} windows with the program, it reported no unit in {silent}, and had less than"
        f" {LEAST_CPU:.0%} of its CPU in {starved}",
        hint=hint,
        have=kept,
        windows=len(windows),
        silent=silent,
        starved=starved,
    )


def doubt_notes(axes: Sequence[Axis]) -> list[Note]:
    """Return notes on what the figures leave undecided."""
    hint = "use more rounds (--budget 60s), or a quieter host (top -H -o %CPU)"
    lost = {one.stressor: one.sensitivity for one in axes if one.sensitivity is not None}
    if not lost:
        return [Note("no-losses", f"too few windows were usable next to any stressor: {hint}")]
    open_ = [name for name, one in lost.items() if one.low <= 0 and one.high >= MUCH]
    if not open_:
        return []
    text = f"next to {', '.join(open_)} the program may lose nothing, or {MUCH:.0%} and more: {hint}"
    return [Note("undecided-axes", text, {"axes": open_, "least": MUCH})]


def _card(
    rounds: Sequence[Sequence[WindowResult]],
    stressors: Sequence[str],
    command: Sequence[str],
    name: str | None,
    method: Method,
    notes: Sequence[Note],
    hint: str,
) -> Profile:
    windows = [one for windows in rounds for one in windows]
    kept = [one for one in windows if one.is_usable]
    rates = [one.program for one in kept if one.stressor == "null" and one.program is not None]
    if len(rates) < LEAST_ROUNDS - 1:
        raise _too_few(windows, len(rates), hint)
    quarters = statistics.quantiles(rates, n=4) if len(rates) > 1 else [rates[0]] * 3
    placement, mixed = placement_of(windows)
    axes = [_axis(rounds, one) for one in stressors]
    halves = [axis.sensitivity.half_width for axis in axes if axis.sensitivity is not None]
    noted = list(notes)
    if not method.real_time:
        why = "next to a server" if method.unit == ServerUnderLoad.name else "SCHED_FIFO is not permitted"
        noted.append(
            Note("ordinary-threads", f"stressors ran as ordinary threads ({why}), so windows vary more")
        )
    noted += [*mixed, *doubt_notes(axes)]
    return Profile(
        schema=PROFILE_SCHEMA,
        name=name or command[0].rsplit("/", 1)[-1],
        command=list(command),
        processor=read_processor(),
        placement=placement,
        rate_per_s=statistics.median(rates),
        spread=(quarters[2] - quarters[0]) / statistics.median(rates),
        presence=shares_lost(rounds, "null", "program", ("alone", True)),
        axes=axes,
        noise=statistics.median(halves) if halves else 0.0,
        method=method,
        notes=[one.document() for one in noted],
        rows=rows_of(rounds),
        program=identify_command(command),
    )
