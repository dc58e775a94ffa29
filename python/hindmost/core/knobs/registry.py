"""The kinds of settings, and their form in a study file. A new kind is a file and a row here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hindmost.core.knobs.knob import Knob
from hindmost.core.names import nearest
from hindmost.core.notes import Note
from hindmost.errors import UsageError

if TYPE_CHECKING:
    from hindmost.core.targets import Managed


@dataclass(frozen=True)
class Kind:
    """One kind of setting.

    Attributes
    ----------
    about
        What it sets.
    example
        Its lines in a study file.
    levels
        Its possible levels.
    takes
        The types of the value of its key, which identifies it in a study file.
    key
        That key, if it is not the kind's own name.
    keys
        Further keys with their types and meanings.
    """

    about: str
    example: str
    levels: str
    takes: tuple[type, ...] = (str,)
    key: str | None = None
    keys: Mapping[str, tuple[tuple[type, ...], str]] = field(default_factory=dict)


KINDS: Mapping[str, Kind] = {
    "host": Kind(
        "a setting of this host",
        'knob = "thp", levels = ["never", "always"]',
        "as in hindmost host knobs set",
        key="knob",
    ),
    "option": Kind(
        "an option of the target, as in TARGET?name=value; also threads",
        'option = "threads", levels = ["1", "4"]',
        "JSON or text",
    ),
    "argument": Kind(
        "words after the target's command",
        'argument = "-o no_lru_maintainer", levels = ["off", "on"]',
        'off, on; with "{level}" in it: shell words, "" for none',
    ),
    "env": Kind(
        "an environment variable of the target",
        'env = "MALLOC_ARENA_MAX", levels = ["", "1"]',
        'text; "": unchanged',
    ),
    "cpus": Kind(
        "the server's CPUs",
        'cpus = true, levels = ["free", "0"]',
        "free, or CPUs such as 0-3,5",
        (bool,),
    ),
    "numa": Kind(
        "the node that the server's memory comes from",
        'numa = true, levels = ["local", "interleave"]',
        "free, local, interleave, node:N",
        (bool,),
    ),
    "schedule": Kind(
        "policy and nice value of the server's threads; a pattern chooses them by name",
        'schedule = true, levels = ["other", "fifo:10"]',
        "found, other, batch, idle, nice:N, fifo:N, rr:N",
        (bool, str),
    ),
    "pinning": Kind(
        "where each of the server's threads runs; a pattern chooses them by name",
        'pinning = true, levels = ["free", "each"]',
        "free, each, process, each:CPUS, process:CPUS, CPUS",
        (bool, str),
    ),
    "cgroup": Kind(
        "a file of a cgroup for the server, by its version 2 name",
        'cgroup = "cpu.max", levels = ["free", "50000 100000"]',
        "free, or a value of the file",
    ),
    "socket": Kind(
        "an option of the server's TCP sockets: busy_poll, nodelay, quickack, rcvbuf, sndbuf, incoming_cpu",
        'socket = "busy_poll", levels = ["0", "50"]',
        "found, off and on, or a number",
    ),
    "cpu_dma_latency": Kind(
        "the longest permitted wake-up from idle states, in microseconds",
        'cpu_dma_latency = true, levels = ["free", "0"]',
        "free, or microseconds",
        (bool,),
    ),
    "interference": Kind(
        "something that runs next to the server: spin, memory, or a command",
        'interference = "spin", on = "0", levels = ["off", "on"]',
        "off, on",
        keys={
            "on": ((str, list, int), "CPUs, with one process on each"),
            "share": ((float, int), "share of every 10 ms in which built-in programs are busy, 0 to 1"),
            "mib": ((int,), "MiB that memory copies"),
        },
    ),
    "command": Kind(
        "anything else: programs that write {level}, read it, and undo; no shell",
        'command = "sysctl -qw vm.x={level}", read = "sysctl -n vm.x", levels = ["0", "1"]',
        "one line, as read prints it",
        keys={
            "read": ((str,), "prints the present value"),
            "undo": ((str,), "restores it; default: command, with the value read before"),
        },
    ),
}
"""Every kind by its name."""

KEYS: Mapping[str, str] = {kind.key or name: name for name, kind in KINDS.items()}
"""The kind of each key; a factor's table has exactly one of these keys."""


def kind_of(what: Mapping[str, Any], where: str = "factor") -> str:
    """Return the kind of a factor's table (without ``name`` and ``levels``) and check all its keys.

    Raises
    ------
    UsageError
        If no kind or several kinds are named, a key is unknown, or its value has the wrong type.
    """
    named = [key for key in what if key in KEYS]
    if len(named) > 1:
        raise UsageError(
            "conflicting-options",
            f"{where} names {' and '.join(named)}, but a factor is one setting",
            hint=_HINT,
            factor=where,
            options=named,
        )
    if not named:
        close = [guess for key in what if "did you mean" in (guess := nearest(key, KEYS))]
        raise UsageError(
            "missing-argument",
            f"{where} does not say what it sets{''.join(close[:1])}; it needs one of {', '.join(KEYS)}",
            hint=_HINT,
            factor=where,
            known=list(KEYS),
            keys=list(what),
        )
    kind = KINDS[KEYS[named[0]]]
    expected = {named[0]: kind.takes, **{key: types for key, (types, _) in kind.keys.items()}}
    for key, value in what.items():
        if key not in expected:
            raise UsageError(
                "unknown-key",
                f"{where}: unknown key {key}{nearest(key, expected)}",
                hint=f"write {kind.example}",
                factor=where,
                key=key,
                known=list(expected),
            )
        fits = isinstance(value, expected[key]) and (not isinstance(value, bool) or bool in expected[key])
        if not fits or value is False:
            raise UsageError(
                "bad-value",
                f"{where}: {key} cannot be {value!r}",
                hint=f"write {kind.example}",
                factor=where,
                key=key,
                value=value,
            )
    return KEYS[named[0]]


_HINT = "hindmost host knobs list shows every kind and what a study file writes for it"


def knob_of(kind: str, what: Mapping[str, Any], target: Managed, journal: Path) -> Knob:
    """Make the setting that a factor's table describes.

    Parameters
    ----------
    kind : str
        One of `KINDS`; ``kind_of(what)``.
    what : mapping
        The factor's table without ``name`` and ``levels``.
    target : Managed
        The target whose server it will be set on.
    journal : Path
        Folder of the journal: `hindmost.core.knobs.journal.FOLDER`, except in tests.

    Raises
    ------
    UsageError
        If the table is invalid: an unknown kind, key or name (with the nearest), or an invalid value.
    """
    if kind not in KINDS:
        raise UsageError(
            "unknown-name",
            f"there is no kind of setting {kind!r}{nearest(kind, KINDS)}",
            hint=_HINT,
            value=kind,
            known=list(KINDS),
        )
    if kind_of(what) != kind:
        raise UsageError(
            "bad-value",
            f"this is not a setting of kind {kind}: {dict(what)!r}",
            hint=f"write {KINDS[kind].example}",
            name=kind,
            value=dict(what),
        )
    knob: Knob = import_module(f"hindmost.core.knobs.kinds.{kind}").make(what, target, journal)
    return knob


def missing(kind: str) -> Note | None:
    """Return why a kind, or a part of it, is not available on this host; None if it is."""
    why: Note | None = import_module(f"hindmost.core.knobs.kinds.{kind}").missing()
    return why
