"""A study as a log: the time inside a server that keeps none, from the kernel's stamps at low load.

Wire time runs from the last byte out of the client to the last byte in. At low load nobody waits in the
server, so it is service time and the way there and back. How much of it occupies the server is told by the
CPU time that the server's process used for a request; the rest, as far as every request has it, is outside of
queue and threads.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hindmost import _engine
from hindmost.errors import Inconclusive, StudyError, UsageError
from hindmost.models.fit.bins import Floats
from hindmost.models.fit.reading.log import Log, digest
from hindmost.notes import Note
from hindmost.store import Study
from hindmost.store.reading import read_document

NULL = np.iinfo(np.int64).min
COLUMNS = ["sent_ns", "wire_out_ns", "wire_in_ns", "done_ns"]

QUIET = 0.15
"""CPUs' worth of server above which requests wait for one another: then wire time is no service time (one
server at 15 % lets 15 % of them wait)."""

SHORTEST = 0.001
"""Share of requests below which wire times are not used: the single shortest may be a clock's error."""

FAR = 4.0
"""Times the CPU time of a request that its wire time, less the way, may be: wake-ups and the kernel's
work."""

ROOM = 0.95
"""Of that, so much may lie outside: some service time is left to every request."""


def read_study(folder: Path) -> Log:
    """Wire times of all runs.

    Raises
    ------
    StudyError
        There is no study, or it has no stamps or no answer.
    UsageError
        The load was too high for wire time to be service time.
    Inconclusive
        The wire times are far above the server's CPU time.
    """
    wire, _, paths = wire_times(folder)
    used, achieved = _server(folder)
    floor = float(np.quantile(wire, SHORTEST))
    mean, outside = float(wire.mean()), 0.0
    unknown: list[Note] = []
    if used is None or not used:
        unknown.append(
            Note(
                "unknown-network-time",
                f"how much of the shortest wire time ({floor:.3g} µs) is network time: the server's CPU time"
                " is unknown",
                {"shortest_us": floor},
            )
        )
    else:
        cpu = used / achieved * 1e6
        outside = max(0.0, min(mean - cpu, ROOM * floor))
        if mean - outside > FAR * cpu:
            raise Inconclusive(
                "mostly-waiting",
                f"{folder}: without the network ({outside:.3g} µs) a request took {mean - outside:.3g} µs on"
                f" average, but only {cpu:.3g} µs of the server's CPU: the rest is interference or waiting",
                hint="measure again on a quiet host, or let the server log its service times",
                path=str(folder),
                value=mean - outside,
                cpu_us=cpu,
                most=FAR * cpu,
            )
        if mean - cpu > ROOM * floor:
            unknown.append(
                Note(
                    "unexplained-wire-time",
                    f"where {mean - cpu - outside:.3g} µs of the mean wire time are spent: the server uses"
                    f" {cpu:.3g} µs of CPU per request, and the network at most {outside:.3g} µs",
                    {"unexplained_us": mean - cpu - outside, "cpu_us": cpu, "outside_us": outside},
                )
            )
    unknown.append(
        Note(
            "wire-service-times",
            "service times alone: wire times include wake-ups and the kernel's work; they have no moments and"
            " no kinds",
        )
    )
    return Log(
        source=str(folder),
        sha256=digest(*paths),
        what="wire time less the way",
        wall_us=np.maximum(wire - outside, 1e-3),
        outside_us=outside,
        unknown=tuple(unknown),
    )


def wire_times(folder: Path) -> tuple[Floats, Floats, list[Path]]:
    """Wire times in the order of sending, the client's own way next to each, and where they were read.

    Raises
    ------
    StudyError
        There is no study, or it has no stamps.
    UsageError
        The load was too high for wire time to be service time.
    """
    study = Study.open(folder)
    paths = [path for run in study.runs() for path in sorted(run.folder.glob("samples-*.parquet"))]
    both = [_wire_us(path) for path in paths]
    if not sum(one[0].size for one in both):
        raise StudyError(
            "no-wire-times",
            f"{folder} has no request with kernel time stamps both ways",
            hint="hindmost measure TARGET --rate 1k --connections 1 --stamps 1 --out STUDY",
            path=str(folder),
        )
    used, achieved = _server(folder)
    if used is not None and used > QUIET:
        raise UsageError(
            "unsuitable-load",
            f"{folder}: the server used {used:.0%} of a CPU, so requests waited for each other and wire times"
            f" are not service times (at most {QUIET:.0%})",
            hint=f"hindmost measure TARGET --rate {max(1, round(0.3 * QUIET / used * achieved))}",
            path=str(folder),
            value=used,
            most=QUIET,
        )
    return np.concatenate([one[0] for one in both]), np.concatenate([one[1] for one in both]), paths


def _wire_us(path: Path) -> tuple[Floats, Floats]:
    """Wire times in the order of sending, and what the client took beside."""
    found = _engine.read_columns(str(path), COLUMNS)
    sent, out, back, done = (np.frombuffer(column, dtype=np.int64) for column in found)
    there = (sent != NULL) & (out != NULL) & (back != NULL) & (done != NULL) & (back > out)
    order = np.argsort(sent[there], kind="stable")
    wire = (back - out)[there][order]
    return np.asarray(wire / 1e3), np.asarray(((done - sent)[there][order] - wire) / 1e3)


def _server(folder: Path) -> tuple[float | None, float]:
    """CPUs' worth of the server, and requests a second; the first is None where it was not watched."""
    try:
        result = read_document(folder / "result.json")
        shares = [run["server_cpu_share"] for run in result["runs"] if run["server_cpu_share"] is not None]
        achieved = float(result["throughput"]["achieved"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StudyError(
            "incomplete-study",
            f"{folder} has no complete result: {error}",
            hint=f"hindmost study report {folder}",
            path=str(folder),
        ) from None
    return (float(np.mean(shares)) if shares else None), achieved
