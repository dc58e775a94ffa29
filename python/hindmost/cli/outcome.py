"""How a study's answer leaves: data on standard output, talk on standard error.

A reader that has had enough, a full disk, or a file that cannot be written do not change what was measured:
each is said in a line, all else is still told, and the exit code stays that of the answer. Only a code 0
becomes 1 where something that was asked for could not be written.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hindmost.cli.streams import CLOSED, say, silence
from hindmost.errors import HindmostError, UsageError
from hindmost.exits import Exit

if TYPE_CHECKING:
    from hindmost.studies.kind import Shown


def unwritten(fault: str) -> str:
    """The line of an error about something that could not be written."""
    return f"error[unwritable-file]: {fault}"


def tell(
    shown: Shown,
    *,
    as_json: bool,
    quiet: bool = False,
    verbose: bool = False,
    files: Mapping[Path, str] | None = None,
    timed: bool = False,
) -> Exit:
    """Print an answer; returns what it says to scripts.

    Parameters
    ----------
    shown : Shown
        The answer; what it ``said`` of limits is told even when `quiet`.
    files : mapping of Path to str
        What else was asked for, and where it goes.
    timed : bool
        Say how long the command took to its answer, as whoever measured has waited for it.
    """
    from hindmost.store.estimates import encode

    failed = [*shown.failed]
    table = shown.account if verbose and shown.account else shown.table
    if fault := put(encode(shown.document) if as_json else table()):
        failed.append(fault)
    failed += [fault for path, text in (files or {}).items() if (fault := written(path, text))]
    took = [f"answered {since_start():.1f} s after the command began"] if timed else []
    lines = [] if quiet else [*_hidden(), *shown.notes, *took]
    say(*lines, *shown.said, *map(unwritten, dict.fromkeys(failed)))
    return Exit.ERROR if failed and shown.exit == Exit.DONE else shown.exit


def _hidden() -> list[str]:
    """What was given in plain words, so that the study cannot be resumed without it."""
    from hindmost.plan.secrets import given_names

    names = ", ".join(given_names())
    return [f"warning[secret-not-stored]: the study does not store {names}"] if names else []


def put(text: str) -> str | None:
    """Print on standard output; returns what went wrong, unless its reader had enough, which is only told."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        silence(sys.stdout)
        say(CLOSED)
    except OSError as error:
        silence(sys.stdout)
        return f"standard output cannot be written: {error.strerror}"
    return None


def written(path: Path, text: str) -> str | None:
    """Write a file in place: it may be a pipe, or one that somebody watches. Returns what went wrong."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        return f"{path} cannot be written: {error.strerror}"
    return None


def refuse_files(asked: Mapping[str, Path | None]) -> None:
    """Refuse files that cannot be written, by flag, before anything is measured.

    Raises
    ------
    UsageError
        If one cannot.
    """
    for flag, path in asked.items():
        if path is None:
            continue
        folder = path.absolute().parent
        if path.is_dir():
            raise UsageError(
                "unwritable-file",
                f"{flag} {path} is a folder",
                hint=f"{flag} {path / 'result'}",
                option=flag,
                path=str(path),
            )
        if not folder.is_dir():
            raise UsageError(
                "no-such-file",
                f"{flag} {path}: the folder {path.parent} does not exist",
                hint=f"mkdir -p {path.parent}",
                option=flag,
                path=str(path.parent),
            )
        if not os.access(path if path.exists() else folder, os.W_OK):
            raise UsageError(
                "unwritable-file",
                f"{flag} {path} cannot be written",
                hint=f"ls -ld {folder}",
                option=flag,
                path=str(path),
            )


def put_files(files: Mapping[Path | None, str]) -> None:
    """Write what was asked for, once the answer is told.

    Raises
    ------
    HindmostError
        Of the files that could not be written; the others are.
    """
    failed = {path: fault for path, text in files.items() if path and (fault := written(path, text))}
    if failed:
        folder = next(iter(failed)).absolute().parent
        raise HindmostError(
            "unwritable-file",
            "; ".join(failed.values()),
            hint=f"check free space with df -h {folder}; --json prints the result",
            paths=[str(path) for path in failed],
        )


def since_start() -> float:
    """Seconds since this process began, starting the interpreter included (proc(5), ``starttime``)."""
    fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
