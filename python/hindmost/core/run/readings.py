"""The files of a stored run: distributions by client, kind and section."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from pydantic import ValidationError

from hindmost import _engine
from hindmost._engine import Histogram
from hindmost.core.plan import MeasurePlan
from hindmost.core.store import StoredRun, Study
from hindmost.core.store.engine import ClientResult
from hindmost.core.store.older import TAGS, client_file
from hindmost.core.store.reading import load_written
from hindmost.errors import StudyError

What = Literal[
    "latency",
    "service",
    "send_delay",
    "ideal_send_delay",
    "wire",
    "overhead",
    "connect",
    "handshake",
    "held",
    "first_message",
    "message_gap",
    "session",
]
WHATS: tuple[What, ...] = ("latency", "service", "send_delay")
IDEAL: What = "ideal_send_delay"
"""Send delay that the client's write calls alone would cause; missing in studies before 0.2."""
STAMPED: tuple[What, ...] = ("wire", "overhead")
"""Known for requests that the kernel stamped: a sample, or none without kernel stamps."""
CONNECT: What = "connect"
"""From the start of a connection attempt until connected; empty if the server keeps connections open."""

HANDSHAKE: What = "handshake"
"""From then until the TLS handshake is complete; empty without TLS."""
HELD: What = "held"
"""How long requests waited for their batches, by design; send delay counts only lateness beyond that."""
FIRST_MESSAGE: What = "first_message"
"""From the scheduled time to the first message of a streamed reply; only with ``--stream``."""
MESSAGE_GAP: What = "message_gap"
"""Between consecutive messages of a streamed reply; none if each reply has one message."""
SESSION: What = "session"
"""From the scheduled time of a session's first request to its last reply; only with sessions."""
SOMETIMES: tuple[What, ...] = (IDEAL, CONNECT, HANDSHAKE, HELD, FIRST_MESSAGE, MESSAGE_GAP, SESSION)
"""Quantities that only some runs have, besides `STAMPED`."""


def merge_histograms(histograms: Iterable[Histogram]) -> Histogram:
    """Merge histograms without loss. Do not add to the result: of a single histogram it is that histogram."""
    parts = list(histograms)
    if len(parts) == 1:
        return parts[0]
    whole = Histogram()
    for part in parts:
        whole.merge(part)
    return whole


def microseconds(histogram: Histogram, level: float | None) -> float:
    """Read a quantile (or the mean, for None) in microseconds; inf if infinitely late or empty."""
    nanoseconds = histogram.mean if level is None else histogram.quantile(level)
    return math.inf if nanoseconds is None else nanoseconds / 1e3


@dataclass
class ClientReading:
    """One client of one run."""

    result: ClientResult
    latency_sections: dict[str, list[Histogram]] = field(default_factory=dict)
    by_kind: dict[tuple[What, str], Histogram] = field(default_factory=dict)
    endpoints: dict[int, Histogram] = field(default_factory=dict)
    outstanding: Histogram = field(default_factory=Histogram)
    writes: Histogram = field(default_factory=Histogram)
    gaps: Histogram = field(default_factory=Histogram)
    scheduled_gaps: Histogram = field(default_factory=Histogram)

    def whole(self, what: What) -> Histogram:
        """Return the distribution over all kinds."""
        return self._wholes[what]

    @cached_property
    def _wholes(self) -> dict[What, Histogram]:
        return {
            w: merge_histograms(h for (x, _), h in self.by_kind.items() if x == w)
            for w in (*WHATS, *STAMPED, *SOMETIMES)
        }

    def sections(self, count: int) -> list[Histogram]:
        """Cut the latency over the measurement into `count` equal spans, or fewer of whole sections."""
        kinds = list(self.latency_sections.values())
        finest = [merge_histograms(kind[i] for kind in kinds) for i in range(len(kinds[0]))] if kinds else []
        each = max(1, math.ceil(len(finest) / max(1, count)))
        return [merge_histograms(finest[i : i + each]) for i in range(0, len(finest) - each + 1, each)]


def plan_of(study: Study) -> MeasurePlan:
    """Load the plan of a study from its manifest.

    Raises
    ------
    StudyError
        If its manifest has no valid plan.
    """
    try:
        return MeasurePlan.model_validate(study.manifest["plan"])
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        path = study.folder / "manifest.json"
        raise StudyError(
            "bad-file",
            f"{path} has no valid plan: {key}: {first['msg']}",
            hint=f"head -c 2000 {path}",
            path=str(path),
            key=key,
        ) from None


def read_clients(run: StoredRun) -> list[ClientReading]:
    """Read the files of a run's clients.

    Raises
    ------
    StudyError
        If a file is missing or damaged.
    """
    clients = []
    for index in range(run.record.clients):
        try:
            result = load_written(client_file(run.folder, index, "json"), ClientResult)
            intervals = _engine.read_hlog(str(client_file(run.folder, index, "hlog")))
            if not intervals:  # every histogram is stored, even if nothing was answered
                raise ValueError(f"client-{index}.hlog holds no histogram")
        except (OSError, ValueError, _engine.EngineError) as error:
            why = error.args[1] if isinstance(error, _engine.EngineError) else error
            raise StudyError(
                "damaged-run",
                f"run {run.number} of the study cannot be read: {why}",
                hint=f"move {run.folder} away and report again",
                run=run.number,
                path=str(run.folder),
            ) from None
        clients.append(_client(result, intervals))
    return clients


def _client(
    result: ClientResult, intervals: list[tuple[str | None, float, float, Histogram]]
) -> ClientReading:
    reading = ClientReading(result)
    for tag, _, _, histogram in intervals:
        name, _, kind = (tag or "").partition("/")
        what = TAGS.get(name, name)
        if what == "latency":
            reading.latency_sections.setdefault(kind, []).append(histogram)
            reading.by_kind.setdefault(("latency", kind), Histogram()).merge(histogram)
        elif what in (*WHATS, *STAMPED, *SOMETIMES):
            reading.by_kind[what, kind] = histogram
        elif what == "endpoint":
            reading.endpoints[int(kind)] = histogram
        elif what == "outstanding":
            reading.outstanding = histogram
        elif what == "writes":
            reading.writes = histogram
        elif what == "gaps":
            reading.gaps = histogram
        elif what == "scheduled_gaps":
            reading.scheduled_gaps = histogram
    return reading
