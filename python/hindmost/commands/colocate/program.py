"""Identity of a program: a digest of its executable, and of the script that an interpreter runs.

What was observed of one version says nothing about another. Libraries and modules are not part of the digest,
nor is the program behind a wrapper.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

_INTERPRETER = re.compile(r"(python|pypy|perl|ruby|node|lua|php|java|sh|bash|dash)[\d.]*")
_SHEBANG_BYTES = 256


def identify_command(command: Sequence[str]) -> str | None:
    """Return the digest of the program that a command starts; None if it cannot be read."""
    found = shutil.which(command[0])
    if found is None:
        return None
    try:
        return _digest(Path(found), command[1:], Path())
    except OSError:
        return None


def identify_process(pid: int) -> str | None:
    """Return the digest of the program that a process runs; None if it cannot be read."""
    process = Path(f"/proc/{pid}")
    try:
        words = (process / "cmdline").read_bytes().decode(errors="surrogateescape").split("\0")
        return _digest(process / "exe", words[1:], process / "cwd")
    except OSError:
        return None


def _digest(executable: Path, arguments: Sequence[str], folder: Path) -> str:
    files = [executable]
    if interpreter := _shebang(executable):
        files = [interpreter, executable]
    elif _INTERPRETER.fullmatch(executable.resolve().name):
        named = (folder / one for one in arguments if one and not one.startswith("-"))
        files += [path for path in named if path.is_file()][:1]
    whole = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()[:16]


def _shebang(executable: Path) -> Path | None:
    """Return the interpreter that the first line of a script names; None for other files."""
    with executable.open("rb") as file:
        head = file.read(_SHEBANG_BYTES)
    if not head.startswith(b"#!"):
        return None
    words = head[2:].partition(b"\n")[0].decode(errors="surrogateescape").split()
    if words and Path(words[0]).name == "env":
        words = [one for one in words[1:] if not one.startswith("-")]
    found = shutil.which(words[0]) if words else None
    return None if found is None else Path(found)
