"""Placeholders in target files: ``{port}`` is replaced at the start, ``{{port}}`` stays as ``{port}``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from hindmost.core.names import nearest
from hindmost.errors import ArgumentError

_PLACEHOLDER = re.compile(r"\{\{([a-z][a-z0-9_]*)\}\}|\{([a-z][a-z0-9_]*)\}")

BUILT_IN = {
    "host": "IP address the server listens on",
    "port": "TCP port the server listens on",
    "address": "host:port",
    "socket": "Unix socket named in the target file",
    "cpus": "CPUs the server may use, such as 0-3,5",
    "threads": "threads to use: default: the server's number of CPUs",
    "dir": "a new folder for this start, removed afterwards",
    "here": "folder of the target file",
    "python": "the Python interpreter that runs Hindmost",
    "options": "the options table, as JSON",
}


def names_in(text: str) -> set[str]:
    """Return the names of the placeholders in `text`.

    Examples
    --------
    >>> sorted(names_in("listen {host}:{port}; # {{not_me}} { nor me }"))
    ['host', 'port']
    """
    return {match[2] for match in _PLACEHOLDER.finditer(text) if match[2]}


def check(text: str, known: Iterable[str]) -> None:
    """Refuse unknown placeholders.

    Raises
    ------
    ArgumentError
        Names the unknown placeholder and the nearest known one.
    """
    names = sorted(known)
    for name in sorted(names_in(text)):
        if name not in names:
            raise ArgumentError(
                "unknown-name",
                f"unknown placeholder {{{name}}}{nearest(name, names, form='{{{}}}')}; "
                f"write {{{{{name}}}}} for a literal {{{name}}}",
                name=name,
                known=names,
            )


def render(text: str, values: Mapping[str, object]) -> str:
    """Replace every placeholder; values other than text are written as JSON.

    Examples
    --------
    >>> render("-p {port} {{port}}", {"port": 11211})
    '-p 11211 {port}'
    """

    def replace(match: re.Match[str]) -> str:
        if match[1]:
            return f"{{{match[1]}}}"
        value = values[match[2]]
        return value if isinstance(value, str) else json.dumps(value, default=str)

    return _PLACEHOLDER.sub(replace, text)
