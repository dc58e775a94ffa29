"""``hindmost harvest hadoop-config``: files for stock Hadoop."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from hindmost.cli.options import OUTPUT, TARGET, option, whole
from hindmost.exits import Exit


def hadoop_config(
    classes: Annotated[Path, option(TARGET, None, "What hindmost harvest classify wrote.")],
    *,
    name_nodes: Annotated[str, option(TARGET, "HOSTS", "Hosts of the name nodes, by commas.")],
    port: Annotated[int, whole(TARGET, "UDP port at which name nodes hear who is busy.")] = 9879,
    load_file: Annotated[
        str, option(TARGET, "PATH", "Where a data node finds its primary tenant's load, 0 to 1.")
    ] = "",
    yarn_load_file: Annotated[
        str | None,
        option(TARGET, "PATH", "Where each node's load is, for YARN; %h is its host. Without: no YARN."),
    ] = None,
    yarn_source: Annotated[
        Literal["files", "heartbeats"],
        option(TARGET, None, "Who reads it: the keeper of reserves, or each node manager, which reports it."),
    ] = "files",
    queues: Annotated[
        str, option(TARGET, "QUEUE=LENGTH", "Queues whose jobs are all short, medium or long, by commas.")
    ] = "",
    batch_group: Annotated[
        Path | None,
        option(
            TARGET, "FOLDER", "Control group of containers, which run while nobody else wants the processor."
        ),
    ] = None,
    reserve: Annotated[
        float, option(TARGET, "SHARE", "Share of a YARN node that batch work never gets.")
    ] = 0.333,
    grace: Annotated[
        str, option(TARGET, "DURATION", "What containers have to go when their node shrinks.")
    ] = "0s",
    installed: Annotated[
        Path, option(OUTPUT, "FOLDER", "Where the files will be on the daemons' hosts.")
    ] = Path("/etc/hadoop/conf"),
    out: Annotated[Path, option(OUTPUT, "FOLDER", "Where they are written.")] = Path("hadoop-config"),
) -> int:
    """Write who is where, the topology script, the keys of hdfs-site.xml, and YARN's with --yarn-load-file.

    Without --load-file, data nodes take all of their host's load, from /proc/stat.
    """
    from hindmost.errors import UsageError
    from hindmost.harvest import load_classes
    from hindmost.harvest.hadoop import write_config, yarn_texts
    from hindmost.plan.units import parse_duration

    hosts = [host.strip() for host in name_nodes.split(",") if host.strip()]
    if not hosts or not 1 <= port <= 65_535:
        raise UsageError(
            "missing-argument" if not hosts else "bad-value",
            "--name-nodes is empty" if not hosts else f"--port {port}: it must be 1 to 65535",
            hint="--name-nodes nn1,nn2",
            option="--name-nodes" if not hosts else "--port",
            value=name_nodes if not hosts else port,
        )
    yarn = None
    if yarn_load_file is not None:
        lengths = (one.strip().partition("=") for one in queues.split(",") if one.strip())
        yarn = yarn_texts(
            yarn_load_file,
            reserve,
            round(parse_duration(grace) * 1000),
            installed=installed,
            heartbeats=yarn_source == "heartbeats",
            queues={queue: length for queue, _, length in lengths},
            group=batch_group,
        )
    written = write_config(
        load_classes(classes),
        out,
        name_nodes=hosts,
        installed=installed,
        port=port,
        load_file=load_file,
        yarn=yarn,
    )
    print("\n".join(map(str, written)))
    return Exit.DONE
