"""Network namespaces as machines: each with an address, an sshd, and whatever a test does to its link or clock."""

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
# A time namespace (time_namespaces(7)) takes its offsets before its first process is there.
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
        """A command line that runs there."""
        return ["ip", "netns", "exec", self.namespace, *command]

    def pids(self) -> list[int]:
        """Processes there."""
        done = subprocess.run(
            ["ip", "netns", "pids", self.namespace], capture_output=True, text=True, check=False
        )
        return [int(word) for word in done.stdout.split()]

    def commands(self) -> dict[int, str]:
        """Their command lines, without sshd's own."""
        found = {}
        for pid in self.pids():
            with contextlib.suppress(OSError):
                line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if "sshd" not in line and line.strip():
                    found[pid] = line
        return found

    def kill(self, part: str, how: signal.Signals = signal.SIGKILL) -> None:
        """Send the processes there that have this in their command line a signal: they end at once, or stop."""
        for pid, line in self.commands().items():
            if part in line:
                with contextlib.suppress(OSError):
                    os.kill(pid, how)

    def slow(self, rate: str, latency: str = "200ms") -> None:
        """A slow link to it (tbf of tc(8)), for what is sent there."""
        self._hinder("links cannot be slowed here", "tbf", "rate", rate, "burst", "1600", "latency", latency)

    def distant(self, delay: str, loss: str) -> None:
        """Far away: what is sent there takes longer, and some of it is lost (netem of tc(8))."""
        self._hinder("this kernel has no netem", "netem", "delay", delay, "loss", loss)

    def _hinder(self, otherwise: str, *shape: str) -> None:
        done = subprocess.run(
            ["tc", "qdisc", "add", "dev", self.link, "root", *shape],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            pytest.skip(f"{otherwise}: {done.stderr.strip()}")

    def unhindered(self) -> None:
        """Its link as it was."""
        subprocess.run(["tc", "qdisc", "del", "dev", self.link, "root"], check=True)

    def begin_sshd(self, keys: Path) -> None:
        """Its sshd, with a clock of its own where it has one."""
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

    def answers(self) -> bool:
        """Whether its sshd is there."""
        return _listens(self.address, SSH_PORT)

    def end(self) -> None:
        """Nothing runs there any more."""
        for _ in range(100):
            left = self.pids()
            for pid in left:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            if not left:
                break
            time.sleep(0.02)
        if self.sshd is not None:
            self.sshd.kill()
            self.sshd.wait()


@dataclass(frozen=True)
class Machines:
    """Some load hosts ``a``, ``b``, ... and ``server``, all on one bridge with this machine."""

    folder: Path
    by_name: Mapping[str, Machine]
    here: str

    @property
    def server(self) -> Machine:
        return self.by_name["server"]

    @property
    def loads(self) -> list[Machine]:
        return [one for one in self.by_name.values() if one.name != "server"]

    def hosts_file(self, more: str = "", *, name: str = "hosts.toml", **lines: str) -> Path:
        """A file for ``--fleet`` with all load hosts; `lines` are added to the host of that name."""
        text = (
            f'[ssh]\nuser = "root"\nport = {SSH_PORT}\nkey = "{self.folder}/user"\n'
            f'known_hosts = "{self.folder}/known"\npython = "{self.folder}/python"\n'
        )
        for one in self.loads:
            text += f'\n[[host]]\nname = "{one.name}"\naddress = "{one.address}"\n{lines.get(one.name, "")}\n'
        path = self.folder / name
        path.write_text(text + more)
        return path

    @contextmanager
    def memcached(self) -> Iterator[str]:
        """A memcached on the server's machine; gives its URL."""
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

    def left(self) -> list[str]:
        """What should not be there any more, on any machine."""
        found = [f"{one.name}: {line}" for one in self.loads for line in one.commands().values()]
        mine = (self.folder / "tmp").iterdir()
        return found + [str(path) for path in mine if path.name.startswith("hindmost")]


@contextmanager
def machines(folder: Path, loads: int, clocks_ns: Mapping[str, int] | None = None) -> Iterator[Machines]:
    """Make them; gone afterwards. A skip where that is not permitted or sshd is not installed."""
    if shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin") is None:
        pytest.skip("no sshd: apt-get install openssh-server")
    number = os.getpid() * 16 + next(_NUMBERS) % 16
    net = f"100.{64 + number // 256 % 64}.{number % 256}"
    bridge = f"hb{number % 10**8}"
    named = [*"abcdefgh"[:loads], "server"]
    found: dict[str, Machine] = {}
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
        for place, name in enumerate(named, 1):
            one = Machine(
                name,
                f"{bridge}-{name}",
                f"{net}.{place}",
                f"{bridge}{chr(96 + place)}"[-15:],
                folder,
                (clocks_ns or {}).get(name, 0),
            )
            found[name] = one
            _ip("netns", "add", one.namespace)
            _ip("link", "add", one.link, "type", "veth", "peer", "name", "eth0", "netns", one.namespace)
            _ip("link", "set", one.link, "master", bridge, "up")
            _ip("-n", one.namespace, "addr", "add", f"{one.address}/24", "dev", "eth0")
            _ip("-n", one.namespace, "link", "set", "lo", "up")
            _ip("-n", one.namespace, "link", "set", "eth0", "up")
            one.begin_sshd(folder)
        for one in found.values():
            wait_for(lambda one=one: _listens(one.address, SSH_PORT), f"sshd on {one.name}")
        known = (folder / "host.pub").read_text().split()[:2]
        (folder / "known").write_text(
            "".join(f"[{one.address}]:{SSH_PORT} {' '.join(known)}\n" for one in found.values())
        )
        yield Machines(folder, found, f"{net}.254")
    finally:
        for one in found.values():
            one.end()
            with contextlib.suppress(subprocess.CalledProcessError):
                _ip("netns", "delete", one.namespace)
        _ip("link", "delete", bridge)


def _keys(folder: Path) -> None:
    Path("/run/sshd").mkdir(exist_ok=True)
    for name in ("host", "user"):
        made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(made, check=True, stdin=subprocess.DEVNULL)
    python = folder / "python"
    python.write_text(
        f"#!/bin/sh\nexport PYTHONPATH={ROOT / 'python'} TMPDIR={folder / 'tmp'}\n"
        f'exec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def _listens(address: str, port: int = PORT) -> bool:
    import socket

    with contextlib.suppress(OSError), socket.create_connection((address, port), 1.0):
        return True
    return False
