"""A simulated fleet with steal time: queues with known answers behind the real Fleet interface, in milliseconds a run.

Each run is one first-come-first-served server with exponential service times and one spinning client. A hypervisor
takes a share of both CPUs in interruptions. The fleet writes what a client writes: distributions, counts, counters. The
real procedures continue from there, and the truth is a closed form.
"""

from __future__ import annotations

import base64
import itertools
import json
import struct
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from engine_documents import complete

from hindmost import MeasurePlan, Study
from hindmost.core.fleet import Heard, Job
from hindmost.core.run.making import make_run
from hindmost.core.store.engine import ClientResult
from hindmost.core.store.estimates import encode

Floats = npt.NDArray[np.float64]
WINDOW_S, SECTIONS = 0.1, 10
SENTINEL, PERIOD_NS, SERVER_CPU = "sentinel.json", 1_000_000, 0


@dataclass(frozen=True)
class Host:
    """Interference of a host.

    ``disturbed``: the share of runs from which it takes ``share`` of all time, in interruptions of mean ``spell_ms``.
    ``hidden``: the share of runs that it makes ``factor`` times slower without a trace in any counter.
    """

    disturbed: float = 0.0
    share: float = 0.05
    spell_ms: float = 3.0
    hidden: float = 0.0
    factor: float = 20.0
    counters: bool = True
    watched: bool = False
    """Clients store their gaps and requests, and `SENTINEL` what a sentinel would have recorded."""


@dataclass
class StealingFleet:
    """A fleet of such hosts, and a server with mean service time ``service_us``.

    ``stands_still``, ``clients_stand_still``: start and length of a stop in seconds, by seed of the run.
    """

    host: Host
    service_us: float = 100.0
    stands_still: dict[int, tuple[float, float]] = field(default_factory=dict)
    clients_stand_still: dict[int, tuple[float, float]] = field(default_factory=dict)
    hosts: Sequence[str] = ("",)
    serves: bool = False

    @contextmanager
    def start(self, jobs: Sequence[Job], folder: Path) -> Iterator[StealingTeam]:
        for index, job in enumerate(jobs):
            write_client(json.loads(job.plan), index, folder, self)
        yield StealingTeam(len(jobs))


class StealingTeam:
    """Clients that finish as soon as they are started."""

    ahead_ns = 0

    def __init__(self, count: int) -> None:
        self.offsets_ns = [0] * count
        self._messages = deque([self._all("ready")])

    def record(self) -> dict[str, Any]:
        """Nothing to record."""
        return {}

    def _all(self, event: str) -> list[Heard]:
        end = {"who": "an instance", "status": 0, "words": ""} if event == "ended" else {}
        return [Heard(index, {"event": event, **end}) for index in range(len(self.offsets_ns))]

    def order(self, index: int, command: dict[str, Any]) -> None:
        if index == 0:
            events = ["warm"] if "go" in command else ["completed", "ended"]
            self._messages.extend(self._all(event) for event in events)

    def hear(self, timeout_s: float) -> list[Heard]:
        return self._messages.popleft()

    def fetch(self) -> None:
        """Nothing to fetch: the files are already in the run's folder."""


