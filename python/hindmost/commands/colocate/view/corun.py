"""A server next to jobs, predicted and measured, for the terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hindmost.commands.colocate.documents.profiles import AtLoad, CoRun, JobEffect, PredictedLoss
from hindmost.commands.colocate.view.profile import share_text
from hindmost.core.escapes import plain
from hindmost.present.console import console_text, new_console, print_text
from hindmost.present.numbers import number

if TYPE_CHECKING:
    from rich.console import Console


def render_corun(document: CoRun, *, width: int | None = None, color: bool | None = None) -> str:
    """Render a document ``hindmost.corun/2`` for the terminal.

    Parameters
    ----------
    document : CoRun
    width, color
        As for `hindmost.commands.measure.view.render_terminal`.
    """
    console = new_console(width, color)
    answers = {job["job"]: f" (prediction from profiles: {job['answer']})" for job in document["jobs"]}
    loads: list[CoRun | AtLoad] = [document, *document["loads"]]
    for at in loads:
        loaded = at["loaded"]
        print_text(
            console,
            f"{plain(document['server'])}, {number(loaded['requested_per_s'])} requests/s"
            f" ({loaded['busy']:.0%} of its processor): p50 {number(loaded['p50_us'])} µs, p99"
            f" {number(loaded['p99_us'])} µs next to an inert stressor; {loaded['failed']} of"
            f" {loaded['requests']} requests failed",
        )
        for job in at["jobs"]:
            _print_companion(console, job, document["within"], answers.pop(job["job"], ""))
        console.print()
        console.print(f"{'error factor':<24} {'p50':<8} {'p99':<8} p99 covered")
        for score in at["scores"]:
            covered = f"{score['covered']} of {score['told']}"
            cells = f"{factor(score['p50']):<8} {factor(score['p99']):<8} {covered}"
            console.print(f"{score['model']:<24} {cells}")
        console.print()
    print_text(
        console,
        f"{document['windows']} windows of {document['window_ms']:g} ms, {document['dropped']} dropped, in"
        f" {document['took_s']:.1f} s; jobs ran {document['placement']}",
    )
    for note in document["notes"]:
        print_text(console, f"note: {note['text']}")
    return console_text(console)


def _print_companion(console: Console, job: JobEffect, within: float, answer: str) -> None:
    console.print()
    print_text(console, f"next to {plain(job['job'])}: p99 within {within:.0%}: {job['promise']}{answer}")
    console.print(f"  {'':<22} {'rate lost':<26} {'p50 grows by':<26} {'p99 grows by':<26}", soft_wrap=True)
    latency = job["latency"]
    told = [share_text(one) for one in (job["lost"], latency["p50"], latency["p99"])]
    console.print(f"  {'measured':<22} " + " ".join(f"{one:<26}" for one in told), soft_wrap=True)
    for guess in job["predicted"]:
        cells = [f"{percent(guess['lost']):<26}", f"{percent(guess['p50']):<26}", percent(guess["p99"])]
        row = f"  {guess['model']:<22} " + " ".join([*cells, between(guess)])
        console.print(row.rstrip(), soft_wrap=True, highlight=False)


def between(guess: PredictedLoss) -> str:
    """Format the interval of a predicted p99. A prediction without an error estimate has none."""
    low, high = guess["p99_low"], guess["p99_high"]
    return "" if low == high else f"{percent(low).strip()} to {percent(high).strip()}"


def percent(value: float | None) -> str:
    """Format a prediction. A queue that grows without bound has no value."""
    return "unbounded" if value is None else f"{value:>6.1%}"


def factor(error: float | None) -> str:
    """Format an error of logarithms as a factor.

    >>> factor(0.0953)
    '1.10'
    """
    return "-" if error is None else f"{math.exp(error):.2f}"
