"""The server to trace, found by its address or process, and its protocol."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost.core.documents import read_kernel
from hindmost.core.names import nearest
from hindmost.core.targets import parse_target
from hindmost.core.targets.procfs import (
    is_local,
    listening_inodes,
    listening_ports,
    local_owner,
    process_name,
    process_tree,
    split_address,
    thread_ids,
)
from hindmost.errors import TargetError, UsageError

PROTOCOLS = ("memcached", "http", "redis", "exchange")
_BY_PROGRAM = {
    "memcached": "memcached",
    "redis-server": "redis",
    "valkey-server": "redis",
    "nginx": "http",
    "apache2": "http",
    "httpd": "http",
    "lighttpd": "http",
    "caddy": "http",
    "haproxy": "http",
}
_BY_TARGET = {"memcached-binary": "length:8,4,12"}
"""Framing where a target's protocol says more than the program's name: 24 header bytes with the body's
length."""
_LENGTH_FORM = "length:OFFSET,WIDTH or length:OFFSET,WIDTH,MORE; WIDTH ends with le for little-endian numbers"


@dataclass(frozen=True, slots=True)
class Server:
    """A running server on this machine.

    Attributes
    ----------
    name : str
        Its program's name, or the user's TARGET.
    pid : int or None
        Its topmost process, if this user may see it.
    port : int
    protocol : str
        Protocol whose framing separates requests; ``exchange`` if unknown.
    """

    name: str
    pid: int | None
    port: int
    protocol: str

    @property
    def framing(self) -> str:
        """The protocol's framing as JSON text for the engine."""
        if self.protocol.startswith("length:"):
            return json.dumps({"length": _length(self.protocol)})
        return json.dumps(self.protocol)

    def threads(self) -> dict[int, str]:
        """Return the names of its threads by thread id."""
        found = {}
        for tid in [] if self.pid is None else thread_ids(process_tree(self.pid)):
            with contextlib.suppress(OSError):  # it has ended
                found[tid] = read_kernel(f"/proc/{tid}/comm").strip()
        return found

    def has_ended(self) -> bool:
        """Whether its process is known to have ended; a zombie has."""
        if self.pid is None:
            return False
        try:
            state = read_kernel(f"/proc/{self.pid}/stat").rpartition(")")[2].split()[0]
        except OSError:
            return True
        return state in "ZX"


def find_server(text: str, *, port: int | None = None, protocol: str | None = None) -> Server:
    """Find the server that TARGET names: a URL like ``memcached://HOST:PORT``, or a process id.

    Parameters
    ----------
    text : str
    port : int, optional
        Which port to trace, for a process with several.
    protocol : str, optional
        Protocol whose framing separates requests, instead of the one that the address or the program implies.

    Raises
    ------
    UsageError
        TARGET is neither, is on another machine, or the protocol is unknown.
    TargetError
        There is no such process, it accepts no connections, or no process listens at the address.
    """
    server = _process(int(text), port) if text.isdecimal() else _address(text, port)
    if protocol is None:
        return server
    if protocol.startswith("length:"):
        _length(protocol)
    elif protocol not in PROTOCOLS:
        raise UsageError(
            "unknown-name",
            f"the trace does not know the protocol {protocol!r}{nearest(protocol, PROTOCOLS)}",
            hint=f"--protocol {', '.join(PROTOCOLS)}, or {_LENGTH_FORM}",
            option="--protocol",
            value=protocol,
            known=list(PROTOCOLS),
        )
    return Server(server.name, server.pid, server.port, protocol)


def local_server(pid: int, port: int, spoken: str = "") -> Server:
    """Describe a server started here by its process and port; `spoken` is its target's protocol."""
    name = process_name(pid)
    return Server(name, pid, port, _BY_TARGET.get(spoken) or _BY_PROGRAM.get(name, "exchange"))


def _process(pid: int, port: int | None) -> Server:
    if not Path(f"/proc/{pid}").is_dir():
        raise TargetError("no-such-process", f"there is no process {pid}", hint="pgrep -a memcached", pid=pid)
    name = process_name(pid)
    ports = listening_ports(process_tree(pid))
    if port is None:
        if not ports:
            raise TargetError(
                "not-listening",
                f"{name} (process {pid}) does not accept TCP connections, as far as this user can see",
                hint="run as root; a server on a Unix socket or UDP cannot be traced",
                name=name,
                pid=pid,
            )
        if len(ports) > 1:
            listed = ", ".join(map(str, ports))
            raise UsageError(
                "ambiguous-port",
                f"{name} (process {pid}) listens on {len(ports)} ports: {listed}",
                hint=f"hindmost trace {pid} --port {ports[0]}",
                option="--port",
                name=name,
                pid=pid,
                known=ports,
            )
        port = ports[0]
    elif ports and port not in ports:
        listed = ", ".join(map(str, ports))
        raise UsageError(
            "not-listening",
            f"{name} (process {pid}) does not listen on port {port}, but on {listed}",
            option="--port",
            value=port,
            pid=pid,
            known=ports,
        )
    return Server(name, pid, port, _BY_PROGRAM.get(name, "exchange"))


def _address(text: str, port: int | None) -> Server:
    target = parse_target(text)
    if target.managed:
        raise UsageError(
            "needs-running-server",
            f"{text} is a server that Hindmost would start; a trace needs a running server under load",
            hint=f"hindmost measure {text} --rate 20k --trace starts, loads and traces it; or start it"
            " yourself and give its process id: hindmost trace PID",
            target=text,
        )
    if port is not None:
        raise UsageError(
            "conflicting-options",
            "--port is for a process with several ports; an address has one",
            options=["--port"],
            target=text,
        )
    host, number = split_address(target.address)
    if not is_local(host):
        raise UsageError(
            "remote-server",
            f"{text} is on another machine, and probes see only this machine's kernel",
            host=host,
            target=text,
            hint=f"on {host}: hindmost trace {text.partition('://')[0]}://127.0.0.1:{number}",
        )
    pid = local_owner(target.address)
    if pid is None and not listening_inodes(host, number):
        raise TargetError(
            "not-listening",
            f"no process listens on port {number} of {host} here",
            hint="ss -ltnp lists listening processes; for a server in a container give its process id:"
            " hindmost trace PID",
            host=host,
            port=number,
        )
    name = text if pid is None else process_name(pid)
    protocol = target.protocol if target.protocol in PROTOCOLS else "exchange"
    return Server(name, pid, number, protocol)


def _length(text: str) -> dict[str, Any]:
    """Parse ``length:OFFSET,WIDTH[le][,MORE]``.

    Examples
    --------
    >>> _length("length:1,4,-4")
    {'offset': 1, 'width': 4, 'little': False, 'more': -4}
    >>> _length("length:0,2le")
    {'offset': 0, 'width': 2, 'little': True, 'more': 0}
    """
    offset, _, rest = text.removeprefix("length:").partition(",")
    width, _, more = rest.partition(",")
    try:
        field = {
            "offset": int(offset),
            "width": int(width.removesuffix("le")),
            "little": width.endswith("le"),
            "more": int(more or 0),
        }
    except ValueError:
        raise UsageError(
            "bad-value",
            f"{text!r} does not describe a length field",
            hint=_LENGTH_FORM,
            option="--protocol",
            value=text,
        ) from None
    if not (0 <= field["offset"] <= 200 and 1 <= field["width"] <= 8 and abs(field["more"]) < 1 << 31):
        raise UsageError(
            "bad-value",
            f"{text!r}: a length field begins at byte 0 to 200 and has 1 to 8 bytes",
            hint=_LENGTH_FORM,
            option="--protocol",
            value=text,
        )
    return field
