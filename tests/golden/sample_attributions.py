"""Documents such as `hindmost attribute` writes, made from Treadmill's Table IV and a seed.

The coefficients are those of Table IV ("<1" read as 0.5), so the page can be compared with the paper:
dvfs and nic together lower p99 by 37 us, nic alone raises it by 29. Errors, p values and bounds have realistic
sizes. They prove nothing about the statistics, which have their own tests.
"""

import itertools
import math
import random
import statistics
from typing import Any

import msgspec

from hindmost.commands.attribute.document import Attribution

FACTORS = {
    "numa": ("numa", "server:numa", ["same-node", "interleave"], "where the server's memory lies"),
    "turbo": ("host", "host:turbo", ["off", "on"], "frequencies beyond the nominal one"),
    "dvfs": ("host", "host:governor", ["ondemand", "performance"], "who chooses the frequency"),
    "nic": ("host", "host:irq", ["same-node", "all-nodes"], "which processors the card interrupts"),
}
TABLE_IV = {
    "p50": [65, 2, -2, 1, 0.5, 3, -3, 0.5, 0.5, 3, -1, 2, 0.5, 3, 0.5, -8],
    "p95": [155, 24, -12, 0.5, 2, 5, -29, -6, 14, 23, -15, 12, -7, 34, -9, -43],
    "p99": [355, 56, -29, -8, 29, 21, -57, -20, 40, 23, -58, 3, -14, 79, 4, -83],
}
SPREAD = {"p50": 0.02, "p95": 0.035, "p99": 0.05}
RUNS = 12
SAFE = {"host": {"facts": {"cpus": 16, "memory_bytes": 68_719_476_736, "kernel": "6.1.0"}, "findings": []}}


def terms() -> list[tuple[str, ...]]:
    """Return the terms of Table IV, in its order."""
    return [t for size in range(1, 5) for t in itertools.combinations(FACTORS, size)]


def cells() -> list[tuple[int, ...]]:
    return list(itertools.product((0, 1), repeat=len(FACTORS)))


def label_levels(cell: tuple[int, ...]) -> dict[str, str]:
    return {name: FACTORS[name][2][level] for name, level in zip(FACTORS, cell, strict=True)}


def true_value(label: str, cell: tuple[int, ...], scale: float) -> float:
    first, *rest = TABLE_IV[label]
    high = {name for name, level in zip(FACTORS, cell, strict=True) if level}
    return scale * (first + sum(c for t, c in zip(terms(), rest, strict=True) if set(t) <= high))


def with_bounds(value: float, half: float, places: int = 2) -> dict[str, float]:
    return {
        "value": round(value, places),
        "low": round(value - half, places),
        "high": round(value + half, places),
    }


def add_verdicts(rows: list[dict[str, Any]], base: float, delta: float) -> list[dict[str, Any]]:
    """Add Holm's p, shares and verdicts to terms that have a value and an error."""
    least = 0.0
    for place, row in enumerate(sorted(rows, key=lambda row: row["p"])):
        least = max(least, min(1.0, row["p"] * (len(rows) - place)))
        row["adjusted"] = round(least, 7)
        row["permuted"] = max(0.001, round(row["p"], 3))
    for row in rows:
        for name, end in (("share", "value"), ("share_low", "low"), ("share_high", "high")):
            row[name] = round(row[end] / base, 5)
        row["verdict"], row["more_runs"] = "undecided", 40
        if max(abs(row["low"]), abs(row["high"])) < delta * base:
            row["verdict"] = "negligible"
        elif row["low"] > 0 or row["high"] < 0:
            row["verdict"] = "raises" if row["value"] > 0 else "lowers"
        if row["verdict"] in ("raises", "lowers") and row["adjusted"] >= 0.05:
            row["verdict"] = "undecided"
        if row["verdict"] != "undecided":
            row["more_runs"] = None
    return rows


def effect(term: tuple[str, ...], value: float, error: float) -> dict[str, Any]:
    return {
        "term": ":".join(term),
        "factors": list(term),
        "levels": [FACTORS[name][2][1] for name in term],
        "base": 300.0 if term else None,
        **with_bounds(value, 2.0 * error),
        "error": round(error, 3),
        "p": round(math.erfc(abs(value) / error / math.sqrt(2)), 8),
    }


