"""Algorithms 1 and 2 for Python: selecting classes for a job, and servers for a block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from hindmost.commands.harvest.classes import engine
from hindmost.commands.harvest.document import Classes, PlacedBlock
from hindmost.core.store.estimates import to_document
from hindmost.errors import UsageError

Length = Literal["short", "medium", "long"]


def select(
    classes: Classes,
    length: Length,
    wants: float,
    *,
    now: Mapping[int, float] | None = None,
    cores: float = 12.0,
    reserve: float = 0.0,
    jobs: int = 1,
    seed: int = 1,
) -> list[list[int]]:
    """Select classes for jobs of a length (algorithm 1).

    Parameters
    ----------
    wants : float
        Most cores that a job uses at once.
    now : mapping, optional
        Current utilisation by class; by default, the mean of the class.
    cores : float
        Cores of a server.
    reserve : float
        Share of a server's cores reserved for primary tenants besides those in use.
    jobs : int
        Number of such jobs, each drawn separately.

    Returns
    -------
    list of list of int
        For each job, one class, several classes that share it, or none.
    """
    now = now or {}
    unknown = sorted(set(now) - set(range(len(classes.classes))))
    if unknown:
        raise UsageError(
            "unknown-name",
            f"there is no class {unknown[0]}; classes are 0 to {len(classes.classes) - 1}",
            hint="hindmost harvest classify lists the classes",
            value=unknown[0],
            known=list(range(len(classes.classes))),
        )
    rooms = [
        {
            "pattern": one.pattern,
            "mean": one.mean + reserve,
            "peak": one.peak + reserve,
            "now": now.get(number, one.mean) + reserve,
            "capacity": one.servers * cores,
        }
        for number, one in enumerate(classes.classes)
    ]
    asked = {"rooms": rooms, "jobs": [{"length": length, "wants": wants}] * jobs, "seed": seed}
    found: list[list[int]] = engine("select", asked)["classes"]
    return found


def learn_thresholds(classes: Classes, runs: Sequence[tuple[float, float]]) -> dict[str, float] | None:
    """Learn the limits of short and long jobs from past runs, given as (duration in s, core seconds).

    The work of each length is then proportional to the free capacity of its preferred pattern. Returns None
    without runs or without capacity.
    """
    asked = {
        "runs": [{"duration_s": duration, "core_s": work} for duration, work in runs],
        "classes": [to_document(one) for one in classes.classes],
    }
    found: dict[str, float] | None = engine("thresholds", asked)["thresholds"]
    return found


def place(
    classes: Classes,
    blocks: int,
    *,
    replicas: int = 3,
    writers: Sequence[str] = (),
    rules: Mapping[str, Any] | None = None,
    block_space: float = 0.0,
    seed: int = 1,
) -> list[PlacedBlock]:
    """Place blocks on servers (algorithm 2), respecting HDFS's limit per rack if racks are known.

    Parameters
    ----------
    writers : sequence of str
        Servers that write, in turn; without them, a block may start anywhere.
    block_space : float
        Space of a replica, in the unit of the tenants' space; full tenants get no more replicas. With 0,
        space is ignored.
    rules : mapping, optional
        ``weigh`` ("tenants" or "space"), ``repair`` ("row" or "strict"), ``grid``, ``soft``.

    Returns
    -------
    list
        For each block its servers, and the level to which the rules were relaxed (0: not at all).
    """
    known = classes.classified
    names = [server for one in known for server in one.servers]
    number = {name: at for at, name in enumerate(names)}
    unknown = [name for name in writers if name not in number]
    if unknown:
        raise UsageError(
            "unknown-name",
            f"{unknown[0]} is not one of the {len(names)} servers of classified tenants",
            hint="use a server of a tenant that has a class",
            value=unknown[0],
        )
    environments = {name: at for at, name in enumerate(dict.fromkeys(one.environment for one in known))}
    racks = {server: rack.strip("/") for one in known for server, rack in one.racks.items()}
    rack_numbers = {rack: at for at, rack in enumerate(dict.fromkeys(racks.values()))}
    asked = {
        "tenants": [
            {
                "environment": environments[one.environment],
                "reimages": one.reimages,
                "peak": one.peak,
                "space": one.space,
                "servers": [number[server] for server in one.servers],
            }
            for one in known
        ],
        "racks": [rack_numbers.get(racks.get(name, ""), len(rack_numbers)) for name in names]
        if racks
        else [],
        "block_space": block_space,
        "rules": dict(rules or {}),
        "replicas": replicas,
        "writers": [number[writers[at % len(writers)]] if writers else None for at in range(blocks)],
        "seed": seed,
    }
    return [
        PlacedBlock(servers=[names[server] for server in one["servers"]], level=one["level"])
        for one in engine("place", asked)["blocks"]
    ]


def first_full(classes: Classes, blocks: Sequence[PlacedBlock]) -> tuple[str, float] | None:
    """Return the tenant that is full first if placement continues as in these blocks, and when.

    Returns
    -------
    tuple or None
        Its name, and the share of all space (0 to 1) in use by then. None without blocks.
    """
    owner = {server: one.name for one in classes.tenants for server in one.servers}
    space = {one.name: one.space for one in classes.classified}
    count = Counter(owner[server] for block in blocks for server in block.servers)
    if not count:
        return None
    name = min(count, key=lambda one: space[one] / count[one])
    return name, min(1.0, space[name] / count[name] * count.total() / sum(space.values()))
