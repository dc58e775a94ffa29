"""What could be changed, and what it would be worth, on the terminal."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from hindmost.report.common.console import printed
from hindmost.report.common.document import plain
from hindmost.report.common.numbers import number, percent
from hindmost.targets.presets import preset_names


def render_advice(console: Any, document: Mapping[str, Any]) -> None:  # noqa: ANN401 (a console)
    """Print each change with its reason, its prediction, and the command that tries it."""
    console.print()
    printed(console, "What could be changed:")
    for place, one in enumerate(document["advice"], 1):
        printed(console, f"{place}. {plain(one['change'])}", indent=2)
        printed(
            console, f"{percent(one['share_of_variance'])} of the variance: {plain(one['why'])}", indent=5
        )
        if one["predicted"] is not None:
            printed(console, predicted(one["predicted"]), indent=5)
        if (command := trial(one, document)) is not None:
            console.print(f"     try it: {command}", soft_wrap=True)


def predicted(figures: Mapping[str, Any]) -> str:
    """What latency would be without the culprit, in a sentence."""
    (mean, less), (sd, narrow) = figures["mean_us"], figures["sd_us"]
    text = (
        f"without it: mean {number(mean)} to {number(less)} µs, standard deviation {number(sd)} to"
        f" {number(narrow)} µs"
    )
    if figures["queue_us"] is not None:
        now, then = figures["queue_us"]
        text += (
            f"; by Pollaczek and Khinchine waiting and service at a worker {number(now)} to {number(then)} µs"
        )
    if figures["service_may_grow_to_us"] is not None:
        text += f"; worth it while service stays below {number(figures['service_may_grow_to_us'])} µs"
    return f"{text}, if nothing else changes"


def trial(one: Mapping[str, Any], document: Mapping[str, Any]) -> str | None:
    """The command that tries it, at the rate that was traced; None where there is no single knob.

    A server that is none of the presets' is called ``TARGET``: a file has to say how to start it.
    """
    if one["knob"] is None:
        return None
    name, service = document["server"]["name"], document["service"]
    target = name if name in preset_names() else "TARGET"
    rate = "RATE"
    if service is not None:
        rate = f"{float(format(service['workers'] * service['rate_per_s'], '.2g')):.0f}"
    knob, levels = shlex.quote(one["knob"]), ",".join(one["levels"])
    return f"hindmost trial {target} --rate {rate} --knob {knob} --levels {levels}"
