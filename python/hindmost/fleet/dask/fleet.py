"""The fleet of many machines: a Dask worker on each host begins the clients there.

::

    hello, doctor ─ clock, reach, start ─ go ─ measure ═══ nothing is said ═══ done ─ fetch, clock, stop
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from hindmost.errors import HindmostError, HostLost
from hindmost.fleet.dask.channel import START_S, Channel, OwnChannel
from hindmost.fleet.dask.given import GivenChannel
from hindmost.fleet.dask.hosts import Hosts
from hindmost.fleet.dask.instances import DaskTeam, see_that_all_reach
from hindmost.fleet.dask.target import served
from hindmost.fleet.dask.version import refuse_other
from hindmost.fleet.fleet import Job, Served, Setting
from hindmost.notes import Note

SPIN_S = 0.3
DOCTOR_S = 60.0
LEAVE_S = 20.0
"""A client that does not end by itself is killed after three seconds."""
AGAIN = 3
"""A run is made again so many times after a host was lost in it."""


def opened_channel(hosts: Hosts) -> Channel:
    """A channel to all hosts."""
    return GivenChannel(hosts) if hosts.scheduler is not None else OwnChannel(hosts)


class DaskFleet:
    """Load hosts, looked at and ready.

    Parameters
    ----------
    asked : Hosts
        What ``--fleet`` says.
    say : callable, optional
        Given each note.
    channel : callable, optional
        How hosts are reached.

    Raises
    ------
    InstanceError
        If a host cannot be reached, or has another version or engine: names it, and both.
    """

    def __init__(
        self,
        asked: Hosts,
        say: Callable[[Note], None] = lambda _: None,
        channel: Callable[[Hosts], Channel] = opened_channel,
    ) -> None:
        self.asked = asked
        self._say = say
        self._folders = {one.name: one.folder for one in asked.host}
        self.channel = channel(asked)
        try:
            if not self.channel.confined:
                text = (
                    "the kernel does not confine the fleet's broker completely (Landlock): a load host that"
                    " is taken over may reach your files"
                )
                self._say(Note("broker-not-confined", text, {}))
            self.found = {host: self._look_at(host) for host in self.channel.hosts}
            if asked.target is not None:
                for name, value in asked.target.knobs.items():
                    self.channel.ask(asked.target.host, {"knob": {"name": name, "value": value}}, START_S)
        except BaseException:
            self.channel.close()
            raise
        target = None if asked.target is None else asked.target.host
        self.hosts: Sequence[str] = tuple(one.name for one in asked.slots) or tuple(
            host for host in self.channel.hosts if host != target
        )

    @property
    def serves(self) -> bool:
        """Whether ``[target]`` names a host."""
        return self.asked.target is not None

    def serve(
        self, name: str, cpus: Sequence[int], settings: Sequence[Setting] = ()
    ) -> AbstractContextManager[Served]:
        """Start a server on the host of ``[target]``, freshly for each run; stop it afterwards."""
        assert self.asked.target is not None
        return served(self.channel, self.asked.target, name, cpus, settings)

    def close(self) -> None:
        """End all that was begun on hosts."""
        for host in self.channel.hosts:
            try:
                self.channel.ask(host, {"leave": {}}, LEAVE_S)
            except HostLost:  # it ends by itself
                continue
            except HindmostError as error:
                text = f"{error.message}; on {host}: hindmost host knobs restore"
                self._say(
                    Note("unrestored-setting", text, {**error.fields, "host": host, "cause": error.code})
                )
        self.channel.close()

    def _look_at(self, host: str) -> dict[str, Any]:
        """Who a host is, and whether it is fit; another version than ours is refused."""
        hello: dict[str, Any] = self.channel.ask(host, {"hello": {}}).said
        refuse_other(host, hello)
        doctor = self.channel.ask(host, {"doctor": {"spin_s": SPIN_S}}, DOCTOR_S).said
        for finding in doctor["findings"]:
            if finding["mark"] == "unfit":
                text = f"host {host} is unfit: {finding['title']}: {finding['value']}; {finding['why']}"
                self._say(Note("host-unfit", text, {"host": host, "name": finding["id"]}))
        if self.asked.target is not None and self.asked.target.host == host:
            self._recover(host)
        return hello | {"doctor": doctor}

    def _recover(self, host: str) -> None:
        for one in self.channel.ask(host, {"recover": {}}, START_S).said:
            what = f"{one['name']} of host {host}, which a killed study had changed,"
            values = {"host": host, "name": one["name"], "value": one["value"]}
            if one["failure"]:
                text = f"{what} could not be restored to {one['value']}: {one['failure']}"
                self._say(Note("unrestored-setting", text, values))
            else:
                self._say(Note("restored-setting", f"{what} is {one['value']} again", values))

    @contextmanager
    def start(self, jobs: Sequence[Job], folder: Path) -> Iterator[DaskTeam]:
        """Start the clients of each host, after a look at its clock and at its way to the server."""
        by_host: dict[str, list[int]] = {}
        for index, job in enumerate(jobs):
            by_host.setdefault(job.place.host, []).append(index)
        team = DaskTeam(self.channel, self.found, jobs, by_host, folder)
        try:
            for address in {json.loads(job.plan)["target"]["address"] for job in jobs}:
                see_that_all_reach(self.channel, list(by_host), address)
            team.begin(self._folders)
            yield team
        finally:
            team.over = True
            self.channel.rest(resting=False)
            for host in by_host:
                with contextlib.suppress(HindmostError):
                    self.channel.ask(host, {"stop": {}}, LEAVE_S)

    def mended(self, lost: HostLost, times: int) -> bool:
        """Whether a run that was void for want of a host may be made again: that host is there again."""
        if times >= AGAIN:
            return False
        text = f"{lost.message}. The run is void and will be repeated when the host is back"
        self._say(Note("host-lost", text, lost.fields))
        bring_again = getattr(self.channel, "bring_again", None)
        if bring_again is None:
            return False
        bring_again(lost.host)
        self.found[lost.host] = self._look_at(lost.host)
        return True
