"""Records of runs, as in ``run.json``."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hindmost.core.store.manifest import RunRecord

TARGET = {"name": "memcached", "protocol": "memcached", "address": "127.0.0.1:11211", "managed": True}
QUEUES = dict.fromkeys(("connections", "receive_bytes", "receive_most_bytes", "send_bytes", "accept"), 0)


def run_document(*, target: Mapping[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """Return the plain data of a run with these fields; the target has the given ones besides the usual."""
    usual = {"run": 1, "seed": 1, "started": "2026-01-01T00:00:00Z", "seconds": 1.0, "clients": 1}
    return {"schema": "hindmost.run/2", **usual, "target": {**TARGET, **(target or {})}, **fields}


def run_record(**fields: Any) -> RunRecord:
    """Return the record of a run with these fields, as it is read from a file."""
    if isinstance(watched := fields.get("sentinel"), list):
        fields["sentinel"] = [{"wakings": 0, "cpu_ns": 0} | one for one in watched]
    return msgspec.convert(run_document(**fields), RunRecord)


def waiting_connections(accept: int) -> dict[str, Any]:
    """Return ``server_queues`` of a server that had so many connections to accept at the start."""
    return {"begin": QUEUES | {"accept": accept}, "end": QUEUES}
