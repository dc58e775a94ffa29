"""Which processes an application communicates with: its clients and its backends, in every network namespace.

::

    client ──> port of the application ──> backend: TCP, Unix socket, pipe, shared memory

A client is load. A backend is never paused, because the application would wait too.
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

from hindmost.commands.diagnose.netlink import attributes, dump_sockets, open_link, tcp_sockets
from hindmost.core.documents import read_kernel
from hindmost.core.targets.procfs import decode_hex_address, listening_ports, socket_inodes

PROC = Path("/proc")
SHORT_S = 0.5
"""Time in which at least one of many short connections is seen, s."""
ESTABLISHED, LISTEN = "01", "0A"
_HELD = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5 | 1 << 8
"""States of sockets that a process owns: established, being opened, being closed."""
_OPEN_MODE = 0o3
_SHARED = re.compile(r"^\S+ rw.s \S+ (?P<device>\S+) (?P<inode>\d+)\s*(?P<path>.*)$")
_UNIX_REQUEST = struct.Struct("=BBHIIIII")
_UNIX_REPLY = struct.Struct("=BBBBIII")
_UDIAG_SHOW, _UNIX_DIAG_NAME, _UNIX_DIAG_PEER = 0x1 | 0x4, 0, 2
_TCP_LISTEN = 10
"""State of a listening socket, also of a Unix socket (``include/net/tcp_states.h``)."""
End = tuple[bytes, int]


@dataclass
class Relations:
    """Processes that communicate with an application."""

    clients: set[int] = field(default_factory=set)
    """Processes connected, by TCP or a Unix socket, to the application or to another client (a proxy)."""
    backends: dict[int, str] = field(default_factory=dict)
    """Processes on which the application depends, and how: ``tcp``, ``unix``, ``pipe``, ``memory``."""


def find_related(own: list[int], proc: Path = PROC) -> Relations:
    """Find the processes that communicate with an application.

    Parameters
    ----------
    own : list of int
        All processes of the application.
    """
    relations = Relations()
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

    def add_backends(inodes: set[str], how: str) -> None:
        for inode in inodes:
            for pid in holders.get(inode, set()) - ours:
                relations.backends.setdefault(pid, how)

    links, listening = _tcp(proc, sockets)
    peers_of, accepted = _unix(sockets, proc)
    by_ends: dict[tuple[End, End], set[str]] = {}
    for inode, ends in links.items():
        by_ends.setdefault(ends, set()).add(inode)

    def callers(pids: set[int]) -> set[int]:
        ports_of = set(listening_ports(list(pids)))
        ends = {links[inode] for inode in inodes_of(pids) & links.keys()}
        asking = [by_ends.get((there, here), set()) for here, there in ends if here[1] in ports_of]
        asking.append({peers_of[one] for one in inodes_of(pids) & accepted & peers_of.keys()})
        return set().union(*(holders.get(one, set()) for one in set().union(*asking)))

    for inode in mine & links.keys():
        here, there = links[inode]
        peers = by_ends.get((there, here), set())
        if here[1] in ports:
            continue
        # If addresses are translated on the way, any process that listens on that port may be the peer.
        add_backends(peers or listening.get(there[1], set()), "tcp")
    for port in _used_ports(own, ports, proc):
        add_backends(listening.get(port, set()), "tcp")
    add_backends({peers_of[one] for one in (mine & peers_of.keys()) - accepted}, "unix")
    for pid, how in _by_pipe(ours, pipes):
        relations.backends.setdefault(pid, how)
    for pid in _by_memory(ours, proc):
        relations.backends.setdefault(pid, "memory")
    relations.clients = callers(ours) - ours
    for pid in relations.clients:
        relations.backends.pop(pid, None)
    more = relations.clients
    while more := callers(more) - ours - relations.clients - relations.backends.keys():
        relations.clients |= more
    return relations


def _pids(proc: Path) -> list[int]:
    return [int(one) for one in os.listdir(proc) if one.isdigit()]  # noqa: PTH208 (names alone)


def _descriptors(proc: Path) -> tuple[dict[int, set[str]], dict[str, dict[int, set[int]]]]:
    """Return socket inodes by process; and by pipe, its processes with their open modes (``open(2)``)."""
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
    """Return both ends of connections, and the listeners of ports, by inode, in all network namespaces."""
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


def _used_ports(own: list[int], ports: set[int], proc: Path) -> set[int]:
    """Watch for `SHORT_S` and return the ports to which the application opens short connections."""
    found: set[int] = set()
    until = time.monotonic() + SHORT_S
    with contextlib.ExitStack() as stack:
        links = [stack.enter_context(open_link(pid)) for pid in _one_each(own, proc)]
        while links and time.monotonic() < until:
            held = socket_inodes(own)
            for link in links:
                with contextlib.suppress(OSError):
                    # A busy host has tens of thousands of closed sockets, which no process owns.
                    found |= {
                        one.there
                        for one in tcp_sockets(link, _HELD)
                        if one.here not in ports and one.inode in held
                    }
            time.sleep(SHORT_S / 500)
    return found


def _end(text: str) -> End:
    address, _, port = text.partition(":")
    return decode_hex_address(address), int(port, 16)


def _unix(pids: Iterable[int], proc: Path) -> tuple[dict[str, str], set[str]]:
    """Return the peer of each connected Unix socket, and which sockets were accepted, by inode."""
    peers: dict[str, str] = {}
    names: dict[str, bytes] = {}
    listening: set[bytes] = set()
    body = _UNIX_REQUEST.pack(socket.AF_UNIX, 0, 0, 0xFFFFFFFF, 0, _UDIAG_SHOW, 0xFFFFFFFF, 0xFFFFFFFF)
    for pid in _one_each(pids, proc):
        with contextlib.suppress(OSError), open_link(pid) as link:
            for message in dump_sockets(link, body):
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
    """Yield one process of each network namespace."""
    seen: set[str] = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            space = os.readlink(proc / str(pid) / "ns/net")  # noqa: PTH115
            if space not in seen:
                seen.add(space)
                yield pid


def _by_pipe(ours: set[int], pipes: dict[str, dict[int, set[int]]]) -> Iterator[tuple[int, str]]:
    """Yield processes that read what the application writes, or write what it reads."""
    for held in pipes.values():
        modes = set().union(*(held[pid] for pid in held.keys() & ours))
        for pid in held.keys() - ours:
            if {os.O_RDONLY, os.O_WRONLY} <= modes | held[pid] and modes and modes != held[pid]:
                yield pid, "pipe"


def _by_memory(ours: set[int], proc: Path) -> set[int]:
    """Return processes with the same shared memory: tmpfs files, memfds, System V segments."""

    def shared_files(pid: int) -> set[tuple[str, str]]:
        found = set()
        with contextlib.suppress(OSError):
            for line in read_kernel(proc / str(pid) / "maps").splitlines():
                if (one := _SHARED.match(line)) and one["inode"] != "0":
                    found.add((one["device"], one["inode"]))
        return found

    mine = set().union(*(shared_files(pid) for pid in ours))
    return (
        {pid for pid in _pids(proc) if pid not in ours and not mine.isdisjoint(shared_files(pid))}
        if mine
        else set()
    )
