"""The journal of changes, and the translation of the engine's refusals into errors."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
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
    "denied": "setting-unavailable",
    "differs": "setting-differs",
    "held": "setting-in-use",
    "abandoned": "setting-in-use",
    "refused": "setting-refused",
    "undo": "not-restored",
    "journal": "unsafe-journal",
    "journal-mode": "unsafe-journal",
    "journal-owner": "unsafe-journal",
    "journal-denied": "unsafe-journal",
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
        raise _translate(error, fields) from None


def _translate(error: _engine.EngineError, fields: dict[str, Any]) -> HindmostError:
    engine_code, message = error.args
    code = CODES.get(engine_code, engine_code)
    match engine_code:
        case "unknown" | "value":
            hint = "hindmost host knobs list" + (" --all" if engine_code == "unknown" else "")
            return UsageError(code, message, hint=hint, **fields)
        case "missing":
            return HostUnfit(code, message, hint="hindmost host knobs list --all", **fields)
        case "denied":
            return HostUnfit(code, message, hint="run as root", **fields)
        case "differs":
            text = f"{message}; the old value is restored"
            return HostUnfit(code, text, hint="hindmost host knobs list", **fields)
        case "held":
            hint, fields = "wait until it ends", fields | {"pid": int(error.fields["pid"])}
        case "abandoned":
            hint, fields = "hindmost host knobs restore", fields | {"pid": int(error.fields["pid"])}
        case "journal-mode":
            hint = f"look at its content, then: chmod go-w {shlex.quote(error.fields['path'])}"
        case "journal-owner":
            path = shlex.quote(error.fields["path"])
            hint = f"look at its content, then: chown root {path}; or run as that user"
        case "journal-denied":
            hint = "run as root"
        case _:
            hint = "hindmost host knobs list"
    return HindmostError(code, f"{message}; nothing was changed", hint=hint, **fields)


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
        The last change first; failures stay in the journal. Empty for a user who may not read it: only
        the user that made the changes can undo them.
    """
    try:
        text = _engine.recover_knobs(str(journal), root)
    except _engine.EngineError as error:
        if error.args[0] == "journal-denied":
            return []
        raise _translate(error, {}) from None
    return msgspec.json.decode(text, type=list[Restored])


def check_restored(done: list[Restored]) -> None:
    """Raise an error if a change in `done` could not be undone."""
    if failed := [change for change in done if change.failure]:
        text = "; ".join(
            f"cannot restore {change.name} to {change.value!r}: {change.failure}" for change in failed
        )
        names = [change.name for change in failed]
        raise HindmostError("not-restored", text, hint="hindmost host knobs restore", names=names)
