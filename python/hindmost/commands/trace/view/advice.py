"""Possible changes and their predicted effect, for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hindmost.core.escapes import plain
from hindmost.present.console import print_text
from hindmost.present.numbers import number, percent


def render_advice(console: Any, advice: Sequence[Mapping[str, Any]]) -> None:  # noqa: ANN401 (a console)
    """Print each change with its reason, its prediction, and the command that tests it."""
    console.print()
    print_text(console, "Possible changes:")
    for place, one in enumerate(advice, 1):
        print_text(console, f"{place}. {plain(one['change'])}", indent=2)
        print_text(
            console, f"{percent(one['share_of_variance'])} of the variance: {plain(one['why'])}", indent=5
        )
        if one["predicted"] is not None:
            print_text(console, prediction_text(one["predicted"]), indent=5)
        if (command := one.get("trial")) is not None:
            console.print(f"     test it: {command}", soft_wrap=True)


def prediction_text(figures: Mapping[str, Any]) -> str:
    """Format the predicted latency without the culprit."""
    (mean, less), (sd, narrow) = figures["mean_us"], figures["sd_us"]
    text = (
        f"without it: mean {number(mean)} to {number(less)} µs, standard deviation {number(sd)} to"
        f" {number(narrow)} µs"
    )
    if figures["queue_us"] is not None:
        now, then = figures["queue_us"]
        text += f"; waiting and service at a worker {number(now)} to {number(then)} µs (Pollaczek-Khinchine)"
    if figures["service_may_grow_to_us"] is not None:
        text += (
            f"; worthwhile while the service time stays below {number(figures['service_may_grow_to_us'])} µs"
        )
    return f"{text}, all else being equal"
