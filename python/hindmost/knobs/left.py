"""What stands changed on this host, as the doctor tells it: a setting that was left makes another tail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from hindmost import _engine
from hindmost.errors import HindmostError
from hindmost.knobs.journal import FOLDER, told

if TYPE_CHECKING:
    from hindmost.store.engine import Finding, Left, Mark

ID = "knobs_left"
_TITLE = "Settings left changed"
_NAMED = 5


def left(journal: Path = FOLDER, root: str = "/") -> list[Left]:
    """What is changed now, the first change first; nothing is put back.

    Raises
    ------
    HindmostError
        The journal cannot be read, or others could have written it.
    """
    found: list[Left] = json.loads(told(lambda: _engine.left_knobs(str(journal), root)))
    return found


def finding(journal: Path = FOLDER, root: str = "/") -> Finding:
    """One of the doctor's findings: ``mind`` where a killed study's, or a running one's, settings stand."""
    try:
        changed = left(journal, root)
    except HindmostError as error:
        why = "whether a study left this host changed is not known"
        return _finding("mind", f"not known: {error.message}", why, error.hint)
    abandoned = [one for one in changed if one["by"] == "nobody"]
    running = [one for one in changed if one["by"] == "running"]
    if abandoned:
        why = (
            "a study that was killed left them so: what is measured here is this host as it is now, not as"
            " it was found; the next `hindmost attribute` puts them back before its first run"
        )
        return _finding("mind", _named(abandoned), why, f"hindmost host knobs restore{_elsewhere(journal)}")
    if running:
        pids = ", ".join(str(pid) for pid in dict.fromkeys(one["pid"] for one in running))
        why = f"a study is running here (process {pids}): it sets them, and shares the processors"
        return _finding("mind", _named(running), why, "wait until it ends")
    if changed:
        return _finding(
            "fine", f"{_named(changed)}, by hand", "they stay until `hindmost host knobs restore`", None
        )
    return _finding("fine", "none", "nothing that Hindmost changed on this host is left", None)


def _finding(mark: Mark, value: str, why: str, hint: str | None) -> Finding:
    return {"id": ID, "title": _TITLE, "value": value, "mark": mark, "why": why, "hint": hint}


def _elsewhere(journal: Path) -> str:
    return "" if journal == FOLDER else f" --journal {journal}"


def _named(changed: list[Left]) -> str:
    """``swappiness 7 (found: 60)``; five of them at most."""
    words = [
        f"{one['name']} ({one['unread']})"
        if one["unread"] is not None
        else f"{one['name']} {one['set']} (found: {one['found'] or 'nothing'})"
        for one in changed[:_NAMED]
    ]
    if len(changed) > _NAMED:
        words.append(f"{len(changed) - _NAMED} more")
    return ", ".join(words)
