"""The clients of one run on a load host: child processes in their own folder, and their messages."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

from hindmost.core.fleet.client import Client
from hindmost.core.fleet.cpus import move_to
from hindmost.core.fleet.dask import quiet
from hindmost.core.fleet.dask.files import PREFIX, unpack_files
from hindmost.core.fleet.dask.places import make_place
from hindmost.errors import HostUnfit

PIECE = 8 << 20
"""Bytes of a file in one transfer."""
SPARE_S = 120.0
"""Time in s beyond the load's own, after which a host assumes that its controller is gone."""
SETTLE_S = 0.05
"""Delay in s between the last command before a measurement and counting: its bytes are acknowledged by
then."""
HERE = frozenset(os.sched_getaffinity(0))
"""CPUs that this process may use; while clients run, it stays off theirs."""
URGENT = ("ready", "warm", "done", "failed", "ended")
"""Events that are passed on at once; progress waits for one of them."""


class HostTeam:
    """Starts one client per plan.

    Parameters
    ----------
    folder : str or None
        Parent of its own folder; default: the folder for temporary files.
    asked : list of dict
        ``index``, ``plan`` and ``cpus`` of each client.
    files : dict
        Files named in plans, in base64 (`files.pack_files`).

    Raises
    ------
    HostUnfit
        If there are not enough CPUs for clients that need their own.
    OSError
        If the folder cannot be written.
    """

    def __init__(self, folder: str | None, asked: list[dict[str, Any]], files: dict[str, str]) -> None:
        orders = _assign_cpus(asked)
        self.folder = make_place("load", folder)
        self.channel: dict[str, float] | None = None
        self._clients: dict[int, Client] = {}
        self._loop = asyncio.get_running_loop()
        self._heard: list[tuple[int, dict[str, Any]]] = []
        self._wake = asyncio.Event()
        self._ordered: set[int] = set()
        self._begin: dict[str, int] | None = None
        try:
            for order in orders:
                plan = unpack_files(order["plan"], files, self.folder)
                client = Client(order["index"], plan, self.folder, order["cpus"] or sorted(HERE))
                self._clients[order["index"]] = client
                self._loop.add_reader(client.fileno(), self._on_message, client)
        except BaseException:
            self.close()
            raise
        theirs = {cpu for order in orders for cpu in order["cpus"]}
        move_to(HERE - theirs or HERE)
        plans = [json.loads(order["plan"]) for order in asked]
        self.longest_s = SPARE_S + max(
            plan["phases"]["calibration_s"] + plan["phases"]["measure_s"] + plan["timeout_s"]
            for plan in plans
        )
        self.places = [
            {"index": order["index"], "cpus": order["cpus"], "pid": self._clients[order["index"]].pid}
            for order in orders
        ]

    @property
    def all_ordered_to_measure(self) -> bool:
        """Whether all clients were ordered to measure: silence begins."""
        return self._ordered == set(self._clients)

    @property
    def _measuring(self) -> bool:
        return self.all_ordered_to_measure and not self.has_measured

    @property
    def has_measured(self) -> bool:
        """Whether the measurement is over."""
        return self.channel is not None

    def order(self, index: int, command: dict[str, Any]) -> None:
        """Pass an order on to a client. After the last order to measure, nothing wakes by the clock."""
        if "measure" in command:
            self._ordered.add(index)
            self._wake.set()
        self._clients[index].tell(command)

    def count(self) -> None:
        """Read this process's counters: it is silent from here on."""
        if not self.has_measured:
            self._begin = quiet.counters()

    def _on_message(self, client: Client) -> None:
        events = client.hear()
        is_urgent = any(event["event"] in URGENT for event in events)
        if is_urgent and self._measuring and self._begin is not None:
            self.channel = quiet.between(self._begin, quiet.counters())
        self._heard += [(client.index, event) for event in events]
        if any(event["event"] == "ended" for event in events):
            self._loop.remove_reader(client.fileno())
        if is_urgent:
            self._wake.set()

    async def hear(self, wait_s: float) -> list[tuple[int, dict[str, Any]]]:
        """Return all messages; wait for an urgent one, outside measurements for at most `wait_s`."""
        until = self._loop.time() + wait_s
        if self._measuring:  # this command arrived after counting began
            self._loop.call_later(SETTLE_S, self.count)
        while not any(event["event"] in URGENT for _, event in self._heard):
            left_s = None if self._measuring else until - self._loop.time()
            if left_s is not None and left_s <= 0.0:
                break
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), left_s)
            self._wake.clear()
        heard, self._heard = self._heard, []
        return heard

    def fetch(self, what: dict[str, Any]) -> list[tuple[str, int]] | str:
        """Return names and sizes; or a piece of the file ``name`` from ``offset`` on, in base64."""
        if "name" not in what:
            for client in self._clients.values():
                client.sweep()
            files = (path for path in self.folder.iterdir() if not path.name.startswith(PREFIX))
            return [(path.name, path.stat().st_size) for path in sorted(files)]
        with (self.folder / Path(what["name"]).name).open("rb") as file:
            file.seek(what["offset"])
            return base64.b64encode(file.read(PIECE)).decode()

    def close(self) -> None:
        """End the clients and remove the folder."""
        for client in self._clients.values():
            self._loop.call_soon_threadsafe(self._loop.remove_reader, client.fileno())
        for client in self._clients.values():
            client.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        move_to(HERE)


def _assign_cpus(asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Assign CPUs to clients: the requested ones, else the last of this host; spinning clients share none."""
    here = sorted(HERE)
    free = [cpu for cpu in reversed(here) if not any(cpu in client["cpus"] for client in asked)]
    assigned = []
    for client in asked:
        plan = json.loads(client["plan"])
        if missing := sorted(set(client["cpus"]) - set(here)):
            raise HostUnfit(
                "bad-value",
                f"a client may not use CPU {missing[0]} here, only {here}",
                hint="correct cpus in the hosts file",
                key="cpus",
                value=missing[0],
                known=here,
            )
        cpus = list(client["cpus"])
        if not cpus and plan["pacing"] == "spin":
            needed = len(plan["threads"])
            if len(free) < needed:
                raise HostUnfit(
                    "few-processors",
                    f"{len(asked)} client(s) with {needed} spinning thread(s) each need a CPU per thread, but"
                    f" this host has {len(here)}",
                    hint="--pacing sleep, or fewer clients there",
                    need=len(asked) * needed,
                    have=len(here),
                )
            cpus, free = free[:needed], free[needed:]
            plan["threads"] = [
                thread | {"cpu": cpu} for thread, cpu in zip(plan["threads"], cpus, strict=True)
            ]
        assigned.append({"index": client["index"], "plan": json.dumps(plan), "cpus": cpus})
    return assigned