def intercept(value: float, error: float) -> dict[str, Any]:
    return effect((), value, error) | {
        "term": "(Intercept)",
        "share": 1.0,
        "share_low": 1.0,
        "share_high": 1.0,
        "adjusted": 0.0,
        "permuted": None,
        "verdict": "raises",
        "more_runs": None,
    }


def answer(label: str, scale: float, random_: random.Random, pooled: bool) -> dict[str, Any]:
    first, *rest = TABLE_IV[label]
    error = scale * first * SPREAD[label] / math.sqrt(RUNS)
    shaken = [scale * c + random_.gauss(0, error / 3) for c in rest]
    corner = [effect(t, c, error * math.sqrt(2) ** len(t)) for t, c in zip(terms(), shaken, strict=True)]
    average = []
    for t in terms():
        signs = [
            math.prod(1 if c[list(FACTORS).index(name)] else -1 for name in t) * true_value(label, c, scale)
            for c in cells()
        ]
        average.append(effect(t, sum(signs) / 8, error / 2))
    predicted = [
        {"levels": label_levels(c), "run": True, **with_bounds(true_value(label, c, scale), 2.1 * error)}
        for c in cells()
    ]
    ranked = sorted(predicted, key=lambda cell: cell["value"])
    best = []
    for place, cell in enumerate(ranked):
        other = ranked[1 if place == 0 else 0]["value"]
        gap = cell["value"] - other
        low, high = min(0.0, gap - 2.4 * error), max(0.0, gap + 2.4 * error)
        best.append(
            {
                "levels": cell["levels"],
                "value": cell["value"],
                "behind_us": {"value": round(gap, 2), "low": round(low, 2), "high": round(high, 2)},
                "tied": place > 0 and low < 0.0,
            }
        )
    return {
        "corner": [
            intercept(scale * first, error),
            *(row | {"permuted": None} for row in add_verdicts(corner, scale * first, 0.02)),
        ],
        "average": [
            intercept(statistics.fmean(true_value(label, c, scale) for c in cells()), error / 4),
            *add_verdicts(average, scale * first, 0.02),
        ],
        "together": [],
        "pooled": {
            "effects": [
                {
                    "term": row["term"],
                    **{end: row[end] for end in ("value", "low", "high")},
                    "naive_low": round(row["value"] - 0.2 * row["error"], 2),
                    "naive_high": round(row["value"] + 0.2 * row["error"], 2),
                }
                for row in corner
            ],
            "design_effect": 81.4,
            "pseudo_r2": 0.0042,
        }
        if pooled
        else None,
        "predicted": predicted,
        "reversals": reversals(scale, error) if label == "p99" else [],
        "explained": {
            "cells": 0.72,
            "runs": 0.25,
            "sampling": 0.03,
            "model": 0.72,
            "pseudo_r2": 0.47,
            "ceiling": 0.74,
        },
        "fit": {"spare": 0, "p": None, "worst": None, "deviation_share": None},
        "best": best,
    }


def reversals(scale: float, error: float) -> list[dict[str, Any]]:
    return [
        {
            "factor": "nic",
            "level": "all-nodes",
            "by": "dvfs",
            "at": FACTORS["dvfs"][2],
            "effects_us": [with_bounds(29 * scale, 2.8 * error), with_bounds(-29 * scale, 2.8 * error)],
            "text": "nic = all-nodes raises p99 while dvfs = ondemand and lowers it while dvfs = performance",
        },
        {
            "factor": "numa",
            "level": "interleave",
            "by": "dvfs",
            "at": FACTORS["dvfs"][2],
            "effects_us": [with_bounds(56 * scale, 2.8 * error), with_bounds(-21 * scale, 2.8 * error)],
            "text": "numa = interleave raises p99 while dvfs = ondemand and lowers it while dvfs = performance",
        },
    ]


def runs_of(value: float, spread: float, count: int, random_: random.Random) -> list[float | None]:
    return [round(value * random_.lognormvariate(0, spread), 2) for _ in range(count)]


def summary(values: list[float | None]) -> dict[str, float]:
    finite = [v for v in values if v is not None and v < math.inf]
    return with_bounds(
        statistics.fmean(finite),
        2.1 * statistics.stdev(finite) / math.sqrt(len(finite)) if finite[1:] else 0.0,
    )


