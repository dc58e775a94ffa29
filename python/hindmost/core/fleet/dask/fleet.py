"""The fleet of several machines: a Dask worker on each host starts the clients there.

::

    hello, doctor ─ clock, reach, start ─ go ─ measure ═══ channel is silent ═══ done ─ fetch, clock, stop
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from hindmost.core.fleet.dask.channel import START_S, Channel, OwnChannel
from hindmost.core.fleet.dask.clients import CheckedHost, DaskTeam, check_reachability
from hindmost.core.fleet.dask.hosts import Hosts
from hindmost.core.fleet.dask.replies import Doctor, Hello, RestoredSetting
from hindmost.core.fleet.dask.scheduler import SchedulerChannel
from hindmost.core.fleet.dask.target import serve_remotely
from hindmost.core.fleet.dask.version import refuse_other
from hindmost.core.fleet.fleet import Job, RemoteServer, Setting
from hindmost.core.notes import Note
from hindmost.errors import HindmostError, HostLost

SPIN_S = 0.3
DOCTOR_S = 60.0
LEAVE_S = 20.0
"""Timeout in s. A client that does not end is killed after three seconds."""
AGAIN = 3
"""Most repeats of a run after a host was lost in it."""


def open_channel(hosts: Hosts) -> Channel:
    """Open a channel to all hosts."""
    return SchedulerChannel(hosts) if hosts.scheduler is not None else OwnChannel(hosts)


class DaskFleet:
    """Load hosts, checked and ready.

    Parameters
    ----------
    plan : Hosts
        The fleet of ``--fleet``.
    say : callable, optional
        Called with each note.
    channel : callable, optional
        Opens the channel to the hosts.

    Raises
    ------
    InstanceError
        If a host cannot be reached, or has another version or engine: names the host, and both versions.
    """

    def __init__(
        self,
        plan: Hosts,
        say: Callable[[Note], None] = lambda _: None,
        channel: Callable[[Hosts], Channel] = open_channel,
    ) -> None:
        self.plan = plan
        self._say = say
        self._folders = {host.name: host.folder for host in plan.host}
        self.channel = channel(plan)
        try:
            if not self.channel.is_confined:
                text = (
                    "the kernel does not confine the fleet's broker completely (Landlock): a load host that"
                    " is taken over may reach your files"
                )
                self._say(Note("broker-not-confined", text, {}))
            self.found = {host: self._check_host(host) for host in self.channel.hosts}
            if plan.target is not None:
                for name, value in plan.target.knobs.items():
                    self.channel.ask(plan.target.host, {"knob": {"name": name, "value": value}}, START_S)
        except BaseException:
            self.channel.close()
            raise
        target = None if plan.target is None else plan.target.host
        self.hosts: Sequence[str] = tuple(host.name for host in plan.slots) or tuple(
            host for host in self.channel.hosts if host != target
        )

    @property
    def serves(self) -> bool:
        """Whether ``[target]`` names a host."""
        return self.plan.target is not None

    def serve(
        self, name: str, cpus: Sequence[int], settings: Sequence[Setting] = ()
    ) -> AbstractContextManager[RemoteServer]:
        """Start a new server on the host of ``[target]`` for a run; stop it afterwards."""
        assert self.plan.target is not None
        return serve_remotely(self.channel, self.plan.target, name, cpus, settings)

    def close(self) -> None:
        """End everything that was started on hosts."""
        for host in self.channel.hosts:
            try:
                self.channel.ask(host, {"leave": {}}, LEAVE_S)
            except HostLost:  # its lease ends there
                continue
            except HindmostError as error:
                text = f"{error.message}; on {host}: hindmost host knobs restore"
                self._say(
                    Note("unrestored-setting", text, {**error.fields, "host": host, "cause": error.code})
                )
        self.channel.close()

    def _check_host(self, host: str) -> CheckedHost:
        """Return a host's identity and check-up; refuse another version than ours."""
        hello: Hello = self.channel.ask(host, {"hello": {}}).said
        refuse_other(host, {"version": hello.version, "engine": hello.engine})
        doctor: Doctor = self.channel.ask(host, {"doctor": {"spin_s": SPIN_S}}, DOCTOR_S).said
        for finding in doctor.findings:
            if finding.mark == "unfit":
                text = f"host {host} is unfit: {finding.title}: {finding.value}; {finding.why or ''}"
                self._say(Note("host-unfit", text, {"host": host, "name": finding.id}))
        if self.plan.target is not None and self.plan.target.host == host:
            self._recover(host)
        return CheckedHost(hello.hostname, doctor.findings)

    def _recover(self, host: str) -> None:
        restored: list[RestoredSetting] = self.channel.ask(host, {"recover": {}}, START_S).said
        for setting in restored:
            name = f"{setting.name} of host {host}, which a killed study had changed,"
            values = {"host": host, "name": setting.name, "value": setting.value}
            if setting.failure:
                text = f"{name} could not be restored to {setting.value}: {setting.failure}"
                self._say(Note("unrestored-setting", text, values))
            else:
                self._say(Note("restored-setting", f"{name} is {setting.value} again", values))

    @contextmanager
    def start(self, jobs: Sequence[Job], folder: Path) -> Iterator[DaskTeam]:
        """Start the clients of each host, after checking its clock and its route to the server."""
        by_host: dict[str, list[int]] = {}
        for index, job in enumerate(jobs):
            by_host.setdefault(job.place.host, []).append(index)
        team = DaskTeam(self.channel, self.found, jobs, by_host, folder)
        try:
            for address in {json.loads(job.plan)["target"]["address"] for job in jobs}:
                check_reachability(self.channel, list(by_host), address)
            team.begin(self._folders)
            yield team
        finally:
            self.channel.set_resting(resting=False)
            for host in by_host:
                with contextlib.suppress(HindmostError):
                    self.channel.ask(host, {"stop": {}}, LEAVE_S)

    def recover_host(self, lost: HostLost, times: int) -> bool:
        """Wait for a lost host to return; return whether the void run may be repeated."""
        if times >= AGAIN:
            return False
        text = f"{lost.message}. The run is void and will be repeated when the host is back"
        self._say(Note("host-lost", text, lost.fields))
        restart_worker = getattr(self.channel, "restart_worker", None)
        if restart_worker is None:
            return False
        restart_worker(lost.host)
        self.found[lost.host] = self._check_host(lost.host)
        return True
