"""Treadmill's workload files (``examples/flat.json`` of its source), converted to our workloads.

A list with an object per key: ``key``, ``key_cdf`` (its cumulative share of requests), ``operation_cdf`` and
``object_size_cdf`` (pairs of a cumulative share and an operation or a size). Treadmill sets everything else
with command-line flags: docs/reference/workload.md names our equivalents.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from hindmost.core.names import nearest
from hindmost.errors import UsageError

KEYS = ("key", "key_cdf", "operation_cdf", "object_size_cdf")
OPERATIONS = {"get_operation": "get", "set_operation": "set"}


def from_treadmill(records: Sequence[Any], path: Path) -> dict[str, Any]:
    """Convert Treadmill's file to a workload.

    Parameters
    ----------
    records : sequence
        The objects of the file, one per key.
    path : Path
        The file.

    Raises
    ------
    UsageError
        If it contains what our workloads cannot express: another operation, or keys with different mixes.
    """
    where = f"workload file {path}"
    for number, record in enumerate(records):
        _check_record(record, number, path)
    first = records[0]
    for number, record in enumerate(records):
        for name in ("operation_cdf", "object_size_cdf"):
            if record[name] != first[name]:
                raise UsageError(
                    "unsupported",
                    f"{where}: {name} of key {number + 1} ({record['key']}) differs from the first key's;"
                    " all keys share one mix and one size distribution",
                    hint="write a file for each group of keys, and measure each",
                    path=str(path),
                    key=name,
                    number=number + 1,
                )
    shares = _shares([record["key_cdf"] for record in records], path, "key_cdf")
    operations = _read_cdf(first["operation_cdf"], path, "operation_cdf")
    for name, _ in operations:
        if name not in OPERATIONS:
            raise UsageError(
                "unknown-name",
                f"{where}: operation {name!r} is not supported{nearest(str(name), OPERATIONS)}",
                hint=f"use {' or '.join(OPERATIONS)}",
                path=str(path),
                key="operation_cdf",
                name=name,
                known=list(OPERATIONS),
            )
    gets = sum(weight for name, weight in operations if OPERATIONS[name] == "get")
    is_uniform = max(shares) - min(shares) < 1e-9
    return {
        "kind": "key-value",
        "keys": len(records),
        "get_ratio": round(gets, 12),
        "key_names": [str(record["key"]) for record in records],
        "value_bytes": {"choice": _read_cdf(first["object_size_cdf"], path, "object_size_cdf")},
        "popularity": "uniform" if is_uniform else {"weights": shares},
    }


def _check_record(record: Any, number: int, path: Path) -> None:  # noqa: ANN401 (any value of the file)
    if not isinstance(record, dict):
        raise UsageError(
            "bad-file",
            f"workload file {path}: item {number + 1} is not an object, but Treadmill's files have one for"
            " each key",
            hint='our workload files are objects: {"kind": "key-value", "keys": 10000}',
            path=str(path),
            number=number + 1,
        )
    for name in record:
        if name not in KEYS:
            raise UsageError(
                "unknown-key",
                f"workload file {path}, item {number + 1}: unknown key {name}{nearest(name, KEYS)}",
                hint=f"keys: {', '.join(KEYS)}",
                path=str(path),
                key=name,
                number=number + 1,
                known=list(KEYS),
            )
    for name in KEYS:
        if name not in record:
            raise UsageError(
                "missing-argument",
                f"workload file {path}, item {number + 1}: {name} is missing",
                hint=f"keys: {', '.join(KEYS)}",
                path=str(path),
                key=name,
                number=number + 1,
            )


def _shares(cumulative: Sequence[float], path: Path, key: str) -> list[float]:
    """Convert cumulative shares, which rise to 1, to shares."""
    rising = all(isinstance(share, int | float) for share in cumulative) and all(
        low <= high for low, high in pairwise([0.0, *cumulative])
    )
    if not rising or abs(cumulative[-1] - 1.0) > 1e-6:
        raise UsageError(
            "bad-file",
            f"workload file {path}: {key} does not rise to 1.0",
            hint="cumulative shares: 0.5, 0.75, 1.0",
            path=str(path),
            key=key,
        )
    return [round(high - low, 12) for low, high in pairwise([0.0, *cumulative])]


def _read_cdf(cdf: Any, path: Path, key: str) -> list[tuple[Any, float]]:  # noqa: ANN401 (any value of the file)
    """Convert pairs of a cumulative share and a value to values with shares."""
    if not isinstance(cdf, list) or not cdf or any(not isinstance(p, list) or len(p) != 2 for p in cdf):
        raise UsageError(
            "bad-file",
            f"workload file {path}: {key} is not a list of pairs",
            hint='[[0.7, "get_operation"], [1.0, "set_operation"]]',
            path=str(path),
            key=key,
        )
    return list(
        zip([value for _, value in cdf], _shares([share for share, _ in cdf], path, key), strict=True)
    )
