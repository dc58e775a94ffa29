"""Network namespaces as machines, each with an address, an sshd, and a link and clock that a test can change."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from measuring import wait_for

ROOT = Path(__file__).parents[2]
PORT = 11311
SSH_PORT = 2222
_NUMBERS = itertools.count()
# A time namespace (time_namespaces(7)) takes its offsets before its first process starts.
_CLOCK = """
import ctypes, subprocess, sys
assert ctypes.CDLL(None, use_errno=True).unshare(0x80) == 0, "no time namespace"
seconds, rest = divmod(int(sys.argv[1]), 10**9)
with open("/proc/self/timens_offsets", "w") as file:
    file.write(f"monotonic {seconds} {rest}\\nboottime {seconds} {rest}\\n")
sys.exit(subprocess.call(sys.argv[2:]))
"""


@dataclass
class Machine:
    """One namespace: its name, its address, both ends of its link, its sshd."""

    name: str
    namespace: str
    address: str
    link: str
    folder: Path
    clock_ns: int = 0
    sshd: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def inside(self, *command: str) -> list[str]:
        """The command line that runs `command` in the namespace."""
        return ["ip", "netns", "exec", self.namespace, *command]

    def pids(self) -> list[int]:
        """Processes in the namespace."""
        process = subprocess.run(
            ["ip", "netns", "pids", self.namespace], capture_output=True, text=True, check=False
        )
        return [int(pid) for pid in process.stdout.split()]

    def commands(self) -> dict[int, str]:
        """Command lines of the processes, without sshd's."""
        commands = {}
        for pid in self.pids():
            with contextlib.suppress(OSError):
                line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if "sshd" not in line and line.strip():
                    commands[pid] = line
        return commands

    def kill(self, part: str, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to the processes that have this in their command line."""
        for pid, line in self.commands().items():
            if part in line:
                with contextlib.suppress(OSError):
                    os.kill(pid, number)

    def slow_link(self, rate: str, latency: str = "200ms") -> None:
        """Slow the link for traffic to the machine (tbf of tc(8))."""
        shape = ("tbf", "rate", rate, "burst", "1600", "latency", latency)
        process = subprocess.run(
            ["tc", "qdisc", "add", "dev", self.link, "root", *shape],
            capture_output=True,
            text=True,
            check=False,
        )
        if process.returncode:
            pytest.skip(f"links cannot be slowed here: {process.stderr.strip()}")

    def restore_link(self) -> None:
        """Remove the limit of `slow_link`."""
        subprocess.run(["tc", "qdisc", "del", "dev", self.link, "root"], check=True)

    def start_sshd(self, keys: Path) -> None:
        """Start sshd, with a different clock if the machine has one."""
        config = self.folder / f"sshd-{self.name}"
        config.write_text(
            f"Port {SSH_PORT}\nListenAddress {self.address}\nHostKey {keys}/host\nAuthorizedKeysFile"
            f" {keys}/user.pub\nUsePAM no\nStrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\n"
            f"PidFile none\n"
        )
        sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
        assert sshd is not None
        command = [sshd, "-D", "-f", str(config)]
        if self.clock_ns:
            command = [sys.executable, "-c", _CLOCK, str(self.clock_ns), *command]
        self.sshd = subprocess.Popen(
            self.inside(*command),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def sshd_answers(self) -> bool:
        """Whether sshd accepts connections."""
        return _listens(self.address, SSH_PORT)

    def end(self) -> None:
        """Kill all processes in the namespace."""
        for _ in range(100):
            pids = self.pids()
            for pid in pids:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            if not pids:
                break
            time.sleep(0.02)
        if self.sshd is not None:
            self.sshd.kill()
            self.sshd.wait()


@dataclass(frozen=True)
class Machines:
    """Load hosts ``a``, ``b``, ... and ``server``, all on one bridge with this machine."""

    folder: Path
    by_name: Mapping[str, Machine]
    here: str

    @property
    def server(self) -> Machine:
        return self.by_name["server"]

    @property
    def loads(self) -> list[Machine]:
        return [machine for machine in self.by_name.values() if machine.name != "server"]

    def hosts_file(self, extra: str = "", *, name: str = "hosts.toml", **lines: str) -> Path:
        """Write a file for ``--fleet`` with all load hosts; `lines` are added to the host of that name."""
        text = (
            f'[ssh]\nuser = "root"\nport = {SSH_PORT}\nkey = "{self.folder}/user"\n'
            f'known_hosts = "{self.folder}/known"\npython = "{self.folder}/python"\n'
        )
        for host in self.loads:
            text += (
                f'\n[[host]]\nname = "{host.name}"\naddress = "{host.address}"\n{lines.get(host.name, "")}\n'
            )
        path = self.folder / name
        path.write_text(text + extra)
        return path

    @contextmanager
    def memcached(self) -> Iterator[str]:
        """Run memcached on the server's machine; yields its URL."""
        if shutil.which("memcached") is None:
            pytest.skip("memcached is not installed")
        command = [
            "memcached",
            "-u",
            "nobody",
            "-l",
            self.server.address,
            "-p",
            str(PORT),
            "-U",
            "0",
            "-t",
            "1",
        ]
        server = subprocess.Popen(self.server.inside(*command))
        try:
            wait_for(lambda: _listens(self.server.address), "memcached on its machine")
            yield f"memcached://{self.server.address}:{PORT}"
        finally:
            server.kill()
            server.wait()

    def leftovers(self) -> list[str]:
        """Processes and folders that should be gone from all machines."""
        commands = [f"{host.name}: {line}" for host in self.loads for line in host.commands().values()]
        folders = (self.folder / "tmp").iterdir()
        return commands + [str(path) for path in folders if path.name.startswith("hindmost")]


@contextmanager
def machines(folder: Path, loads: int, clocks_ns: Mapping[str, int] | None = None) -> Iterator[Machines]:
    """Make machines, and remove them afterwards. Skips where that is not permitted or sshd is not installed."""
    if shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin") is None:
        pytest.skip("no sshd: apt-get install openssh-server")
    number = os.getpid() * 16 + next(_NUMBERS) % 16
    net = f"100.{64 + number // 256 % 64}.{number % 256}"
    bridge = f"hb{number % 10**8}"
    names = [*"abcdefgh"[:loads], "server"]
    machines: dict[str, Machine] = {}
    (folder / "tmp").mkdir(exist_ok=True)
    (folder / "tmp").chmod(0o1777)
    _keys(folder)
    try:
        _ip("link", "add", bridge, "type", "bridge")
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no network namespaces as machines here (root is needed): {error}")
    try:
        _ip("addr", "add", f"{net}.254/24", "dev", bridge)
        _ip("link", "set", bridge, "up")
        for place, name in enumerate(names, 1):
            machine = Machine(
                name,
                f"{bridge}-{name}",
                f"{net}.{place}",
                f"{bridge}{chr(96 + place)}"[-15:],
                folder,
                (clocks_ns or {}).get(name, 0),
            )
            machines[name] = machine
            space = machine.namespace
            _ip("netns", "add", space)
            _ip("link", "add", machine.link, "type", "veth", "peer", "name", "eth0", "netns", space)
            _ip("link", "set", machine.link, "master", bridge, "up")
            _ip("-n", space, "addr", "add", f"{machine.address}/24", "dev", "eth0")
            _ip("-n", space, "link", "set", "lo", "up")
            _ip("-n", space, "link", "set", "eth0", "up")
            machine.start_sshd(folder)
        for machine in machines.values():
            wait_for(machine.sshd_answers, f"sshd on {machine.name}")
        key = (folder / "host.pub").read_text().split()[:2]
        (folder / "known").write_text(
            "".join(f"[{machine.address}]:{SSH_PORT} {' '.join(key)}\n" for machine in machines.values())
        )
        yield Machines(folder, machines, f"{net}.254")
    finally:
        for machine in machines.values():
            machine.end()
            with contextlib.suppress(subprocess.CalledProcessError):
                _ip("netns", "delete", machine.namespace)
        _ip("link", "delete", bridge)


def _keys(folder: Path) -> None:
    Path("/run/sshd").mkdir(exist_ok=True)
    for name in ("host", "user"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    python = folder / "python"
    python.write_text(
        f"#!/bin/sh\nexport PYTHONPATH={ROOT / 'python'} TMPDIR={folder / 'tmp'}\n"
        f'exec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def _listens(address: str, port: int = PORT) -> bool:
    import socket

    with contextlib.suppress(OSError), socket.create_connection((address, port), 1.0):
        return True
    return False
