"""Where the journal of changed settings lies, and how refusals are told."""

from __future__ import annotations

import json
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

from hindmost import _engine
from hindmost.cli.options import OUTPUT, option
from hindmost.errors import HindmostError, HostUnfit, UsageError

FOLDER = Path("/var/lib/hindmost")
"""Settings belong to the host, so does their journal: whoever comes next finds it."""

Journal = Annotated[Path, option(OUTPUT, "FOLDER", "Where the journal of changed settings lies.")]


def asked(call: Callable[[], str]) -> Any:  # noqa: ANN401 (JSON)
    """Ask the engine, and tell a refusal in the words of the command line.

    Raises
    ------
    UsageError
        No such knob, or not a value of it.
    HostUnfit
        The knob cannot be set on this host.
    HindmostError
        The kernel refused it, or the journal cannot be kept.
    """
    try:
        return json.loads(call())
    except _engine.EngineError as error:
        code, message = error.args
        if code == "unknown":
            raise UsageError(message, hint="hindmost knobs list --all") from None
        if code == "value":
            raise UsageError(message, hint="hindmost knobs list") from None
        if code == "missing":
            hint = (
                "run as root" if "denied" in message or "ermitted" in message else "hindmost knobs list --all"
            )
            raise HostUnfit(message, hint=hint) from None
        raise HindmostError(f"{message}; nothing was changed", hint="hindmost knobs list") from None


def nearest(name: str, names: list[str]) -> str | None:
    """The knob that was probably meant."""
    close = get_close_matches(name, names, n=1)
    return close[0] if close else None