def load(name: str, rate: float, busy: float | None, scale: float, random_: random.Random) -> dict[str, Any]:
    rows = []
    for cell in cells():
        values = {
            label: runs_of(true_value(label, cell, scale), SPREAD[label], RUNS, random_) for label in TABLE_IV
        }
        rows.append(
            {
                "levels": label_levels(cell),
                "runs": RUNS,
                "extra": 0,
                "invalid": 0,
                "blocks": list(range(1, RUNS + 1)),
                "values": values,
                "latency_us": {label: summary(found) for label, found in values.items()},
                "measured_us": {label: summary([9.0 * v for v in found]) for label, found in values.items()},
                "failure": None,
            }
        )
    return {
        "name": name,
        "rate_per_s": rate,
        "busy_share": busy,
        "cells": rows,
        "quantiles": {label: answer(label, scale, random_, name == "high") for label in TABLE_IV},
        "interference": {
            "runs": 61,
            "of": 192,
            "interference_share": 0.031,
            "counted_share": 0.94,
            "refused": None,
        }
        if name == "low"
        else None,
        "drift": {
            "quantile": "p99",
            "values": runs_of(355 * scale, 0.05, RUNS, random_),
            "share_per_block": 0.0011,
            "drifting": False,
            "p": 0.56,
        },
    }


def confirmation(random_: random.Random) -> dict[str, Any]:
    before = {label: runs_of(v, 0.2, 20, random_) for label, v in (("p50", 69), ("p95", 120), ("p99", 181))}
    after = {label: runs_of(v, 0.05, 20, random_) for label, v in (("p50", 62), ("p95", 88), ("p99", 103))}

    def side(levels: dict[str, str], values: dict[str, list[float | None]]) -> dict[str, Any]:
        return {
            "levels": levels,
            "runs": 20,
            "latency_us": {label: summary(found) for label, found in values.items()},
            "values": values,
            "between_runs_sd_us": {
                label: round(statistics.stdev([v for v in found if v < math.inf]), 3)
                for label, found in values.items()
            },
        }

    return {
        "load": "high",
        "quantile": "p99",
        "before": side(label_levels((0, 0, 0, 0)), before),
        "after": side(label_levels((0, 0, 1, 1)), after),
        "ratio": {
            "p50": {"value": 0.899, "low": 0.83, "high": 0.97},
            "p95": {"value": 0.73, "low": 0.67, "high": 0.8},
            "p99": {"value": 0.57, "low": 0.51, "high": 0.63},
        },
        "spread_ratio": {
            "p50": {"value": 0.052, "low": 0.02, "high": 0.14},
            "p95": {"value": 0.033, "low": 0.012, "high": 0.1},
            "p99": {"value": 0.02, "low": 0.009, "high": 0.06},
        },
        "predicted": {"p99": {"value": 0.896, "low": 0.86, "high": 0.93}},
        "outcome": "confirmed",
        "least_pairs": None,
        "text": "p99 at high load falls to 0.57 of what it was [0.51, 0.63] in 20 and 20 fresh runs",
    }


CAUSE = "numa = interleave raises p99 at high load from 300 us to 335 us, on average over the other settings"
ADVICE = "set dvfs = performance, nic = all-nodes for the lowest p99: it is then 0.57 times as long"
FRESH = "at high load confirmed: p99 is 0.57 times as long [0.51, 0.63] over 20 fresh pairs"


