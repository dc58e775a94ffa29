"""Supervised windows for `hindmost colocate`, with figures that a test chooses."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from profile_cards import PROCESSOR

from hindmost.commands.colocate.documents.stored import supervised_path
from hindmost.commands.colocate.documents.supervision import (
    SUPERVISED_SCHEMA,
    SupervisedBlock,
    SupervisedLatency,
)

START = datetime(2026, 11, 20, tzinfo=UTC)


def latency(value_us: float) -> SupervisedLatency:
    """Return a latency whose percentiles are all the same."""
    return SupervisedLatency(p50_us=value_us, p99_us=value_us, percentile_us=value_us)


def block(**changes: Any) -> SupervisedBlock:
    """Return a minute in which the job ran on two CPUs, the server kept p99 < 1 ms and was half busy."""
    fields = {
        "schema": SUPERVISED_SCHEMA,
        "began": f"{START:%Y-%m-%dT%H:%M:%SZ}",
        "session": "first",
        "server": "kv",
        "job": "cache",
        "command": ["cache"],
        "server_program": "s1",
        "job_program": "j1",
        "host": "here",
        "kernel": "6.18",
        "processor": PROCESSOR,
        "percentile": 99.0,
        "limit_us": 1000.0,
        "window_s": 1.0,
        "processors": 2,
        "adapted": True,
        "windows": 60,
        "judged": 60,
        "broken": 0,
        "prevented": 0,
        "alone": 0,
        "alone_broken": 0,
        "latency": latency(500.0),
        "latency_alone": None,
        "used_s": 100.0,
        "load": 0.5,
    }
    return SupervisedBlock(**fields | changes)


def minutes(number: int, **changes: Any) -> list[SupervisedBlock]:
    """Return blocks of consecutive minutes."""
    times = [START + timedelta(minutes=one) for one in range(number)]
    return [block(**{"began": f"{time:%Y-%m-%dT%H:%M:%SZ}"} | changes) for time in times]


def write_blocks(profile: str | Path, blocks: Sequence[SupervisedBlock]) -> Path:
    """Append blocks to the file next to a profile."""
    path = supervised_path(Path(profile))
    with path.open("ab") as file:
        file.writelines(msgspec.json.encode(one) + b"\n" for one in blocks)
    return path
