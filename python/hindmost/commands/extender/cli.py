"""``hindmost extender``: answer kube-scheduler by class and length of job, or by profiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from hindmost.cli.modes import UNGIVEN, refuse_conflict
from hindmost.cli.options import LOAD, PROCEDURE, TARGET, integer_option, option, switch
from hindmost.cli.streams import say
from hindmost.core.exits import Exit
from hindmost.errors import UsageError

if TYPE_CHECKING:
    from hindmost.core.kubernetes import Judge


def extender(
    what: Annotated[
        Path,
        option(
            TARGET,
            "CLASSES.json|PROFILES",
            "Output of `hindmost harvest classify`, or a folder of profiles (*.json).",
        ),
    ],
    *,
    listen: Annotated[str, option(TARGET, "HOST", "Host name or IP address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int | None,
        integer_option(TARGET, "Port; 0 uses a free port. [default: 9880 with classes, 9881 with profiles]"),
    ] = None,
    runs: Annotated[
        Path | None,
        option(TARGET, "RUNS.csv", "Classes: past runs (job,duration_s), to estimate the length of jobs."),
    ] = None,
    api: Annotated[
        str | None,
        option(
            TARGET,
            "URL",
            "Classes: API server behind kubectl proxy, for the load, cores and pods of nodes.",
        ),
    ] = None,
    reserve: Annotated[
        float | None,
        option(
            PROCEDURE, "SHARE", "Classes: share of a node's cores reserved for its tenant. [default: 1/3]"
        ),
    ] = None,
    cores: Annotated[
        float | None,
        option(TARGET, "N", "Classes: cores of a node if the scheduler does not report them. [default: 12]"),
    ] = None,
    within: Annotated[
        str | None,
        option(
            TARGET,
            "SHARE",
            "Profiles: acceptable growth of a server's percentile if its node has no label. [default: 10%]",
        ),
    ] = None,
    load: Annotated[
        str | None,
        option(LOAD, "SHARE", "Profiles: utilisation of servers if their node has no label. [default: 50%]"),
    ] = None,
    violations: Annotated[
        str | None,
        option(
            PROCEDURE,
            "SHARE",
            "Profiles: share of supervised windows that may break a server's promise. [default: 5%]",
        ),
    ] = None,
    strict: Annotated[
        bool, switch(PROCEDURE, "Profiles: also refuse nodes for which there is no prediction.", "--strict")
    ] = False,
) -> int:
    """Answer kube-scheduler (filter, prioritize) until Ctrl-C or SIGTERM; also serve /healthz and /metrics.

    Classes: the extender scores a pod by class and length of its job (algorithm 1 of Harvest), if it has the
    labels hindmost/job, hindmost/length (short, medium, long) or hindmost/wants (cores at once). Without
    --api, the extender does not know which pods run on a node. It also does not know the load of nodes for
    which the scheduler sends only the name.

    Profiles: the label hindmost/job names the profile of a pod. The label hindmost/servers names the profiles
    of a node's servers, and nodes may also have hindmost/load and hindmost/within. A node is refused if a
    server would certainly lose more than its limit, and otherwise scored by the remaining margin. What
    `hindmost colocate supervise --learn` kept next to a server's profile outranks the profiles.

    The extender reads its files again when they change. If a new file is incomplete, the last good one stays
    in force.
    """
    by_class = {"--runs": runs, "--api": api, "--reserve": reserve, "--cores": cores}
    by_profile = {"--within": within, "--load": load, "--violations": violations, "--strict": strict}
    if not what.exists():
        raise UsageError(
            "no-such-file", f"{what} does not exist", hint="hindmost harvest classify", path=str(what)
        )
    other = by_class if what.is_dir() else by_profile
    for name, value in other.items():
        if value not in UNGIVEN:
            refuse_conflict(name, "profiles" if what.is_dir() else "classes")
    if what.is_dir():
        return _answer_by_profiles(
            what, within or "10%", load or "50%", violations or "5%", listen, port, strict=strict
        )
    return _answer_by_classes(
        what,
        runs,
        api,
        1.0 / 3.0 if reserve is None else reserve,
        12.0 if cores is None else cores,
        listen,
        port,
    )


def _answer_by_profiles(
    folder: Path, within: str, load: str, violations: str, listen: str, port: int | None, *, strict: bool
) -> int:
    from hindmost.commands.colocate.prediction.kubernetes import CardJudge, read_cards
    from hindmost.core.kubernetes import WatchedFile
    from hindmost.core.plan import parse_percent, parse_share

    judge = CardJudge(
        WatchedFile(folder, read_cards),
        parse_share(within, "--within"),
        parse_percent(load, "--load"),
        strict,
        parse_percent(violations, "--violations"),
    )
    return _answer(judge, listen, 9881 if port is None else port, judge.gauges, "hindmost_colocate")


def _answer_by_classes(
    classes: Path,
    runs: Path | None,
    api: str | None,
    reserve: float,
    cores: float,
    listen: str,
    port: int | None,
) -> int:
    from hindmost.commands.harvest.kubernetes import LengthJudge, read_index, read_runs
    from hindmost.core.kubernetes import Cluster, WatchedFile

    if not 0.0 <= reserve < 1.0 or not cores > 0.0:
        raise UsageError(
            "bad-value",
            f"--reserve {reserve:g}, --cores {cores:g}: the reserve must be at least 0 and below 1, and the"
            " cores"
            " above 0",
            hint="--reserve 0.333 --cores 12",
            option="--reserve" if not 0.0 <= reserve < 1.0 else "--cores",
            value=reserve if not 0.0 <= reserve < 1.0 else cores,
        )
    past = None if runs is None else WatchedFile(runs, read_runs)
    if api is not None and not api.startswith("http://"):
        raise UsageError(
            "bad-value",
            f"--api {api}: use the http:// address of kubectl proxy",
            hint="--api http://127.0.0.1:8001",
            option="--api",
            value=api,
        )
    with nullcontext() if api is None else Cluster(api) as cluster:
        judge = LengthJudge(WatchedFile(classes, read_index), past, reserve, cores, cluster=cluster)
        return _answer(judge, listen, 9880 if port is None else port, judge.gauges, "hindmost_harvest")


def _answer(
    judge: Judge, host: str, port: int, gauges: Callable[[], Mapping[str, float]], prefix: str
) -> int:
    import signal
    import threading

    from hindmost.core.kubernetes import Extender

    if not 0 <= port <= 65_535:
        raise UsageError(
            "bad-value",
            f"--port {port} is not between 0 and 65535",
            hint="--port 0 uses any free port",
            option="--port",
            value=port,
            least=0,
            most=65_535,
        )
    try:
        server = Extender(judge, host=host, port=port, gauges=gauges, prefix=prefix)
    except OSError as error:
        raise UsageError(
            "cannot-listen",
            f"cannot listen at {host}:{port}: {error.strerror}",
            hint="--port 0 uses any free port",
            host=host,
            port=port,
            reason=error.strerror,
        ) from None
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    with server:
        say(f"answering kube-scheduler at http://{server.address}; Ctrl-C ends it")
        ended.wait()
    return Exit.DONE
