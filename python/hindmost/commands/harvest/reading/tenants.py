"""The assignment of servers to primary tenants: ``tenants.csv``, or Azure's ``vmtable.csv``."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hindmost.core.documents import open_table
from hindmost.errors import UsageError

NAMES = ("tenants.csv", "vmtable.csv")
AZURE_COLUMNS = (0, 1, 2)
"""VM, subscription, deployment: the first columns of Azure's table, which has no header."""


@dataclass
class Tenant:
    """A primary tenant: servers that are deployed together.

    Attributes
    ----------
    environment : str
        Tenants of one environment are likely to be re-deployed together.
    reimages : float
        Mean number of reimages per server and month.
    space : float
        Space that may be harvested, in any unit; by default, one unit per server.
    racks : dict
        Rack of each server, if known.
    """

    name: str
    environment: str
    servers: list[str] = field(default_factory=list)
    reimages: float = 0.0
    space: float = 0.0
    racks: dict[str, str] = field(default_factory=dict)


def read_tenants(folder: Path) -> dict[str, Tenant] | None:
    """Read the tenant of each server; None if the folder has no such file.

    Raises
    ------
    UsageError
        A column is missing, a number is invalid, or a server has two tenants; names file and line.
    """
    for name in NAMES:
        path = folder / name
        if path.is_file():
            return _azure(path) if name == "vmtable.csv" else _table(path)
    return None


def _table(path: Path) -> dict[str, Tenant]:
    owner: dict[str, Tenant] = {}
    tenants: dict[str, Tenant] = {}
    rates: dict[str, list[float]] = {}
    with open_table(path) as file:
        rows = csv.DictReader(file)
        names = list(rows.fieldnames or ())
        missing = {"server", "tenant"} - set(names)
        if missing:
            raise UsageError(
                "bad-file",
                f"{path} has no column {sorted(missing)[0]}; its columns are {', '.join(names)}",
                hint="use server,tenant and, optionally, environment,rack,reimages,space",
                path=str(path),
                key=sorted(missing)[0],
                value=names,
            )
        for row in rows:
            server, name = row["server"], row["tenant"]
            where = path, rows.line_num
            if not server or not name:
                raise UsageError(
                    "bad-file",
                    f"{path}:{rows.line_num}: the server or its tenant is empty",
                    hint="fill in both, or remove the line",
                    path=str(path),
                    line=rows.line_num,
                    key="tenant" if server else "server",
                )
            if server in owner:
                raise UsageError(
                    "bad-file",
                    f"{path}:{rows.line_num}: {server} belongs both to {owner[server].name} and to {name}",
                    hint="give each server one tenant",
                    path=str(path),
                    line=rows.line_num,
                    key="tenant",
                    value=name,
                    name=server,
                )
            tenant = tenants.setdefault(name, Tenant(name, row.get("environment") or name))
            tenant.servers.append(server)
            tenant.space += _number("space", row.get("space"), 1.0, *where)
            rates.setdefault(name, []).append(_number("reimages", row.get("reimages"), 0.0, *where))
            if row.get("rack"):
                tenant.racks[server] = row["rack"]
            owner[server] = tenant
    for name, tenant in tenants.items():
        tenant.reimages = sum(rates[name]) / len(rates[name])
    return owner


def _number(key: str, text: str | None, otherwise: float, path: Path, line: int) -> float:
    if not text:
        return otherwise
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0.0):
        raise UsageError(
            "bad-file",
            f"{path}:{line}: {key} is {text}; it must be a number of at least 0",
            hint="correct the line",
            path=str(path),
            line=line,
            key=key,
            value=text,
        )
    return number


def _azure(path: Path) -> dict[str, Tenant]:
    """Read Azure's table: deployments are tenants, subscriptions are environments."""
    owner: dict[str, Tenant] = {}
    tenants: dict[str, Tenant] = {}
    for row in _rows(path):
        server, environment, name = (row[at] for at in AZURE_COLUMNS)
        tenant = tenants.setdefault(name, Tenant(name, environment))
        tenant.servers.append(server)
        tenant.space += 1.0
        owner[server] = tenant
    return owner


def _rows(path: Path) -> Iterator[list[str]]:
    with open_table(path) as file:
        for number, row in enumerate(csv.reader(file), 1):
            if len(row) <= max(AZURE_COLUMNS):
                raise UsageError(
                    "bad-file",
                    f"{path}:{number} has {len(row)} columns; Azure's table of VMs has 11",
                    hint="use the file as published",
                    path=str(path),
                    line=number,
                    have=len(row),
                    need=11,
                )
            yield row
