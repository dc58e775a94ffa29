"""Configuration files for stock Hadoop from classes: the tenants of hosts, racks, and keys."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex
from xml.sax.saxutils import escape

from hindmost.commands.harvest.document import Classes
from hindmost.commands.harvest.hosts import HostTable, is_address, label_of
from hindmost.core.store.files import install
from hindmost.errors import UsageError

TENANTS = "hindmost-tenants.tsv"
SECRET = "hindmost-board.secret"
"""File of the key that signs messages from data nodes to name nodes; an existing key is kept."""
TOPOLOGY = "hindmost-topology.sh"
SITE = "hdfs-site-hindmost.xml"
YARN_SITE = "yarn-site-hindmost.xml"
SCHEDULER = "capacity-scheduler-hindmost.xml"
INSIDE = "org.apache.hadoop.hdfs.server.blockmanagement"
"""Package of the placement policy, which overrides package-private methods of Hadoop."""
ORDER = "harvest"
"""Name of the node order among the capacity scheduler's policies; queues of one length add a suffix."""
LENGTHS = ("short", "medium", "long")
PREFIX = "yarn.scheduler.capacity"
NICE = 19
"""Niceness of containers: the kernel prefers the tenant at once; the keeper takes a heartbeat or two."""
HOST = re.compile(r"[A-Za-z0-9._-]+")
NAME = re.compile(r"[^\t\r\n]+")
QUEUE = re.compile(r"root(\.[A-Za-z0-9_-]+)*")


def tenants_text(classes: Classes) -> str:
    """Write tenants and hosts for ``hadoop/``, with a checksum to detect incomplete files.

    Raises
    ------
    UsageError
        No tenant has a class, a host name is invalid, or a host occurs twice.
    """
    known = classes.classified
    if not known:
        raise UsageError(
            "no-class",
            "no tenant has a class, so there is nowhere to place data",
            hint="classify longer traces",
        )
    rows = ["# hindmost.harvest.tenants/1"]
    for number, kind in enumerate(classes.classes):
        rows.append(f"class\t{number}\t{kind.pattern}\t{kind.mean}\t{kind.peak}")
    for one in known:
        for name in (one.name, one.environment):
            if not NAME.fullmatch(name):
                raise UsageError(
                    "bad-value",
                    f"the name {name!r} contains a tab or a line break",
                    hint="rename it in tenants.csv",
                    key="tenant",
                    value=name,
                )
        columns = (one.name, one.environment, one.reimages, one.peak, one.space, one.class_)
        rows.append("tenant\t" + "\t".join(map(str, columns)))
    HostTable((host, None) for one in known for host in one.servers)
    for one in known:
        for host in one.servers:
            if not HOST.fullmatch(host):
                raise UsageError(
                    "bad-value",
                    f"{host!r} of {one.name} is not a host name",
                    hint="use the servers' host names in the traces",
                    key="server",
                    value=host,
                    name=one.name,
                )
            rows.append(f"host\t{host}\t{one.name}")
    text = "\n".join(rows) + "\n"
    return f"{text}end\t{zlib.crc32(text.encode()):08x}\n"


