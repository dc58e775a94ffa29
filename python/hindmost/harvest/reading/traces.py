"""Traces of servers, averaged to one row a tenant on a common grid of slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hindmost.errors import UsageError
from hindmost.harvest.reading.formats import FORMATS, Readings, line_of, read_file
from hindmost.harvest.reading.tenants import NAMES, Tenant, read_tenants
from hindmost.names import nearest
from hindmost.progress import counted

if TYPE_CHECKING:
    import numpy as np

MOST_CELLS = 500_000_000
"""Tenants times slots; above it (4 GB) a wrong clock is likelier than a data center."""


@dataclass(frozen=True)
class Traces:
    """What is known about tenants.

    Attributes
    ----------
    tenants : list of Tenant
        In the order of rows.
    cpu : array of shape (tenants, slots)
        Utilisation of the average server, as a share; NaN where nothing was recorded.
    slot_s : float
        Length of a slot.
    unowned : int
        Servers with a trace and without a tenant, left out.
    balance : dict
        By server, its mean over that of its tenant's average server at the same times; 1 where nobody knows.
    """

    tenants: list[Tenant]
    cpu: np.ndarray
    slot_s: float
    unowned: int = 0
    balance: dict[str, float] = field(default_factory=dict)


def read_traces(folder: Path | str, *, slot_s: float | None = None, format_: str | None = None) -> Traces:
    """Read a folder of traces; servers of one tenant are averaged slot by slot.

    Parameters
    ----------
    folder : path
        Files of any format that `hindmost.harvest.reading.formats` knows, and ``tenants.csv`` or
        ``vmtable.csv``; without these, each server is a tenant of its own.
    slot_s : float, optional
        Length of a slot in seconds; the usual gap between readings where it is not given.
    format_ : str, optional
        Format of all files but Parquet, of `hindmost.harvest.reading.formats.FORMATS`; that of each file's
        first line where it is not given.

    Raises
    ------
    UsageError
        There is no folder, no trace, or a file is none; with its name.
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
    read = [read_file(path, format_) for path in counted("reading traces", paths)]
    _refuse_stray_times(paths, read)
    slot = _usual_gap(read) if slot_s is None else slot_s
    start = min(float(one.times.min()) for one in read)
    at = [_slots_of(one, start, slot) for one in read]
    slots = 1 + max(int(one.max()) for one in at)
    names: dict[str, int] = {}
    tenants: list[Tenant] = []
    unowned: set[str] = set()

    def row_of(server: str) -> int:
        tenant = Tenant(server, server, [server], space=1.0) if owner is None else owner.get(server)
        if tenant is None:
            unowned.add(server)
            return -1
        if tenant.name not in names:
            names[tenant.name] = len(tenants)
            tenants.append(tenant)
        return names[tenant.name]

    rows = [np.array([row_of(server) for server in one.servers]) for one in read]
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
    sums, counts = np.zeros(len(tenants) * slots), np.zeros(len(tenants) * slots)
    cells = []
    for one, row, place in zip(read, rows, at, strict=True):
        good = np.isfinite(one.cpu) & (one.cpu >= 0) & (row[one.of] >= 0)
        cell = row[one.of[good]] * slots + place[good]
        sums += np.bincount(cell, one.cpu[good], len(sums))
        counts += np.bincount(cell, minlength=len(sums))
        cells.append((good, cell))
    cpu = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
    return Traces(tenants, cpu.reshape(len(tenants), slots), slot, len(unowned), _balance(read, cells, cpu))


def _balance(
    read: Sequence[Readings], cells: Sequence[tuple[np.ndarray, np.ndarray]], cpu: np.ndarray
) -> dict[str, float]:
    """Each server's load over its tenant's at the same times."""
    import numpy as np

    own: dict[str, float] = {}
    shared: dict[str, float] = {}
    for one, (good, cell) in zip(read, cells, strict=True):
        of, n = one.of[good], len(one.servers)
        sums = np.bincount(of, one.cpu[good], n), np.bincount(of, cpu[cell], n)
        for server, mine, ours in zip(one.servers, *sums, strict=True):
            own[server] = own.get(server, 0.0) + float(mine)
            shared[server] = shared.get(server, 0.0) + float(ours)
    return {server: own[server] / ours if (ours := shared[server]) > 0.0 else 1.0 for server in own}


def _slots_of(one: Readings, start: float, slot: float) -> np.ndarray:
    """The slot of each reading, counted from 0.

    Readings of a server have a common offset within their slots; around it they are rounded, so that a server
    that is read in the middle of slots has a reading in each.
    """
    import numpy as np

    places = (one.times - start) / slot
    turns = np.exp(2j * np.pi * places)
    sums = (
        np.bincount(one.of, turns.real, len(one.servers)),
        np.bincount(one.of, turns.imag, len(one.servers)),
    )
    offset = np.arctan2(sums[1], sums[0]) / (2 * np.pi) % 1.0
    offset[offset > 0.75] -= 1.0  # a little early
    found: np.ndarray = np.maximum(np.rint(places - offset[one.of]), 0.0).astype(np.int64)
    return found


STRAY_SHARE = 0.01
"""Fewer readings than this, apart from all others by more than these span together, have a wrong time."""


def _refuse_stray_times(paths: Sequence[Path], read: Sequence[Readings]) -> None:
    """Refuse a few readings that lie far from all others: they would stretch the window.

    Raises
    ------
    UsageError
        Names file, line and server of the first.
    """
    import numpy as np

    times = np.sort(np.concatenate([one.times for one in read]))
    gaps = np.diff(times)
    if not len(gaps):
        return
    widest = int(gaps.argmax())
    below, above = times[: widest + 1], times[widest + 1 :]
    few, many = (below, above) if len(below) < len(above) else (above, below)
    if len(few) > STRAY_SHARE * len(times) or gaps[widest] <= many[-1] - many[0]:
        return
    stray = float(few[0])
    for path, one in zip(paths, read, strict=True):
        found = np.flatnonzero(one.times == stray)
        if len(found):
            line, server = line_of(path, stray), one.servers[one.of[found[0]]]
            raise UsageError(
                "bad-file",
                f"{path}:{line}: the time {stray:.10g} s of {server} is {gaps[widest] / 86_400:.0f} days away"
                f" from the other readings; they are {(many[-1] - many[0]) / 86_400:.3g} days long",
                hint="correct or remove the line",
                path=str(path),
                line=line,
                key="time",
                value=stray,
                name=server,
                wrong=len(few),
            )


def _usual_gap(read: Sequence[Readings]) -> float:
    """The median gap between a server's readings."""
    import numpy as np

    gaps = []
    for one in read:
        order = np.lexsort((one.times, one.of))
        apart = np.diff(one.times[order])
        gaps.append(apart[(np.diff(one.of[order]) == 0) & (apart > 0)])
    together = np.concatenate(gaps)
    if not len(together):
        raise UsageError(
            "few-readings",
            "no server has two readings, so the length of a slot is unknown",
            hint="--slot 300",
            have=1,
            need=2,
        )
    return float(np.median(together))
