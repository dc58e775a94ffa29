"""One run of a fleet: clients start, warm up, measure and end together.

::

    we         start ─────────────── go ──────────────────── measure ──────────────── collect
    client         connect, load ▸ ready   warm up ▸ warm          calibrate, measure ▸ done

No client measures before all are warm, and all measure over the same time: an order names a time of our
clock, converted to the clock of each client's host.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hindmost import _engine
from hindmost.core.documents import read_json
from hindmost.core.fleet.failures import failure, unreadable_result
from hindmost.core.fleet.fleet import Fleet, Heard, Job, Team
from hindmost.core.fleet.live import Interval, LiveView
from hindmost.errors import ClientError

PREPARE_S = 120.0
"""Longest time in s for connecting and storing the keys."""
STORING_LOOK_S = 1.0
"""Interval in s between progress reports while keys are stored; nothing is measured yet."""
_WARMING_S = 86_400.0
"""The warm-up has its own limit, in the plan."""

Phase = Literal["start", "warm-up", "measure", "collect"]
_AWAITED: dict[Phase, str] = {"start": "ready", "warm-up": "warm", "measure": "done", "collect": "ended"}
"""The event that ends each phase, once every client has sent it."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Progress of a run: its phase, seconds since its load began, requests answered so far.

    ``keys``: during the start, the number of keys to store; each takes the server one service time.
    ``interval``: what happened since the last one, if there is a live view and its next second is over.
    """

    phase: Phase
    elapsed_s: float
    replies: int
    keys: int = 0
    interval: Interval | None = None


def run_clients(
    fleet: Fleet,
    jobs: Sequence[Job],
    folder: Path,
    phases_s: tuple[float, float],
    look: Callable[[Moment], None] = lambda _: None,
    before_measuring: Callable[[Sequence[int]], None] = lambda _: None,
    record: dict[str, Any] | None = None,
    live: LiveView | None = None,
) -> list[dict[str, Any]]:
    """Run one client per job, to the end.

    Parameters
    ----------
    fleet : Fleet
        Where to run them.
    jobs : sequence of Job
        The clients.
    folder : Path
        For the clients' files.
    phases_s : (float, float)
        Seconds from the order to measure until the load ends, and extra time beyond that.
    look : callable, optional
        Called with the progress: about once per second until the measurement begins, then once, and once more
        when it is over. In between, nothing here wakes up, because it could disturb a client, unless there is
        a live view.
    before_measuring : callable, optional
        Called when all clients are warm, before the measurement is ordered; the load continues meanwhile. Its
        argument is the ports of the connections to capture (`MeasurePlan.witnessed`).
    record : dict, optional
        Updated with the fleet's part of the run record.
    live : LiveView, optional
        The counters of the jobs, read once per second while they send load.

    Returns
    -------
    list of dict
        The clients' results (``hindmost.client/1``).

    Raises
    ------
    InstanceError
        If a client failed; then all are stopped. `HostLost` if its host was lost.
    """
    with fleet.start(jobs, folder) as team:
        _Course(team, jobs, phases_s, look, before_measuring, live).follow()
        team.fetch()
        if record is not None:
            record |= team.record()
    return [_result(index, folder) for index in range(len(jobs))]


class _Course:
    """The messages so far, and the orders that follow from them."""

    def __init__(
        self,
        team: Team,
        jobs: Sequence[Job],
        phases_s: tuple[float, float],
        look: Callable[[Moment], None],
        before_measuring: Callable[[Sequence[int]], None],
        live: LiveView | None,
    ) -> None:
        self._team = team
        self._live = live
        self._clients = len(jobs)
        self._hosts = [job.place.host for job in jobs]
        self._keys = sum(_keys_stored(job) for job in jobs)
        self._phases_s = phases_s
        self._look = look
        self._before_measuring = before_measuring
        self._said: dict[str, set[int]] = {word: set() for word in _AWAITED.values()}
        self._replies: dict[int, int] = {}
        self._failed: dict[int, dict[str, Any]] = {}
        self._ports: list[int] = []
        self._phase: Phase = "start"
        self._began = time.monotonic()
        self._deadline = self._began + PREPARE_S

    def follow(self) -> None:
        """Proceed until all clients have ended."""
        while not self._all("ended"):
            left_s = self._deadline - time.monotonic()
            if left_s < 0.0:
                raise self._stuck()
            for heard in self._team.hear(min(left_s, self._look_s())):
                self._handle(heard)
            self._proceed()

    def _look_s(self) -> float:
        """Return the time until the next progress report, in s, if no client sends a message."""
        if self._phase == "start" and self._keys > 0:
            return STORING_LOOK_S
        return self._live.wait_s() if self._live is not None and self._is_loading() else math.inf

    def _is_loading(self) -> bool:
        return self._phase in ("warm-up", "measure")

    def _handle(self, heard: Heard) -> None:
        index, event = heard.index, heard.event
        name = event["event"]
        self._said.setdefault(name, set()).add(index)
        self._ports += event.get("ports", ())
        self._replies[index] = event.get("replies", self._replies.get(index, 0))
        if name == "failed":
            self._failed[index] = event
        if name == "ended" and (index in self._failed or event["status"] != 0):
            raise failure(index, self._failed.get(index), event)

    def _proceed(self) -> None:
        if self._phase == "start" and self._all("ready"):
            self._phase, self._began = "warm-up", time.monotonic()
            self._deadline = self._began + _WARMING_S
            if self._live is not None:
                self._live.begin()
            self._order("go", "start_ns")
        elif self._phase == "warm-up" and self._all("warm"):
            self._before_measuring(self._ports)
            self._phase = "measure"
            self._deadline = time.monotonic() + sum(self._phases_s)
            # Report before the order: an observer may run on a client's CPU.
            self._report()
            self._order("measure", "from_ns")
            return
        elif self._phase == "measure" and self._all("done"):
            self._phase = "collect"
            before = time.monotonic()
            self._report()
            # The companions end now; their time does not count as the clients'.
            self._deadline += time.monotonic() - before
            return
        self._report()

    def _all(self, word: str) -> bool:
        return len(self._said[word]) == self._clients

    def _report(self) -> None:
        elapsed_s = time.monotonic() - self._began
        keys = self._keys if self._phase == "start" else 0
        interval = self._live.read() if self._live is not None and self._is_loading() else None
        self._look(Moment(self._phase, elapsed_s, sum(self._replies.values()), keys, interval))

    def _order(self, command: str, moment: str) -> None:
        at_ns = _engine.monotonic_ns() + self._team.ahead_ns
        for index, offset_ns in enumerate(self._team.offsets_ns):
            self._team.order(index, {command: {moment: at_ns + offset_ns}})

    def _stuck(self) -> ClientError:
        late = min(set(range(self._clients)) - self._said[_AWAITED[self._phase]])
        seconds = time.monotonic() - self._began
        if self._phase == "start" and self._keys:
            return ClientError(
                "preload",
                f"client {late} has not stored all of {self._keys:,} keys after {seconds:.0f} s: the server"
                " answers slowly",
                hint='--workload FILE with fewer: {"kind": "key-value", "keys": 100}',
                client=late,
                keys=self._keys,
                seconds=seconds,
            )
        host = self._hosts[late]
        return ClientError(
            "client-stuck",
            f"client {late}{f' on host {host}' if host else ''} is stuck in phase `{self._phase}` after"
            f" {seconds:.0f} s",
            hint="hindmost host doctor shows whether that host is overloaded",
            client=late,
            host=host,
            phase=self._phase,
            seconds=seconds,
        )


def _result(index: int, folder: Path) -> dict[str, Any]:
    try:
        result: dict[str, Any] = read_json(folder / f"client-{index}.json")
    except (OSError, ValueError) as error:
        raise unreadable_result(index, error) from None
    return result


def _keys_stored(job: Job) -> int:
    """Return how many keys a client stores before its load: its share of all."""
    plan = json.loads(job.plan)
    return int(plan["workload"]["keys"]) // plan.get("client", {}).get("of", 1) if plan.get("preload") else 0
