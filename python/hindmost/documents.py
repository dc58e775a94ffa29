"""Reads files from elsewhere (regular, of bounded size and depth), and writes files whole or not at all.

Anything else (a pipe, a device, a file that never ends) is an ``OSError``, and a document that is nested
beyond the interpreter's depth an error of its own parser: callers handle both as they handle the usual ones.
"""

from __future__ import annotations

import codecs
import errno
import io
import json
import os
import stat
import tomllib
from pathlib import Path
from typing import Any, TextIO

MOST_BYTES = 256 << 20
"""More than any document that Hindmost writes, and a fraction of any host's memory."""
DEEP = "it is nested too deeply"


def open_regular(path: Path) -> io.BufferedReader:
    """Open a regular file.

    Raises
    ------
    OSError
        It cannot be read, or is no regular file.
    """
    # A pipe without a writer would be waited for.
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    mode = os.fstat(file.fileno()).st_mode
    if not stat.S_ISREG(mode):
        file.close()
        number = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
        raise OSError(number, "it is not a regular file", str(path))
    return file


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
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise OSError(errno.EFBIG, f"it is larger than {most} bytes", str(path))
        # What grows meanwhile is read as it was: room is taken for all that is asked for.
        return file.read(size)


def write_whole(path: Path, content: bytes, mode: int | None = None, *, synced: bool = True) -> Path:
    """Write a file under a hidden name next to it, and rename it: it is whole or absent, whatever happens.

    A link that somebody left at either name is replaced, never followed.

    Parameters
    ----------
    path : Path
    content : bytes
    mode : int, optional
        Permissions; by default those that the umask leaves.
    synced : bool
        Whether it outlives a loss of power; what can be made again need not.

    Raises
    ------
    OSError
        It cannot be written.
    """
    part = path.with_name(f".part-{path.name}")
    part.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(part, flags, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.flush()
            if synced:
                os.fsync(file.fileno())
        part.replace(path)
    except BaseException:  # Ctrl-C and a full disk too leave what was there, and nothing next to it
        part.unlink(missing_ok=True)
        raise
    return path


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """Read a regular file of UTF-8, without the byte order mark that some editors write at its start.

    Raises
    ------
    OSError
        As `read_bytes`.
    UnicodeDecodeError
        It is not UTF-8.
    """
    return read_bytes(path, most).decode("utf-8-sig")


def is_name(field: str) -> bool:
    """Whether a field of a table's first line may name its column; a number with a typing error does not.

    >>> is_name("seconds"), is_name("O"), is_name("1O"), is_name("3.5")
    (True, False, False, False)
    """
    field = field.strip().strip('"')
    return not (field.startswith(tuple("0123456789+-.")) or set(field) <= set("0123456789OoIl.+-eE"))


def open_table(path: Path) -> TextIO:
    """Open a table that people or their programs wrote, such as a CSV file, to read it line by line.

    UTF-8 with or without a byte order mark, or UTF-16 with one; other bytes are taken as Latin-1.

    Raises
    ------
    OSError
        It cannot be read, or is no regular file.
    """
    file = open_regular(path)
    marked = file.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    encoding = "utf-16" if marked else "utf-8-sig"
    return io.TextIOWrapper(file, encoding=encoding, errors=_LATIN_1, newline="")


_LATIN_1 = "hindmost-latin-1"


def _as_latin_1(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error(_LATIN_1, _as_latin_1)


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
