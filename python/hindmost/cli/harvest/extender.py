"""``hindmost harvest extender``: what kube-scheduler asks about classes and job lengths."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from hindmost.cli.extending import answered
from hindmost.cli.options import PROCEDURE, TARGET, option, whole


def extender(
    classes: Annotated[Path, option(TARGET, None, "What hindmost harvest classify wrote.")],
    *,
    listen: Annotated[str, option(TARGET, "HOST", "Where to listen.")] = "127.0.0.1",
    port: Annotated[int, whole(TARGET, "Port; 0 takes any.")] = 9880,
    runs: Annotated[
        Path | None, option(TARGET, "RUNS.csv", "Past runs (job,duration_s): how long jobs are.")
    ] = None,
    api: Annotated[
        str | None,
        option(
            TARGET, "URL", "API server by kubectl proxy: load and cores of nodes, and pods that they have."
        ),
    ] = None,
    reserve: Annotated[
        float, option(PROCEDURE, "SHARE", "Share of a node's cores that primary tenants keep.")
    ] = 1.0 / 3.0,
    cores: Annotated[float, option(TARGET, "N", "Cores of a node, where the scheduler does not say.")] = 12.0,
) -> int:
    """Answer kube-scheduler (filter, prioritize) by class and length of job (algorithm 1), until Ctrl-C.

    Only pods are judged that say what they are by labels: hindmost/job, hindmost/length (short, medium,
    long), hindmost/wants (cores at once). Without --api, the extender does not know which pods run on a node,
    nor the load of a node that the scheduler only names. Files are read anew when they change; a torn one
    leaves the last good one in force. Also /healthz, and /metrics for Prometheus.
    """
    from contextlib import nullcontext

    from hindmost.errors import UsageError
    from hindmost.harvest.kubernetes import LengthJudge, read_known, read_runs
    from hindmost.kubernetes import Cluster, Watched

    if not 0.0 <= reserve < 1.0 or not cores > 0.0:
        raise UsageError(
            "bad-value",
            f"--reserve {reserve:g}, --cores {cores:g}: the reserve must be at least 0 and below 1, the cores"
            " above 0",
            hint="--reserve 0.333 --cores 12",
            option="--reserve" if not 0.0 <= reserve < 1.0 else "--cores",
            value=reserve if not 0.0 <= reserve < 1.0 else cores,
        )
    past = None if runs is None else Watched(runs, read_runs)
    if api is not None and not api.startswith("http://"):
        raise UsageError(
            "bad-value",
            f"--api {api}: use the http:// address of kubectl proxy",
            hint="--api http://127.0.0.1:8001",
            option="--api",
            value=api,
        )
    with nullcontext() if api is None else Cluster(api) as cluster:
        judge = LengthJudge(Watched(classes, read_known), past, reserve, cores, cluster=cluster)
        return answered(judge, listen, port, judge.gauges, "hindmost_harvest")
