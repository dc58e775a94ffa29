"""Traces of servers, averaged to one row per tenant on a common grid of slots."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hindmost import _engine
from hindmost.commands.harvest.document import TraceColumns
from hindmost.commands.harvest.reading.formats import FORMATS, Layout, layout_of, line_of, readable
from hindmost.commands.harvest.reading.tenants import NAMES, Tenant, read_tenants
from hindmost.core.names import nearest
from hindmost.core.progress import iterate_parts, step
from hindmost.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

STRAY_SHARE = 0.01
"""If a smaller share of readings lies far from all others, also of the same server, their times are wrong."""
MOST_CELLS = 500_000_000
"""Most tenants times slots; above it (4 GB), a wrong clock is more likely."""


@dataclass(frozen=True)
class Traces:
    """The traces and properties of tenants.

    Attributes
    ----------
    tenants : list of Tenant
        Tenants in the order of rows.
    cpu : array of float32, tenants x slots
        Utilisation of the average server as a share; NaN where nothing was recorded.
    slot_s : float
        Length of a slot.
    unowned : int
        Number of excluded servers with a trace but without a tenant.
    peaks : list of float or None
        For each tenant, the 99th percentile over its servers of their highest utilisation. It exceeds that of
        the average server if servers are busy in turn.
    balance : dict
        By server, its mean relative to that of its tenant's average server at the same times; 1 if unknown.
    columns : list of TraceColumns
        The interpretation of the files' columns.
    other_clocks : list of str
        Excluded servers whose readings are all far from those of most others.
    """

    tenants: list[Tenant]
    cpu: np.ndarray
    slot_s: float
    unowned: int = 0
    peaks: list[float] | None = None
    balance: dict[str, float] = field(default_factory=dict)
    columns: list[TraceColumns] = field(default_factory=list)
    other_clocks: list[str] = field(default_factory=list)


def read_traces(
    folder: Path | str,
    *,
    slot_s: float | None = None,
    format_: str | None = None,
    balanced: bool = True,
) -> Traces:
    """Read a folder of traces and average the servers of each tenant slot by slot.

    Parameters
    ----------
    folder : path
        Files of any format of `hindmost.commands.harvest.reading.formats`, and ``tenants.csv`` or
        ``vmtable.csv``; without these, each server is its own tenant.
    slot_s : float, optional
        Length of a slot in seconds; by default, the usual gap between readings.
    format_ : str, optional
        Format of all text files, one of `hindmost.commands.harvest.reading.formats.FORMATS`; by default,
        the first line of each file determines it.
    balanced : bool
        Whether to compute `Traces.balance`, which reads all files once more.

    Raises
    ------
    UsageError
        There is no folder or no trace, or a file is not a trace; names the file.
    """
    import numpy as np

    folder = Path(folder)
    if not folder.is_dir():
        raise UsageError(
            "no-such-file", f"there is no folder {folder}", hint="name a folder of traces", path=str(folder)
        )
    paths = sorted(
        path for path in folder.iterdir() if path.suffix in {".csv", ".parquet"} and path.name not in NAMES
    )
    if not paths:
        raise UsageError(
            "no-such-file",
            f"{folder} contains no trace: no .csv and no .parquet file",
            hint="name a folder of traces",
            path=str(folder),
        )
    if slot_s is not None and not 0.0 < slot_s < float("inf"):
        raise UsageError(
            "bad-value",
            f"--slot {slot_s:g}s: it must be greater than zero",
            hint="--slot 5m",
            option="--slot",
            value=slot_s,
        )
    if format_ is not None and format_ not in FORMATS:
        raise UsageError(
            "unknown-name",
            f"--format {format_} is not a known format{nearest(format_, FORMATS)}",
            hint=f"--format {' or '.join(FORMATS)}",
            option="--format",
            name=format_,
            known=list(FORMATS),
        )
    owner = read_tenants(folder)
    layouts = [layout_of(path, format_) for path in paths]
    sources = [json.dumps(layout.source(path)) for path, layout in zip(paths, layouts, strict=True)]
    reader = _engine.TraceReader()
    for path, layout, source in iterate_parts(
        "reading traces", list(zip(paths, layouts, sources, strict=True))
    ):
        with readable(path):
            _check(json.loads(reader.survey(source)), path, layout)
    facts = json.loads(reader.facts() or "null")
    slot = _usual_gap(facts) if slot_s is None else slot_s
    begin, end = facts["window"]
    other = {one["name"] for one in facts["servers"] if one["last"] < begin or one["first"] > end}
    servers = [one for one in facts["servers"] if one["name"] not in other]
    few = sum(one["readings"] for one in servers) - facts["inside"]
    if 0 < few <= STRAY_SHARE * facts["inside"]:
        raise _stray_time(paths, servers, (begin, end), few)
    start = min(one["first"] for one in servers)
    slots = 1 + max(_last_slot(one, start, slot) for one in servers)
    rows: list[int | None] = []
    names: dict[str, int] = {}
    tenants: list[Tenant] = []
    unowned: set[str] = set()
    for one in facts["servers"]:
        server = one["name"]
        tenant = Tenant(server, server, [server], space=1.0) if owner is None else owner.get(server)
        if tenant is None:
            unowned.add(server)
        if tenant is None or server in other:
            rows.append(None)
            continue
        if tenant.name not in names:
            names[tenant.name] = len(tenants)
            tenants.append(tenant)
        rows.append(names[tenant.name])
    if not tenants:
        raise UsageError(
            "no-owner",
            f"none of {len(unowned)} servers with a trace ({min(unowned)}, ...) is in {folder / NAMES[0]}",
            hint=f"add them to {folder / NAMES[0]}, or remove that file",
            path=str(folder / NAMES[0]),
            have=len(unowned),
        )
    if len(tenants) * slots > MOST_CELLS:
        raise UsageError(
            "too-many-slots",
            f"{len(tenants)} tenants with {slots} slots of {slot:g} s are too many: the times, from {start:g}"
            " on, spread too far for their usual gap",
            hint="use --slot 300 if readings are irregular",
            tenants=len(tenants),
            slots=slots,
            slot_s=slot,
        )
    with step("averaging traces"), readable(folder):
        cpu, peaks, _, balance = reader.average(sources, rows, (start, slot, slots, len(tenants)), balanced)
    own: list[list[float]] = [[] for _ in tenants]
    for row, peak in zip(rows, peaks, strict=True):
        if row is not None:
            own[row].append(peak)
    return Traces(
        tenants,
        np.frombuffer(cpu, dtype=np.float32).reshape(len(tenants), slots),
        slot,
        len(unowned),
        [float(np.quantile(one, 0.99, method="inverted_cdf")) for one in own],
        {one["name"]: ratio for one, ratio in zip(facts["servers"], balance or (), strict=bool(balance))},
        _summarise_columns(layouts),
        sorted(other),
    )


def _check(counted: Mapping[str, Any], path: Path, layout: Layout) -> None:
    """Raise an error for a file without readings or with an invalid row.

    Raises
    ------
    UsageError
        Names the line.
    """
    skipped = layout.columns["text"]["skip"] if "text" in layout.columns else 0
    if not counted["rows"]:
        raise UsageError(
            "few-readings", f"{path} has no readings", hint="check the file", path=str(path), have=0
        )
    if counted["wrong"] is not None:
        line, text = counted["wrong"][0] + skipped, counted["wrong"][1]
        raise UsageError(
            "bad-file",
            f"{path}:{line}: the time {text!r} is not a number of seconds",
            hint="write times in seconds, or correct the line",
            path=str(path),
            line=line,
            key="time",
            value=text,
        )
    if counted["short"] is not None:
        line, need = counted["short"] + skipped, layout.columns["text"]["fields"]
        raise UsageError(
            "bad-file",
            f"{path}:{line} has fewer than {need} fields",
            hint="correct or remove the line",
            path=str(path),
            line=line,
            need=need,
        )


def _last_slot(server: Mapping[str, Any], start: float, slot: float) -> int:
    """Return the slot of a server's last reading, counted from its first one as in the engine."""
    place = (server["first"] - start) / slot
    return int((server["last"] - start) / slot - (place - math.floor(place + 0.25)) + 0.5)


