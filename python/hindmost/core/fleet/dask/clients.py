"""The controller's view of a run's clients: orders, messages, files, and the fleet's part of the record."""

from __future__ import annotations

import base64
import binascii
import queue
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from hindmost.core.fleet.dask.channel import START_S, Channel
from hindmost.core.fleet.dask.clock import Offset, clocks, drift_ppm
from hindmost.core.fleet.dask.files import pack_files
from hindmost.core.fleet.dask.replies import Finding, Messages, Place, bad_reply
from hindmost.core.fleet.fleet import Heard, Job
from hindmost.core.store.manifest import HostClocks, HostOfRun, Silence
from hindmost.errors import ClientError, HostLost

AHEAD_NS = 300_000_000
"""Orders are given this long in advance, in ns: a few round trips to one host after the other, plus the 0.1 s
within which a client hears an order."""
EACH_AHEAD_NS = 20_000_000
"""Additional advance per client, in ns."""
LISTEN_S = 20.0
_FILE = re.compile(r"^[a-z]+-(\d+)(?:\.[a-z]+)+$")
FETCH_S = 120.0
REACH_S = 5.0


@dataclass(frozen=True, slots=True)
class CheckedHost:
    """A load host: its own name, and the findings of its check."""

    hostname: str
    findings: list[Finding]


class DaskTeam:
    """The clients of one run, on their hosts.

    Parameters
    ----------
    found : mapping
        The hosts, by name.
    by_host : dict
        Numbers of the jobs, by host.
    """

    def __init__(
        self,
        channel: Channel,
        found: Mapping[str, CheckedHost],
        jobs: Sequence[Job],
        by_host: dict[str, list[int]],
        folder: Path,
    ) -> None:
        self._channel = channel
        self._found = found
        self._jobs = jobs
        self._by_host = by_host
        self._folder = folder
        self._heard: queue.SimpleQueue[tuple[str, Messages | Exception]] = queue.SimpleQueue()
        self._ended: set[int] = set()
        self._silence: dict[str, Silence | None] = {}
        self._places: dict[str, list[Place]] = {}
        self._before: dict[str, Offset] = {}
        self._after: dict[str, Offset] = {}
        self.offsets_ns: Sequence[int] = ()
        self.ahead_ns = AHEAD_NS + EACH_AHEAD_NS * len(jobs)

    def begin(self, folders: dict[str, str | None]) -> None:
        """Measure the clocks, start all clients, and listen to them."""
        files = pack_files([job.plan for job in self._jobs])
        self._before = clocks(self._channel, list(self._by_host))
        self.offsets_ns = [self._before[job.place.host].offset_ns for job in self._jobs]
        for host, indices in self._by_host.items():
            clients = [
                {"index": index, "plan": self._jobs[index].plan, "cpus": self._jobs[index].place.cpus}
                for index in indices
            ]
            start = {"start": {"folder": folders.get(host), "clients": clients, "files": files}}
            self._places[host] = self._channel.ask(host, start, START_S).said
        for host in self._by_host:
            self._listen(host)

    def _listen(self, host: str) -> None:
        self._channel.later(
            host, {"listen": {"wait_s": LISTEN_S}}, lambda said: self._heard.put((host, said))
        )

    def order(self, index: int, command: dict[str, Any]) -> None:
        """Send an order through the client's host."""
        if "measure" in command:
            self._channel.set_resting(resting=True)
        self._channel.ask(self._jobs[index].place.host, {"order": {"index": index, "command": command}})

    def hear(self, timeout_s: float) -> list[Heard]:
        """Return the messages of the first host that has some."""
        try:
            host, said = self._heard.get(timeout=timeout_s)
        except queue.Empty:
            return []
        if isinstance(said, Exception):
            raise said
        self._silence[host] = said.channel or self._silence.get(host)
        heard = []
        for index, message in said.events:
            if index not in self._by_host[host]:
                raise bad_reply(host, "listen", f"client {index} is not one of its clients")
            event = msgspec.to_builtins(message)
            if event["event"] == "failed":
                event["message"] = f"host {host}: {event['message']}"
            if event["event"] == "ended":
                event["who"] = f"host {host}, {event['who']}"
                event["host"] = host
                self._ended.add(index)
            heard.append(Heard(index, event))
        if not self._ended.issuperset(self._by_host[host]):
            self._listen(host)
        return heard

    def fetch(self) -> None:
        """Fetch the clients' files piece by piece; then measure the clocks again."""
        for host in self._by_host:
            for name, size in self._channel.ask(host, {"fetch": {}}).said:
                self._check_file(host, name, size)
                with (self._folder / name).open("xb") as file:
                    while file.tell() < size:
                        piece = {"fetch": {"name": name, "offset": file.tell()}}
                        data = _decode(host, self._channel.ask(host, piece, FETCH_S).said)
                        if not 0 < len(data) <= size - file.tell():
                            raise ClientError(
                                "incomplete-transfer",
                                f"host {host}: {name} ends after {file.tell()} of {size} bytes",
                                host=host,
                                path=name,
                                have=file.tell(),
                                need=size,
                            )
                        file.write(data)
        self._after = clocks(self._channel, list(self._by_host))

    def _check_file(self, host: str, name: str, size: int) -> None:
        """Refuse files that a host's clients do not write: they could replace another host's files."""
        match = _FILE.match(name)
        if match is None or int(match[1]) not in self._by_host[host] or (self._folder / name).exists():
            raise bad_reply(host, "fetch", f"{name!r} is not a file of its clients")
        if size > (free := shutil.disk_usage(self._folder).free):
            raise bad_reply(host, "fetch", f"{name} has {size} bytes, and there is room for {free}")

    def record(self) -> dict[str, Any]:
        """Return the fleet's part of ``run.json``, by host."""
        return {
            "fleet": [
                HostOfRun(
                    host=host,
                    hostname=self._found[host].hostname,
                    clients=indices,
                    places=msgspec.to_builtins(self._places[host]),
                    clock=HostClocks(
                        before=self._before[host].document(),
                        after=self._after[host].document(),
                        drift_ppm=drift_ppm(self._before[host], self._after[host]),
                    ),
                    channel=self._silence.get(host),
                    findings=[
                        msgspec.to_builtins(finding)
                        for finding in self._found[host].findings
                        if finding.mark != "fine"
                    ],
                )
                for host, indices in self._by_host.items()
            ]
        }


def check_reachability(channel: Channel, hosts: Sequence[str], address: str) -> None:
    """Refuse hosts that cannot connect to the server.

    Raises
    ------
    InstanceError
        Names the first of them, and the hosts that can.
    """
    failed: dict[str, ClientError] = {}
    for host in hosts:
        try:
            channel.ask(host, {"reach": {"address": address, "timeout_s": REACH_S}})
        except HostLost:
            raise
        except ClientError as error:
            failed[host] = error
    if failed:
        first = next(iter(failed.values()))
        others = [host for host in hosts if host not in failed]
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        can = f"; {', '.join(others)} can" if others else ""
        fields = {**first.fields, "hosts": list(failed), "reachable_from": others}
        raise ClientError(first.code, f"{first.message}{more}{can}", hint=first.hint, **fields)


def _decode(host: str, text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError) as error:
        raise bad_reply(host, "fetch", str(error)) from None
