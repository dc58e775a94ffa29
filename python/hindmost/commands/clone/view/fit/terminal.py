"""A fit, for the terminal: the chosen law and why, and what remains unknown."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from hindmost.present import numbers

WIDTH = 100
_KEY = 12


def render_fit(result: Mapping[str, Any]) -> str:
    """Render a fit (``hindmost.fit/1``) as text."""
    log, demand, clone = result["log"], result["demand"], result["clone"]
    lines = [f"{clone['name']}: a clone fitted to {numbers.count(log['samples'])} requests"]
    lines += _row("time", _demand(log, demand))
    if result["beside"]:
        lines += _row("beside", result["beside"]["text"])
    if result["load"]:
        lines += _row(
            "load", result["load"]["said"] + ("" if result["load"]["seen"] else ": not beyond chance")
        )
    if result["kinds"]:
        error, floor = numbers.percent(result["by_kind_error"]), numbers.percent(result["floor"])
        lines += _row(
            "law",
            f"one per request kind; their error on held-out latency is {error} (the log itself: {floor})",
        )
    for part in result["kinds"]:
        lines += _law(part["name"], part)
    if not result["kinds"]:
        lines += _law("law", result["law"])
    lines += _row("order", order_text(result["order"]))
    if result["disturbance"]:
        for place, text in enumerate(pauses_texts(result["disturbance"])):
            lines += _row("" if place else "pauses", text)
    for note in result["threads"]:
        lines += _row("threads", note["text"])
    for place, one in enumerate(result["own"]):
        lines += _row("" if place else "own load", own_text(one))
    capacity = result["capacity_per_s"]
    if capacity:
        busy = numbers.latency(result["mean_busy_us"])
        lines += _row(
            "capacity",
            f"{numbers.rate(capacity)}, with {busy} per request; 70 %: {numbers.rate(0.7 * capacity)}",
        )
    for place, note in enumerate(result["unknown"]):
        lines += _row("" if place else "unknown", f"- {note['text']}")
    return "\n".join(lines)


def _row(key: str, text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=f"{key:<{_KEY}}", subsequent_indent=" " * _KEY)


def _demand(log: Mapping[str, Any], demand: Mapping[str, Any]) -> str:
    name = (
        "CPU time of each request"
        if demand["of"] == "cpu"
        else f"wall time of each request ({log['column']})"
    )
    found = log["cpu_us"] if demand["of"] == "cpu" else log["wall_us"]
    text = f"{name}: mean {numbers.latency(found['mean'])}, " + ", ".join(
        f"{key} {numbers.latency(found[key])}" for key in ("p50", "p95", "p99")
    )
    if demand["cpu_share"] is not None:
        text += f"; on a CPU for {numbers.percent(demand['cpu_share'])} of the wall time"
    if demand["contaminated"]:
        text += f"; wall times include interference (p99 {demand['wall_over_cpu']:.3g} times the CPU time's)"
    return text


def _law(name: str, part: Mapping[str, Any]) -> list[str]:
    taken, *others = ordered_candidates(part)
    said = (
        f"{taken['name']}, with an error of {numbers.percent(taken['error'])} on held-out latency"
        f" (the log itself: {numbers.percent(part['floor'])})"
    )
    rows = [
        f"{one['name']} {numbers.percent(one['error'])}{' (tail)' if one['misfit'] else ''}" for one in others
    ]
    return [*_row(name[: _KEY - 1], said), *_row("", "others: " + ", ".join(rows))]


def ordered_candidates(part: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the chosen candidate, then the others by their error."""
    return sorted(part["candidates"], key=lambda one: (one["name"] != part["taken"], one["error"]))


def order_text(order: Mapping[str, Any]) -> str:
    """Describe the order of requests."""
    low, high = order["interval"]
    text = f"lag-1 autocorrelation {order['autocorrelation']:.3f} [{low:.3f}, {high:.3f}]"
    taken = order["taken"]
    if taken.get("regimes"):
        stays = " and ".join(numbers.count(one["mean_requests"]) for one in taken["regimes"])
        text += f"; two regimes, {taken['regimes'][1]['factor']:.3g} apart, of {stays} requests"
    elif not taken["autocorrelation"]:
        text += ": the clone draws requests independently"
    if order["errors"]:
        rows = [f"{name} {numbers.percent(error)}" for name, error in order["errors"].items()]
        text += "; error in the original order: " + ", ".join(rows)
    return text


def pauses_texts(gaps: Mapping[str, Any]) -> list[str]:
    """Describe the pauses in services: each sort, and the evidence."""
    lines = []
    for part in gaps["parts"]:
        if part["chance"] is not None:
            when = f"waits within requests, in {numbers.percent(part['chance'])} of them"
        elif part["every_us"]:
            when = f"periodic pauses, every {numbers.latency(part['every_us'])}"
        else:
            when = f"random pauses, {part['per_second']:.3g} per second of service"
        length = part["length_us"]
        lines.append(
            f"{numbers.count(part['hits'])} {when}: mean {numbers.latency(length['mean'])},"
            f" longest {numbers.latency(length['max'])}"
        )
    if gaps["whom"] == "untold":
        lines.append(f"it is unknown whether they depend on time or on requests: {gaps['why']['text']}")
    else:
        found, expected = numbers.count(gaps["idle_delayed"]), numbers.number(gaps["idle_expected"])
        low, high = (numbers.percent(min(1.0, share)) for share in gaps["clock_share"][1:])
        lines.append(
            f"arrivals at an idle thread that were delayed by more than {numbers.latency(gaps['longer_us'])}:"
            f" {found}, and {expected} expected if all such pauses depended on time; {low} to {high} of them"
            " do (99 % interval)"
        )
    return lines


def own_text(own: Mapping[str, Any]) -> str:
    """Compare the log's own latency with the clone's."""
    if own["why"]:
        return f"not compared: {own['why']['text']}"
    rows = []
    for row in own["rows"]:
        log_us = numbers.latency(row["log_us"]["value"])
        shown = (
            f"{row['name']} {log_us}, clone {numbers.latency(row['clone_us'])}"
            f" ({numbers.change(row['off'])}; chance ±{numbers.percent(row['chance'])})"
        )
        rows.append(f"{shown} !" if row["differs"] else shown)
    return f"with the log's arrivals, at {numbers.percent(own['utilisation'])} utilisation: {'; '.join(rows)}"
