"""Output of a study's answer: data on standard output, messages on standard error.

A closed pipe, a full disk or an unwritable file does not change what was measured. Each is reported in one
line, the rest is printed, and the exit code stays that of the answer. Only exit code 0 becomes 1 if a
requested output could not be written.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hindmost.cli.streams import CLOSED, say, silence
from hindmost.core.exits import Exit
from hindmost.errors import HindmostError, UsageError

if TYPE_CHECKING:
    from hindmost.core.study.kind import PublishedAnswer


def format_write_error(fault: str) -> str:
    """Format the error line for an output that could not be written."""
    return f"error[unwritable-file]: {fault}"


def print_answer(
    shown: PublishedAnswer,
    *,
    as_json: bool,
    quiet: bool = False,
    verbose: bool = False,
    files: Mapping[Path, str] | None = None,
    timed: bool = False,
) -> Exit:
    """Print an answer and return its exit code.

    Parameters
    ----------
    shown : Shown
        The answer. Its messages about limits (``said``) are printed even if `quiet`.
    files : mapping of Path to str
        Additional files to write, with their text.
    timed : bool
        Also print how long the command took until its answer.
    """
    from hindmost.core.store.estimates import encode

    failed = [*shown.failed]
    table = shown.account if verbose and shown.account else shown.table
    if fault := print_output(encode(shown.document) if as_json else table()):
        failed.append(fault)
    failed += [fault for path, text in (files or {}).items() if (fault := write_in_place(path, text))]
    took = [f"answered {process_age_s():.1f} s after the command began"] if timed else []
    lines = [] if quiet else [*_warn_unstored_secrets(), *shown.notes, *took]
    say(*lines, *shown.said, *map(format_write_error, dict.fromkeys(failed)))
    return Exit.ERROR if failed and shown.exit == Exit.DONE else shown.exit


def _warn_unstored_secrets() -> list[str]:
    """Warn about secrets given in plain text, without which the study cannot be resumed."""
    from hindmost.core.plan.secrets import given_names

    names = ", ".join(given_names())
    return [f"warning[secret-not-stored]: the study does not store {names}"] if names else []


def print_output(text: str) -> str | None:
    """Print on standard output. Return the error, or None. A reader that closed the pipe is no error."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        silence(sys.stdout)
        say(CLOSED)
    except OSError as error:
        silence(sys.stdout)
        return f"standard output cannot be written: {error.strerror}"
    return None


def write_in_place(path: Path, text: str) -> str | None:
    """Write a file in place, because it may be a pipe or a watched file. Return the error, or None."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        return f"{path} cannot be written: {error.strerror}"
    return None


def refuse_files(asked: Mapping[str, Path | None]) -> None:
    """Refuse files that cannot be written, before anything is measured.

    Raises
    ------
    UsageError
        If a file cannot be written. The message names its option.
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


def write_files(files: Mapping[Path | None, str]) -> None:
    """Write additional files after the answer was printed.

    Raises
    ------
    HindmostError
        If some files could not be written. The other files are written.
    """
    failed = {path: fault for path, text in files.items() if path and (fault := write_in_place(path, text))}
    if failed:
        folder = next(iter(failed)).absolute().parent
        raise HindmostError(
            "unwritable-file",
            "; ".join(failed.values()),
            hint=f"check free space with df -h {folder}; --json prints the result",
            paths=[str(path) for path in failed],
        )


def process_age_s() -> float:
    """Return the seconds since this process was started (proc(5), ``starttime``)."""
    fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
