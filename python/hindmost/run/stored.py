"""Figures and reasons of a run, kept in its folder: reading them takes a fiftieth of making them anew.

They belong to the files of the run and to what of the plan decides them, by a hash; where these have changed,
the figures are made again.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any

import msgspec
import numpy as np

from hindmost import __version__
from hindmost._engine import Histogram
from hindmost.documents import open_regular, read_bytes, write_whole
from hindmost.plan import MeasurePlan
from hindmost.run.figures import RunFigures, read_figures
from hindmost.run.verdict.alone import reasons_of_run
from hindmost.store import RunRecord

FILE = "figures.msgpack"
_FORMAT = 2
"""Raise it where figures of the same files come out otherwise."""
_OF_STOPPING = {"runs", "precision", "remake"}
"""Of the plan: what does not change the figures of a run."""


class _Stored(msgspec.Struct, array_like=True):
    key: bytes
    figures: RunFigures


def run_figures(run: RunRecord, plan: MeasurePlan) -> RunFigures:
    """The figures of a run: those in its folder, or read anew and put there.

    Raises
    ------
    StudyError
        If a file of the run is missing or damaged.
    """
    key = _key(run, plan)
    with suppress(OSError, msgspec.MsgspecError, ValueError):
        stored = _decoder().decode(read_bytes(run.folder / FILE))
        if stored.key == key:
            return replace(stored.figures, record=run.record)
    figures = read_figures(run, plan)
    figures = replace(figures, reasons=[one.document() for one in reasons_of_run(plan, figures)])
    stored = _Stored(key, replace(figures, record={}))
    with suppress(OSError):  # a study that cannot be written is read all the same
        write_whole(run.folder / FILE, msgspec.msgpack.encode(stored, enc_hook=_plain), synced=False)
    return figures


def _key(run: RunRecord, plan: MeasurePlan) -> bytes:
    asked = plan.model_dump_json(exclude=_OF_STOPPING)
    found = hashlib.sha256(f"{_FORMAT} {__version__} {asked}".encode())
    for path in sorted(run.folder.iterdir()):
        if path.name != FILE and not path.name.startswith("."):
            with suppress(OSError), open_regular(path) as file:
                found.update(f"\0{path.name}\0".encode())
                found.update(hashlib.file_digest(file, "sha256").digest())
    return found.digest()


@cache
def _decoder() -> msgspec.msgpack.Decoder[_Stored]:
    return msgspec.msgpack.Decoder(_Stored, dec_hook=_made)


def _plain(value: Any) -> Any:  # noqa: ANN401 (what msgspec does not know)
    if isinstance(value, Histogram):
        return value.pack()
    if isinstance(value, np.ndarray):
        return [value.shape, value.astype(np.float64).tobytes()]
    if isinstance(value, np.generic):
        return value.item()
    raise NotImplementedError(f"figures with a {type(value)}")


def _made(kind: type, value: Any) -> Any:  # noqa: ANN401 (what msgspec does not know)
    if kind is Histogram:
        return Histogram(value)
    shape, data = value
    return np.frombuffer(data).reshape(shape)
