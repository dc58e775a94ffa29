"""The fleet of many machines: a Dask worker on each host begins the instances there.

::

    hello, doctor ─ clock, reach, start ─ go ─ measure ═══ nothing is said ═══ done ─ fetch, clock, stop
"""

from __future__ import annotations

import contextlib
import json
import queue
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hindmost.errors import HindmostError, HostLost, HostUnfit, InstanceError, TargetError
from hindmost.fleet.dask.channel import Channel, OwnChannel
from hindmost.fleet.dask.clock import ROUNDS, Offset, drift_ppm, offset_of
from hindmost.fleet.dask.files import packed
from hindmost.fleet.dask.given import GivenChannel
from hindmost.fleet.dask.hosts import Hosts
from hindmost.fleet.dask.version import refuse_other
from hindmost.fleet.fleet import Heard, Job, Served, Setting

AHEAD_NS = 300_000_000
"""Orders name a moment this far ahead: a few round trips, one host after the other, and the tenth of a second
in which an instance hears."""
EACH_AHEAD_NS = 20_000_000
"""And so much more for each instance that is told."""
LISTEN_S = 20.0
SPIN_S = 0.3
DOCTOR_S = 60.0
SERVE_S = 90.0
LEAVE_S = 20.0
"""An instance that does not end by itself is killed after three seconds."""
START_S = 60.0
FETCH_S = 120.0
REACH_S = 5.0
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
        Told what a person should know.
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
        say: Callable[[str], None] = lambda _: None,
        channel: Callable[[Hosts], Channel] = opened_channel,
    ) -> None:
        self.asked = asked
        self._say = say
        self._folders = {one.name: one.folder for one in asked.host}
        self.channel = channel(asked)
        try:
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

    @contextmanager
    def serve(self, name: str, cpus: Sequence[int], settings: Sequence[Setting] = ()) -> Iterator[Served]:
        """Start a server on the host of ``[target]``, freshly for each run; stop it afterwards."""
        place = self.asked.target
        assert place is not None
        listen = place.listen or self.channel.address_of(place.host)
        told = [{"what": dict(one.what), "level": one.level} for one in settings]
        start = {"serve": {"name": name, "listen": listen, "cpus": list(cpus), "settings": told}}
        try:
            found = self.channel.ask(place.host, start, SERVE_S).said
        except HostLost:
            raise
        except InstanceError as error:
            kind = HostUnfit if error.code == "unfit" else TargetError
            raise kind(error.message, hint=error.hint) from None
        served = Served(
            place.host, found["address"], found["command"], found["cpus"], found["server_version"]
        )
        try:
            yield served
        except HindmostError as error:
            died = None
            with contextlib.suppress(HindmostError):
                died = self._stopped(place.host)
            if died and isinstance(error, InstanceError):
                gone = TargetError(f"{error.message}; {name} on {place.host} {died}", hint=error.hint)
                gone.shows = "silent"
                raise gone from None
            raise
        self._stopped(place.host)

    def _stopped(self, host: str) -> str | None:
        """Stop the server there, and put back what was set; says how it had ended by itself, if it had."""
        try:
            said = self.channel.ask(host, {"serve": {"name": None}}, SERVE_S).said
        except HostLost:  # its own end stops all, and whatever comes next is told that it is lost
            return None
        return None if said is None else said["died"]

    def close(self) -> None:
        """End all that was begun on hosts."""
        for host in self.channel.hosts:
            try:
                self.channel.ask(host, {"leave": {}}, LEAVE_S)
            except HostLost:  # it ends by itself
                continue
            except HindmostError as error:
                self._say(f"{error.message}; on {host}: hindmost knobs restore")
        self.channel.close()

    def _look_at(self, host: str) -> dict[str, Any]:
        """Who a host is, and whether it is fit; another version than ours is refused."""
        hello: dict[str, Any] = self.channel.ask(host, {"hello": {}}).said
        refuse_other(host, hello)
        doctor = self.channel.ask(host, {"doctor": {"spin_s": SPIN_S}}, DOCTOR_S).said
        for finding in doctor["findings"]:
            if finding["mark"] == "unfit":
                self._say(f"host {host} is unfit: {finding['title']}: {finding['value']}; {finding['why']}")
        if self.asked.target is not None and self.asked.target.host == host:
            self._recover(host)
        return hello | {"doctor": doctor}

    def _recover(self, host: str) -> None:
        for one in self.channel.ask(host, {"recover": {}}, START_S).said:
            failed = f": could not be put back: {one['failure']}" if one["failure"] else ""
            self._say(
                f"left on host {host} by a study that was killed: {one['name']} is {one['value']}"
                f" again{failed}"
            )

    def clocks(self, hosts: Sequence[str]) -> dict[str, Offset]:
        """How far each host's clock is from ours, now."""
        return {
            host: offset_of(self.channel.ask(host, {"clock": {}}).trip for _ in range(ROUNDS))
            for host in hosts
        }

    @contextmanager
    def start(self, jobs: Sequence[Job], folder: Path) -> Iterator[DaskTeam]:
        """Start the instances of each host, after a look at its clock and at its way to the server."""
        by_host: dict[str, list[int]] = {}
        for index, job in enumerate(jobs):
            by_host.setdefault(job.place.host, []).append(index)
        team = DaskTeam(self, jobs, by_host, folder)
        try:
            for address in {json.loads(job.plan)["target"]["address"] for job in jobs}:
                self._see_that_all_reach(list(by_host), address)
            team.begin(self._folders)
            yield team
        finally:
            team.over = True
            self.channel.rest(resting=False)
            for host in by_host:
                with contextlib.suppress(HindmostError):
                    self.channel.ask(host, {"stop": {}}, LEAVE_S)

    def _see_that_all_reach(self, hosts: Sequence[str], address: str) -> None:
        failed: dict[str, InstanceError] = {}
        for host in hosts:
            try:
                self.channel.ask(host, {"reach": {"address": address, "timeout_s": REACH_S}})
            except HostLost:
                raise
            except InstanceError as error:
                failed[host] = error
        if failed:
            first = next(iter(failed.values()))
            others = [host for host in hosts if host not in failed]
            more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
            can = f"; {', '.join(others)} can" if others else ""
            raise InstanceError(f"{first.message}{more}{can}", hint=first.hint)

    def mended(self, lost: HostLost, times: int) -> bool:
        """Whether a run that was void for want of a host may be made again: that host is there again."""
        if times >= AGAIN:
            return False
        self._say(f"{lost.message}. The run is void; it is made again once the host is back")
        bring_again = getattr(self.channel, "bring_again", None)
        if bring_again is None:
            return False
        bring_again(lost.host)
        self.found[lost.host] = self._look_at(lost.host)
        return True