def _summarise_columns(layouts: Sequence[Layout]) -> list[TraceColumns]:
    """Summarise how columns were interpreted."""
    ways = Counter((one.format, one.time, one.server, one.load, one.scale) for one in layouts)
    return [
        TraceColumns(
            format=name,
            files=files,
            time=time,
            server=server,
            load=load,
            unit="share" if scale == 1.0 else "percent",
        )
        for (name, time, server, load, scale), files in ways.items()
    ]


def _stray_time(
    paths: Sequence[Path], servers: Sequence[Mapping[str, Any]], window: tuple[float, float], few: int
) -> UsageError:
    """Return the error for a few readings far from others of their server; names file and line."""
    begin, end = window
    one = next(one for one in servers if one["first"] < begin or one["last"] > end)
    stray = one["first"] if one["first"] < begin else one["last"]
    apart = max(begin - stray, stray - end)
    found = ((path, line) for path in paths if (line := line_of(path, stray)) is not None)
    path, line = next(found, (paths[0], None))
    where = path if line is None else f"{path}:{line}"
    return UsageError(
        "bad-file",
        f"{where}: the time {stray:.10g} s of {one['name']} is {apart / 86_400:.0f} days away from the other"
        f" readings; they are {(end - begin) / 86_400:.3g} days long",
        hint="correct or remove the line",
        path=str(path),
        line=line,
        key="time",
        value=stray,
        name=one["name"],
        wrong=few,
    )


def _usual_gap(facts: Mapping[str, Any]) -> float:
    """Return the median gap between readings of a server."""
    if facts["gap_s"] is None:
        raise UsageError(
            "few-readings",
            "no server has two readings, so the length of a slot is unknown",
            hint="--slot 300",
            have=1,
            need=2,
        )
    return float(facts["gap_s"])
