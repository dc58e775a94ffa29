"""Settings left changed on this host, as a finding of the doctor: they would change the tail."""

from __future__ import annotations

from pathlib import Path

import msgspec

from hindmost import _engine
from hindmost.core.knobs.journal import FOLDER, call_engine
from hindmost.core.store.engine import Finding, Left, Mark
from hindmost.errors import HindmostError

ID = "knobs_left"
_TITLE = "Settings left changed"
_NAMED = 5


def list_left(journal: Path = FOLDER, root: str = "/") -> list[Left]:
    """Return the settings that are changed now, the first change first; restore nothing.

    Raises
    ------
    HindmostError
        If the journal cannot be read, or others could have written it.
    """
    return msgspec.json.decode(call_engine(lambda: _engine.left_knobs(str(journal), root)), type=list[Left])


def finding(journal: Path = FOLDER, root: str = "/") -> Finding:
    """Return the doctor's finding: ``note`` if settings of a killed or running study are in force."""
    try:
        changed = list_left(journal, root)
    except HindmostError as error:
        why = "it is not known whether a study left this host changed"
        return _finding("note", f"unknown: {error.message}", why, error.hint)
    abandoned = [setting for setting in changed if setting.by == "nobody"]
    running = [setting for setting in changed if setting.by == "running"]
    if abandoned:
        why = (
            "a killed study left them so: measurements describe this host as it is now, not as it was; the"
            " next `hindmost attribute` restores them before its first run"
        )
        return _finding(
            "note", _list_settings(abandoned), why, f"hindmost host knobs restore{_elsewhere(journal)}"
        )
    if running:
        pids = ", ".join(str(pid) for pid in dict.fromkeys(setting.pid for setting in running))
        why = f"a study is running here (process {pids}): it sets them, and shares the CPUs"
        return _finding("note", _list_settings(running), why, "wait until it ends")
    if changed:
        return _finding(
            "fine",
            f"{_list_settings(changed)}, by hand",
            "they stay until `hindmost host knobs restore`",
            None,
        )
    return _finding("fine", "none", "no change by Hindmost is left on this host", None)


def _finding(mark: Mark, value: str, why: str, hint: str | None) -> Finding:
    return Finding(id=ID, title=_TITLE, value=value, mark=mark, why=why, hint=hint)


def _elsewhere(journal: Path) -> str:
    return "" if journal == FOLDER else f" --journal {journal}"


def _list_settings(changed: list[Left]) -> str:
    """List settings like ``swappiness 7 (found: 60)``; at most five."""
    texts = [
        f"{setting.name} ({setting.unread})"
        if setting.unread is not None
        else f"{setting.name} {setting.set} (found: {setting.found or 'nothing'})"
        for setting in changed[:_NAMED]
    ]
    if len(changed) > _NAMED:
        texts.append(f"{len(changed) - _NAMED} more")
    return ", ".join(texts)
