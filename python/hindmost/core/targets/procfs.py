"""Facts about servers on this machine from ``/proc``: listeners of a port, process trees, CPUs, CPU time.

Only what the caller may read: other users' processes are unknown (None) unless Hindmost runs as root.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import struct
from collections.abc import Iterable
from pathlib import Path

from hindmost.core.documents import read_kernel
from hindmost.core.targets.guard import descendants, parents

_LISTEN = "0A"  # TCP_LISTEN in include/net/tcp_states.h
_UNCONNECTED = "07"
_TABLES = {
    "tcp": (("net/tcp", _LISTEN), ("net/tcp6", _LISTEN)),
    "udp": (("net/udp", _UNCONNECTED), ("net/udp6", _UNCONNECTED)),
}


def split_address(address: str) -> tuple[str, int]:
    """Split ``host:port`` or ``[host]:port``.

    Examples
    --------
    >>> split_address("[::1]:6379")
    ('::1', 6379)
    """
    host, _, port = address.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), int(port)


def join_address(host: str, port: int) -> str:
    """Join host and port, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _pack(host: str) -> bytes:
    """Return an IP address as 4 bytes, or 16 unless it is an IPv4 address inside IPv6."""
    if ":" not in host:
        return socket.inet_pton(socket.AF_INET, host)
    raw = socket.inet_pton(socket.AF_INET6, host.partition("%")[0])
    return raw[12:] if raw.startswith(bytes(10) + b"\xff\xff") else raw


def decode_hex_address(text: str) -> bytes:
    """Decode the kernel's hexadecimal: 32-bit words in machine byte order (``proc_pid_net(5)``, tcp)."""
    words = (int(text[i : i + 8], 16) for i in range(0, len(text), 8))
    raw = b"".join(struct.pack("=I", word) for word in words)
    return raw[12:] if len(raw) == 16 and raw.startswith(bytes(10) + b"\xff\xff") else raw


def thread_ids(pids: Iterable[int]) -> list[int]:
    """Return the thread ids of processes; none of those that have ended."""
    found: list[int] = []
    for pid in pids:
        with contextlib.suppress(OSError):
            found += [int(entry.name) for entry in Path(f"/proc/{pid}/task").iterdir()]
    return sorted(found)


def listening_inodes(host: str, port: int, proc: Path = Path("/proc")) -> set[str]:
    """Return the inodes of the sockets that serve this address, on it or on a wildcard address.

    These are listening sockets; if there are none, unconnected UDP sockets.
    """
    wanted = {_pack(host), bytes(16), bytes(4)}
    if len(_pack(host)) == 16:
        wanted.remove(bytes(4))
    inodes: set[str] = set()
    for table, state in (*_TABLES["tcp"], *_TABLES["udp"]):
        if inodes and (table, state) in _TABLES["udp"]:
            break
        with contextlib.suppress(OSError):
            for line in read_kernel(proc / table).splitlines()[1:]:
                fields = line.split()
                local, _, local_port = fields[1].rpartition(":")
                here = fields[3] == state and int(local_port, 16) == port
                if here and decode_hex_address(local) in wanted:
                    inodes.add(fields[9])
    return inodes


def _holds(pid: int, links: set[str]) -> bool:
    with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/fd") as descriptors:
        for descriptor in descriptors:
            with contextlib.suppress(OSError):
                if os.readlink(descriptor.path) in links:  # noqa: PTH115 (thousands of them: no Path each)
                    return True
    return False


def listening_addresses(pids: Iterable[int], proc: Path = Path("/proc")) -> list[str]:
    """Return the TCP addresses (``IP:PORT``) on which any of these processes accepts connections, sorted."""
    addresses: set[str] = set()
    for pid in pids:
        waiting = {}
        for table in ("net/tcp", "net/tcp6"):
            with contextlib.suppress(OSError):
                for line in read_kernel(proc / str(pid) / table).splitlines()[1:]:
                    fields = line.split()
                    if fields[3] == _LISTEN:
                        waiting[f"socket:[{fields[9]}]"] = _decode_address(fields[1])
        with contextlib.suppress(OSError), os.scandir(proc / str(pid) / "fd") as descriptors:
            for descriptor in descriptors:
                with contextlib.suppress(OSError, KeyError):
                    addresses.add(waiting[os.readlink(descriptor.path)])  # noqa: PTH115
    return sorted(addresses)


