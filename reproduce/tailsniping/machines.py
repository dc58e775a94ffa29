"""The number of machines that analyse a fleet: the dissertation's M/M/c, and a simulation with roll-outs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reproduce.simulate import simulate

SERVERS = (10, 100, 1_000, 10_000, 100_000)
ANOMALIES = (1.0, 10.0)
"""Anomalies per server and day."""
PAPER_S = 60.0
"""30 s of detection and 30 s for one micro-experiment (section 6.3.3)."""
DETECTION_S = 60.0
"""Two blocks of 30 s, which `hindmost watch show` needs."""
PUBLISHED = {1_000: "fewer than 10, at most 1 % of the servers (section 6.3.4)"}


def analysis_machines(
    diagnosis_s: float,
    servers: Sequence[int] = SERVERS,
    anomalies: Sequence[float] = ANOMALIES,
    *,
    wait: float = 0.1,
    in_batches: float = 0.2,
    reached: float = 0.1,
    patience_s: float = 600.0,
    seed: int = 1,
) -> dict[str, Any]:
    """Count analysis machines for clusters of several sizes.

    Parameters
    ----------
    diagnosis_s : float
        Seconds of a diagnosis, without detection; compared with the paper's 60 s for both.
    servers : sequence of int
        Sizes of the production cluster.
    anomalies : sequence of float
        Anomalies per server and day.
    wait : float
        Accepted probability of any wait, in (0, 1).
    in_batches : float
        Fraction of anomalies caused by a bad roll-out, in [0, 1).
    reached : float
        Fraction of the servers affected by a roll-out, within ten minutes.
    patience_s : float
        With roll-outs: accepted 95th percentile of waits in seconds.

    Returns
    -------
    dict
        ``rows``, one for each size, rate of anomalies and duration of a diagnosis.
    """
    ours = DETECTION_S + diagnosis_s
    asked = {
        "servers": list(servers),
        "anomalies": list(anomalies),
        "diagnosis_s": [PAPER_S, ours],
        "wait": wait,
        "in_batches": in_batches,
        "reached": reached,
        "over_s": 600.0,
        "patience_s": patience_s,
        "days": 60.0,
        "seed": seed,
    }
    rows = simulate("hindmost-anomaly", "machines", asked)
    for row in rows:
        row["share"] = row["independent"] / row["servers"]
        row["published"] = PUBLISHED.get(row["servers"]) if row["diagnosis_s"] == PAPER_S else None
    return {**asked, "rows": rows}


def render_machines(document: Mapping[str, Any]) -> str:
    """Format a row for each size of the cluster."""
    lines = [
        f"independent: machines with which at most {document['wait']:.0%} of anomalies wait (M/M/c)",
        f"with roll-outs: {document['in_batches']:.0%} of anomalies, each at {document['reached']:.0%} of the"
        f" servers; waits with as many machines, and machines with a p95 below {document['patience_s']:g} s",
        "",
        f"{'':>8} {'':>9} {'':>9} | {'independent':^19} | {'with roll-outs':^33}",
        f"{'servers':>8} {'a day':>9} {'diagnosis':>9} | {'machines':>8} {'of all':>10} |"
        f" {'wait':>7} {'p95 wait':>10} {'machines':>14}  paper",
    ]
    for row in document["rows"]:
        lines.append(
            f"{row['servers']:>8} {row['anomalies']:>9g} {row['diagnosis_s']:>7.0f} s |"
            f" {row['independent']:>8} {row['share']:>10.2%} |"
            f" {row['waits_in_batches']:>7.0%} {row['p95_wait_s']:>8.0f} s {row['in_batches']:>14}"
            f"  {row['published'] or ''}".rstrip()
        )
    return "\n".join(lines) + "\n"
