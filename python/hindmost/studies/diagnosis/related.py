"""Whom an application talks to: its clients, and what it depends on itself, in every network namespace.

::

    client ──> port on which it listens          it ──> backend: TCP, Unix socket, pipe, shared memory

A client is load. What the application depends on is never paused: it would wait as well.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import struct
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hindmost.documents import read_kernel
from hindmost.studies.diagnosis.netlink import attributes, dumped, opened, tcp_sockets
from hindmost.targets.procfs import decode_hex_address, listening_ports

PROC = Path("/proc")
SHORT_S = 0.5
"""Long enough to see one of many short connections."""
ESTABLISHED, LISTEN = "01", "0A"
_HELD = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5 | 1 << 8
"""States of sockets that a process holds: established, being opened, being closed."""
_OPEN_MODE = 0o3
_SHARED = re.compile(r"^\S+ rw.s \S+ (?P<device>\S+) (?P<inode>\d+)\s*(?P<path>.*)$")
_UNIX_REQUEST = struct.Struct("=BBHIIIII")
_UNIX_REPLY = struct.Struct("=BBBBIII")
_UDIAG_SHOW, _UNIX_DIAG_NAME, _UNIX_DIAG_PEER = 0x1 | 0x4, 0, 2
_TCP_LISTEN = 10
"""Of a Unix socket too (``include/net/tcp_states.h``)."""
End = tuple[bytes, int]


@dataclass
class Related:
    """Processes beside an application."""

    clients: set[int] = field(default_factory=set)
    """Connected, by TCP or a Unix socket, to where it listens, or to where such a client listens: a proxy."""
    backends: dict[int, str] = field(default_factory=dict)
    """That it asks or shares something with, and by what: ``tcp``, ``unix``, ``pipe``, ``memory``."""


def related(own: list[int], proc: Path = PROC) -> Related:
    """Look whom the processes of an application are connected with.

    Parameters
    ----------
    own : list of int
        All its processes.
    """
    found = Related()
    ours = set(own)
    sockets, pipes = _descriptors(proc)
    holders: dict[str, set[int]] = {}
    for pid, inodes in sockets.items():
        for inode in inodes:
            holders.setdefault(inode, set()).add(pid)

    def inodes_of(pids: Iterable[int]) -> set[str]:
        return set().union(*(sockets.get(pid, set()) for pid in pids))

    mine = inodes_of(own)
    ports = set(listening_ports(own))

    def tell(inodes: set[str], how: str) -> None:
        for inode in inodes:
            for pid in holders.get(inode, set()) - ours:
                found.backends.setdefault(pid, how)

    links, listening = _tcp(proc, sockets)
    peers_of, accepted = _unix(sockets, proc)
    by_ends: dict[tuple[End, End], set[str]] = {}
    for inode, ends in links.items():
        by_ends.setdefault(ends, set()).add(inode)

    def callers(pids: set[int]) -> set[int]:
        at = set(listening_ports(list(pids)))
        ends = {links[inode] for inode in inodes_of(pids) & links.keys()}
        asking = [by_ends.get((there, here), set()) for here, there in ends if here[1] in at]
        asking.append({peers_of[one] for one in inodes_of(pids) & accepted & peers_of.keys()})
        return set().union(*(holders.get(one, set()) for one in set().union(*asking)))

    for inode in mine & links.keys():
        here, there = links[inode]
        peers = by_ends.get((there, here), set())
        if here[1] in ports:
            continue
        # Where addresses are translated on the way, whoever listens on that port may be meant.
        tell(peers or listening.get(there[1], set()), "tcp")
    for port in _asked_ports(own, ports, proc):
        tell(listening.get(port, set()), "tcp")
    tell({peers_of[one] for one in (mine & peers_of.keys()) - accepted}, "unix")
    for pid, how in _by_pipe(ours, pipes):
        found.backends.setdefault(pid, how)
    for pid in _by_memory(ours, proc):
        found.backends.setdefault(pid, "memory")
    found.clients = callers(ours) - ours
    for pid in found.clients:
        found.backends.pop(pid, None)
    more = found.clients
    while more := callers(more) - ours - found.clients - found.backends.keys():
        found.clients |= more
    return found


def _pids(proc: Path) -> list[int]:
    return [int(one) for one in os.listdir(proc) if one.isdigit()]  # noqa: PTH208 (names alone)


def _descriptors(proc: Path) -> tuple[dict[int, set[str]], dict[str, dict[int, set[int]]]]:
    """Inodes of sockets by process; by pipe, processes with the modes in which they hold it (``open(2)``)."""
    sockets: dict[int, set[str]] = {}
    pipes: dict[str, dict[int, set[int]]] = {}
    for pid in _pids(proc):
        with contextlib.suppress(OSError), os.scandir(proc / str(pid) / "fd") as descriptors:
            for one in descriptors:
                with contextlib.suppress(OSError, ValueError, IndexError):
                    kind, _, inode = os.readlink(one.path).partition(":")  # noqa: PTH115
                    if kind == "socket":
                        sockets.setdefault(pid, set()).add(inode.strip("[]"))
                    elif kind == "pipe":
                        text = read_kernel(proc / str(pid) / "fdinfo" / one.name)
                        mode = int(text.partition("flags:")[2].split()[0], 8) & _OPEN_MODE
                        pipes.setdefault(inode, {}).setdefault(pid, set()).add(mode)
    return sockets, pipes


def _tcp(proc: Path, sockets: dict[int, set[str]]) -> tuple[dict[str, tuple[End, End]], dict[int, set[str]]]:
    """Both ends of each connection, and who listens on a port, by inode; in all network namespaces."""
    links: dict[str, tuple[End, End]] = {}
    listening: dict[int, set[str]] = {}
    for pid in _one_each(sockets, proc):
        with contextlib.suppress(OSError):
            for table in ("tcp", "tcp6"):
                for line in read_kernel(proc / str(pid) / "net" / table).splitlines()[1:]:
                    fields = line.split()
                    here, there = (_end(one) for one in fields[1:3])
                    if fields[3] == LISTEN:
                        listening.setdefault(here[1], set()).add(fields[9])
                    elif fields[3] == ESTABLISHED:
                        links[fields[9]] = (here, there)
    return links, listening


def _asked_ports(own: list[int], ports: set[int], proc: Path) -> set[int]:
    """Ports that an application asks within `SHORT_S`: a connection for each request is rarely there."""
    found: set[int] = set()
    until = time.monotonic() + SHORT_S
    with contextlib.ExitStack() as stack:
        links = [stack.enter_context(opened(pid)) for pid in _one_each(own, proc)]
        while links and time.monotonic() < until:
            held: set[str] = set()
            for pid in own:
                with contextlib.suppress(OSError):
                    for name in os.listdir(proc / str(pid) / "fd"):  # noqa: PTH208
                        with contextlib.suppress(OSError):
                            held.add(os.readlink(proc / str(pid) / "fd" / name))  # noqa: PTH115
            for link in links:
                with contextlib.suppress(OSError):
                    # A busy host has tens of thousands of closed ones, which are nobody's.
                    found |= {
                        one.there
                        for one in tcp_sockets(link, _HELD)
                        if one.here not in ports and f"socket:[{one.inode}]" in held
                    }
            time.sleep(SHORT_S / 500)
    return found


def _end(text: str) -> End:
    address, _, port = text.partition(":")
    return decode_hex_address(address), int(port, 16)


def _unix(pids: Iterable[int], proc: Path) -> tuple[dict[str, str], set[str]]:
    """The other end of each connected Unix socket in the networks of processes, and which were accepted."""
    peers: dict[str, str] = {}
    names: dict[str, bytes] = {}
    listening: set[bytes] = set()
    body = _UNIX_REQUEST.pack(socket.AF_UNIX, 0, 0, 0xFFFFFFFF, 0, _UDIAG_SHOW, 0xFFFFFFFF, 0xFFFFFFFF)
    for pid in _one_each(pids, proc):
        with contextlib.suppress(OSError), opened(pid) as link:
            for message in dumped(link, body):
                _, _, state, _, inode, _, _ = _UNIX_REPLY.unpack_from(message)
                for name, value in attributes(message[_UNIX_REPLY.size :]):
                    if name == _UNIX_DIAG_PEER:
                        peers[str(inode)] = str(int.from_bytes(value, "little"))
                    elif name == _UNIX_DIAG_NAME and state == _TCP_LISTEN:
                        listening.add(value)
                    elif name == _UNIX_DIAG_NAME:
                        names[str(inode)] = value
    return peers, {inode for inode, name in names.items() if name in listening}


def _one_each(pids: Iterable[int], proc: Path) -> Iterator[int]:
    """One process of each network namespace."""
    seen: set[str] = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            space = os.readlink(proc / str(pid) / "ns/net")  # noqa: PTH115
            if space not in seen:
                seen.add(space)
                yield pid


def _by_pipe(ours: set[int], pipes: dict[str, dict[int, set[int]]]) -> Iterator[tuple[int, str]]:
    """Who reads what the application writes, or writes what it reads."""
    for held in pipes.values():
        modes = set().union(*(held[pid] for pid in held.keys() & ours))
        for pid in held.keys() - ours:
            if {os.O_RDONLY, os.O_WRONLY} <= modes | held[pid] and modes and modes != held[pid]:
                yield pid, "pipe"


def _by_memory(ours: set[int], proc: Path) -> set[int]:
    """Who can write to the same shared memory: files of tmpfs, memfds, System V segments."""

    def shared(pid: int) -> set[tuple[str, str]]:
        found = set()
        with contextlib.suppress(OSError):
            for line in read_kernel(proc / str(pid) / "maps").splitlines():
                if (one := _SHARED.match(line)) and one["inode"] != "0":
                    found.add((one["device"], one["inode"]))
        return found

    mine = set().union(*(shared(pid) for pid in ours))
    return (
        {pid for pid in _pids(proc) if pid not in ours and not mine.isdisjoint(shared(pid))}
        if mine
        else set()
    )
