"""Predictions of clones, for the terminal."""

from typing import TYPE_CHECKING

from hindmost.present import numbers
from hindmost.present.columns import align_columns

if TYPE_CHECKING:
    from hindmost.commands.clone.documents.predictions import Prediction

_KEY = 12


def render_prediction(name: str, found: "Prediction") -> str:
    """Render the prediction of one design of a clone: figures with their intervals, then their basis."""
    threads = numbers.plural(found["threads"], "thread")
    rate = numbers.rate(found["rate_per_s"])
    at = "" if found["load"] is None else f", {numbers.percent(found['load'])} of the capacity"
    lines = [f"{name}, simulated: {threads} at {rate}{at}", ""]
    values = [one["value"] for one in found["latency_us"].values()]
    unit = numbers.unit_for(values)
    rows: list[tuple[str, ...]] = [("", f"latency {unit.name}", "interval", "queueing", "service")]
    for label, one in found["latency_us"].items():
        shown = numbers.interval(one["value"], one["low"], one["high"], unit)
        bounds = "" if one["low"] is None else f"[{shown.low}, {shown.high}]"
        parts = [found[part][label] / unit.us for part in ("queueing_us", "service_us")]
        rows.append((label, shown.value, bounds, *(numbers.number(part) for part in parts)))
    lines += align_columns(rows, "<><>>")
    busy = f"{numbers.percent(found['busy_share'])} of the threads' time is spent on requests"
    capacity = (
        "unlimited: the clone has no service time"
        if found["capacity_per_s"] is None
        else f"{numbers.rate(found['capacity_per_s'])};"
        f" a request occupies a thread for {numbers.latency(found['demand_us'])}"
    )
    facts = [("capacity", capacity), ("busy", busy)]
    for lock in found["locks"]:
        text = f"held {numbers.percent(lock['held_share'])} of the time"
        if lock["waited_share"]:
            text += f"; {numbers.percent(lock['waited_share'])} of requests wait for it"
            text += f", {numbers.latency(lock['mean_wait_us'])} on average over all requests"
        if lock["sleeps_per_taken"]:
            text += f"; {lock['sleeps_per_taken']:.2g} sleeps per request"
        facts.append((f"lock {lock['name']}", text))
    for kind in found["kinds"]:
        figures = ", ".join(f"{label} {numbers.latency(us)}" for label, us in kind["latency_us"].items())
        facts.append((f"kind {kind['name']}", f"{numbers.plural(kind['requests'], 'request')}: {figures}"))
    facts.append(("requests", f"{numbers.count(found['requests'])} after the warm-up"))
    room = max(_KEY, *(len(key) + 2 for key, _ in facts))
    lines += ["", *(f"{key:<{room}}{text}" for key, text in facts)]
    return "\n".join(line.rstrip() for line in lines) + "\n"
