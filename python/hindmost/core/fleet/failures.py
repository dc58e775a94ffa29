"""Sentences that explain why a client failed, and hints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hindmost.core.plan.protocols import PROTOCOLS
from hindmost.core.plan.tls import HINTS as TLS_HINTS
from hindmost.core.targets.probe.complaints import hint_about
from hindmost.errors import ClientError

HINTS = {
    "connect": "is the server running and reachable from here? try: hindmost host doctor",
    "refused": "check user and password, and the server's log",
    "full": "check how many connections the server accepts (memcached -c, redis maxclients,"
    " nginx worker_connections, its open files, its listen queue: sysctl net.core.somaxconn);"
    " or fewer --connections",
    "open-files": "sudo prlimit --pid $$ --nofile=65536, then again; or fewer --connections",
    "ports": "a lower --rate; ss -s shows what uses them (a closed connection keeps its port for a minute);"
    " sudo sysctl -w net.ipv4.ip_local_port_range='1024 65535'",
    "server-gone": "see server.log in the study's folder, and the server's own log",
    "garbage": "is this port the protocol that TARGET names? "
    + " or ".join(", ".join(f"{name}://" for name in PROTOCOLS).rsplit(", ", 1)),
    "preload": "does the server have room for all keys (else fewer keys or smaller values in --workload)"
    " and connections (memcached -c; else fewer --connections), and is it the protocol that TARGET names?",
    "source": "--source with addresses of the server's family; ip -brief address lists this host's",
    "no-uring": "--io epoll; sysctl kernel.io_uring_disabled or a seccomp profile may forbid io_uring",
    "pin": "hindmost host doctor lists the CPUs that this process may use; see --client-cpus",
    "write": "df -h and ls -ld on the study's folder",
    "panicked": "this is a bug of Hindmost: please report it with the study's manifest.json",
    **TLS_HINTS,
}
"""Hints by the engine's code of a failure (`crates/load`)."""


def failure(index: int, failed: Mapping[str, Any] | None, ended: Mapping[str, Any]) -> ClientError:
    """Return the error for a client that failed.

    Parameters
    ----------
    index : int
        Number of the client.
    failed : mapping, optional
        Its own event ``failed``: ``code``, ``message``, and possibly ``fields``.
    ended : mapping
        The event of its end.
    """
    host = {"host": ended["host"]} if "host" in ended else {}
    if failed:
        code = failed["code"]
        fields = {**failed.get("fields", {}), **host, "client": index}
        known = HINTS.get(code, "hindmost host doctor shows this host's limits")
        hint = hint_about(failed["message"]) or known
        return ClientError(code, failed["message"], hint=hint, **fields)
    status, words = ended["status"], ended["words"]
    how = f"was killed by signal {-status}" if status < 0 else f"exited with status {status}"
    return ClientError(
        "client-ended",
        f"client {index} ({ended['who']}) {how}" + (f":\n{words}" if words else ""),
        hint="if the machine ran out of memory, `dmesg | tail` shows it" if status < 0 else HINTS["panicked"],
        client=index,
        **host,
        **({"signal": -status} if status < 0 else {"status": status}),
        words=words,
    )


def unreadable_result(index: int, error: Exception) -> ClientError:
    """Return the error for a client whose result is missing or incomplete."""
    return ClientError(
        "unreadable-result",
        f"the result of client {index} cannot be read: {error}",
        hint=HINTS["write"],
        client=index,
    )
