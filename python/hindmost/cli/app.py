"""The program ``hindmost``: find the command, run it, turn each failure into a message and an exit code."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shlex
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType
from typing import Any, TextIO, cast

import cyclopts

from hindmost.cli.parser import parser
from hindmost.cli.steps import show_step
from hindmost.cli.streams import CLOSED, say, silence
from hindmost.cli.usage import convert_error
from hindmost.cli.verbs import RENAMED, insert_default, list_subcommands
from hindmost.core.escapes import Plain
from hindmost.core.exits import Exit
from hindmost.core.progress import show_steps
from hindmost.errors import HindmostError, Interrupted, UsageError

app = parser()

DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Error numbers of a failed write to standard output, whose error names no file."""
END_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end the program. They are handled like Ctrl-C: everything is cleaned up first."""


def run(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Raise nothing."""
    for number in END_SIGNALS:
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup(1) ignores SIGHUP, and it stays ignored
            signal.signal(number, _raise_interrupted)
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = _resend_interrupt
    words = insert_default(sys.argv[1:] if argv is None else argv)
    mask = os.umask(0o077)
    os.umask(mask)
    show_steps(None if {"--quiet", "-q"} & set(words) else show_step)
    try:
        with contextlib.redirect_stdout(cast("TextIO", Plain(sys.stdout))):
            return _run(words, as_json="--json" in words)
    finally:
        show_steps(None)
        os.umask(mask)  # a study sets a narrower mask


def _run(words: Sequence[str], *, as_json: bool) -> int:
    try:
        refuse_old_name(words)
        code = app(words, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
        return int(code or 0)
    except cyclopts.CycloptsError as error:
        return _report(convert_error(error, list_subcommands()), as_json)
    except KeyboardInterrupt:
        return _report(Interrupted(), as_json)
    except HindmostError as error:
        return _report(error, as_json)
    except BrokenPipeError:  # the reader of our output closed it
        silence(sys.stdout)
        say(CLOSED)
        return Exit.ERROR
    except OSError as error:
        if error.filename is not None or error.errno not in DISK_ERRORS:
            raise
        silence(sys.stdout)
        say(f"error[unwritable-file]: standard output cannot be written: {error.strerror}")
        return Exit.ERROR
    except Exception as error:
        # pydantic raises SchemaError if it is interrupted while it builds a validator during an import.
        if type(error).__name__ != "SchemaError" or "KeyboardInterrupt" not in str(error):
            raise
        return _report(Interrupted(), as_json)


def refuse_old_name(words: Sequence[str]) -> None:
    """Refuse a command that was renamed, and print the new name."""
    for old in (" ".join(words[:2]), " ".join(words[:1])):
        if (new := RENAMED.get(old)) is None:
            continue
        rest = () if any(word.isupper() for word in new.split()) else words[len(old.split()) :]
        line = f"hindmost {new}" + "".join(f" {shlex.quote(word)}" for word in rest)
        text = f"`hindmost {old}` is now `hindmost {new}`"
        raise UsageError("renamed-command", text, hint=line, old=old, new=new)


def _resend_interrupt(what: sys.UnraisableHookArgs) -> None:
    """Send SIGINT again if an interruption was raised inside a `__del__`, which swallows it."""
    if isinstance(what.exc_value, KeyboardInterrupt | Interrupted):
        main = threading.main_thread().ident
        if (
            main is not None
        ):  # after a short delay: a signal sent at once would arrive within the same `__del__`
            again = threading.Timer(0.01, signal.pthread_kill, (main, signal.SIGINT))
            again.daemon = True  # the timer must not keep a finished command alive
            again.start()
    else:
        sys.__unraisablehook__(what)


def _raise_interrupted(number: int, frame: FrameType | None) -> None:
    raise Interrupted(f"ended by {signal.Signals(number).name}")


def _report(error: HindmostError, as_json: bool) -> int:
    """Print an error for people on stderr and, with ``--json``, for programs on stdout."""
    if (
        error.exit_code == Exit.INTERRUPTED
    ):  # cleaned up already: a second signal must not change the exit code
        for number in (signal.SIGINT, *END_SIGNALS):
            signal.signal(number, signal.SIG_IGN)
    for note in getattr(error, "__notes__", ()):
        say(note)
    say(f"error[{error.code}]: {error.message}", *([f"hint: {error.hint}"] if error.hint else []))
    if as_json:
        try:
            print(json.dumps(error_document(error), default=str), flush=True)
        except OSError:
            silence(sys.stdout)
    return error.exit_code


def error_document(error: HindmostError) -> dict[str, Any]:
    """Return an error as a document for programs, in the format ``hindmost.error/1``."""
    return {
        "schema": "hindmost.error/1",
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "fields": error.fields,
        "exit_code": int(error.exit_code),
    }
