"""The clients of one run on a load host: child processes in a folder of their own, and what they said."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

from hindmost.errors import HostUnfit
from hindmost.fleet.dask import quiet
from hindmost.fleet.dask.files import PREFIX, unpacked
from hindmost.fleet.dask.places import make_place
from hindmost.fleet.instance import Instance

PIECE = 8 << 20
"""Bytes of a file that cross at once."""
SPARE_S = 120.0
"""Patience of a host beyond the load's own time, before it takes its controller for gone."""
SETTLE_S = 0.05
"""Counting begins so long after the last word before a measurement: its bytes are acknowledged by then."""
HERE = frozenset(os.sched_getaffinity(0))
"""Processors of this host, for us; while clients run this process keeps off theirs."""
TOLD = ("ready", "warm", "done", "failed", "ended")
"""What is passed on at once; progress waits for it."""


class HostTeam:
    """Begins one client a plan.

    Parameters
    ----------
    folder : str or None
        Where its own folder is made; default: the system's for temporary files.
    asked : list of dict
        ``index``, ``plan`` and ``cpus`` of each.
    files : dict
        What plans name, in base64 (`files.packed`).

    Raises
    ------
    HostUnfit
        If there are not as many processors as clients want for themselves.
    OSError
        If the folder cannot be written.
    """

    def __init__(self, folder: str | None, asked: list[dict[str, Any]], files: dict[str, str]) -> None:
        placed = _placed(asked)
        self.folder = make_place("load", folder)
        self.channel: dict[str, float] | None = None
        self._instances: dict[int, Instance] = {}
        self._loop = asyncio.get_running_loop()
        self._heard: list[tuple[int, dict[str, Any]]] = []
        self._wake = asyncio.Event()
        self._ordered: set[int] = set()
        self._begin: dict[str, int] | None = None
        try:
            for one in placed:
                plan = unpacked(one["plan"], files, self.folder)
                instance = Instance(one["index"], plan, self.folder, one["cpus"] or sorted(HERE))
                self._instances[one["index"]] = instance
                self._loop.add_reader(instance.fileno(), self._said, instance)
        except BaseException:
            self.close()
            raise
        theirs = {cpu for one in placed for cpu in one["cpus"]}
        os.sched_setaffinity(0, HERE - theirs or HERE)
        plans = [json.loads(one["plan"]) for one in asked]
        self.longest_s = SPARE_S + max(
            plan["phases"]["calibration_s"] + plan["phases"]["measure_s"] + plan["timeout_s"]
            for plan in plans
        )
        self.places = [
            {"index": one["index"], "cpus": one["cpus"], "pid": self._instances[one["index"]].pid}
            for one in placed
        ]

    @property
    def all_ordered_to_measure(self) -> bool:
        """Whether silence begins."""
        return self._ordered == set(self._instances)

    @property
    def _measuring(self) -> bool:
        return self.all_ordered_to_measure and not self.measured

    @property
    def measured(self) -> bool:
        """Whether it is over."""
        return self.channel is not None

    def order(self, index: int, command: dict[str, Any]) -> None:
        """Pass it on; after the last order to measure nobody waits by the clock any more."""
        if "measure" in command:
            self._ordered.add(index)
            self._wake.set()
        self._instances[index].tell(command)

    def count(self) -> None:
        """Look at this process's counters: from here on it is silent."""
        if not self.measured:
            self._begin = quiet.counters()

    def _said(self, instance: Instance) -> None:
        events = instance.hear()
        told = any(one["event"] in TOLD for one in events)
        if told and self._measuring and self._begin is not None:
            self.channel = quiet.between(self._begin, quiet.counters())
        self._heard += [(instance.index, event) for event in events]
        if any(event["event"] == "ended" for event in events):
            self._loop.remove_reader(instance.fileno())
        if told:
            self._wake.set()

    async def hear(self, wait_s: float) -> list[tuple[int, dict[str, Any]]]:
        """All that was said; waits for something worth telling, outside measurements at most `wait_s`."""
        until = self._loop.time() + wait_s
        if self._measuring:  # this question came after the counting began
            self._loop.call_later(SETTLE_S, self.count)
        while not any(event["event"] in TOLD for _, event in self._heard):
            left_s = None if self._measuring else until - self._loop.time()
            if left_s is not None and left_s <= 0.0:
                break
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), left_s)
            self._wake.clear()
        heard, self._heard = self._heard, []
        return heard

    def fetch(self, what: dict[str, Any]) -> list[tuple[str, int]] | str:
        """Names and sizes; or of the file ``name`` the piece from ``offset`` on, in base64."""
        if "name" not in what:
            for one in self._instances.values():
                one.sweep()
            made = (path for path in self.folder.iterdir() if not path.name.startswith(PREFIX))
            return [(path.name, path.stat().st_size) for path in sorted(made)]
        with (self.folder / Path(what["name"]).name).open("rb") as file:
            file.seek(what["offset"])
            return base64.b64encode(file.read(PIECE)).decode()

    def close(self) -> None:
        """End them, and remove the folder."""
        for one in self._instances.values():
            self._loop.call_soon_threadsafe(self._loop.remove_reader, one.fileno())
        for one in self._instances.values():
            one.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        os.sched_setaffinity(0, HERE)


def _placed(asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each with processors: those it was given, else the last of this host's, none twice if they spin."""
    here = sorted(HERE)
    free = [cpu for cpu in reversed(here) if not any(cpu in one["cpus"] for one in asked)]
    found = []
    for one in asked:
        plan = json.loads(one["plan"])
        if missing := sorted(set(one["cpus"]) - set(here)):
            raise HostUnfit(
                "bad-value",
                f"a client may not use CPU {missing[0]} here, only {here}",
                hint="correct cpus in the hosts file",
                key="cpus",
                value=missing[0],
                known=here,
            )
        cpus = list(one["cpus"])
        if not cpus and plan["pacing"] == "spin":
            wanted = len(plan["threads"])
            if len(free) < wanted:
                raise HostUnfit(
                    "few-processors",
                    f"{len(asked)} client(s) with {wanted} spinning thread(s) each need a CPU per thread, but"
                    f" this host has {len(here)}",
                    hint="--pacing sleep, or fewer clients there",
                    need=len(asked) * wanted,
                    have=len(here),
                )
            cpus, free = free[:wanted], free[wanted:]
            plan["threads"] = [
                thread | {"cpu": cpu} for thread, cpu in zip(plan["threads"], cpus, strict=True)
            ]
        found.append({"index": one["index"], "plan": json.dumps(plan), "cpus": cpus})
    return found
