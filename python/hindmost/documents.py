"""How files from elsewhere are read: regular files of a bounded size, JSON and TOML of a bounded depth.

Anything else (a pipe, a device, a file that never ends) is an ``OSError``, and a document that is nested
beyond the interpreter's depth an error of its own parser: callers handle both as they handle the usual ones.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import tomllib
from pathlib import Path
from typing import Any

MOST_BYTES = 256 << 20
"""More than any document that Hindmost writes, and a fraction of any host's memory."""
DEEP = "it is nested too deeply"


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """Read a regular file.

    Parameters
    ----------
    path : Path
    most : int
        Bytes that it may have.

    Raises
    ------
    OSError
        It cannot be read, is no regular file, or is larger than `most`.
    """
    # A pipe without a writer would be waited for.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode):
            number = errno.EISDIR if stat.S_ISDIR(facts.st_mode) else errno.EINVAL
            raise OSError(number, "it is not a regular file", str(path))
        if facts.st_size > most:
            raise OSError(errno.EFBIG, f"it is larger than {most} bytes", str(path))
        # What grows meanwhile is read as it was: room is taken for all that is asked for.
        return file.read(facts.st_size)


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """Read a regular file of UTF-8.

    Raises
    ------
    OSError
        As `read_bytes`.
    UnicodeDecodeError
        It is not UTF-8.
    """
    return read_bytes(path, most).decode()


def read_kernel(path: Path | str) -> str:
    """Read a file of the kernel's, such as ``/proc/PID/stat``: a name there may hold any bytes.

    Raises
    ------
    OSError
        It cannot be read.
    """
    return Path(path).read_text(encoding="utf-8", errors="replace")


def parse_json(text: str) -> Any:  # noqa: ANN401 (whatever stands there)
    """Parse JSON; NaN, which JSON does not have, is None.

    Raises
    ------
    json.JSONDecodeError
        It is no JSON, or too deep.

    Examples
    --------
    >>> parse_json('{"a": NaN}')
    {'a': None}
    """
    try:
        return json.loads(text, parse_constant=lambda word: None if word == "NaN" else float(word))
    except RecursionError:
        raise json.JSONDecodeError(DEEP, "", 0) from None


def read_json(path: Path, most: int = MOST_BYTES) -> Any:  # noqa: ANN401 (whatever stands there)
    """Read a file of JSON.

    Raises
    ------
    OSError, UnicodeDecodeError, json.JSONDecodeError
    """
    return parse_json(read_text(path, most))


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML.

    Raises
    ------
    tomllib.TOMLDecodeError
        It is no TOML, or too deep.
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError(DEEP) from None


def read_toml(path: Path, most: int = MOST_BYTES) -> dict[str, Any]:
    """Read a file of TOML.

    Raises
    ------
    OSError, UnicodeDecodeError, tomllib.TOMLDecodeError
    """
    return parse_toml(read_text(path, most))