def topology_text(classes: Classes) -> str:
    """Write the script that gives Hadoop the racks of hosts (``net.topology.script.file.name``).

    HDFS passes addresses, YARN names. The script knows all names of a host, and resolves addresses with
    ``getent``. For an unknown host it prints a default rack as deep as the others, and a warning.

    Raises
    ------
    UsageError
        A name of a host or rack is invalid, only some hosts have a rack, or racks differ in depth, which
        Hadoop refuses.
    """
    servers = [host for one in classes.tenants for host in one.servers]
    named = {host: rack for one in classes.tenants for host, rack in one.racks.items()}
    racks = {host: rack.strip("/").split("/") for host, rack in named.items()}
    for host, parts in racks.items():
        if not (HOST.fullmatch(host) and all(map(HOST.fullmatch, parts))):
            wrong = named[host] if HOST.fullmatch(host) else host
            raise UsageError(
                "bad-value",
                f"{wrong!r} is not the name of a host or rack",
                hint="use letters, digits and . _ -, with / between the levels of a rack",
                key="rack",
                value=wrong,
            )
    if racks and (bare := next((host for host in servers if host not in racks), None)) is not None:
        raise UsageError(
            "bad-value",
            f"{bare} has no rack, and {next(iter(racks))} has one",
            hint="fill in the column rack of tenants.csv for all servers, or for none",
            key="rack",
            value=None,
            name=bare,
        )
    first, depth = next(((host, len(parts)) for host, parts in racks.items()), ("", 1))
    for host, parts in racks.items():
        if len(parts) != depth:
            raise UsageError(
                "bad-value",
                f"the rack {named[host]} of {host} and the rack {named[first]} of {first} differ in depth",
                hint="give all racks as many levels: Hadoop refuses nodes of another depth",
                key="rack",
                value=named[host],
                name=host,
            )
    table = HostTable(racks.items())
    full = [name for name in table.by_name if label_of(name) != name]
    # A case uses the first matching pattern: full names precede short ones with any domain.
    patterns = {
        name: f"{name}|{label}"
        if table.by_label[label := label_of(name)] and label not in table.by_name
        else name
        for name in full
    } | {
        name: name if is_address(name) else f"{name}|{name}.*"
        for name in table.by_name
        if label_of(name) == name
    }
    cases = "".join(
        f"    {pattern}) echo /{'/'.join(table.by_name[name])} ;;\n" for name, pattern in patterns.items()
    )
    default = "/default" * (depth - 1) + "/default-rack"
    return f"""#!/bin/sh
# Racks of hosts, by hindmost harvest export.
rack() {{
  name=$(printf %s "$1" | tr '[:upper:]' '[:lower:]')
  case ${{name%.}} in
{cases}    *) return 1 ;;
  esac
}}
for host in "$@"; do
  rack "$host" && continue
  for other in $(getent hosts "$host"); do
    rack "$other" && continue 2
  done
  echo "hindmost: the rack of $host is unknown" >&2
  echo {default}
done
"""


def site_text(folder: Path, name_nodes: list[str], port: int, load_file: str) -> str:
    """Write the keys of ``hdfs-site.xml`` for name nodes and data nodes."""
    keys = {
        "dfs.block.replicator.classname": f"{INSIDE}.HarvestPlacementPolicy",
        "dfs.net.topology.impl": "hindmost.hadoop.BusyTopology",
        "dfs.namenode.plugins": "hindmost.hadoop.NameNodePlugin",
        "dfs.datanode.fsdataset.factory": "hindmost.hadoop.BusyDatasetFactory",
        "hindmost.harvest.tenants.file": str(folder / TENANTS),
        "hindmost.harvest.board.port": str(port),
        "hindmost.harvest.board.addresses": ",".join(f"{host}:{port}" for host in name_nodes),
        "hindmost.harvest.board.secret.file": str(folder / SECRET),
        "hindmost.harvest.utilisation.file": load_file,
    }
    return _configuration(keys)