class DaskTeam:
    """The instances of one run, on their hosts."""

    def __init__(
        self, fleet: DaskFleet, jobs: Sequence[Job], by_host: dict[str, list[int]], folder: Path
    ) -> None:
        self._fleet = fleet
        self._channel = fleet.channel
        self._jobs = jobs
        self._by_host = by_host
        self._folder = folder
        self._heard: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._ended: set[int] = set()
        self._silence: dict[str, Any] = {}
        self._places: dict[str, list[dict[str, Any]]] = {}
        self._before: dict[str, Offset] = {}
        self._after: dict[str, Offset] = {}
        self.over = False
        self.offsets_ns: Sequence[int] = ()
        self.ahead_ns = AHEAD_NS + EACH_AHEAD_NS * len(jobs)

    def begin(self, folders: dict[str, str | None]) -> None:
        """Measure the clocks, start all, listen."""
        files = packed([job.plan for job in self._jobs])
        self._before = self._fleet.clocks(list(self._by_host))
        self.offsets_ns = [self._before[job.place.host].offset_ns for job in self._jobs]
        for host, indices in self._by_host.items():
            asked = [
                {"index": index, "plan": self._jobs[index].plan, "cpus": self._jobs[index].place.cpus}
                for index in indices
            ]
            start = {"start": {"folder": folders.get(host), "instances": asked, "files": files}}
            self._places[host] = self._channel.ask(host, start, START_S).said
        for host in self._by_host:
            self._listen(host)

    def _listen(self, host: str) -> None:
        self._channel.later(
            host, {"listen": {"wait_s": LISTEN_S}}, lambda said: self._heard.put((host, said))
        )

    def order(self, index: int, command: dict[str, Any]) -> None:
        """Through its host."""
        if "measure" in command:
            self._channel.rest(resting=True)
        self._channel.ask(self._jobs[index].place.host, {"order": {"index": index, "command": command}})

    def hear(self, timeout_s: float) -> list[Heard]:
        """From whichever host says something first."""
        try:
            host, said = self._heard.get(timeout=timeout_s)
        except queue.Empty:
            return []
        if isinstance(said, Exception):
            raise said
        self._silence[host] = said["channel"] or self._silence.get(host)
        heard = []
        for index, event in said["events"]:
            if event["event"] == "failed":
                event["message"] = f"host {host}: {event['message']}"
            if event["event"] == "ended":
                event["who"] = f"host {host}, {event['who']}"
                self._ended.add(index)
            heard.append(Heard(index, event))
        if not self._ended.issuperset(self._by_host[host]):
            self._listen(host)
        return heard

    def fetch(self) -> None:
        """Their files, piece by piece; then the clocks again."""
        for host in self._by_host:
            for name, size in self._channel.ask(host, {"fetch": {}}).said:
                with (self._folder / Path(name).name).open("wb") as file:
                    while file.tell() < size:
                        piece = {"fetch": {"name": name, "offset": file.tell()}}
                        got = self._channel.ask(host, piece, FETCH_S).said
                        if not got:
                            raise InstanceError(
                                f"host {host}: {name} ends after {file.tell()} of {size} bytes"
                            )
                        file.write(got)
        self._after = self._fleet.clocks(list(self._by_host))

    def record(self) -> dict[str, Any]:
        """What ``run.json`` says of the fleet, by host."""
        return {
            "fleet": [
                {
                    "host": host,
                    "hostname": self._fleet.found[host]["hostname"],
                    "instances": indices,
                    "places": self._places[host],
                    "clock": {
                        "before": self._before[host].document(),
                        "after": self._after[host].document(),
                        "drift_ppm": drift_ppm(self._before[host], self._after[host]),
                    },
                    "channel": self._silence.get(host),
                    "findings": [
                        one for one in self._fleet.found[host]["doctor"]["findings"] if one["mark"] != "fine"
                    ],
                }
                for host, indices in self._by_host.items()
            ]
        }
