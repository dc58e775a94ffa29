"""Secrets of a plan: passwords, tokens, headers that log in. Documents hold references, never the words.

A plan is stored next to its answer and shown on pages, so what it holds of a secret is where to find it:
``env:NAME`` (a variable of the environment), ``file:PATH`` (the first line of a file), or, for one that was
given in plain words, ``given:NAME``, which this process alone can look up. A reference may stand behind
another word, as in ``Bearer env:TOKEN``. It is looked up when a load client is told what to do, through
its pipe. What a document of another tool says is plain text: ``text:`` stands before what would be taken for
a reference.

Only references of this command line, or of the workload file that it names, are looked up (`trust`). A stored
study may be somebody else's, who would have us send a file of ours.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hindmost.documents import read_text
from hindmost.errors import UsageError

_REFERENCE = re.compile(r"(?<!\S)(env|file|given|text):(\S+)")
_IN_TEXT = re.compile(
    r"""(?P<before>["']?(?P<name>[\w.-]*(?:token|secret|passw(?:or)?d|credential|api[-_]?key|signature|session)[\w.-]*)["']?
    \s*[=:]\s*["']?)(?P<words>[^"'&\s,;{}]{3,})""",
    re.I | re.X,
)
"""In a body, a path or a command: ``"password": "..."``, ``token=...``."""
BUILT_IN = ("spin", "memory")
"""Interference that runs no program of the user's."""
_PLACE = re.compile(r"given:([A-Za-z0-9-]+-\d+)")
_SECRET = re.compile(
    r"authorization|cookie|token|secret|password|passwd|credential|session|signature|api[-_]?key|x-auth", re.I
)
_LARGEST_BYTES = 1 << 16
_FIELD = re.compile(r"\{\{[^{}]*\}\}")
_given: dict[str, str] = {}
"""What was given in plain words, by the name of its reference. It leaves this process only through pipes."""
_trusted: set[str] = set()
"""References that whoever started this process has named."""


def is_secret(name: str) -> bool:
    """Whether what has this name is taken for a secret, such as the headers Authorization, Cookie, X-Api-Key.

    >>> is_secret("Proxy-Authorization"), is_secret("x-api-key"), is_secret("Accept")
    (True, True, False)
    """
    return _SECRET.search(name) is not None


def conceal_text(name: str, value: str) -> str:
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
    return f"{scheme}{space}{_keep(name, words)}"


def _keep(name: str, words: str) -> str:
    known = [key for key, other in _given.items() if other == words]
    key = known[0] if known else f"{re.sub(r'[^A-Za-z0-9-]', '-', name)}-{len(_given) + 1}"
    _given[key] = words
    return f"given:{key}"


def concealed_text(text: str) -> str:
    """A text without the words that stand after a secret's name.

    >>> concealed_text('{"user": "a", "password": "{{data.password}}"}')
    '{"user": "a", "password": "{{data.password}}"}'
    """

    def hidden(found: re.Match[str]) -> str:
        if _PLACE.fullmatch(found["words"]):
            return found[0]
        return found["before"] + _keep(found["name"], found["words"])

    return _IN_TEXT.sub(hidden, text)


def revealed_text(text: str, what: str) -> str:
    """A text with the words that `concealed_text` took.

    Raises
    ------
    UsageError
        If they were given to another process.
    """
    return _PLACE.sub(lambda found: _looked_up("given", found[1], what), text)


def given_names() -> list[str]:
    """Names of what was given in plain words to this process, which no study stores."""
    return sorted({key.rpartition("-")[0] for key in _given})


def references(document: object) -> set[str]:
    """All references to variables and files in a document's texts, and programs that it has run."""
    if isinstance(document, str):
        return {found[0] for found in _REFERENCE.finditer(document) if found[1] in ("env", "file")}
    if isinstance(document, Mapping):
        programs = {f"program:{one}" for one in _programs(document)}
        return programs | references(list(document.values()))
    if isinstance(document, list | tuple):
        return set().union(*map(references, document))
    return set()


def _programs(factor: Mapping[str, Any]) -> list[str]:
    """What a part of a study runs: commands of a factor, an interference of the user's, a target file."""
    keys = ["command", "read", "undo"] if {"read", "undo"} & factor.keys() else []
    found = [factor.get(key) for key in keys]
    if (beside := factor.get("interference")) not in BUILT_IN:
        found.append(beside)
    if _is_file(target := factor.get("target")):
        found.append(target)
    return [one for one in found if isinstance(one, str)]


def _is_file(target: object) -> bool:
    """Whether a target is a file, which says what is started."""
    name = target.partition("?")[0] if isinstance(target, str) and "://" not in target else ""
    return name.endswith(".toml") or (name != "" and Path(name).is_file())


def trust(document: object) -> None:
    """Let the references of a document be looked up."""
    _trusted.update(references(document))


def untrusted(document: object) -> list[str]:
    """References of a document that nobody has trusted."""
    return sorted(references(document) - _trusted)


def literal(text: str) -> str:
    """A text that holds no reference, whatever it looks like.

    >>> literal("file:///a Bearer env:X"), reveal_text(literal("file:///a Bearer env:X"), "header X")
    ('text:file:///a Bearer text:env:X', 'file:///a Bearer env:X')
    """
    return _REFERENCE.sub(r"text:\g<0>", text)


def reveal_text(value: str, what: str) -> str:
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
    if source == "text":
        return name
    if source in ("env", "file") and f"{source}:{name}" not in _trusted:
        raise UsageError(
            "untrusted-reference",
            f"{what}: {source}:{name} stands in a stored study, not in this command",
            hint="resume with --yes to send it",
            name=f"{source}:{name}",
            field=what,
        )
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
            lines = read_text(Path(name).expanduser())[:_LARGEST_BYTES].splitlines()
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
    return {name: conceal_text(name, value) if is_secret(name) else value for name, value in headers.items()}


def reveal_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers as they are sent."""
    return {name: reveal_text(value, f"header {name}") for name, value in headers.items()}


def conceal(workload: dict[str, Any]) -> dict[str, Any]:
    """A workload as a document may hold it: without plain words of secrets in headers, bodies and paths."""
    return _with_texts(_with_headers(workload, conceal_headers), concealed_text)


def reveal(workload: dict[str, Any]) -> dict[str, Any]:
    """A workload as a load client needs it; never to be stored.

    Raises
    ------
    UsageError
        If a reference leads nowhere.
    """
    return _with_texts(_with_headers(workload, reveal_headers), lambda text: revealed_text(text, "a request"))


_TEXTS = ("body", "path", "command", "send", "sql", "parameters")


def _with_texts(workload: dict[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    def changed(value: Any) -> Any:  # noqa: ANN401 (whatever stands in the file)
        if isinstance(value, str):
            return change(value)
        if isinstance(value, list):
            return [changed(one) for one in value]
        return value

    found = {name: changed(value) if name in _TEXTS else value for name, value in workload.items()}
    for name, value in workload.items():
        if name not in _TEXTS and isinstance(value, list):
            found[name] = [_with_texts(one, change) if isinstance(one, dict) else one for one in value]
    return found


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
