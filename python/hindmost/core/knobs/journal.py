"""The journal of changes, and the translation of the engine's refusals into errors."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from hindmost import _engine
from hindmost.core.store.engine import Knob, Restored
from hindmost.errors import HindmostError, HostUnfit, UsageError

FOLDER = Path("/var/lib/hindmost")
"""Settings belong to the host, and so does their journal: later processes find it."""

Answer = TypeVar("Answer")


CODES = {
    "unknown": "unknown-name",
    "value": "bad-value",
    "missing": "setting-unavailable",
    "differs": "setting-differs",
    "held": "setting-in-use",
    "refused": "setting-refused",
    "undo": "not-restored",
    "journal": "unsafe-journal",
    "host": "no-such-process",
}
"""Message codes of the engine's refusals, by the engine's own code."""


def call_engine(call: Callable[[], Answer], **fields: Any) -> Answer:  # noqa: ANN401 (as of HindmostError)
    """Call the engine; turn its refusal into an error with a code, a hint, and these fields.

    Raises
    ------
    UsageError
        If there is no such setting, or it cannot have this value.
    HostUnfit
        If it cannot be set on this host, or does not keep its value.
    HindmostError
        If another study uses it, the kernel refused it, or the journal cannot be written.
    """
    try:
        return call()
    except _engine.EngineError as error:
        engine_code, message = error.args
        raise _refusal(engine_code, message, fields) from None


def _refusal(engine_code: str, message: str, fields: Mapping[str, Any]) -> HindmostError:
    code = CODES.get(engine_code, engine_code)
    match engine_code:
        case "unknown":
            return UsageError(code, message, hint="hindmost host knobs list --all", **fields)
        case "value":
            return UsageError(code, message, hint="hindmost host knobs list", **fields)
        case "missing":
            denied = "denied" in message or "ermitted" in message
            hint = "run as root" if denied else "hindmost host knobs list --all"
            return HostUnfit(code, message, hint=hint, **fields)
        case "differs":
            text = f"{message}; the old value is restored"
            return HostUnfit(code, text, hint="hindmost host knobs list", **fields)
        case "held":
            running = "running" in message
            hint = "wait until it ends" if running else "hindmost host knobs restore"
            return HindmostError(
                code, f"{message}; nothing was changed", hint=hint, pid=_pid(message), **fields
            )
    repair = _journal_repair(message) if engine_code == "journal" else None
    hint = repair or "hindmost host knobs list"
    return HindmostError(code, f"{message}; nothing was changed", hint=hint, **fields)


def _pid(message: str) -> int | None:
    match = re.search(r"process (\d+)", message)
    return int(match[1]) if match else None


def _journal_repair(message: str) -> str | None:
    """Return the hint that makes a journal usable that others can write, or that we may not read."""
    if match := re.search(r"others can write (.+) \(mode", message):
        return f"look at its content, then: chmod go-w {shlex.quote(match[1])}"
    if match := re.search(r": (\S.*) belongs to user \d+", message):
        return f"look at its content, then: chown root {shlex.quote(match[1])}; or run as that user"
    return "run as root" if "ermission denied" in message else None


def knobs(journal: Path, root: str = "/") -> dict[str, Knob]:
    """Return every setting of the host by its name."""
    text = call_engine(lambda: _engine.knobs(str(journal), root))
    return {knob.name: knob for knob in msgspec.json.decode(text, type=list[Knob])}


def check_name(name: str, names: list[str]) -> str:
    """Return `name`, if it is one of `names`.

    Raises
    ------
    UsageError
        Suggests the nearest name.
    """
    if name in names:
        return name
    close = get_close_matches(name, names, n=1)
    raise UsageError(
        "unknown-name",
        f"there is no setting {name!r}" + (f" (did you mean {close[0]}?)" if close else ""),
        hint=f"hindmost host knobs get {close[0]}" if close else "hindmost host knobs list --all",
        value=name,
        known=names,
        nearest=close[0] if close else None,
    )


def undo_change(name: str, journal: Path, root: str = "/") -> None:
    """Undo this process's change with this name in the journal.

    Raises
    ------
    HindmostError
        If it cannot be undone; it stays in the journal.
    """
    text = call_engine(lambda: _engine.undo_knob(name, str(journal), os.getpid(), root))
    check_restored(msgspec.json.decode(text, type=list[Restored]))


def recover(journal: Path = FOLDER, root: str = "/") -> list[Restored]:
    """Undo what killed studies left: settings, commands, cgroups. Called at the start of every study.

    Returns
    -------
    list of Restored
        The last change first. Failures stay in the journal.
    """
    text = call_engine(lambda: _engine.recover_knobs(str(journal), root))
    return msgspec.json.decode(text, type=list[Restored])


def check_restored(done: list[Restored]) -> None:
    """Raise an error if a change in `done` could not be undone."""
    if failed := [change for change in done if change.failure]:
        text = "; ".join(
            f"cannot restore {change.name} to {change.value!r}: {change.failure}" for change in failed
        )
        names = [change.name for change in failed]
        raise HindmostError("not-restored", text, hint="hindmost host knobs restore", names=names)
