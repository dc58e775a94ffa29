"""Recorded requests grouped by the thread that read them, by connection, and by name."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from hindmost import _engine
from hindmost.core.tracing.document import Group

MOST_GROUPS = 16
_NUMBER = re.compile(r"(?<=/)[0-9a-fA-F-]*[0-9][0-9a-fA-F-]*(?=/|…?$)")
"""A part of a path that is a number, or an id in hexadecimal digits."""


def by_thread_and_connection(path: Path, thread: Callable[[int], str]) -> tuple[list[Group], list[Group]]:
    """Group a file of records; the groups with most of the variance come first, up to `MOST_GROUPS` each.

    Parameters
    ----------
    path : Path
        Parquet file, as the engine writes it.
    thread : callable
        Returns a thread's name by its id.
    """
    columns = _engine.read_columns(
        str(path), ["reader", "connection", "client_port", "network_ns", "left_ns"]
    )
    reader, connection, port, began, ended = (np.frombuffer(one, dtype=np.int64) for one in columns)
    latency = (ended - began) / 1e3
    ports = dict(zip(connection.tolist(), port.tolist(), strict=True))
    return (
        _groups(reader, latency, lambda one: f"{thread(one)} ({one})"),
        _groups(connection, latency, lambda one: f"from port {ports[one]}"),
    )


def by_name(path: Path) -> list[Group]:
    """Group a file of records by the names of requests, in which ids in paths are ``*``."""
    (names,) = _engine.read_words(str(path), ["request"])
    columns = _engine.read_columns(str(path), ["network_ns", "left_ns"])
    began, ended = (np.frombuffer(one, dtype=np.int64) for one in columns)
    general = {one: generalize_name(one) for one in set(names)}
    if not any(general.values()):
        return []
    known = sorted(set(general.values()))
    numbers = {one: number for number, one in enumerate(known)}
    keys = np.array([numbers[general[one]] for one in names], dtype=np.int64)
    return _groups(keys, (ended - began) / 1e3, lambda number: known[number] or "other")


def generalize_name(name: str) -> str:
    """Replace ids in the path of a request.

    >>> generalize_name("GET /users/117/orders"), generalize_name("GET /v2/items/9f1c-00a2")
    ('GET /users/*/orders', 'GET /v2/items/*')
    """
    return _NUMBER.sub("*", name)


def _groups(
    keys: np.ndarray[tuple[int], np.dtype[np.int64]],
    latency: np.ndarray[tuple[int], np.dtype[np.float64]],
    name: Callable[[int], str],
) -> list[Group]:
    """Group latencies by key, ordered by their part of the sum of squares about the overall mean."""
    mean = latency.mean()
    found: list[tuple[float, Group]] = []
    for value in np.unique(keys):
        own = latency[keys == value]
        group = Group(
            name=name(int(value)),
            requests=len(own),
            mean_us=float(own.mean()),
            variance_us2=float(own.var()),
        )
        found.append((float(((own - mean) ** 2).sum()), group))
    found.sort(key=lambda one: -one[0])
    return [group for _, group in found[:MOST_GROUPS]]
