"""A study as a log: times inside a server that keeps none, from kernel time stamps at low load.

Wire time lasts from the last byte sent by the client to the last byte received. At low load no request waits
in the server, so it is service time plus network time. The CPU time of the server process per request shows
how much of it occupies the server. The rest, as far as every request has it, is outside queue and threads.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hindmost import _engine
from hindmost.commands.clone.fit.bins import Floats
from hindmost.commands.clone.fit.reading.log import Log, digest
from hindmost.core.notes import Note
from hindmost.core.store import Study
from hindmost.core.store.measure import Measure
from hindmost.core.store.reading import load
from hindmost.errors import Inconclusive, StudyError, UsageError

NULL = np.iinfo(np.int64).min
COLUMNS = ["sent_ns", "wire_out_ns", "wire_in_ns", "completed_ns"]

QUIET = 0.15
"""CPU use of the server (in CPUs) above which requests wait for each other, so that wire times are not
service times (at 15 %, a single server makes 15 % of them wait)."""

SHORTEST = 0.001
"""Lower quantile that stands for the shortest wire time, because the very shortest may be a clock error."""

FAR = 4.0
"""Largest plausible ratio of wire time without network to CPU time of a request."""

ROOM = 0.95
"""Largest share of the shortest wire time that counts as network, so that service time remains."""


def read_study(folder: Path) -> Log:
    """Read the wire times of all runs of a study.

    Raises
    ------
    StudyError
        There is no study, or it lacks time stamps or results.
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
        what="wire time without network",
        wall_us=np.maximum(wire - outside, 1e-3),
        outside_us=outside,
        unknown=tuple(unknown),
    )


def wire_times(folder: Path) -> tuple[Floats, Floats, list[Path]]:
    """Return wire times in sending order, the client's own time for each, and the files read.

    Raises
    ------
    StudyError
        There is no study, or it has no time stamps.
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
    """Return wire times in sending order, and the client's additional time."""
    found = _engine.read_columns(str(path), COLUMNS)
    sent, out, back, done = (np.frombuffer(column, dtype=np.int64) for column in found)
    there = (sent != NULL) & (out != NULL) & (back != NULL) & (done != NULL) & (back > out)
    order = np.argsort(sent[there], kind="stable")
    wire = (back - out)[there][order]
    return np.asarray(wire / 1e3), np.asarray(((done - sent)[there][order] - wire) / 1e3)


def _server(folder: Path) -> tuple[float | None, float]:
    """Return the CPU use of the server (None if not observed) and the achieved rate."""
    try:
        result = load(folder / "result.json", Measure)
        shares = [run.server_cpu_share for run in result.runs if run.server_cpu_share is not None]
        achieved = result.throughput.achieved
    except (OSError, ValueError) as error:
        raise StudyError(
            "incomplete-study",
            f"{folder} has no complete result: {error}",
            hint=f"hindmost study report {folder}",
            path=str(folder),
        ) from None
    return (float(np.mean(shares)) if shares else None), achieved