def write_client(plan: dict[str, Any], index: int, folder: Path, fleet: StealingFleet) -> None:
    """Write the files of one client: `client-K.json` and `client-K.hlog`."""
    g = np.random.default_rng([plan["seed"], index])
    host, rate = fleet.host, plan["load"]["rate_per_s"]
    measure_s, before_s = plan["phases"]["measure_s"], 0.5
    end_s = before_s + measure_s
    count = g.poisson(rate * end_s)
    scheduled = np.sort(g.uniform(0.0, end_s, count))
    disturbed, slow = g.random() < host.disturbed, g.random() < host.hidden
    interruptions = [
        _interruptions(g, end_s, host.share if disturbed else 0.0, host.spell_ms / 1e3) for _ in range(2)
    ]
    if (still := fleet.stands_still.get(plan["seed"])) is not None:
        interruptions[0] = (np.array([still[0]]), np.array([still[0] + still[1]]))
    if (away := fleet.clients_stand_still.get(plan["seed"])) is not None:
        interruptions[1] = (np.array([away[0]]), np.array([away[0] + away[1]]))
    services = g.exponential(fleet.service_us / 1e6, count) * (host.factor if slow else 1.0)
    sent = _after(scheduled, *interruptions[1]) + 0.3e-6
    completed = _after(_queue(sent, services, *interruptions[0]), *interruptions[1])
    inside = scheduled >= before_s
    steal = max(_share(spans, end_s) for spans in interruptions) if still is None else 0.0
    late = int(((sent - scheduled)[inside] > 5e-6).sum())
    worst = int(1e9 * (sent - scheduled).max())
    scheduled_i, sent_i, done_i = scheduled[inside], sent[inside], completed[inside]
    lines = []
    edges = np.linspace(before_s, end_s, SECTIONS + 1)
    for low, high in itertools.pairwise(edges):
        part = (scheduled_i >= low) & (scheduled_i < high)
        lines.append(_interval("latency/get", low, high - low, (done_i - scheduled_i)[part]))
    for name, values in (("service/get", done_i - sent_i), ("send_delay/get", sent_i - scheduled_i)):
        lines.append(_interval(name, before_s, measure_s, values))
    lines.append(_interval("ideal_send_delay", before_s, measure_s, np.full(scheduled_i.size, 0.3e-6)))
    lines.append(_interval("gaps", before_s, measure_s, np.diff(sent_i)))
    (folder / f"client-{index}.hlog").write_text(_HEAD + "".join(lines), encoding="utf-8")
    counts = {"scheduled": scheduled_i.size, "completed": scheduled_i.size}
    counts |= dict.fromkeys(("misses", "errors", "lost", "timeouts", "unsent"), 0)
    wall_ns = int(measure_s * 1e9)
    cpu = plan["threads"][0].get("cpu") if plan["threads"] else None
    result = {
        "schema": "hindmost.client/1",
        "index": index,
        "of": plan["client"]["of"],
        "seed": plan["seed"],
        "started_s": 0.0,
        "warmup_s": before_s / 2,
        "warmup_ended": "elapsed",
        "calibration": {"seconds": before_s / 2, "count": 1000},
        "measure_s": measure_s,
        "counts": counts,
        "kinds": {"get": counts},
        "first_error": None,
        "reconnects": 0,
        "resent": 0,
        "threads": [
            {
                "cpu": cpu,
                "busy_share": 0.1,
                "cpu_share": 1.0,
                "run_delay_share": 0.0 if host.counters else None,
                "dispersion": [],
                "span": {"wall_ns": wall_ns},
                "late": {
                    "writing": {},
                    "reading": {},
                    "waiting": {"requests": late, "worst_ns": worst},
                },
            }
        ],
        "steal_share": steal if host.counters else None,
        "series": [_series(completed - scheduled, completed, end_s)],
    }
    if host.watched:
        watch(result, folder, before_s, end_s, interruptions, (scheduled_i, sent_i, done_i))
    (folder / f"client-{index}.json").write_text(encode(complete(ClientResult, result)), encoding="utf-8")


