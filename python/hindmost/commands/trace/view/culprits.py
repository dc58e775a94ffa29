"""Culprits that delayed requests, and the slowest requests, for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hindmost.commands.trace.view.names import CAUSES, STAGES, culprit
from hindmost.present.console import print_text
from hindmost.present.numbers import count, number, percent

LEAST_SHARE = 0.005
"""Share of the variance, or of the slowest requests' time, below which a part is not shown."""
MOST = 10


def render_who(console: Any, who: Mapping[str, Any]) -> None:  # noqa: ANN401 (a console)
    """Print what delayed requests, the culprits, and where the slowest requests spent their time."""
    console.print()
    print_text(console, "What delayed requests (mean of all, share of the variance):")
    for one in major_parts(who["parts"]):
        _line(console, f"{CAUSES[one['cause']]}, {STAGES[one['stage']]}", one)
    culprits = major_parts(who["culprits"])
    if culprits:
        print_text(console, "Culprits:")
    for one in culprits:
        _line(console, f"{culprit(one['who'])}: {CAUSES[one['cause']]}, {STAGES[one['stage']]}", one)
    for text in charged_to_nobody(who):
        print_text(console, text)
    if who["slowest"] is not None:
        _slowest(console, who["slowest"])


def charged_to_nobody(who: Mapping[str, Any]) -> list[str]:
    """Return one sentence per reason about the requests' time without a known culprit.

    Examples
    --------
    >>> share = {"value": 0.02, "low": None, "high": None}
    >>> part = {"mean_us": {"value": 1.5}, "share_of_variance": share, "why": "a record was lost"}
    >>> (text,) = charged_to_nobody({"requests": 100, "unknown": [{**part, "requests": 3}]})
    >>> text.replace("\u202f", " ")
    'No culprit is known for 1.50 µs on average, 2 % of the variance, in 3 of 100 requests: a record was lost'
    """
    found = []
    unknown: list[Mapping[str, Any]] = who.get("unknown", [])
    for why in dict.fromkeys(one["why"] for one in unknown):
        alike = [one for one in unknown if one["why"] == why]
        mean = sum(one["mean_us"]["value"] for one in alike)
        share = sum((one["share_of_variance"] or {"value": 0.0})["value"] for one in alike)
        requests = max(one["requests"] for one in alike)
        found.append(
            f"No culprit is known for {number(mean)} µs on average, {percent(share)} of the variance, in"
            f" {count(requests)} of {count(who['requests'])} requests: {why}"
        )
    return found


def major_parts(parts: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the parts that deserve a line."""
    return [one for one in parts if (one["share_of_variance"] or {"value": 0})["value"] >= LEAST_SHARE][:MOST]


def _line(console: Any, what: str, one: Mapping[str, Any]) -> None:  # noqa: ANN401 (a console)
    share = one["share_of_variance"]
    within = "" if share["low"] is None else f" [{percent(share['low'])}, {percent(share['high'])}]"
    mean = number(one["mean_us"]["value"])
    console.print(f"  {mean:>8} µs {percent(share['value']):>7}{within:<19}  {what}", soft_wrap=True)


def _slowest(console: Any, slowest: Mapping[str, Any]) -> None:  # noqa: ANN401 (a console)
    total = slowest["latency_us"]
    print_text(
        console,
        f"The slowest {percent(slowest['share'])} (above {number(slowest['above_us'])} µs,"
        f" mean {number(total)} µs):",
    )
    for one in slowest["parts"][:MOST]:
        share = one["mean_us"] / total if total else 0.0
        if share < LEAST_SHARE:
            break
        by = "" if one["name"] is None else f": {culprit(one)}"
        console.print(
            f"  {number(one['mean_us']):>8} µs {percent(share):>7}  {CAUSES[one['cause']]},"
            f" {STAGES[one['stage']]}{by}",
            soft_wrap=True,
        )