def yarn_texts(
    load_file: str,
    reserve: float,
    grace_ms: int,
    *,
    installed: Path,
    heartbeats: bool = False,
    queues: Mapping[str, str] | None = None,
    group: Path | None = None,
) -> dict[str, str]:
    """Write YARN's keys: for its daemons with the reserve keeper, and for the capacity scheduler.

    The scheduler counts cores and distributes containers in proportion to free cores. For a queue whose jobs
    have one length, it also considers the class of a node.

    Parameters
    ----------
    load_file
        File with the primary tenant's load of each node, 0 to 1; ``%h`` stands for the node's host.
    reserve
        Share of a node's cores and memory that batch work never gets, in [0, 1) (in the chapter, a third).
    grace_ms
        Milliseconds that containers have to exit when their node shrinks; with 0, they are killed at once.
    installed
        Folder in which the file of tenants will be installed.
    heartbeats
        Whether node managers read and report the load of their host; otherwise the keeper reads all files.
    queues
        Length of the jobs of each queue, by queue path such as ``root.batch``.
    group
        Folder of a control group for containers, which then run only on otherwise idle processors
        (``cpu.idle``, Linux 5.15). Without it they have the lowest priority, which has no effect against
        other sessions if the kernel has ``sched_autogroup_enabled`` (man 7 sched).

    Raises
    ------
    UsageError
        The reserve or the grace is out of range, the keeper would read the load of all nodes from one
        file, a length is invalid, or the group's folder is relative.
    """
    if not 0 <= reserve < 1:
        raise UsageError(
            "bad-value",
            f"--reserve {reserve:g}: it must be at least 0 and below 1",
            hint="--reserve 0.333",
            option="--reserve",
            value=reserve,
        )
    if grace_ms < 0:
        raise UsageError(
            "bad-value",
            f"--grace {grace_ms}ms: it must not be negative",
            hint="--grace 5s",
            option="--grace",
            value=grace_ms,
        )
    for queue, length in (queues or {}).items():
        if length not in LENGTHS or not QUEUE.fullmatch(queue):
            raise UsageError(
                "bad-value",
                f"--queues {queue}={length}: use QUEUE=LENGTH with a length of {', '.join(LENGTHS)}",
                hint="--queues root.adhoc=short,root.nightly=long",
                option="--queues",
                value=f"{queue}={length}",
                known=list(LENGTHS),
            )
    if not heartbeats and "%h" not in load_file:
        raise UsageError(
            "bad-value",
            f"--yarn-load-file {load_file} is the same file for all nodes; it must contain %h",
            hint="--yarn-load-file /run/primary/%h.load, or --yarn-source heartbeats",
            option="--yarn-load-file",
            value=load_file,
        )
    if group is not None and not group.is_absolute():
        raise UsageError(
            "bad-value",
            f"--batch-group {group}: use an absolute path",
            hint="--batch-group /sys/fs/cgroup/hindmost-batch",
            option="--batch-group",
            value=str(group),
        )
    keys = {
        "hindmost.harvest.utilisation.file": load_file,
        "hindmost.harvest.reserve": f"{reserve:.6g}",
        "hindmost.harvest.grace.ms": str(grace_ms),
        "hindmost.harvest.tenants.file": str(installed / TENANTS),
        "hindmost.harvest.keeper.source": "heartbeats" if heartbeats else "files",
        "yarn.nodemanager.container-executor.os.sched.priority.adjustment": str(NICE),
    }
    if group is not None:
        keys["yarn.nodemanager.container-executor.class"] = "hindmost.hadoop.IdleExecutor"
        keys["hindmost.harvest.cgroup"] = str(group)
    if heartbeats:
        keys["yarn.nodemanager.resource-calculator.class"] = "hindmost.hadoop.PrimaryTenantCalculator"
        keys["yarn.nodemanager.resource-monitor.interval-ms"] = "1000"
    policies = f"{PREFIX}.multi-node-sorting.policy"
    names = {ORDER: "HarvestNodeOrder"}
    names |= {f"{ORDER}-{length}": f"HarvestNodeOrder${length.title()}" for length in LENGTHS}
    scheduler = {
        f"{PREFIX}.multi-node-placement-enabled": "true",
        f"{PREFIX}.resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
        policies: ORDER,
        f"{policies}.names": ",".join(names),
    }
    scheduler |= {f"{policies}.{name}.class": f"hindmost.hadoop.{one}" for name, one in names.items()}
    for queue, length in (queues or {}).items():
        scheduler[f"{PREFIX}.{queue}.multi-node-sorting.policy"] = f"{ORDER}-{length}"
    return {YARN_SITE: _configuration(keys), SCHEDULER: _configuration(scheduler)}


def _configuration(keys: dict[str, str]) -> str:
    """Write keys as a Hadoop configuration."""
    rows = "".join(
        f"  <property><name>{name}</name><value>{escape(value)}</value></property>\n"
        for name, value in keys.items()
    )
    return f'<?xml version="1.0"?>\n<configuration>\n{rows}</configuration>\n'


def write_config(
    classes: Classes,
    out: Path,
    *,
    name_nodes: list[str],
    installed: Path,
    port: int = 9879,
    load_file: str,
    yarn: dict[str, str] | None = None,
) -> list[Path]:
    """Write all files, including those of YARN (texts by name) if there are any.

    Each file is replaced atomically, so that no daemon reads half of it. The key must be readable only for
    the users of name nodes and data nodes.
    """
    known = out / SECRET
    texts = {
        TENANTS: tenants_text(classes),
        TOPOLOGY: topology_text(classes),
        SITE: site_text(installed, name_nodes, port, load_file),
        SECRET: known.read_text() if known.is_file() else f"{token_hex(32)}\n",
    }
    return install(out, texts | (yarn or {}))
