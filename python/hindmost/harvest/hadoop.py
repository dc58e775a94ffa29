"""From classes to what an operator installs on stock Hadoop: who is where, racks, and the keys to set."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex
from xml.sax.saxutils import escape

from hindmost.errors import UsageError
from hindmost.harvest.hosts import HostTable, is_address, label_of
from hindmost.store.files import install
from hindmost.store.harvest import Classes

TENANTS = "hindmost-tenants.tsv"
SECRET = "hindmost-board.secret"
"""The key that signs what data nodes tell name nodes; one that is there is kept."""
TOPOLOGY = "hindmost-topology.sh"
SITE = "hdfs-site-hindmost.xml"
YARN_SITE = "yarn-site-hindmost.xml"
SCHEDULER = "capacity-scheduler-hindmost.xml"
INSIDE = "org.apache.hadoop.hdfs.server.blockmanagement"
"""Placement overrides what only this package of Hadoop may."""
ORDER = "harvest"
"""The order of nodes among the capacity scheduler's policies; of a queue of one length, with that."""
LENGTHS = ("short", "medium", "long")
PREFIX = "yarn.scheduler.capacity"
NICE = 19
"""Of containers: the kernel gives way to a tenant at once, while the keeper takes a heartbeat or two."""
HOST = re.compile(r"[A-Za-z0-9._-]+")
NAME = re.compile(r"[^\t\r\n]+")
QUEUE = re.compile(r"root(\.[A-Za-z0-9_-]+)*")


def tenants_text(classes: Classes) -> str:
    """Write tenants and hosts as ``hadoop/`` reads them, with a checksum: a torn file is told.

    Raises
    ------
    UsageError
        No tenant has a class, a host's name is none, or a host stands twice.
    """
    known = [one for one in classes["tenants"] if one["class"] is not None]
    if not known:
        raise UsageError(
            "no-class",
            "no tenant has a class, so there is nowhere to place data",
            hint="classify longer traces",
        )
    rows = ["# hindmost.harvest.tenants/1"]
    for number, kind in enumerate(classes["classes"]):
        rows.append(f"class\t{number}\t{kind['pattern']}\t{kind['mean']}\t{kind['peak']}")
    for one in known:
        for name in (one["name"], one["environment"]):
            if not NAME.fullmatch(name):
                raise UsageError(
                    "bad-value",
                    f"the name {name!r} contains a tab or a line break",
                    hint="rename it in tenants.csv",
                    key="tenant",
                    value=name,
                )
        columns = (one["name"], one["environment"], one["reimages"], one["peak"], one["space"], one["class"])
        rows.append("tenant\t" + "\t".join(map(str, columns)))
    HostTable((host, None) for one in known for host in one["servers"])
    for one in known:
        for host in one["servers"]:
            if not HOST.fullmatch(host):
                raise UsageError(
                    "bad-value",
                    f"{host!r} of {one['name']} is not a host name",
                    hint="use the servers' host names in the traces",
                    key="server",
                    value=host,
                    name=one["name"],
                )
            rows.append(f"host\t{host}\t{one['name']}")
    text = "\n".join(rows) + "\n"
    return f"{text}end\t{zlib.crc32(text.encode()):08x}\n"


def topology_text(classes: Classes) -> str:
    """Write the script that Hadoop asks for racks (``net.topology.script.file.name``).

    HDFS asks by address, YARN by name. The script knows all names of a host, and asks ``getent`` whose an
    address is. An unknown host gets a default rack, as deep as the others, and a line on standard error.

    Raises
    ------
    UsageError
        A name of a host or rack is none, some hosts have a rack and others none, or racks differ in depth,
        which Hadoop refuses.
    """
    servers = [host for one in classes["tenants"] for host in one["servers"]]
    named = {host: rack for one in classes["tenants"] for host, rack in one["racks"].items()}
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
    # A case takes the first pattern that fits: full names stand before short ones with any domain.
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
    """Write the keys of ``hdfs-site.xml``, those of name nodes and of data nodes."""
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
    """Write YARN's keys: of its daemons and the keeper of reserves, and of the capacity scheduler.

    Under the latter, cores count, and containers go to nodes in proportion to free ones; from a queue whose
    jobs are of one length, by the class of a node, too.

    Parameters
    ----------
    load_file
        Where the primary tenant's load of each node is, 0 to 1; ``%h`` is the node's host.
    reserve
        Share of a node's cores and memory that batch work never gets, 0 to below 1 (in the chapter, a third).
    grace_ms
        Milliseconds that containers have to go when their node shrinks; 0: killed at once.
    installed
        Where the file of tenants will be.
    heartbeats
        Node managers read the load on their own host, and report it; or else the keeper reads all files.
    queues
        By the path of a queue, like ``root.batch``: the length of its jobs.
    group
        Folder of a control group for containers, which run only while nobody else wants the processor
        (``cpu.idle``, Linux 5.15). Without one they have the least priority, which counts for nothing beside
        other sessions where the kernel has ``sched_autogroup_enabled`` (man 7 sched).

    Raises
    ------
    UsageError
        The reserve or the grace is out of range, the keeper would read the load of all nodes from one
        file, a length is none, or the group's folder is relative.
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
    """Write keys as Hadoop reads them."""
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
    """Write all files, with those of YARN (texts by name) where there are any.

    Each replaces an older one at once, so that no daemon reads half of it. The users of name nodes and data
    nodes must be able to read the key, and nobody else.
    """
    known = out / SECRET
    texts = {
        TENANTS: tenants_text(classes),
        TOPOLOGY: topology_text(classes),
        SITE: site_text(installed, name_nodes, port, load_file),
        SECRET: known.read_text() if known.is_file() else f"{token_hex(32)}\n",
    }
    return install(out, texts | (yarn or {}))
