"""The null client: epoll, read, write, and nothing else; the additional cost of other clients is their own.

It is an example of `crates/sys`, and sends the same requests as Hindmost, byte by byte.
"""

from __future__ import annotations

import json
from functools import partial

from benches.peers.peer import (
    KEY_BYTES,
    KEYS,
    PAGE,
    PROTOCOLS,
    Job,
    Peer,
    Protocol,
    Report,
    Source,
    Unreadable,
)
from hindmost import _engine

_DIGITS = len(str(KEYS - 1))


def _requests(protocol: Protocol, job: Job) -> list[bytes]:
    """Return the requests that Hindmost sends: the same keys in turn, or the page."""
    if protocol == "http":
        return [f"GET {PAGE} HTTP/1.1\r\nHost: {job.address}\r\nUser-Agent: hindmost\r\n\r\n".encode()]
    keys = [f"{item:0{_DIGITS}}".encode().ljust(KEY_BYTES, b"k") for item in range(KEYS)]
    if protocol == "redis":
        return [b"*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n" % (len(key), key) for key in keys]
    return [b"get %s\r\n" % key for key in keys]


def _command(protocol: Protocol, job: Job, program: str) -> list[str]:
    requests = _requests(protocol, job)
    path = job.folder / "requests"
    path.write_bytes(b"".join(requests))
    each = str(len(requests[0]))
    return [program, job.address, str(job.connections), str(job.seconds), str(path), each]


def read(job: Job, out: str) -> Report:
    """Parse its only line; it has no clock and reports no latency."""
    try:
        said = json.loads(out)
        return Report(said["requests"], said["requests"] / said["seconds"], 0, {})
    except (ValueError, KeyError):
        raise Unreadable("null client", "result", out) from None


_SOURCE = Source("example", "hindmost-sys", _engine.__version__, "null_client")
NULL_CLIENT = tuple(
    Peer("null client", protocol, _SOURCE, partial(_command, protocol), read, aside=("flat",))
    for protocol in PROTOCOLS
)
