"""Rules that name the cause of an anomaly, compared in a simulated data center where the truth is known."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from hindmost.stats.tables import binomial_bounds
from reproduce.simulate import simulate

PARTS = ("right", "wrong", "unknown", "inconclusive")
RHOS = (0.0, 0.6, 0.9)
"""Autocorrelations per second; the quartiles for real series (NAB's 24) are 0.16 and 0.97."""
LOOK_ALIKE = 0.8
"""Cosine between the shift of a cause and the shift of a look-alike."""

PROTOTYPE: dict[tuple[str, bool, bool, float], str] = {
    ("paper's rule, 20 s", True, False, 0.0): "right .50, unknown .50",
    ("paper's rule, 30 s", True, False, 0.0): "right .07, unknown .93",
    ("paper's rule, 120 s", True, False, 0.0): "unknown 1",
    ("paper's rule, 120 s", True, False, 0.6): "unknown 1",
    ("paper's rule, 120 s", True, False, 0.9): "unknown 1",
    ("as printed, 20 s", True, False, 0.0): "right .27, unknown .73",
    ("as printed, 120 s", True, False, 0.0): "unknown 1",
    ("ours", True, False, 0.0): "right 1",
    ("ours", True, False, 0.6): "right 1",
    ("ours", True, False, 0.9): "right .94, inconclusive .06",
    ("ours", True, True, 0.0): "right 1",
    ("ours", True, True, 0.6): "right 1",
    ("ours without removal", False, False, 0.0): "wrong .02",
    ("ours without removal", False, False, 0.6): "wrong 0",
    ("ours without removal", False, True, 0.0): "wrong 0, unknown .94",
    ("ours without removal", False, True, 0.6): "wrong .02, unknown .88",
    ("ours, gate 0.7", False, False, 0.0): "wrong .04, unknown .95",
    ("ours, gate 0.7", False, False, 0.6): "wrong .03, unknown .93",
    ("ours, gate 0.7", False, False, 0.9): "wrong .01, unknown .83",
    ("ours, gate 0.7", False, True, 0.0): "wrong .39-.44, unknown .48",
    ("ours, gate 0.7", False, True, 0.6): "wrong .33, unknown .47",
}
"""Results of a prototype in a world of the same description (50 to 150 cases per cell): rule, whether the
cause is monitored, whether there is a look-alike, autocorrelation. Its signatures differed, so the shapes can
agree, but not the last digits."""


def leaderboard(
    trials: int = 50,
    seed: int = 1,
    rhos: tuple[float, ...] = RHOS,
    look_alike: float = LOOK_ALIKE,
) -> dict[str, Any]:
    """Run all rules on the same simulated anomalies.

    Parameters
    ----------
    trials : int
        Cases per cell: a fraction of 0 is then below 3 / trials.
    seed : int
        Random seed.
    rhos : tuple of float
        Autocorrelations per second, in [0, 1).
    look_alike : float
        Cosine, in (0, 1).

    Returns
    -------
    dict
        ``cells``: for each situation, every rule's fractions (``right``, ``wrong``, ``unknown``,
                ``inconclusive``, each with its 95 % interval), the median seconds per arm, and the
        prototype's figures
                if available; ``by_cause``: how often each rule named each monitored cause.
    """
    begun = time.monotonic()
    asked = {"trials": trials, "seed": seed, "rhos": list(rhos), "look_alike": look_alike}
    found = simulate("hindmost-anomaly", "leaderboard", asked)
    return {
        **asked,
        "cells": [_cell(cell, trials) for cell in found["cells"]],
        "by_cause": _by_cause(found),
        "took_s": time.monotonic() - begun,
    }


def _cell(cell: dict[str, Any], trials: int) -> dict[str, Any]:
    where = (cell["monitored"], cell["look_alike"] is not None, cell["rho"])
    return {
        **{name: cell[name] for name in ("rho", "monitored", "look_alike")},
        "scores": [
            {
                "rule": score["rule"],
                **{name: _share(score[name], trials) for name in PARTS},
                "seconds": score["seconds"],
                "prototype": PROTOTYPE.get((score["rule"], *where)),
            }
            for score in cell["scores"]
        ],
    }


def _share(count: int, of: int) -> dict[str, float]:
    low, high = binomial_bounds(count, of, 0.95)
    return {"value": count / of, "low": low, "high": high}


def _by_cause(found: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return for each rule how often it named each monitored cause."""
    shares: dict[str, dict[str, float]] = {}
    monitored = [cell for cell in found["cells"] if cell["monitored"]]
    for rule, name in enumerate(score["rule"] for score in monitored[0]["scores"]):
        counts = [cell["scores"][rule]["by_cause"] for cell in monitored]
        shares[name] = {
            cause: sum(one[at][1] for one in counts) / max(1, sum(one[at][0] for one in counts))
            for at, cause in enumerate(found["causes"])
        }
    return shares


def render_leaderboard(document: Mapping[str, Any]) -> str:
    """Format a table for each situation."""
    trials = document["trials"]
    lines = [
        f"{trials} simulated anomalies per table, the same for all rules; a 0 means at most {3 / trials:.1%}",
    ]
    for cell in document["cells"]:
        lines += ["", _situation(cell), f"{'rule':22} {'right':>17}  wrong unknown  open  s/arm  prototype"]
        for score in cell["scores"]:
            right, wrong, unknown, rest = (score[part] for part in PARTS)
            ends = f"{_short(right)} [{_short({'value': right['low']})}, {_short({'value': right['high']})}]"
            lines.append(
                f"{score['rule']:22} {ends:>17}  {_short(wrong):>5} {_short(unknown):>7} {_short(rest):>5}"
                f" {score['seconds']:>6}  {score['prototype'] or ''}".rstrip()
            )
    lines += ["", "right by cause, if it is monitored"]
    by_cause = document["by_cause"]
    causes = list(next(iter(by_cause.values())))
    lines.append(f"{'rule':22} " + " ".join(f"{cause.split()[0][:12]:>12}" for cause in causes))
    lines += [
        f"{rule:22} " + " ".join(f"{shares[cause]:>12.2f}" for cause in causes)
        for rule, shares in by_cause.items()
    ]
    lines.append(f"in {document['took_s']:.1f} s")
    return "\n".join(lines) + "\n"


def _situation(cell: Mapping[str, Any]) -> str:
    cause = "the cause is a candidate" if cell["monitored"] else "the cause is not monitored"
    like = "" if cell["look_alike"] is None else f", with a look-alike (cosine {cell['look_alike']:g})"
    return f"{cause}{like}; autocorrelation {cell['rho']:g} a second"


def _short(share: Mapping[str, float]) -> str:
    return f"{share['value']:.2f}"
