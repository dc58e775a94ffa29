"""How many machines analyse a fleet: the dissertation's M/M/c, and a simulation with roll-outs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hindmost import _engine
from hindmost.errors import UsageError

SERVERS = (10, 100, 1_000, 10_000, 100_000)
ANOMALIES = (1.0, 10.0)
"""A server and day."""
PAPER_S = 60.0
"""30 s of detection and 30 s for one micro-experiment (section 6.3.3)."""
DETECTION_S = 60.0
"""Two blocks of 30 s, as `hindmost watch show` needs them."""
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
        Seconds of a diagnosis here, detection aside; the paper's 60 s for both stand beside it.
    servers : sequence of int
        Sizes of the production cluster.
    anomalies : sequence of float
        A server and day.
    wait : float
        Probability of any wait that is accepted, in (0, 1).
    in_batches : float
        Share of anomalies that come with a bad roll-out, in [0, 1).
    reached : float
        Share of the servers that a roll-out makes sick, within ten minutes.
    patience_s : float
        With roll-outs: the 95th percentile of waits that is accepted.

    Raises
    ------
    UsageError
        A share is outside the range that can be simulated.

    Returns
    -------
    dict
        ``rows``, one for each size, rate of anomalies and length of a diagnosis.
    """
    if in_batches >= 1.0:
        raise UsageError(
            "bad-value",
            f"--batches {in_batches:.0%}: the share of anomalies in roll-outs must be below 100 %",
            hint="--batches 20%",
            option="--batches",
            value=in_batches,
            most=1.0,
        )
    if not 0.0 < wait < 1.0:
        raise UsageError(
            "bad-value",
            f"--wait {wait:.0%}: the share of anomalies that may wait must be between 0 and 100 %",
            hint="--wait 10%",
            option="--wait",
            value=wait,
            least=0.0,
            most=1.0,
        )
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
    rows = json.loads(_engine.analysis_machines(json.dumps(asked)))
    for row in rows:
        row["share"] = row["independent"] / row["servers"]
        row["published"] = PUBLISHED.get(row["servers"]) if row["diagnosis_s"] == PAPER_S else None
    return {"schema": "hindmost.analysis-machines/1", **asked, "rows": rows}
