"""Data of the page's interactive charts: the curves and ranges of the static charts, as one JSON document."""

import json
import math
from collections.abc import Sequence
from typing import Any

from hindmost.commands.measure.view import view
from hindmost.commands.measure.view.charts import run_domain, run_of_look
from hindmost.commands.measure.view.values import labels, run_value
from hindmost.core.store.measure import Measure
from hindmost.present.axes import tail_ticks
from hindmost.present.curves import (
    drawable_points,
    flattens_latency,
    grid,
    infinite_from,
    on_grid,
    round_significant,
    thin_series,
)
from hindmost.present.document import finite
from hindmost.present.numbers import about_level, tick
from hindmost.present.svg import linear_ticks, tail

_WINDOWS = 3600
"""Windows of all runs together in a page, so that a page of thirty runs stays below 400 kB."""


def embeddable_json(doc: Measure) -> str:
    """Return the charts' data as JSON that is safe inside a ``<script>`` element."""
    text = json.dumps(chart_data(doc), allow_nan=False, separators=(",", ":"), ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def chart_data(doc: Measure) -> dict[str, Any]:
    """Return the data of each interactive chart, or ``None`` if there is nothing to draw."""
    return {"tail": tail_data(doc), "runs": runs_data(doc), "series": series_data(doc)}


def _cut(values: Sequence[float | None]) -> list[float | None]:
    return [round_significant(v) for v in values]


def tail_data(doc: Measure) -> dict[str, Any] | None:
    """Return the merged curves and one curve per run, on one grid of the tail scale."""
    merged = {
        "latency": doc["distributions"].get("latency"),
        "service": doc["distributions"].get("service"),
        "send_delay": doc["distributions"].get("send_delay"),
    }
    drawn = [drawable_points(c) for c in [*merged.values(), *doc["per_run_curves"]]]
    values = finite(v for _, vs in drawn for v in vs)
    if not values:
        return None
    levels = grid([q for qs, _ in drawn for q in qs], 120)
    end = max(levels[-1], 0.9)
    limits = {name: infinite_from(curve) for name, curve in merged.items()}
    runs = doc["per_run_curves"] if len(doc["per_run_curves"]) > 1 else []
    return {
        "q": [round(q, 8) for q in levels],
        "x": [round(tail(q), 5) for q in levels],
        "end": round(tail(end), 5),
        "curves": {name: _cut(on_grid(c, levels)) for name, c in merged.items() if c and c.get("q")},
        "runs": [{"run": c["run"], "us": _cut(on_grid(c, levels))} for c in runs],
        "hidden": ["send_delay"] if flattens_latency(merged["latency"], merged["send_delay"]) else [],
        "infinite": {
            name: [round(tail(q), 5), about_level(q)] for name, q in limits.items() if q is not None
        },
        "x_ticks": [[round(tail(q), 5), text] for q, text in tail_ticks(end)],
    }


def runs_data(doc: Measure) -> dict[str, Any] | None:
    """Return for each quantile the value of every run, and the running figure with its interval."""
    if not doc["runs"]:
        return None
    names = [run["run"] for run in doc["runs"]]
    out: dict[str, Any] = {}
    for label in labels(*(run["latency_us"] for run in doc["runs"])):
        points = [run_value(run["latency_us"], label) for run in doc["runs"]]
        looks = {run_of_look(look): look for look in doc["stopping"]["path"].get(label, [])}
        band = [k for k in looks.values() if len(finite((k["value"], k["low"], k["high"]))) == 3]
        values = finite([*points, *(k["value"] for k in band)])
        low, high = run_domain(values, band)
        shown = [looks.get(n) for n in names]
        out[label] = {
            "points": _cut(points),
            "infinite": [n for n, v in zip(names, points, strict=True) if v == math.inf],
            "middle": [round_significant(k["value"]) if k and k in band else None for k in shown],
            "low": [round_significant(k["low"]) if k and k in band else None for k in shown],
            "high": [round_significant(k["high"]) if k and k in band else None for k in shown],
            "y": [low, high],
            "y_ticks": [[t, tick(t)] for t in linear_ticks(low, high)] if values else [],
        }
    if not out:
        return None
    return {
        "run": names,
        "verdict": [view.run_word(run) for run in doc["runs"]],
        "labels": list(out),
        "chosen": default_quantile(doc),
        "about": view.interval_subject(doc),
        "by_label": out,
    }


def default_quantile(doc: Measure) -> str:
    """Return the quantile to show first: the one that ended the runs, else the last except the mean."""
    known = labels(*(run["latency_us"] for run in doc["runs"]))
    wanted = doc["stopping"]["quantile"]
    return wanted if wanted in known else next((k for k in reversed(known) if k != "mean"), "p99")


def series_data(doc: Measure) -> list[dict[str, Any]] | None:
    """Return the windows of every run. For long runs, return the worst window of each group."""
    out = []
    windows = max(60, min(240, _WINDOWS // max(1, len(doc["series"]))))
    for each in doc["series"]:
        one, step = thin_series(each, windows)
        if not one["t_s"]:
            continue
        out.append(
            {
                "run": one["run"],
                "t": _cut(one["t_s"]),
                "rate": _cut(one["rate"]),
                "p50": _cut(one["p50_us"]),
                "p99": _cut(one["p99_us"]),
                **({"requested": _cut(one["requested"])} if "requested" in one else {}),
                "from": round_significant(one["measure_from_s"]),
                "step": step,
            }
        )
    return out or None
