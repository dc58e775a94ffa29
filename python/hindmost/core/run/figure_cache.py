"""A cache of a run's figures and reasons in its folder: reading it takes 2 % of the time of computing them.

Its key is a hash of the run's files and of the part of the plan that affects the figures. If these change,
the figures are computed again.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET

from hindmost import __version__
from hindmost._engine import Histogram
from hindmost.core.documents import open_regular, read_bytes, write_whole
from hindmost.core.plan import MeasurePlan
from hindmost.core.run.figures import RunFigures, read_figures
from hindmost.core.run.verdict.single_run import reasons_of_run
from hindmost.core.store import StoredRun

FILE = "figures.msgpack"
_FORMAT = 4
"""Increase this if the same files give other figures."""
_STOPPING_FIELDS = {"runs", "precision", "remake"}
"""Fields of the plan that do not affect the figures of a run."""


class _Entry(msgspec.Struct, array_like=True):
    key: bytes
    figures: RunFigures


def run_figures(run: StoredRun, plan: MeasurePlan) -> RunFigures:
    """Return the figures of a run from its cache, or compute and cache them.

    Raises
    ------
    StudyError
        If a file of the run is missing or damaged.
    """
    key = _key(run, plan)
    with suppress(OSError, msgspec.MsgspecError, ValueError):
        entry = _decoder().decode(read_bytes(run.folder / FILE))
        if entry.key == key:
            return replace(entry.figures, record=run.record)
    figures = read_figures(run, plan)
    figures = replace(figures, reasons=[reason.document() for reason in reasons_of_run(plan, figures)])
    slim = msgspec.structs.replace(run.record, sentinel=UNSET, fleet=UNSET)
    entry = _Entry(key, replace(figures, record=slim))
    with suppress(OSError):  # the folder may be read-only
        write_whole(run.folder / FILE, msgspec.msgpack.encode(entry, enc_hook=_plain), synced=False)
    return figures


def _key(run: StoredRun, plan: MeasurePlan) -> bytes:
    plan_text = plan.model_dump_json(exclude=_STOPPING_FIELDS)
    digest = hashlib.sha256(f"{_FORMAT} {__version__} {plan_text}".encode())
    for path in sorted(run.folder.iterdir()):
        if path.name != FILE and not path.name.startswith("."):
            with suppress(OSError), open_regular(path) as file:
                digest.update(f"\0{path.name}\0".encode())
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.digest()


@cache
def _decoder() -> msgspec.msgpack.Decoder[_Entry]:
    return msgspec.msgpack.Decoder(_Entry, dec_hook=_restore)


def _plain(value: Any) -> Any:  # noqa: ANN401 (any type unknown to msgspec)
    if isinstance(value, Histogram):
        return value.pack()
    if isinstance(value, np.ndarray):
        return [value.shape, value.astype(np.float64).tobytes()]
    if isinstance(value, np.generic):
        return value.item()
    raise NotImplementedError(f"figures with a {type(value)}")


def _restore(kind: type, value: Any) -> Any:  # noqa: ANN401 (any type unknown to msgspec)
    if kind is Histogram:
        return Histogram(value)
    shape, data = value
    return np.frombuffer(data).reshape(shape)
