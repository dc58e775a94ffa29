"""Stressors run by hand: at a chosen strength, on chosen CPUs, from a common start."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hindmost import _engine
from hindmost.commands.colocate.documents.pairs import STRESS_SCHEMA, Stress, StressorWork
from hindmost.commands.colocate.processor import allowed_cpus, choose_cpu
from hindmost.commands.colocate.stressors import call_engine, known_stressors, make_stressors
from hindmost.errors import HostUnfit, UsageError

_SLICE_NS = 100_000_000
"""Work of a stressor between checks for an interruption, ns."""
_START_NS = 20_000_000
LEAST_PERIOD_NS, MOST_PERIOD_NS = 5_000, 100_000_000


def stress(
    names: Sequence[str],
    *,
    duty: float = 1.0,
    period_ns: int = 10_000,
    duration_s: float = 10.0,
    cpus: Sequence[int] | None = None,
    real_time: bool = False,
    folder: Path | None = None,
    seed: int = 1,
    say: Callable[[str], None] = lambda _: None,
) -> Stress:
    """Run stressors next to each other, each on its own CPU, and count their work.

    Parameters
    ----------
    names : sequence of str
    duty : float
        Share of each period in which a stressor works.
    period_ns : int
        A period of 5 to 10 µs is too short to show as on and off in a tail.
    duration_s : float
        Ctrl-C ends the run early and keeps its results.
    cpus : sequence of int, optional
        One CPU per stressor; by default the last usable ones.
    real_time : bool
        Whether to ask for real-time priority.
    folder : Path, optional
        Where the disk stressor writes; by default the working directory.
    seed : int

    Raises
    ------
    UsageError
        There is no such stressor, there are more stressors than CPUs, or the duty or the period is out of
        range.
    HostUnfit
        This host cannot run a stressor.
    """
    units = {one.name: one.unit for one in known_stressors()}
    if unknown := [one for one in names if one not in units]:
        raise UsageError(
            "unknown-name",
            f"there is no stressor {unknown[0]}",
            hint=f"use one of {', '.join(units)}",
            value=unknown[0],
            known=list(units),
        )
    if not 0 < duty <= 1:
        raise UsageError(
            "bad-value",
            f"--duty {duty:.0%}: it must be above 0 and at most 100 %",
            hint="--duty 50%",
            option="--duty",
            value=duty,
        )
    if not LEAST_PERIOD_NS <= period_ns <= MOST_PERIOD_NS:
        raise UsageError(
            "bad-value",
            f"--period {period_ns / 1000:g}us: it must be 5 µs to 100 ms",
            hint="--period 10us",
            option="--period",
            value=period_ns,
            unit="ns",
            least=LEAST_PERIOD_NS,
            most=MOST_PERIOD_NS,
        )
    places = [choose_cpu(one, "--cpus") for one in cpus] if cpus else allowed_cpus()[-len(names) :]
    if len(set(places)) < len(names):
        raise UsageError(
            "few-processors",
            f"{len(names)} stressors need one CPU each, but there are {len(set(places))}",
            hint=f"--cpus LIST of {', '.join(map(str, allowed_cpus()))}",
            have=len(set(places)),
            need=len(names),
        )
    say("measuring cache sizes")
    knees = json.dumps(call_engine(_engine.cache_knees, places[0], seed))
    stressors = [make_stressors([name], knees, str(folder or Path.cwd()), seed)[name] for name in names]
    start = _engine.monotonic_ns() + _START_NS
    end, over = start + int(duration_s * 1e9), threading.Event()
    got: list[list[dict[str, Any]]] = [[] for _ in names]
    wrong: list[tuple[str, str]] = []

    def work(at: int) -> None:
        begin = start
        while begin < end and not over.is_set():
            window = {
                "cpu": places[at],
                "start_ns": begin,
                "duration_ns": min(_SLICE_NS, end - begin),
                "duty": duty,
                "period_ns": period_ns,
                "real_time": real_time,
            }
            try:
                got[at].append(json.loads(stressors[at].run(json.dumps(window))))
            except _engine.EngineError as error:
                wrong.append((error.args[0], error.args[1]))
                over.set()
            begin = _engine.monotonic_ns()

    threads = [threading.Thread(target=work, args=(at,)) for at in range(len(names))]
    for thread in threads:
        thread.start()
    say(f"{', '.join(names)} at {duty:.0%} for {duration_s:g} s; Ctrl-C ends it")
    try:
        while any(thread.is_alive() for thread in threads):
            time.sleep(0.02)
    except KeyboardInterrupt:
        say("interrupted")
    finally:
        over.set()
        for thread in threads:
            thread.join()
    if wrong:
        code, message = wrong[0]
        raise HostUnfit(code, message)
    done = [
        _sum(name, units[name], cpu, windows)
        for name, cpu, windows in zip(names, places, got, strict=True)
        if windows
    ]
    return Stress(schema=STRESS_SCHEMA, stressors=done)


def _sum(name: str, unit: str, cpu: int, windows: Sequence[dict[str, Any]]) -> StressorWork:
    lasted = sum(one["ended_ns"] - one["began_ns"] for one in windows)
    done = sum(one["done"] for one in windows)
    clocks = [ghz for one in windows for ghz in one["ghz"]]
    return StressorWork(
        stressor=name,
        cpu=cpu,
        unit=unit,
        done=done,
        per_s=done / lasted * 1e9,
        duty=sum(one["busy_ns"] for one in windows) / lasted,
        cpu_share=sum(one["cpu_ns"] for one in windows) / lasted,
        involuntary=sum(one["involuntary"] for one in windows),
        ghz=[min(clocks), max(clocks)],
        real_time=windows[0]["real_time"],
        began_ns=windows[0]["began_ns"],
        took_s=lasted / 1e9,
    )
