"""A network namespace at the other end of a link: a server as far away as another host, on this one."""

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

# Two of the addresses for benchmarks (RFC 2544), others for each process that tests.
_NETWORK = int(ipaddress.IPv4Address("198.18.0.0")) + 4 * (os.getpid() % 2**15)
HERE, THERE = (str(ipaddress.IPv4Address(_NETWORK + number)) for number in (1, 2))
PORT = 11311


@dataclass(frozen=True)
class Elsewhere:
    """A namespace by its name, and both ends of the veth(4) pair that leads there."""

    name: str
    link: str
    peer: str

    def run(self, *command: str) -> None:
        """Run a command in the namespace, to its end."""
        _ip("netns", "exec", self.name, *command)

    @contextmanager
    def memcached(self, *, udp: bool = False) -> Iterator[str]:
        """A memcached there, over UDP beside TCP if asked for; gives its URL."""
        listens = ["-p", str(PORT), "-U", str(PORT if udp else 0)]
        command = ["memcached", "-u", "nobody", "-l", THERE, *listens, "-t", "1"]
        server = subprocess.Popen(["ip", "netns", "exec", self.name, *command])
        try:
            wait_for(_answers, "memcached in its namespace")
            yield f"memcached{'-udp' if udp else ''}://{THERE}:{PORT}"
        finally:
            server.kill()
            server.wait()


def need_mounts_of_our_own() -> None:
    """Whether a network and a /sys can be had that nobody else sees; a skip with the reason, if not."""
    tried = ["unshare", "--net", "--mount", "mount", "-t", "sysfs", "none", "/sys"]
    done = subprocess.run(tried, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"no namespace can be made here: {done.stderr[-200:]}")


_NUMBERS = itertools.count()


@contextmanager
def elsewhere() -> Iterator[Elsewhere]:
    """Make a namespace and a link to it, which are gone afterwards; a skip where that is not permitted."""
    name = f"hm{os.getpid()}-{next(_NUMBERS)}"
    there = Elsewhere(name, f"{name}a"[-15:], f"{name}b"[-15:])
    try:
        _ip("netns", "add", there.name)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no network namespace can be made here: {error}")
    try:
        try:
            _ip("link", "add", there.link, "type", "veth", "peer", "name", there.peer, "netns", there.name)
            _ip("addr", "add", f"{HERE}/30", "dev", there.link)
            _ip("link", "set", there.link, "up")
            _ip("-n", there.name, "addr", "add", f"{THERE}/30", "dev", there.peer)
            _ip("-n", there.name, "link", "set", there.peer, "up")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no link to a namespace can be made here: {error}")
        yield there
    finally:
        # A link goes with its namespace, but later: the next one would meet its address.
        with contextlib.suppress(subprocess.CalledProcessError):
            _ip("link", "del", there.link)
        _ip("netns", "del", there.name)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def _answers() -> bool:
    with contextlib.suppress(OSError), socket.create_connection((THERE, PORT), timeout=1.0):
        return True
    return False
