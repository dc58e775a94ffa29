"""From classes to what an operator installs on stock Hadoop: who is where, racks, and the keys to set."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from xml.sax.saxutils import escape

from hindmost.errors import UsageError
from hindmost.store.files import install
from hindmost.store.harvest import Classes

TENANTS = "hindmost-tenants.tsv"
TOPOLOGY = "hindmost-topology.sh"
SITE = "hdfs-site-hindmost.xml"
INSIDE = "org.apache.hadoop.hdfs.server.blockmanagement"
"""Placement overrides what only this package of Hadoop may."""
HOST = re.compile(r"[A-Za-z0-9._-]+")
NAME = re.compile(r"[^\t\r\n]+")


def tenants_text(classes: Classes) -> str:
    """Write tenants and hosts as ``hadoop/`` reads them, with a checksum: a torn file is told.

    Raises
    ------
    UsageError
        No tenant has a class, or a host's name is none.
    """
    known = [one for one in classes["tenants"] if one["class"] is not None]
    if not known:
        raise UsageError("no tenant has a class: there is nothing to place on")
    rows = ["# hindmost.harvest.tenants/1"]
    for one in known:
        for name in (one["name"], one["environment"]):
            if not NAME.fullmatch(name):
                raise UsageError(f"the name {name!r} has a tab or a line's end in it")
        columns = (one["name"], one["environment"], one["reimages"], one["peak"], one["space"], one["class"])
        rows.append("tenant\t" + "\t".join(map(str, columns)))
    for one in known:
        for host in one["servers"]:
            if not HOST.fullmatch(host):
                raise UsageError(f"{host!r} of {one['name']} is no name of a host")
            rows.append(f"host\t{host}\t{one['name']}")
    text = "\n".join(rows) + "\n"
    return f"{text}end\t{zlib.crc32(text.encode()):08x}\n"


def topology_text(classes: Classes) -> str:
    """Write the script that Hadoop asks for racks (``net.topology.script.file.name``)."""
    racks = {host: rack for one in classes["tenants"] for host, rack in one["racks"].items()}
    wrong = [text for pair in racks.items() for text in pair if not re.fullmatch(r"[A-Za-z0-9._/-]+", text)]
    if wrong:
        raise UsageError(f"{wrong[0]!r} is no name of a host or rack")
    cases = "".join(f"    {host}) echo /{rack.lstrip('/')} ;;\n" for host, rack in racks.items())
    return (
        "#!/bin/sh\n# Racks of hosts, by hindmost harvest hadoop-config.\n"
        f'for host in "$@"; do\n  case $host in\n{cases}    *) echo /default-rack ;;\n  esac\ndone\n'
    )


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
        "hindmost.harvest.utilisation.file": load_file,
    }
    rows = "".join(
        f"  <property><name>{name}</name><value>{escape(value)}</value></property>\n"
        for name, value in keys.items()
    )
    return f'<?xml version="1.0"?>\n<configuration>\n{rows}</configuration>\n'


def write_config(
    classes: Classes, out: Path, *, name_nodes: list[str], installed: Path, port: int = 9879, load_file: str
) -> list[Path]:
    """Write all files; each replaces an older one at once, so that no daemon reads half of it."""
    texts = {
        TENANTS: tenants_text(classes),
        TOPOLOGY: topology_text(classes),
        SITE: site_text(installed, name_nodes, port, load_file),
    }
    return install(out, texts)