def full() -> dict[str, Any]:
    """Return a confirmed full factorial of four factors at two loads."""
    random_ = random.Random(7)
    return {
        "schema": "hindmost.attribution/2",
        "version": "0.1.0",
        "created": "2026-11-20T18:30:00Z",
        "study": "studies/memcached",
        "name": "memcached, hardware features",
        "target": "memcached",
        "verdict": "answered",
        "headline": CAUSE,
        "summary": [CAUSE, ADVICE, FRESH],
        "findings": [
            "nic = all-nodes raises p99 while dvfs = ondemand and lowers it while dvfs = performance.",
            "turbo alone is too small to matter on average.",
        ],
        "reasons": [],
        "confidence": 0.95,
        "delta": 0.02,
        "delta_us": None,
        "scale": "us",
        "adjustment": "holm",
        "quantiles": ["p50", "p95", "p99"],
        "factors": [
            {"name": name, "kind": kind, "sets": sets, "about": about, "levels": levels, "change_s": None}
            for name, (kind, sets, levels, about) in FACTORS.items()
        ],
        "design": {
            "kind": "full",
            "resolution": None,
            "cells": 16,
            "possible": 16,
            "blocks": RUNS,
            "runs": 2 * 17 * RUNS,
            "terms": [":".join(t) for t in terms()],
            "aliases": {},
            "forbidden": [],
            "control": label_levels((0, 0, 0, 0)),
            "seed": 1,
            "whole_plots": None,
        },
        "loads": [
            load("low", 100_000.0, 0.21, 0.6, random_),
            load("high", 350_000.0, 0.7, 1.0, random_),
        ],
        "recommendation": {
            "quantile": "p99",
            "loads": ["high"],
            "outcome": "better",
            "levels": label_levels((0, 0, 1, 1)),
            "candidate": None,
            "gain": {"value": 0.57, "low": 0.51, "high": 0.63},
            "prices": [
                {
                    "load": "low",
                    "quantile": "p50",
                    "before_us": 39.0,
                    "after_us": 248.0,
                    "ratio": {"value": 6.36, "low": 6.1, "high": 6.6},
                    "shown": True,
                    "more_than_gained": True,
                }
            ],
            "more_blocks": None,
            "rule": "a setting counts with 3 sound runs at each load",
            "text": ADVICE,
        },
        "confirmations": [confirmation(random_)],
        "unconfirmed": [
            {"load": "low", "why": {"code": "no-fresh-runs", "text": "no fresh runs were made", "values": {}}}
        ],
        "applied": label_levels((0, 0, 1, 1)),
        "seconds_total": 9 * 3600.0 + 754,
        **SAFE,
        "plan": {"name": "memcached, hardware features", "delta": "2%", "seed": 1, "confirm": {"runs": 20}},
    }


NOT_YET = "no setting can be recommended yet for p99: 46 more blocks, since a setting counts with 3 runs"


