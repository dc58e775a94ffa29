"""Identifies the build of Hindmost on a host: figures of two builds are not comparable."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from hindmost import __version__, _engine
from hindmost.errors import ClientError


def identity() -> dict[str, str]:
    """Return version and engine of this process."""
    return {"version": __version__, "engine": engine_digest()}


@cache
def engine_digest() -> str:
    """Return the engine's build: the start of its file's SHA-256."""
    with Path(_engine.__file__).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def refuse_other(host: str, said: Mapping[str, str] | BaseException) -> None:
    """Refuse a host with another build than ours, or with none.

    Parameters
    ----------
    said : mapping or exception
        The result of `identity` there.

    Raises
    ------
    InstanceError
        Names the host, and both builds.
    """
    hint = f"the same wheel there: pip install 'hindmost[fleet]=={__version__}'"
    if isinstance(said, ImportError | AttributeError):
        text = f"host {host} has no Hindmost of this version: {said}"
        raise ClientError("missing-hindmost", text, hint=hint, host=host)
    if isinstance(said, BaseException):
        raise ClientError("host-unreachable", f"host {host} does not answer: {said}", hint=hint, host=host)
    for part, ours in identity().items():
        if said[part] != ours:
            raise ClientError(
                "version-mismatch",
                f"host {host} has {part} {said[part]} of Hindmost, but this controller has {part} {ours}",
                hint=hint,
                host=host,
                key=part,
                value=said[part],
                need=ours,
            )
