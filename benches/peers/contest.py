"""Makes the measurements, one line of JSON each; existing measurements are not repeated."""

from __future__ import annotations

import json
import math
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benches.peers import rounds, servers
from benches.peers.launch import Client, ClientFailed
from benches.peers.ourselves import HINDMOST, fill
from benches.peers.peer import Job, Peer
from benches.peers.rounds import SHARES, Step
from benches.peers.wire import read_capture
from hindmost import _engine
from hindmost.core.capture import Capture
from hindmost.core.targets import ManagedServer
from hindmost.errors import HindmostError

FREEZE_S, FREEZE_AT_S, FREEZE_RATE, FREEZE_RUN_S = 0.1, 2.0, 2000.0, 4.0
"""The server is frozen for 0.1 s, 2 s after the client starts: within the 4 s of load of every peer, even if
it needs a second to start. At 2,000 requests/s the backlog is small compared with the server's capacity."""
_PATIENCE_S = 30.0
SEND_DELAY_RATE = 50_000.0
_NOISE_S = 0.4
_SNAPLEN = {"memcached": 1900, "redis": 1900, "http": 3900}
"""Captured bytes per packet. Pipelined replies may share a packet, and the beginning of each is needed: the
host may pause for some milliseconds at half of the server's capacity, with 16 connections."""
_SNAPLEN_CLOSED = 512
"""In a closed loop, each reply has its own packet."""
_FRAME = 128
"""Bytes that the kernel's ring needs per packet in addition; a frame does not cross a page of 4096 bytes."""
_LOOKS, _LOOK_S = 4, 0.4
"""How often, and for how long in seconds, the server is driven flat out to find its capacity."""
_LACKING = 1e-3
"""Fraction of its packets that a capture may lack."""
_MOST_KIB = 2_000_000
"""Largest ring that tcpdump accepts, in KiB."""
_AROUND_S = 2.0
"""Time in seconds that the load of a peer may exceed the requested one: warm-up, storing keys."""


@dataclass(frozen=True)
class Setting:
    """Constants of a contest, stored in its first line."""

    seconds: float
    connections: int
    server_cpu: int
    client_cpu: int


