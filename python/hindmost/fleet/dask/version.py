"""Which build of Hindmost a host has: figures of two builds would not be of one instrument."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from hindmost import __version__, _engine
from hindmost.errors import InstanceError


def identity() -> dict[str, str]:
    """Version and engine of this process."""
    return {"version": __version__, "engine": engine_digest()}


@cache
def engine_digest() -> str:
    """The engine's build: the start of its file's SHA-256."""
    with Path(_engine.__file__).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def refuse_other(host: str, said: Mapping[str, str] | BaseException) -> None:
    """Refuse a host with another build than ours, or with none.

    Parameters
    ----------
    said : mapping or exception
        What `identity` gave there.

    Raises
    ------
    InstanceError
        Names the host, and both builds.
    """
    hint = f"the same wheel there: pip install 'hindmost[fleet]=={__version__}'"
    if isinstance(said, ImportError | AttributeError):
        text = f"host {host} has no Hindmost of this version: {said}"
        raise InstanceError("missing-hindmost", text, hint=hint, host=host)
    if isinstance(said, BaseException):
        raise InstanceError("host-unreachable", f"host {host} does not answer: {said}", hint=hint, host=host)
    for what, ours in identity().items():
        if said[what] != ours:
            raise InstanceError(
                "version-mismatch",
                f"host {host} has {what} {said[what]} of Hindmost, but this controller has {what} {ours}",
                hint=hint,
                host=host,
                key=what,
                value=said[what],
                need=ours,
            )
