"""Logs with a known truth."""

from __future__ import annotations

import numpy as np

from hindmost.commands.clone.document import load_clone


def by_code(notes):
    """Return notes by their codes."""
    return {note.code: note for note in notes}


def times_of(application: str, n: int, seed: int = 1) -> np.ndarray:
    """Return service times, us, of an application of TailWAG's table, drawn independently."""
    draws = np.random.default_rng(seed)
    parts = load_clone(application).document["service"]
    place = draws.choice(len(parts), size=n, p=[part["weight"] for part in parts])
    median = np.array([part["law"]["median_us"] for part in parts])[place]
    sigma = np.array([part["law"]["sigma_log"] for part in parts])[place]
    return median * np.exp(sigma * draws.standard_normal(n))


def server_log(path, start_ns, wall_ns, cpu_ns=None, thread=None, kind=None):
    """Write a server's log."""
    n = len(start_ns)
    cpu = np.zeros(n, int) if cpu_ns is None else cpu_ns
    thread = np.zeros(n, int) if thread is None else thread
    columns = [start_ns, start_ns, np.asarray(start_ns) + wall_ns, cpu, thread]
    rows = np.column_stack([np.asarray(column).astype(np.int64) for column in columns])
    names = ["all"] * n if kind is None else kind
    lines = [",".join(map(str, row)) + f",{name}" for row, name in zip(rows.tolist(), names, strict=True)]
    path.write_text("\n".join(["arrival_ns,start_ns,end_ns,cpu_ns,thread,kind", *lines, ""]))
    return path


def back_to_back(path, wall_us, **columns):
    """Write a log of one thread that is never idle."""
    wall = np.maximum(1, np.round(np.asarray(wall_us) * 1e3)).astype(np.int64)
    start = 10**12 + np.concatenate([[0], np.cumsum(wall + 100)[:-1]])
    return server_log(path, start, wall, **columns)
