"""``hindmost harvest export``: write configuration for stock Hadoop or Kubernetes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from hindmost.cli.modes import refuse_conflict
from hindmost.cli.options import OUTPUT, TARGET, integer_option, option
from hindmost.core.exits import Exit
from hindmost.errors import UsageError

HADOOP = (
    "--name-nodes",
    "--port",
    "--load-file",
    "--yarn-load-file",
    "--yarn-source",
    "--queues",
    "--batch-group",
    "--reserve",
    "--grace",
    "--installed",
)


def export(
    system: Annotated[
        Literal["hadoop", "kubernetes"], option(TARGET, "SYSTEM", "System to write files for.")
    ],
    classes: Annotated[Path, option(TARGET, "CLASSES.json", "Output of `hindmost harvest classify`.")],
    *,
    name_nodes: Annotated[
        str | None, option(TARGET, "HOSTS", "Hadoop: hosts of the name nodes, separated by commas. Required.")
    ] = None,
    port: Annotated[
        int | None,
        integer_option(
            TARGET, "Hadoop: UDP port on which data nodes report load to name nodes. [default: 9879]"
        ),
    ] = None,
    load_file: Annotated[
        str | None,
        option(TARGET, "PATH", "Hadoop: file with the load of a data node's primary tenant, 0 to 1."),
    ] = None,
    yarn_load_file: Annotated[
        str | None,
        option(
            TARGET,
            "PATH",
            "Hadoop: file with each node's load, for YARN; %h is the host. Without it, YARN is not"
            " configured.",
        ),
    ] = None,
    yarn_source: Annotated[
        Literal["files", "heartbeats"] | None,
        option(
            TARGET,
            None,
            "Hadoop: who reads the load: the resource manager's reserve keeper, or each node manager."
            " [default: files]",
        ),
    ] = None,
    queues: Annotated[
        str | None,
        option(TARGET, "QUEUE=LENGTH", "Hadoop: queues whose jobs are all short, medium or long."),
    ] = None,
    batch_group: Annotated[
        Path | None,
        option(
            TARGET,
            "FOLDER",
            "Hadoop: control group for containers, which run only while the processor is otherwise idle.",
        ),
    ] = None,
    reserve: Annotated[
        float | None,
        option(
            TARGET, "SHARE", "Hadoop: share of a YARN node reserved for its primary tenant. [default: 0.333]"
        ),
    ] = None,
    grace: Annotated[
        str | None,
        option(
            TARGET, "TIME", "Hadoop: time that containers get to end when their node shrinks. [default: 0s]"
        ),
    ] = None,
    installed: Annotated[
        Path | None,
        option(
            OUTPUT,
            "FOLDER",
            "Hadoop: folder of the files on the daemons' hosts. [default: /etc/hadoop/conf]",
        ),
    ] = None,
    url: Annotated[
        str | None,
        option(
            TARGET,
            "URL",
            "Kubernetes: URL of the extender for the scheduler. [default: http://127.0.0.1:9880]",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        option(OUTPUT, "FOLDER", "Folder to write to. [default: hadoop-config, kubernetes-config]"),
    ] = None,
) -> int:
    """Write the configuration with which stock Hadoop or Kubernetes places work and data by history.

    Hadoop: the table of servers, the topology script, the keys of hdfs-site.xml, and YARN's with
    --yarn-load-file. Without --load-file, data nodes report their host's whole load, from /proc/stat.
    Kubernetes: a script that labels nodes with their classes, and the scheduler's configuration. Nodes have
    the servers' names in the traces. The scheduler works without the extender if the extender is down.
    """
    values = (
        name_nodes,
        port,
        load_file,
        yarn_load_file,
        yarn_source,
        queues,
        batch_group,
        reserve,
        grace,
        installed,
    )
    given = [name for name, value in zip(HADOOP, values, strict=True) if value is not None]
    if system == "kubernetes":
        if given:
            refuse_conflict(given[0], system)
        return _export_kubernetes(classes, url or "http://127.0.0.1:9880", out or Path("kubernetes-config"))
    if url is not None:
        refuse_conflict("--url", system)
    from hindmost.commands.harvest.classes import load_classes
    from hindmost.commands.harvest.hadoop import write_config, yarn_texts
    from hindmost.core.plan.units import parse_duration

    hosts = [host.strip() for host in (name_nodes or "").split(",") if host.strip()]
    port = 9879 if port is None else port
    if not hosts or not 1 <= port <= 65_535:
        raise UsageError(
            "missing-argument" if not hosts else "bad-value",
            "--name-nodes is missing" if not hosts else f"--port {port}: it must be 1 to 65535",
            hint="--name-nodes nn1,nn2",
            option="--name-nodes" if not hosts else "--port",
            value=name_nodes if not hosts else port,
        )
    place = installed or Path("/etc/hadoop/conf")
    yarn = None
    if yarn_load_file is not None:
        lengths = (one.strip().partition("=") for one in (queues or "").split(",") if one.strip())
        yarn = yarn_texts(
            yarn_load_file,
            0.333 if reserve is None else reserve,
            round(parse_duration(grace or "0s") * 1000),
            installed=place,
            heartbeats=yarn_source == "heartbeats",
            queues={queue: length for queue, _, length in lengths},
            group=batch_group,
        )
    written = write_config(
        load_classes(classes),
        out or Path("hadoop-config"),
        name_nodes=hosts,
        installed=place,
        port=port,
        load_file=load_file or "",
        yarn=yarn,
    )
    print("\n".join(map(str, written)))
    return Exit.DONE


def _export_kubernetes(classes: Path, url: str, out: Path) -> int:
    from hindmost.commands.harvest.classes import load_classes
    from hindmost.commands.harvest.kubernetes import LABELS, SCHEDULER, labels_text, scheduler_text
    from hindmost.core.store.files import install

    texts = {LABELS: labels_text(load_classes(classes)), SCHEDULER: scheduler_text(url)}
    print("\n".join(map(str, install(out, texts))))
    return Exit.DONE