def small() -> dict[str, Any]:
    """Return an undecided fraction with a factor of three levels, a failed cell and excluded runs."""
    random_ = random.Random(3)
    factors = [
        {
            "name": "server threads",
            "kind": "option",
            "sets": "server:option.threads",
            "about": "",
            "levels": ["1", "2", "4"],
            "change_s": None,
        },
        {
            "name": "huge pages",
            "kind": "host",
            "sets": "host:thp",
            "about": "",
            "levels": ["madvise", "always"],
            "change_s": None,
        },
    ]
    combined = [
        {"server threads": t, "huge pages": h} for t in ("1", "2", "4") for h in ("madvise", "always")
    ]
    rows = []
    for place, levels in enumerate(combined[:5]):
        values = runs_of(240 + 9 * place, 0.12, 4, random_)
        if place == 2:
            values[1] = math.inf
        failed = place == 4
        rows.append(
            {
                "levels": levels,
                "runs": 0 if failed else 4,
                "extra": 2 if place == 0 else 0,
                "invalid": 1 if place == 1 else 0,
                "blocks": [] if failed else [1, 2, 3, 4],
                "values": {"p99": [] if failed else values},
                "latency_us": {} if failed else {"p99": summary(values)},
                "measured_us": {} if failed else {"p99": summary(values)},
                "failure": {"code": "not-started", "text": "the server did not start: ulimit", "values": {}}
                if failed
                else None,
            }
        )
    rows[2]["latency_us"]["p99"] = {"value": math.inf, "low": 214.2, "high": math.inf}

    def effect_row(term: str, names: list[str], levels: list[str], value: float, p: float) -> dict[str, Any]:
        return {
            "term": term,
            "factors": names,
            "levels": levels,
            "base": 240.0,
            **with_bounds(value, 21.0),
            "share": value / 240,
            "share_low": (value - 21) / 240,
            "share_high": (value + 21) / 240,
            "error": 9.1,
            "p": p,
            "adjusted": min(1.0, 4 * p),
            "permuted": p,
            "verdict": "undecided",
            "more_runs": 46 if value else None,
        }

    effects = [
        effect_row("server threads[2]", ["server threads"], ["2"], 14.2, 0.16),
        effect_row("server threads[4]", ["server threads"], ["4"], 18.1, 0.09),
        effect_row("huge pages", ["huge pages"], ["always"], -3.0, 0.8),
        effect_row(
            "server threads[4]:huge pages", ["server threads", "huge pages"], ["4", "always"], 7.5, 0.5
        ),
    ]
    document = full()
    document |= {
        "name": "two suspects",
        "study": "studies/two",
        "verdict": "open",
        "headline": "none of the factors is shown to change p99 by 2% or more",
        "summary": [
            "none of the factors is shown to change p99 by 2% or more",
            NOT_YET,
            "this rests on 19 runs in 4 blocks; still open: server threads, huge pages",
        ],
        "recommendation": document["recommendation"]
        | {"loads": ["only"], "outcome": "open", "levels": None, "gain": None, "prices": []}
        | {"more_blocks": 46, "text": NOT_YET},
        "findings": [],
        "reasons": [
            {
                "code": "few-cell-runs",
                "level": "inconclusive",
                "text": "4 runs of a cell cannot carry the claim: an effect below 9 % cannot be seen",
                "hint": "more blocks into the same folder: `hindmost attribute two.toml --blocks 50`",
            },
            {
                "code": "failed-cell",
                "level": "note",
                "text": "1 of 6 cells could not be run: server threads = 4, huge pages = madvise",
                "hint": None,
            },
        ],
        "quantiles": ["p99"],
        "factors": factors,
        "confirmations": [],
        "unconfirmed": [],
        "applied": None,
        "seconds_total": 94.0,
    }
    document["design"] |= {
        "kind": "fraction",
        "resolution": 3,
        "cells": 5,
        "possible": 6,
        "blocks": 4,
        "runs": 19,
        "terms": [row["term"] for row in effects],
        "aliases": {"huge pages": ["server threads:huge pages"]},
        "forbidden": [combined[5]],
        "control": combined[0],
    }
    document["loads"] = [
        {
            "name": "only",
            "rate_per_s": None,
            "busy_share": None,
            "cells": rows,
            "quantiles": {
                "p99": {
                    "corner": effects,
                    "average": [],
                    "together": [
                        {
                            "term": "server threads",
                            "factors": ["server threads"],
                            "statistic": 4.318,
                            "numerator": 2,
                            "denominator": 2.0,
                            "p": 0.188,
                            "adjusted": 0.188,
                        }
                    ],
                    "pooled": None,
                    "predicted": [
                        {
                            "levels": levels,
                            "run": place < 4,
                            "value": 240.0 + 9 * place,
                            "low": 215.0 + 9 * place,
                            "high": 265.0 + 9 * place,
                        }
                        for place, levels in enumerate(combined)
                    ],
                    "reversals": [],
                    "explained": {
                        "cells": 0.1,
                        "runs": 0.9,
                        "sampling": None,
                        "model": 0.1,
                        "pseudo_r2": -0.04,
                        "ceiling": 0.1,
                    },
                    "fit": {"spare": 1, "p": 0.31, "worst": combined[2], "deviation_share": -0.042},
                    "best": [],
                }
            },
            "interference": None,
            "drift": {
                "quantile": "p99",
                "values": [231.0, 238.5, math.inf, 262.0],
                "share_per_block": 0.043,
                "drifting": True,
                "p": 0.042,
            },
        }
    ]
    return document


HOSTILE = '<script>alert(1)</script><b onload="x">\x1b[31mESC\u202e{{7*7}}'


def hostile() -> dict[str, Any]:
    """Return the small sample with names and texts that contain markup and control sequences."""

    def inject(value: Any) -> Any:
        if isinstance(value, str):
            return HOSTILE if value in ("huge pages", "always") else value.replace("huge pages", HOSTILE)
        if isinstance(value, dict):
            return {inject(key): inject(item) for key, item in value.items()}
        return [inject(item) for item in value] if isinstance(value, list) else value

    found: dict[str, Any] = inject(small())
    texts = {"headline": HOSTILE, "summary": [HOSTILE, HOSTILE], "findings": [HOSTILE]}
    return found | texts | {"name": HOSTILE, "target": HOSTILE}


def barren() -> dict[str, Any]:
    """Return a study that was interrupted before it had any result."""
    return small() | {
        "verdict": "invalid",
        "headline": "No run was valid.",
        "summary": ["No run was valid."],
        "factors": [],
        "loads": [],
        "seconds_total": 3.0,
    }


SAMPLES = {"full": full, "small": small, "hostile": hostile, "barren": barren}


def typed(document: dict[str, Any]) -> Attribution:
    """Return a sample, which may be changed, as its type."""
    return msgspec.convert(document, Attribution)
