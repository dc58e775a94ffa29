"""Predictors compared on the simulated core, and a cluster steered by them, as text for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hindmost.present.console import console_text, new_console, print_text


def render_predictors(
    document: Mapping[str, Any], *, width: int | None = None, color: bool | None = None
) -> str:
    """Format the result of `reproduce.smite.core.compare`.

    Parameters
    ----------
    document : dict
    width, color
        As for `hindmost.commands.measure.view.render_terminal`.
    """
    console = new_console(width, color)
    print_text(
        console,
        f"{document['programs']} programs on a core with two threads, mean loss {document['mean_lost']:.1%};"
        f" {document['splits']} splits into halves for learning and prediction",
    )
    console.print()
    console.print(f"{'predictor':<38} {'error':>7} {'':<16} {'skill':>6}")
    for one in document["scores"]:
        ends = f"[{one['low']:.2%}, {one['high']:.2%}]"
        skill = "trivial" if one["trivial"] else f"{one['skill']:+.2f}"
        row = f"{one['name']:<38} {one['error']:>7.2%} {ends:<16} {skill:>7}"
        console.print(row, soft_wrap=True)
    promise = document["promise"]
    console.print()
    print_text(
        console,
        f"promise of at most {promise['rate']:.0%} violations: {promise['yes']} of {promise['asked']} pairs"
        f" of unknown programs admitted, {promise['violated']:.1%} of them break their limit"
        f" ({promise['violated_a_question']:.1%} on average over queries);"
        f" {promise['of_oracle']:.0%} of what an oracle admits; {promise['no']} certainly refused",
    )
    if promise["least_rate"] > promise["rate"]:
        print_text(
            console,
            f"no rate below {promise['least_rate']:.0%} can be promised with so few programs: one more"
            " could break its limit in all its pairs; hint: --programs, or a higher --violations",
        )
    print_text(console, f"in {document['took_s']:.1f} s")
    return console_text(console)


def render_steering(
    document: Mapping[str, Any], *, width: int | None = None, color: bool | None = None
) -> str:
    """Format the result of `reproduce.smite.core.steering`.

    Parameters
    ----------
    document : dict
    width, color
        As for `hindmost.commands.measure.view.render_terminal`.
    """
    console = new_console(width, color)
    print_text(console, f"arrivals: {document['arrivals']['text']}")
    for what, by_model in document["levels"].items():
        for model, rows in by_model.items():
            print_text(console, f"{document['servers']} servers, target of the {what}, steered by {model}:")
            console.print(f"{'target':>7} {'steered':>22} {'random, as many':>22} {'oracle':>8}")
            by_target: dict[float, dict[str, Any]] = {}
            for row in rows:
                by_target.setdefault(row["target"], {})[row["policy"]] = row
            for target, one in by_target.items():
                cells = f"{_cell(one['steered'])} {_cell(one['random'])}"
                console.print(f"{target:>7.1%} {cells} {one['oracle']['gained']:>8.1%}")
            console.print()
    print_text(console, "gained (servers that miss their target; by how much the worst misses it)")
    for name, one in document["paper"].items():
        print_text(
            console,
            f"cost saved at the paper's gain ({name}): {one['instances']:.2%} by instances,"
            f" {one['work']:.2%} by work done at {document['batch_speed']:.0%} of a batch job's speed alone",
        )
    print_text(console, "the latter depends most on (30 % less, 30 % more):")
    for name, (low, high) in list(document["tornado"].items())[:5]:
        print_text(console, f"  {name}: {low:.2%} to {high:.2%}")
    print_text(console, f"in {document['took_s']:.1f} s")
    return console_text(console)


def _cell(one: Mapping[str, Any]) -> str:
    return f"{one['gained']:>7.1%} ({one['violated']:>5.1%}; {one['magnitude']:>4.0%})"
