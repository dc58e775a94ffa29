"""The journal of what was changed, and how the engine's refusals are told."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from hindmost import _engine
from hindmost.errors import HindmostError, HostUnfit, UsageError

FOLDER = Path("/var/lib/hindmost")
"""Settings belong to the host, so does their journal: whoever comes next finds it."""

Answer = TypeVar("Answer")


def told(call: Callable[[], Answer]) -> Answer:
    """Call the engine, and tell a refusal in the words of the command line.

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
        code, message = error.args
        if code == "unknown":
            raise UsageError("todo", message, hint="hindmost knobs list --all") from None
        if code == "value":
            raise UsageError("todo", message, hint="hindmost knobs list") from None
        if code == "missing":
            hint = (
                "run as root" if "denied" in message or "ermitted" in message else "hindmost knobs list --all"
            )
            raise HostUnfit("todo", message, hint=hint) from None
        if code == "differs":
            raise HostUnfit("todo", f"{message}; it is as before again", hint="hindmost knobs list") from None
        if code == "held":
            hint = "wait until it ends" if "running" in message else "hindmost knobs restore says why"
            raise HindmostError("todo", f"{message}; nothing was changed", hint=hint) from None
        mends = _made_safe(message) if code == "journal" else None
        raise HindmostError(
            "todo", f"{message}; nothing was changed", hint=mends or "hindmost knobs list"
        ) from None


def _made_safe(message: str) -> str | None:
    """What makes a journal fit for use that others could have written, or that we may not read."""
    if found := re.search(r"others can write (.+) \(mode", message):
        return f"look at what stands in it, then: chmod go-w {shlex.quote(found[1])}"
    if found := re.search(r": (\S.*) is user \d+'s", message):
        return f"look at what stands in it, then: chown root {shlex.quote(found[1])}; or run as that user"
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
        "todo",
        f"there is no knob {name!r}" + (f" (did you mean {close[0]}?)" if close else ""),
        hint=f"hindmost knobs get {close[0]}" if close else "hindmost knobs list --all",
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
    failed = [
        f"{one['name']} is not {one['value']!r} again: {one['failure']}" for one in done if one["failure"]
    ]
    if failed:
        raise HindmostError("todo", "; ".join(failed), hint="hindmost knobs restore")