class SettingDiffers(ValueError):
    """A file of measurements was started with another setting; carries both."""

    def __init__(self, path: Path, found: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
        super().__init__(
            f"{path} was started with {found}, but the request is {asked}: it cannot be continued"
        )


class Contest:
    """A file of measurements that grows.

    Parameters
    ----------
    path : Path
        JSON lines: a `Setting` and properties of this host, then one row per measurement.
    setting : Setting
        Must equal the setting in the file, if the file exists.
    programs : mapping
        Path of each peer's program, by the program's name.
    about : mapping
        Versions and the host, for the first line.
    """

    def __init__(
        self, path: Path, setting: Setting, programs: Mapping[str, str], about: Mapping[str, Any]
    ) -> None:
        self.path = path
        self.setting = setting
        self.programs = programs
        self.rows: list[dict[str, Any]] = []
        if path.exists():
            _cut(path)
            first, self.rows = load(path)
            if first["setting"] != asdict(setting):
                raise SettingDiffers(path, first["setting"], asdict(setting))
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        self._append({"setting": asdict(setting), "about": dict(about)})

    def _append(self, row: dict[str, Any]) -> None:
        if "key" in row:
            self.rows.append(row)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def _capacity(self, server: ManagedServer) -> float:
        """Return the capacity of the server in requests/s, measured once per contest with Hindmost."""
        for row in self.rows:
            if row["mode"] == "capacity" and row["protocol"] == server.protocol:
                return float(row["per_s"])
        found = max(self._fill(server) for _ in range(_LOOKS))  # interference only reduces it
        row = {"key": [0, server.protocol, "capacity", "hindmost"], "round": 0, "protocol": server.protocol}
        self._append(row | {"mode": "capacity", "peer": "hindmost", "per_s": found})
        return found

    def run(self, peers: Sequence[Peer], count: int, freezes: int, stop_at: float) -> bool:
        """Make the missing measurements of `count` rounds.

        Parameters
        ----------
        freezes : int
            Number of rounds in which the server is also frozen.
        stop_at : float
            Time of the monotonic clock after which no measurement is started.

        Returns
        -------
        bool
            Whether all measurements exist now.
        """
        done = {tuple(row["key"]) for row in self.rows}
        for block in rounds.steps(peers, count, freezes, seed=1):
            missing = [step for step in block if step.key not in done]
            if not missing:
                continue
            if time.monotonic() >= stop_at:
                return False
            with servers.running(block[0].protocol, self.setting.server_cpu) as server:
                self._fill(server)
                capacity = self._capacity(server)
                for step in missing:
                    if time.monotonic() >= stop_at:
                        return False
                    self._step(step, server, capacity)
        return True

    def _fill(self, server: ManagedServer) -> float:
        """Let Hindmost store the keys that it will request, so that captures contain gets only.

        Returns
        -------
        float
            Rate of the server at that, flat out, in requests/s.
        """
        with tempfile.TemporaryDirectory(prefix="peers-") as place:
            job = Job(server.address, self.setting.connections, _LOOK_S, None, 1.0, Path(place))
            command = fill(server.protocol, job, self.programs[HINDMOST[0].source.program])
            ran = Client(command, self.setting.client_cpu, job.folder).finish(_PATIENCE_S)
            return HINDMOST[0].read(job, ran.out).per_s

    def _step(self, step: Step, server: ManagedServer, capacity: float) -> None:
        begun = time.monotonic()
        row: dict[str, Any] = {
            "key": step.key,
            "round": step.round,
            "protocol": step.protocol,
            "mode": step.mode,
            "peer": step.peer.name,
        }
        try:
            row |= self._measure(step, server, capacity)
            said = f"{row['report']['per_s']:,.0f}/s"
        except (ClientFailed, HindmostError, ValueError, OSError) as error:
            row["failure"] = said = f"{type(error).__name__}: {error}"
        self._append(row)
        print(
            f"round {step.round}  {step.protocol:9}  {step.mode:6}  {step.peer.name:18}  {said}"
            f"  ({time.monotonic() - begun:.1f} s)",
            file=sys.stderr,
        )

    def _measure(self, step: Step, server: ManagedServer, capacity: float) -> dict[str, Any]:
        rate: float | None = None
        if step.mode == "send_delay":
            rate = SEND_DELAY_RATE
        elif step.mode in SHARES:
            rate = round(SHARES[step.mode] * capacity, -2)
        elif step.mode == "freeze" and step.peer.paced:
            rate = FREEZE_RATE
        with tempfile.TemporaryDirectory(prefix="peers-") as place, ExitStack() as stack:
            folder = Path(place)
            job = Job(
                server.address,
                self.setting.connections,
                FREEZE_RUN_S if step.mode == "freeze" else self.setting.seconds,
                rate,
                capacity,
                folder,
                even=step.mode == "freeze",
                seed=step.round,
            )
            pcap = None
            if step.mode in ("heard", *SHARES):
                pcap = folder / "wire.pcap"
                snaplen = _SNAPLEN_CLOSED if rate is None else _SNAPLEN[step.protocol]
                pages = 2.0 * (rate or capacity) * (job.seconds + _AROUND_S) / (4096 // (snaplen + _FRAME))
                ring_kib = min(round(4 * pages), _MOST_KIB)
                capture = stack.enter_context(
                    Capture(pcap, int(job.port), snaplen=snaplen, ring_kib=ring_kib)
                )
                capture.pause()
            noise_ns = [self._noise_ns()] if step.mode == "send_delay" else []
            pids = server.pids() if step.mode == "freeze" else []
            client = Client(
                step.peer.command(job, self.programs[step.peer.source.program]),
                self.setting.client_cpu,
                folder,
            )
            frozen_s = None
            if step.mode == "freeze":
                time.sleep(FREEZE_AT_S)
                frozen_s = servers.freeze(pids, self.setting.server_cpu, FREEZE_S)
            ran = client.finish(job.seconds + _PATIENCE_S, watch=step.mode == "flat")
            report = step.peer.read(job, ran.out)
            noise_ns = [*noise_ns, self._noise_ns()] if step.mode == "send_delay" else []
            found: dict[str, Any] = {
                "requested_per_s": rate,
                "seconds": job.seconds,
                "frozen_s": frozen_s,
                "cpu_s": ran.cpu_s,
                "wall_s": ran.wall_s,
                "cpu_share": None if math.isnan(ran.cpu_share) else ran.cpu_share,
                "noise_p99_ns": noise_ns,
                "report": asdict(report),
            }
            if pcap is not None:
                caught = capture.finish()
                if caught.dropped > _LACKING * caught.captured or not caught.whole:
                    raise ClientFailed(f"the capture lacks {caught.dropped} packets of {caught.captured}")
                found["wire"] = asdict(
                    read_capture(pcap, int(job.port), step.protocol, report.requests, report.window_ns)
                )
        return found

    def _noise_ns(self) -> float:
        """Return the delay in ns at p99 that the host alone causes on the client's CPU at random times."""
        floors = json.loads(_engine.doctor("/", _NOISE_S))["noise"]["floors"]
        (floor,) = (one for one in floors if one["cpu"] == self.setting.client_cpu)
        return float(floor["gaps"]["delay_p99_ns"])


def _cut(path: Path) -> None:
    """Remove an incomplete last line."""
    text = path.read_bytes()
    if not text.endswith(b"\n"):
        path.write_bytes(text[: text.rfind(b"\n") + 1])


def load(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Read a contest's file: its first line, and its rows."""
    first, *rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return first, rows
