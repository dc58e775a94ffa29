"""The load of a replica: requests at a fixed rate, by probes or with a workload file."""

from __future__ import annotations

import json
import math
import os
import select
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost import _engine
from hindmost.commands.watch.daemon import translate_error
from hindmost.core.fleet.client import Client
from hindmost.core.knobs.steps import Step
from hindmost.core.run.request import MeasureRequest
from hindmost.errors import TargetError

A_PROBE = 1_000.0
"""Highest rate of one probe, requests/s: it sends one request at a time."""
MOST_PROBED = 10_000.0
LASTS_S = 3_600.0
READY_S = 60.0
"""Time in which a client must connect and store its keys, s."""
LEAST_RATE = 1.0


@dataclass(frozen=True, slots=True)
class Load:
    """Load on the server at the address in `probe`, with `workload` or, by default, the probe's requests.

    Raises
    ------
    TargetError
        The server cannot serve the load.
    """

    probe: Mapping[str, Any]
    workload: Path | None = None

    @contextmanager
    def running(self, rate: float, *, fill: bool = True) -> Iterator[None]:
        """Send `rate` requests/s until the end of the block; `fill` stores the workload's keys first."""
        if rate < LEAST_RATE:
            yield
        elif self.workload is None:
            with self._run_probes(min(rate, MOST_PROBED)):
                yield
        else:
            with self._client(rate, self.workload, fill=fill):
                yield

    @contextmanager
    def _run_probes(self, rate: float) -> Iterator[None]:
        probes: list[_engine.Prober] = []
        count = math.ceil(rate / A_PROBE)
        try:
            for _ in range(count):
                try:
                    probes.append(_engine.Prober(json.dumps({**self.probe, "rate": rate / count})))
                except _engine.EngineError as error:
                    raise translate_error(error, value=self.probe["address"]) from None
            yield
        finally:
            for probe in probes:
                probe.end()

    @contextmanager
    def _client(self, rate: float, workload: Path, *, fill: bool) -> Iterator[None]:
        request = MeasureRequest(
            target=f"{self.probe['protocol']}://{self.probe['address']}",
            workload=workload,
            rate=f"{rate:g}",
            clients=1,
            warmup="0.1s",
            duration=f"{LASTS_S:g}s",
        )
        plan = request.plan()
        if not fill:
            plan = plan.model_copy(update={"workload": {**plan.workload, "preload": False}})
        text = plan.engine_plan(1, 0, self.probe["protocol"], self.probe["address"], secrets=True)
        place = Path(tempfile.mkdtemp(prefix="hindmost-replica-"))
        client = Client(0, text, place, sorted(os.sched_getaffinity(0)))
        try:
            _await(client, "ready")
            client.tell({"go": {"start_ns": _engine.monotonic_ns() + 1_000_000}})
            _await(client, "warm")
            client.tell({"measure": {"from_ns": _engine.monotonic_ns() + 1_000_000}})
            yield
        finally:
            client.stop()
            shutil.rmtree(place, ignore_errors=True)


def _await(client: Client, word: str) -> None:
    deadline = time.monotonic() + READY_S
    while (left := deadline - time.monotonic()) > 0:
        if not select.select([client], [], [], left)[0]:
            break
        for event in client.hear():
            if event["event"] == word:
                return
            if event["event"] in ("failed", "ended"):
                why = event.get("message") or event.get("words") or "its client ended"
                raise TargetError(
                    "replica-load-failed",
                    f"the replica's load cannot run: {why}",
                    hint="--replica-workload FILE, --replica-rate RATE",
                    reason=event.get("code"),
                )
    raise TargetError(
        "replica-load-failed",
        f"the replica's load was not {word} within {READY_S:g} s",
        hint="use fewer keys in its workload",
        limit=READY_S,
        unit="s",
    )


class MoreLoad:
    """A dose of load: the difference between the host's load now and usually."""

    def __init__(self, name: str, load: Load, normal: float, now: float) -> None:
        self.name = name
        self.undo: list[Step] = []
        self.description = f"send {now:.0f} instead of {normal:.0f} requests/s"
        self._load, self._more = load, now - normal
        self._context: AbstractContextManager[None] | None = None

    def remove(self) -> None:
        """Send the additional load, which is the suspect."""
        self._context = self._load.running(self._more, fill=False)
        self._context.__enter__()

    def give_back(self) -> None:
        """Stop the additional load."""
        if self._context is not None:
            context, self._context = self._context, None
            context.__exit__(None, None, None)

    def is_gone(self) -> bool:
        """Whether the additional load is being sent."""
        return self._context is not None
