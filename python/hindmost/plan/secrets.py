"""Secrets of a plan: passwords, tokens, headers that log in. Documents hold references, never the words.

A plan is stored beside its answer and shown on pages, so what it holds of a secret is where to find it:
``env:NAME`` (a variable of the environment), ``file:PATH`` (the first line of a file), or, for one that was
given in plain words, ``given:NAME``, which this process alone can look up. A reference may stand behind
another word, as in ``Bearer env:TOKEN``. It is looked up when a load instance is told what to do, through
its pipe.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hindmost.errors import UsageError

_REFERENCE = re.compile(r"(?<!\S)(env|file|given):(\S+)")
_SECRET = re.compile(
    r"authorization|cookie|token|secret|password|passwd|credential|session|signature|api[-_]?key|x-auth", re.I
)
_LARGEST_BYTES = 1 << 16
_FIELD = re.compile(r"\{\{[^{}]*\}\}")
_given: dict[str, str] = {}
"""What was given in plain words, by the name of its reference. It leaves this process only through pipes."""


def is_secret(name: str) -> bool:
    """Whether what has this name is taken for a secret, such as the headers Authorization, Cookie, X-Api-Key.

    >>> is_secret("Proxy-Authorization"), is_secret("x-api-key"), is_secret("Accept")
    (True, True, False)
    """
    return _SECRET.search(name) is not None


def concealed(name: str, value: str) -> str:
    """A reference in place of a secret's plain words; what is a reference already stays one.

    Parameters
    ----------
    name : str
        What it is called: the name of a header, a field.
    value : str
        As it was written.
    """
    if _REFERENCE.search(value):
        return value
    scheme, space, words = value.partition(" ")
    # "Bearer WORDS": the scheme may be told.
    if not (name.lower().endswith("authorization") and scheme.isalpha() and words.strip()):
        scheme, space, words = "", "", value
    if _FIELD.fullmatch(words):  # a field of a template: its values are in the data
        return value
    known = [key for key, other in _given.items() if other == words]
    key = known[0] if known else f"{re.sub(r'[^A-Za-z0-9-]', '-', name)}-{len(_given) + 1}"
    _given[key] = words
    return f"{scheme}{space}given:{key}"


def revealed(value: str, what: str) -> str:
    """A text with its references looked up.

    Parameters
    ----------
    value : str
        As a plan holds it.
    what : str
        What messages call it, such as ``header Authorization``.

    Raises
    ------
    UsageError
        If there is no such variable or file, or its words were given to another process.
    """
    return _REFERENCE.sub(lambda found: _looked_up(found[1], found[2], what), value)


def _looked_up(source: str, name: str, what: str) -> str:
    if source == "env":
        if (words := os.environ.get(name)) is None:
            raise UsageError(
                "unset-variable",
                f"{what}: the environment variable {name} is not set",
                hint=f"export {name}=...",
                name=name,
                field=what,
            )
        return words
    if source == "file":
        try:
            lines = Path(name).expanduser().read_text(encoding="utf-8")[:_LARGEST_BYTES].splitlines()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise UsageError(
                "unreadable-file" if Path(name).expanduser().exists() else "no-such-file",
                f"{what}: cannot read {name}: {why}",
                hint=f"ls -l {name}",
                path=name,
                field=what,
            ) from None
        if not lines:
            raise UsageError(
                "bad-file",
                f"{what}: the file {name} is empty",
                hint="its first line is the secret",
                path=name,
                field=what,
            )
        return lines[0]
    if name not in _given:
        raise UsageError(
            "secret-not-stored",
            f"{what} was given in plain text, which a study does not store",
            hint="start a new study with env:NAME or file:PATH instead, like 'Authorization: Bearer"
            " env:TOKEN'",
            field=what,
        )
    return _given[name]


def conceal_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers without the words of those that are secret."""
    return {name: concealed(name, value) if is_secret(name) else value for name, value in headers.items()}


def reveal_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers as they are sent."""
    return {name: revealed(value, f"header {name}") for name, value in headers.items()}


def conceal(workload: dict[str, Any]) -> dict[str, Any]:
    """A workload as a document may hold it: without plain words of secrets in headers."""
    return _with_headers(workload, conceal_headers)


def reveal(workload: dict[str, Any]) -> dict[str, Any]:
    """A workload as a load instance needs it; never to be stored.

    Raises
    ------
    UsageError
        If a reference leads nowhere.
    """
    return _with_headers(workload, reveal_headers)


def _with_headers(
    workload: dict[str, Any], change: Callable[[Mapping[str, str]], dict[str, str]]
) -> dict[str, Any]:
    def changed(one: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(headers := one.get("headers"), dict):
            return one
        texts = {name: value for name, value in headers.items() if isinstance(value, str)}
        return one | {"headers": {**headers, **change(texts)}}

    found = changed(workload)
    if isinstance(requests := found.get("requests"), list):
        found = found | {"requests": [changed(one) if isinstance(one, dict) else one for one in requests]}
    return found
