"""A trace, for the terminal: the path of a request with mean and variance of each stage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hindmost.commands.trace.view.advice import render_advice
from hindmost.commands.trace.view.culprits import render_who
from hindmost.commands.trace.view.names import STAGES, begin_text, interference_text, text_of_note
from hindmost.core.escapes import plain
from hindmost.present.console import console_text, new_console, print_text
from hindmost.present.numbers import MISSING, count, number, percent

_BAR = 20


GROUPS = {
    "threads": "recorded requests by the thread that read them",
    "connections": "recorded requests of the connections with most of the variance",
}
"""Groups of the document, and their titles."""


def render_trace(document: Mapping[str, Any], *, width: int | None = None, color: bool | None = None) -> str:
    """Render a document ``hindmost.trace/2`` for the terminal.

    Parameters
    ----------
    document : dict
    width, color
        As for `hindmost.commands.measure.view.render_terminal`.
    """
    console = new_console(width, color)
    server, parts = document["server"], document["all"]
    rate = parts["requests"] / document["followed_s"]
    print_text(
        console,
        f"{plain(server['name'])}, port {server['port']}, {server['protocol']}:"
        f" {count(parts['requests'])} requests in {number(document['followed_s'])} s ({number(rate)}/s),"
        f" {percent(document['matched'])} followed",
    )
    console.print()
    console.print(
        f"{'stage':<20} {'mean µs':>9} {'':<17} {'std µs':>8} {'C²':>6} {'of mean':>8}  of variance"
    )
    for stage in [*parts["stages"], parts["latency"]]:
        console.print(_row(stage), soft_wrap=True)
    console.print()
    print_text(console, _critical(document))
    if document.get("begun") is not None:  # documents of earlier versions lack it
        print_text(console, begin_text(document["begun"]))
    if parts["batch"]["mean"] > 1.005:
        print_text(console, _batch(parts))
    if len(document["kinds"]) > 1:
        _kinds(console, document)
    if document["who"] is not None:
        render_who(console, document["who"])
    if document.get("taken") is not None:
        print_text(console, interference_text(document["taken"]))
    if document["advice"]:
        render_advice(console, document["advice"])
    for groups, title in GROUPS.items():
        if document.get(groups):  # documents of earlier versions lack connections
            _groups(console, title, document[groups])
    for one in document["unmatched"]:
        print_text(console, f"not followed: {count(one['requests'])} requests: {one['why']}", indent=2)
    for note in document["notes"]:
        print_text(console, f"note: {text_of_note(note)}", indent=2)
    print_text(console, _cost(document))
    return console_text(console)


def _row(stage: Mapping[str, Any]) -> str:
    mean, share = stage["mean_us"], stage["share_of_variance"]
    ends = "" if mean["low"] is None else f"[{number(mean['low'])}, {number(mean['high'])}]"
    spread = stage["variance_us2"]["value"] ** 0.5
    c2 = MISSING if stage["c2"] is None else number(stage["c2"]["value"])
    line = f"{STAGES[stage['stage']]:<20} {number(mean['value']):>9} {ends:<17} {number(spread):>8} {c2:>6}"
    line += f" {percent(stage['share_of_mean']):>8}"
    if stage["stage"] == "latency" or share is None:
        return line
    value = share["value"]
    within = "" if share["low"] is None else f" [{percent(share['low'])}, {percent(share['high'])}]"
    bar = "█" * round(_BAR * min(1.0, max(0.0, value)))
    return f"{line}  {bar}{' ' if bar else ''}{_signed_percent(value)}{within}"


def _signed_percent(share: float) -> str:
    return percent(share) if share >= 0 else f"−{percent(-share)}"


def _critical(document: Mapping[str, Any]) -> str:
    by_variance, by_mean = document["critical"]["by_variance"], document["critical"]["by_mean"]
    if by_variance == by_mean:
        return f"Most variance arises in {STAGES[by_variance]}, which is also the longest stage."
    return (
        f"Most variance arises in {STAGES[by_variance]}. The longest stage on average is"
        f" {STAGES[by_mean]}, but shortening it would change the tail less."
    )


def _batch(parts: Mapping[str, Any]) -> str:
    batch = parts["batch"]
    known = [
        (abs(one), one, stage["stage"])
        for one, stage in zip(batch["correlation"], parts["stages"], strict=True)
        if one is not None
    ]
    spread = number(batch["variance"] ** 0.5)
    text = f"A batch contains {number(batch['mean'])} requests (standard deviation {spread})"
    if known:
        _, most, stage = max(known)
        text += f"; its size correlates most with {STAGES[stage]} ({most:.2f})"
    return f"{text}."


def _kinds(console: Any, document: Mapping[str, Any]) -> None:  # noqa: ANN401 (a console)
    share = document["between_kinds"]
    said = "" if share is None else f" (their differences cause {percent(share)} of the variance)"
    print_text(console, f"kinds{said}:")
    for kind, parts in document["kinds"].items():
        latency = parts["latency"]
        most = max(parts["stages"], key=lambda one: (one["share_of_variance"] or {"value": 0.0})["value"])
        console.print(
            f"  {plain(kind):<10} {count(parts['requests']):>10}  mean {number(latency['mean_us']['value'])}"
            f" µs, std {number(latency['variance_us2']['value'] ** 0.5)} µs, most in {STAGES[most['stage']]}",
            soft_wrap=True,
        )


def _groups(console: Any, title: str, groups: list[Mapping[str, Any]]) -> None:  # noqa: ANN401 (a console)
    print_text(console, f"{title}:")
    for one in groups:
        console.print(
            f"  {plain(one['name']):<24} {count(one['requests']):>10}  mean {number(one['mean_us'])} µs,"
            f" std {number(one['variance_us2'] ** 0.5)} µs",
            soft_wrap=True,
        )


def _cost(document: Mapping[str, Any]) -> str:
    cost, done = document["cost"], document["counts"]["done"]
    reader = cost["reader_ns"] / done / 1e3
    text = f"cost of the trace: {number(reader)} µs per request to read it"
    if cost["costed_requests"] > 0:
        probes = cost["probes_ns"] / cost["costed_requests"] / 1e3
        text += f", {number(probes)} µs in the probes (including the client's packets and the timing)"
    return f"{text}."
