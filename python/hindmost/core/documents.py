"""Reads files from elsewhere, and writes files atomically.

Only regular files of limited size and nesting depth are read. Any other file (a pipe, a device, an endless
file) raises ``OSError``. A document that is nested too deeply for Python raises the error of its parser.
Callers handle these errors like the usual ones.
"""

from __future__ import annotations

import codecs
import errno
import fcntl
import io
import json
import os
import stat
import tomllib
from pathlib import Path
from typing import Any, TextIO

MAX_BYTES = 256 << 20
"""Larger than any document that Hindmost writes, and a small part of the memory of any host."""
TOO_DEEP = "it is nested too deeply"


def open_regular(path: Path) -> io.BufferedReader:
    """Open a regular file.

    Raises
    ------
    OSError
        The file cannot be read, or is not a regular file.
    """
    # Without O_NONBLOCK, opening a pipe that has no writer would wait.
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    mode = os.fstat(file.fileno()).st_mode
    if not stat.S_ISREG(mode):
        file.close()
        number = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
        raise OSError(number, "it is not a regular file", str(path))
    return file


def read_bytes(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """Read a regular file.

    Parameters
    ----------
    path : Path
    max_bytes : int
        The largest size that is read.

    Raises
    ------
    OSError
        The file cannot be read, is not a regular file, or is larger than `max_bytes`.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > max_bytes:
            raise OSError(errno.EFBIG, f"it is larger than {max_bytes} bytes", str(path))
        # If the file grows meanwhile, only the first `size` bytes are read: read() allocates what it is asked
        # for.
        return file.read(size)


def write_whole(path: Path, content: bytes, mode: int | None = None, *, synced: bool = True) -> Path:
    """Write a file under a hidden name next to it, and rename it. It is complete or absent, whatever happens.

    A symbolic link at either name is replaced, not followed.

    Parameters
    ----------
    path : Path
    content : bytes
    mode : int, optional
        Permissions; by default those of the umask.
    synced : bool
        Whether the file must survive a loss of power. Not necessary for a file that can be made again.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    part_file = path.with_name(f".part-{path.name}")
    part_file.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(part_file, flags, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.flush()
            if synced:
                os.fsync(file.fileno())
        part_file.replace(path)
    except BaseException:  # after Ctrl-C or on a full disk, the old file stays and no part file is left
        part_file.unlink(missing_ok=True)
        raise
    return path


def append_line(handle: int, line: bytes) -> None:
    """Append a line to a file that other processes append to as well, and wait until it is on disk.

    A torn last line, left by a writer that was killed, is ended first. A line that cannot be written whole is
    removed.

    Parameters
    ----------
    handle : int
        A file open for reading and appending.
    line : bytes
        Without its end.

    Raises
    ------
    OSError
        The line cannot be written.
    """
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        end = os.fstat(handle).st_size
        is_torn = end > 0 and os.pread(handle, 1, end - 1) != b"\n"
        content = b"\n" * is_torn + line + b"\n"
        try:
            while content:
                content = content[os.write(handle, content) :]
        except OSError:
            os.ftruncate(handle, end)
            raise
        os.fsync(handle)
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)


def read_text(path: Path, max_bytes: int = MAX_BYTES) -> str:
    """Read a regular UTF-8 file, without the byte order mark that some editors write at its start.

    Raises
    ------
    OSError
        As for `read_bytes`.
    UnicodeDecodeError
        The file is not UTF-8.
    """
    return read_bytes(path, max_bytes).decode("utf-8-sig")


def is_name(field: str) -> bool:
    """Whether a field in the first line of a table can be a column name. A mistyped number cannot.

    >>> is_name("seconds"), is_name("O"), is_name("1O"), is_name("3.5")
    (True, False, False, False)
    """
    field = field.strip().strip('"')
    return not (field.startswith(tuple("0123456789+-.")) or set(field) <= set("0123456789OoIl.+-eE"))


def open_table(path: Path) -> TextIO:
    """Open a table, such as a CSV file from elsewhere, to read it line by line.

    The table is UTF-8 with or without a byte order mark, or UTF-16 with one. Other bytes are read as Latin-1.

    Raises
    ------
    OSError
        The file cannot be read, or is not a regular file.
    """
    file = open_regular(path)
    is_utf16 = file.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    encoding = "utf-16" if is_utf16 else "utf-8-sig"
    return io.TextIOWrapper(file, encoding=encoding, errors=_LATIN_1, newline="")


_LATIN_1 = "hindmost-latin-1"


def _decode_latin_1(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error(_LATIN_1, _decode_latin_1)


def read_kernel(path: Path | str) -> str:
    """Read a kernel file such as ``/proc/PID/stat``. A name in it may have any bytes.

    Raises
    ------
    OSError
        The file cannot be read.
    """
    return Path(path).read_text(encoding="utf-8", errors="replace")


def parse_json(text: str) -> Any:  # noqa: ANN401 (whatever stands there)
    """Parse JSON. NaN, which JSON does not have, becomes None.

    Raises
    ------
    json.JSONDecodeError
        The text is not JSON, or is nested too deeply.

    Examples
    --------
    >>> parse_json('{"a": NaN}')
    {'a': None}
    """
    try:
        return json.loads(text, parse_constant=lambda word: None if word == "NaN" else float(word))
    except RecursionError:
        raise json.JSONDecodeError(TOO_DEEP, "", 0) from None


def read_json(path: Path, max_bytes: int = MAX_BYTES) -> Any:  # noqa: ANN401 (whatever stands there)
    """Read a JSON file.

    Raises
    ------
    OSError, UnicodeDecodeError, json.JSONDecodeError
    """
    return parse_json(read_text(path, max_bytes))


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML.

    Raises
    ------
    tomllib.TOMLDecodeError
        The text is not TOML, or is nested too deeply.
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError(TOO_DEEP) from None


def read_toml(path: Path, max_bytes: int = MAX_BYTES) -> dict[str, Any]:
    """Read a TOML file.

    Raises
    ------
    OSError, UnicodeDecodeError, tomllib.TOMLDecodeError
    """
    return parse_toml(read_text(path, max_bytes))
