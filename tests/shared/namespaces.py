"""A network namespace at the other end of a link: a server as remote as on another host, on this one."""

from __future__ import annotations

import contextlib
import ipaddress
import itertools
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from measuring import wait_for

# Two of the addresses for benchmarks (RFC 2544), different for each test process.
_NETWORK = int(ipaddress.IPv4Address("198.18.0.0")) + 4 * (os.getpid() % 2**15)
HERE, THERE = (str(ipaddress.IPv4Address(_NETWORK + number)) for number in (1, 2))
PORT = 11311


@dataclass(frozen=True)
class Namespace:
    """A namespace by its name, and both ends of the veth(4) pair that leads there."""

    name: str
    link: str
    peer: str

    def run(self, *command: str) -> None:
        """Run a command in the namespace, to its end."""
        _ip("netns", "exec", self.name, *command)

    @contextmanager
    def memcached(self, *, udp: bool = False) -> Iterator[str]:
        """Run memcached in the namespace, with `udp` over UDP as well as TCP; yields its URL."""
        listens = ["-p", str(PORT), "-U", str(PORT if udp else 0)]
        command = ["memcached", "-u", "nobody", "-l", THERE, *listens, "-t", "1"]
        server = subprocess.Popen(["ip", "netns", "exec", self.name, *command])
        try:
            wait_for(_answers, "memcached in its namespace")
            yield f"memcached{'-udp' if udp else ''}://{THERE}:{PORT}"
        finally:
            server.kill()
            server.wait()


def need_private_mounts() -> None:
    """Skip with the reason if no private network and /sys can be created."""
    command = ["unshare", "--net", "--mount", "mount", "-t", "sysfs", "none", "/sys"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"no namespace can be made here: {done.stderr[-200:]}")


_NUMBERS = itertools.count()


@contextmanager
def other_namespace() -> Iterator[Namespace]:
    """Make a namespace and a link to it, removed afterwards; skips where that is not permitted."""
    name = f"hm{os.getpid()}-{next(_NUMBERS)}"
    space = Namespace(name, f"{name}a"[-15:], f"{name}b"[-15:])
    try:
        _ip("netns", "add", space.name)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no network namespace can be made here: {error}")
    try:
        try:
            _ip("link", "add", space.link, "type", "veth", "peer", "name", space.peer, "netns", space.name)
            _ip("addr", "add", f"{HERE}/30", "dev", space.link)
            _ip("link", "set", space.link, "up")
            _ip("-n", space.name, "addr", "add", f"{THERE}/30", "dev", space.peer)
            _ip("-n", space.name, "link", "set", space.peer, "up")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no link to a namespace can be made here: {error}")
        yield space
    finally:
        # The kernel deletes a link some time after its namespace, and the next one would have the same address.
        with contextlib.suppress(subprocess.CalledProcessError):
            _ip("link", "del", space.link)
        _ip("netns", "del", space.name)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


def _answers() -> bool:
    with contextlib.suppress(OSError), socket.create_connection((THERE, PORT), timeout=1.0):
        return True
    return False