def _decode_address(text: str) -> str:
    """Decode an address and a port in the kernel's hexadecimal."""
    host, _, port = text.rpartition(":")
    raw = decode_hex_address(host)
    return join_address(
        socket.inet_ntop(socket.AF_INET if len(raw) == 4 else socket.AF_INET6, raw), int(port, 16)
    )


def listening_ports(pids: Iterable[int], proc: Path = Path("/proc")) -> list[int]:
    """Return the TCP ports on which any of these processes accepts connections, sorted."""
    return sorted({split_address(address)[1] for address in listening_addresses(pids, proc)})


def socket_inodes(pids: Iterable[int]) -> set[int]:
    """Return the inodes of the sockets that these processes hold; some may be closed meanwhile."""
    found = set()
    for pid in pids:
        with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/fd") as descriptors:
            for one in descriptors:
                with contextlib.suppress(OSError):
                    kind, _, inode = os.readlink(one.path).partition(":")  # noqa: PTH115
                    if kind == "socket":
                        found.add(int(inode.strip("[]")))
    return found


def is_local(host: str) -> bool:
    """Whether `host` (an IP address) belongs to this machine: the kernel lets us bind to it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((host, 0))
    except OSError:
        return False
    return True


def listeners(address: str) -> list[int]:
    """Return the processes with a listening socket for `address` (``IP:PORT``); empty if none is visible."""
    host, port = split_address(address)
    links = {f"socket:[{inode}]" for inode in listening_inodes(host, port)}
    return sorted(pid for pid in parents() if _holds(pid, links)) if links else []


def local_owner(address: str) -> int | None:
    """Find the process that serves `address`, if it is on this machine and visible.

    Parameters
    ----------
    address : str
        ``IP:PORT``; IPv6 in brackets.

    Returns
    -------
    int or None
        The topmost process of those that share the socket (nginx: the master). None for another machine,
        another user's server when not root, or a server in another network namespace.
    """
    if address.startswith("unix:"):
        return _unix_owner(address.removeprefix("unix:"))
    host, _ = split_address(address)
    if not is_local(host):
        return None
    holders = listeners(address)
    up = parents()
    return next((pid for pid in holders if up.get(pid) not in holders), None)


def _unix_owner(path: str) -> int | None:
    """Return the process that listens on a Unix socket (``SO_PEERCRED`` of unix(7))."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(1)
        connection.connect(path)
        pid, _, _ = struct.unpack("=3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return pid or None
    return None


def process_tree(pid: int) -> list[int]:
    """Return `pid` and all its descendants."""
    return [pid, *descendants(pid)]


def process_name(pid: int) -> str:
    """Return the name of a process (at most 15 characters), or ``?``."""
    try:
        return read_kernel(f"/proc/{pid}/comm").strip() or "?"
    except OSError:
        return "?"


def port_holder(address: str) -> str | None:
    """Return name and id of the process that listens on `address`, for messages; None if not visible."""
    holders = listeners(address)
    if not holders:
        return None
    up = parents()
    top = next((pid for pid in holders if up.get(pid) not in holders), holders[0])
    return f"{process_name(top)} (process {top})"


def cpu_affinity(pid: int) -> list[int]:
    """Return the CPUs that any thread of `pid` may run on, sorted.

    Raises
    ------
    ProcessLookupError
        If the process has ended.
    """
    cpus: set[int] = set()
    with contextlib.suppress(FileNotFoundError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(ProcessLookupError):
                cpus |= os.sched_getaffinity(int(task.name))
    if not cpus:
        raise ProcessLookupError(errno.ESRCH, f"process {pid} has ended")
    return sorted(cpus)


def cpu_seconds(pids: Iterable[int]) -> float:
    """Return the CPU time that these processes have used so far, in seconds (user and system, all threads).

    The kernel counts ticks of 10 ms (``proc(5)``), which is one part in a thousand over a run of ten seconds.
    Processes that have ended count as zero.
    """
    ticks = 0
    for pid in pids:
        with contextlib.suppress(OSError, IndexError):
            fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
