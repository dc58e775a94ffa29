"""Rules that look for a cause, beside each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PARTS = ("right", "wrong", "unknown", "inconclusive")


def render_leaderboard(document: Mapping[str, Any]) -> str:
    """Write what `hindmost.watch.twin.leaderboard` found, a table a situation."""
    trials = document["trials"]
    lines = [
        f"{trials} simulated anomalies a table, the same for all rules; a 0 may be {3 / trials:.1%} in truth",
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
    lines += ["", "right by cause, where it is monitored"]
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
    like = "" if cell["look_alike"] is None else f", one looks like it (cosine {cell['look_alike']:g})"
    return f"{cause}{like}; autocorrelation {cell['rho']:g} a second"


def _short(share: Mapping[str, float]) -> str:
    return f"{share['value']:.2f}"
