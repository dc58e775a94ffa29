"""Analysis machines by the size of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def render_machines(document: Mapping[str, Any]) -> str:
    """Write what `hindmost.watch.cluster.analysis_machines` found."""
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
