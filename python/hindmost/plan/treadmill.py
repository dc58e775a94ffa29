"""Treadmill's own workload files (``examples/flat.json`` of its source), read as ours.

A list with an object for each key: ``key``, ``key_cdf`` (its share of requests and of all before it),
``operation_cdf`` and ``object_size_cdf`` (pairs of a cumulative share and an operation or a size). All else
that Treadmill takes is a flag of its command line: docs/reference/workload.md names ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hindmost.errors import UsageError
from hindmost.names import nearest

KEYS = ("key", "key_cdf", "operation_cdf", "object_size_cdf")
OPERATIONS = {"get_operation": "get", "set_operation": "set"}


def from_treadmill(records: Sequence[Any], where: str) -> dict[str, Any]:
    """Make a workload of what Treadmill's file says.

    Parameters
    ----------
    records : sequence
        The file's objects, one a key.
    where : str
        What the file is called in messages.

    Raises
    ------
    UsageError
        Where it says what our workloads cannot: another operation, or keys whose mixes differ.
    """
    for number, record in enumerate(records):
        _known(record, number, where)
    first = records[0]
    for number, record in enumerate(records):
        for name in ("operation_cdf", "object_size_cdf"):
            if record[name] != first[name]:
                raise UsageError(
                    "todo",
                    f"{where}: {name} of key number {number + 1} ({record['key']}) is not that of the"
                    " first key: our keys share one mix and one law of sizes",
                    hint="a file for each group of keys, and a measurement for each",
                )
    shares = _shares([record["key_cdf"] for record in records], f"{where}: key_cdf")
    operations = _weighted(first["operation_cdf"], f"{where}: operation_cdf")
    for name, _ in operations:
        if name not in OPERATIONS:
            raise UsageError(
                "todo", f"{where}: operation {name!r} is not ours{nearest(str(name), OPERATIONS)}"
            )
    gets = sum(weight for name, weight in operations if OPERATIONS[name] == "get")
    alike = max(shares) - min(shares) < 1e-9
    return {
        "kind": "key-value",
        "keys": len(records),
        "get_ratio": round(gets, 12),
        "key_names": [str(record["key"]) for record in records],
        "value_bytes": {"choice": _weighted(first["object_size_cdf"], f"{where}: object_size_cdf")},
        "popularity": "uniform" if alike else {"weights": shares},
    }


def _known(record: Any, number: int, where: str) -> None:  # noqa: ANN401 (whatever stands in the file)
    if not isinstance(record, dict):
        raise UsageError(
            "todo",
            f"{where}: item {number + 1} is no object, as Treadmill's files have one for each key",
            hint='workload files of ours are objects: {"kind": "key-value", "keys": 10000}',
        )
    for name in record:
        if name not in KEYS:
            raise UsageError(
                "todo", f"{where}, key number {number + 1}: unknown key {name}{nearest(name, KEYS)}"
            )
    for name in KEYS:
        if name not in record:
            raise UsageError("todo", f"{where}, key number {number + 1}: {name} is missing")


def _shares(cumulative: Sequence[float], where: str) -> list[float]:
    """Shares of rising cumulative ones, of which the last is 1."""
    rising = all(isinstance(one, int | float) for one in cumulative) and all(
        low <= high for low, high in pairwise([0.0, *cumulative])
    )
    if not rising or abs(cumulative[-1] - 1.0) > 1e-6:
        raise UsageError("todo", f"{where} does not rise to 1.0", hint="cumulative shares: 0.5, 0.75, 1.0")
    return [round(high - low, 12) for low, high in pairwise([0.0, *cumulative])]


def _weighted(cdf: Any, where: str) -> list[tuple[Any, float]]:  # noqa: ANN401 (whatever stands in the file)
    """What is drawn, with its share, of pairs with cumulative ones."""
    if not isinstance(cdf, list) or not cdf or any(not isinstance(p, list) or len(p) != 2 for p in cdf):
        raise UsageError(
            "todo", f"{where} is no list of pairs", hint='[[0.7, "get_operation"], [1.0, "set_operation"]]'
        )
    return list(zip([what for _, what in cdf], _shares([share for share, _ in cdf], where), strict=True))
