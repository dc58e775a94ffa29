"""The journal of what was changed, and how the engine's refusals are told."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from hindmost import _engine
from hindmost.errors import HindmostError, HostUnfit, UsageError

FOLDER = Path("/var/lib/hindmost")
"""Settings belong to the host, so does their journal: whoever comes next finds it."""

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
"""Code of each refusal of the engine's settings, by the engine's own code."""


def told(call: Callable[[], Answer], **fields: Any) -> Answer:  # noqa: ANN401 (as of HindmostError)
    """Call the engine; turn its refusal into an error with a code, a hint, and these fields.

    Raises
    ------
    UsageError
        No such knob, or not a value of it.
    HostUnfit
        The knob cannot be set on this host, or does not stay what it was set to.
    HindmostError
        Another study holds it, the kernel refused it, or the journal cannot be kept.
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
            refused = "denied" in message or "ermitted" in message
            hint = "run as root" if refused else "hindmost host knobs list --all"
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
    mends = _made_safe(message) if engine_code == "journal" else None
    hint = mends or "hindmost host knobs list"
    return HindmostError(code, f"{message}; nothing was changed", hint=hint, **fields)


def _pid(message: str) -> int | None:
    found = re.search(r"process (\d+)", message)
    return int(found[1]) if found else None


def _made_safe(message: str) -> str | None:
    """Return what makes a journal usable that others could have written, or that we may not read."""
    if found := re.search(r"others can write (.+) \(mode", message):
        return f"look at its content, then: chmod go-w {shlex.quote(found[1])}"
    if found := re.search(r": (\S.*) is user \d+'s", message):
        return f"look at its content, then: chown root {shlex.quote(found[1])}; or run as that user"
    return "run as root" if "ermission denied" in message else None


def knobs(journal: Path, root: str = "/") -> dict[str, dict[str, Any]]:
    """Every knob of the host by its name, as `hindmost.knobs/1` has it."""
    return {knob["name"]: knob for knob in json.loads(told(lambda: _engine.knobs(str(journal), root)))}


def known(name: str, names: list[str]) -> str:
    """`name`, if it is one of `names`.

    Raises
    ------
    UsageError
        With the nearest.
    """
    if name in names:
        return name
    close = get_close_matches(name, names, n=1)
    raise UsageError(
        "unknown-name",
        f"there is no knob {name!r}" + (f" (did you mean {close[0]}?)" if close else ""),
        hint=f"hindmost host knobs get {close[0]}" if close else "hindmost host knobs list --all",
        value=name,
        known=names,
        nearest=close[0] if close else None,
    )


def recover(journal: Path = FOLDER, root: str = "/") -> list[dict[str, str | None]]:
    """Undo what studies left that were killed: settings, commands, cgroups. At the start of every study.

    Returns
    -------
    list of dict
        ``name``, ``value`` (what it is again) and ``failure`` (why it is not, else None) of each, the last
        change first. What failed stays in the journal.
    """
    done: list[dict[str, str | None]] = json.loads(told(lambda: _engine.recover_knobs(str(journal), root)))
    return done


def put_back(done: list[dict[str, Any]]) -> None:
    """Raise if something of `done` could not be put back."""
    failed = [one for one in done if one["failure"]]
    if failed:
        text = "; ".join(
            f"cannot restore {one['name']} to {one['value']!r}: {one['failure']}" for one in failed
        )
        names = [one["name"] for one in failed]
        raise HindmostError("not-restored", text, hint="hindmost host knobs restore", names=names)