def watch(
    result: dict[str, Any],
    folder: Path,
    before_s: float,
    end_s: float,
    interruptions: Sequence[tuple[Floats, Floats]],
    requests: tuple[Floats, Floats, Floats],
) -> None:
    """Add what the spinning client and a sentinel record of interruptions, and all requests, on the host's clock."""
    zero = int(before_s * 1e9)
    server, client = [
        [tuple(span) for span in _ns(spans, before_s, end_s).tolist()] for spans in interruptions
    ]
    result["measured_from_ns"] = zero
    result["achieved_per_s"] = requests[0].size / (end_s - before_s)
    result["host"] = {}
    away = {
        "spans_ns": [(on - zero, off - zero) for on, off in client],
        "missed": 0,
        "idle_ns": 5_000,
        "call_ns": 300,
    }
    result["threads"][0]["away"] = away
    spans = []
    for on, off in server:
        scheduled = -(-on // PERIOD_NS) * PERIOD_NS  # the first wake-up that it misses
        if off > scheduled:
            spans.append((scheduled - PERIOD_NS, scheduled, off))
    record = {"cpu": SERVER_CPU, "period_ns": PERIOD_NS, "late_ns": 50_000, "spans_ns": spans, "missed": 0}
    record |= {"from_ns": 0, "to_ns": int(end_s * 1e9) + 1, "wakings": 0, "cpu_ns": 0}
    (folder / SENTINEL).write_text(json.dumps([record]), encoding="utf-8")
    scheduled, sent, completed = (np.rint(times * 1e9).astype(np.int64) - zero for times in requests)
    columns = {"scheduled_ns": scheduled, "sent_ns": sent, "completed_ns": completed}
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(columns).with_columns(status=pl.lit("hit"))
    frame.write_parquet(folder / f"samples-{result['index']}.parquet", compression="uncompressed")


def make_watched_run(study: Study, number: int, plan: MeasurePlan, target: Any, **given: Any) -> None:
    """Make a run of a `StealingFleet`, and add what its sentinel and the kernel's counters know to `run.json`."""
    make_run(study, number, plan, target, **given)
    run = study.run(number)
    assert run is not None
    if not (run.folder / SENTINEL).exists():
        return
    path = run.folder / "run.json"
    known = json.loads(path.read_text(encoding="utf-8"))
    known["sentinel"] = json.loads((run.folder / SENTINEL).read_text(encoding="utf-8"))
    known["server_cpu_share"] = (plan.rate_per_s or 0.0) * given["fleet"].service_us / 1e6
    known["target"]["cpus"] = [SERVER_CPU]
    path.write_text(json.dumps(known), encoding="utf-8")


def _ns(interruptions: tuple[Floats, Floats], before_s: float, end_s: float) -> npt.NDArray[np.int64]:
    """Interruptions that overlap the measurement, in ns."""
    inside = (interruptions[1] > before_s) & (interruptions[0] < end_s)
    return np.rint(np.column_stack(interruptions)[inside] * 1e9).astype(np.int64)


def _interruptions(
    g: np.random.Generator, end_s: float, share: float, spell_s: float
) -> tuple[Floats, Floats]:
    """Interruptions with exponential gaps and lengths."""
    if share == 0.0:
        return np.empty(0), np.empty(0)
    gap = spell_s * (1.0 - share) / share
    n = int(1.5 * end_s / (gap + spell_s)) + 50
    lengths = g.exponential(spell_s, n)
    off = np.cumsum(g.exponential(gap, n) + lengths)
    on = off - lengths
    return on[on < end_s], off[on < end_s]


def _share(interruptions: tuple[Floats, Floats], end_s: float) -> float:
    return float((interruptions[1] - interruptions[0]).sum() / end_s)


def _after(times: Floats, on: Floats, off: Floats) -> Floats:
    """Move times that fall into an interruption to its end."""
    if not on.size:
        return times.copy()
    place = np.searchsorted(on, times, side="right") - 1
    within = (place >= 0) & (times < off[np.maximum(place, 0)])
    return np.where(within, off[np.maximum(place, 0)], times)


def _queue(times: Floats, services: Floats, on: Floats, off: Floats) -> Floats:
    """Completion times of a server without CPU from `on` to `off`: Lindley's recursion on its CPU time."""
    lost = np.concatenate([[0.0], np.cumsum(off - on)])
    place = np.searchsorted(on, times, side="right")
    cpu_time = times - lost[place]
    if on.size:
        last = np.maximum(place - 1, 0)
        cpu_time = np.where((place > 0) & (times < off[last]), on[last] - lost[last], cpu_time)
    whole = np.cumsum(services)
    ends = np.maximum.accumulate(cpu_time - (whole - services)) + whole
    back = np.searchsorted(on - lost[:-1], ends, side="left")
    return ends + lost[back]


def _series(latency: Floats, completed: Floats, end_s: float) -> list[dict[str, int]]:
    rows = []
    for place in range(round(end_s / WINDOW_S)):
        inside = latency[(completed >= place * WINDOW_S) & (completed < (place + 1) * WINDOW_S)] * 1e9
        p50, p99 = (int(q) for q in np.quantile(inside, [0.5, 0.99])) if inside.size else (0, 0)
        rows.append(
            {"at_ns": round((place + 1) * WINDOW_S * 1e9), "count": inside.size, "p50_ns": p50, "p99_ns": p99}
        )
    return rows


_HEAD = """#[Histogram log format version 1.3]
#[StartTime: 1.000 (seconds since epoch)]
#[BaseTime: 1.000 (seconds since epoch)]
"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"
#[MaxValueDivisor: 1000000.000]
"""


def _interval(tag: str, start_s: float, length_s: float, seconds: Floats) -> str:
    """One line of an ``.hlog``: HdrHistogram V2, not deflated, unit 1, 3 significant digits."""
    ns = np.maximum(np.rint(seconds * 1e9), 1.0).astype(np.int64)
    bucket = np.maximum(np.frexp(ns.astype(np.float64))[1] - 11, 0)
    index = (bucket << 10) + (ns >> bucket)
    filled, counts = np.unique(index, return_counts=True)
    payload = bytearray()
    before = -1
    for place, count in zip(filled.tolist(), counts.tolist(), strict=True):
        if (zeros := place - before - 1) > 0:
            payload += _leb(2 * zeros - 1)
        payload += _leb(2 * count)
        before = place
    head = struct.pack(">IIIIQQd", 0x1C849313, len(payload), 0, 3, 1, (1 << 62) - 1, 1.0)
    text = base64.b64encode(head + bytes(payload)).decode()
    most = float(ns.max()) / 1e6 if ns.size else 0.0
    return f"Tag={tag},{start_s:.3f},{length_s:.3f},{most:.3f},{text}\n"


@cache
def _leb(number: int) -> bytes:
    """LEB128: seven bits a byte, and a flag on all but the last. Numbers are already ZigZag-encoded."""
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
