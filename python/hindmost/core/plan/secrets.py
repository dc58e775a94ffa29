"""Secrets of a plan: passwords, tokens, authorization headers. Documents hold references, never the secrets.

A plan is stored next to its result and shown on pages, so it only says where to find a secret: ``env:NAME``
(an environment variable), ``file:PATH`` (the first line of a file), or, for a secret given in plain text,
``given:NAME``, which only this process can resolve. A reference may follow another word, as in ``Bearer
env:TOKEN``. It is resolved when a client gets its plan, through its pipe. Documents of other tools are plain
text: ``text:`` precedes whatever looks like a reference in them.

Only references from this command line, or from the workload file it names, are resolved (`trust`). A stored
study may come from someone else and could otherwise make us send one of our files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hindmost.core.documents import read_text
from hindmost.errors import UsageError

_REFERENCE = re.compile(r"(?<!\S)(env|file|given|text):(\S+)")
_IN_TEXT = re.compile(
    r"""(?P<before>["']?(?P<name>[\w.-]*(?:token|secret|passw(?:or)?d|credential|api[-_]?key|signature|session)[\w.-]*)["']?
    \s*[=:]\s*["']?)(?P<words>[^"'&\s,;{}]{3,})""",
    re.I | re.X,
)
"""In a body, a path or a command: ``"password": "..."``, ``token=...``."""
BUILT_IN = ("spin", "memory")
"""Interference that does not run a user's program."""
_PLACE = re.compile(r"given:([A-Za-z0-9-]+-\d+)")
_SECRET = re.compile(
    r"authorization|cookie|token|secret|password|passwd|credential|session|signature|api[-_]?key|x-auth", re.I
)
_LARGEST_BYTES = 1 << 16
_FIELD = re.compile(r"\{\{[^{}]*\}\}")
_given: dict[str, str] = {}
"""Secrets given in plain text, by the name of their reference. They leave this process only through pipes."""
_trusted: set[str] = set()
"""References named by the user who started this process."""


def is_secret(name: str) -> bool:
    """Whether a value of this name counts as a secret, such as the headers Authorization, Cookie, X-Api-Key.

    >>> is_secret("Proxy-Authorization"), is_secret("x-api-key"), is_secret("Accept")
    (True, True, False)
    """
    return _SECRET.search(name) is not None


def conceal_text(name: str, value: str) -> str:
    """Return a reference in place of a plain secret; a reference stays unchanged.

    Parameters
    ----------
    name : str
        Name of the header or field.
    value : str
        The value as written.
    """
    if _REFERENCE.search(value):
        return value
    scheme, space, words = value.partition(" ")
    # "Bearer SECRET": the scheme is not secret.
    if not (name.lower().endswith("authorization") and scheme.isalpha() and words.strip()):
        scheme, space, words = "", "", value
    if _FIELD.fullmatch(words):  # a template field: its values are in the data
        return value
    return f"{scheme}{space}{_keep(name, words)}"


def _keep(name: str, words: str) -> str:
    known = [key for key, other in _given.items() if other == words]
    key = known[0] if known else f"{re.sub(r'[^A-Za-z0-9-]', '-', name)}-{len(_given) + 1}"
    _given[key] = words
    return f"given:{key}"


def conceal_in_text(text: str) -> str:
    """Replace values that follow the name of a secret.

    >>> conceal_in_text('{"user": "a", "password": "{{data.password}}"}')
    '{"user": "a", "password": "{{data.password}}"}'
    """

    def replace(match: re.Match[str]) -> str:
        if _PLACE.fullmatch(match["words"]):
            return match[0]
        return match["before"] + _keep(match["name"], match["words"])

    return _IN_TEXT.sub(replace, text)


def reveal_in_text(text: str, what: str) -> str:
    """Restore the values that `conceal_in_text` replaced.

    Raises
    ------
    UsageError
        If they were given to another process.
    """
    return _PLACE.sub(lambda match: _resolve("given", match[1], what), text)


def given_names() -> list[str]:
    """Return the names of secrets given in plain text to this process; no study stores the secrets."""
    return sorted({key.rpartition("-")[0] for key in _given})


def references(document: object) -> set[str]:
    """Return all references to variables and files in a document, and the programs that it runs."""
    if isinstance(document, str):
        return {match[0] for match in _REFERENCE.finditer(document) if match[1] in ("env", "file")}
    if isinstance(document, Mapping):
        programs = {f"program:{program}" for program in _programs(document)}
        return programs | references(list(document.values()))
    if isinstance(document, list | tuple):
        return set().union(*map(references, document))
    return set()


def _programs(factor: Mapping[str, Any]) -> list[str]:
    """Return what a part of a study runs: a factor's commands, the user's interference, a target file."""
    keys = ["command", "read", "undo"] if {"read", "undo"} & factor.keys() else []
    programs = [factor.get(key) for key in keys]
    if (own := factor.get("interference")) not in BUILT_IN:
        programs.append(own)
    if _is_file(target := factor.get("target")):
        programs.append(target)
    return [program for program in programs if isinstance(program, str)]


def _is_file(target: object) -> bool:
    """Whether a target is a file, which decides what is started."""
    name = target.partition("?")[0] if isinstance(target, str) and "://" not in target else ""
    return name.endswith(".toml") or (name != "" and Path(name).is_file())


def trust(document: object) -> None:
    """Allow the references of a document to be resolved."""
    _trusted.update(references(document))


def untrusted_references(document: object) -> list[str]:
    """Return the references of a document that were not trusted."""
    return sorted(references(document) - _trusted)


def literal(text: str) -> str:
    """Escape a text so that it contains no reference.

    >>> literal("file:///a Bearer env:X"), reveal_text(literal("file:///a Bearer env:X"), "header X")
    ('text:file:///a Bearer text:env:X', 'file:///a Bearer env:X')
    """
    return _REFERENCE.sub(r"text:\g<0>", text)


def reveal_text(value: str, what: str) -> str:
    """Resolve the references in a text.

    Parameters
    ----------
    value : str
        The text in the plan.
    what : str
        Its name in messages, such as ``header Authorization``.

    Raises
    ------
    UsageError
        If there is no such variable or file, or the secret was given to another process.
    """
    return _REFERENCE.sub(lambda match: _resolve(match[1], match[2], what), value)


def _resolve(source: str, name: str, what: str) -> str:
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
    """Replace the secret values of headers by references."""
    return {name: conceal_text(name, value) if is_secret(name) else value for name, value in headers.items()}


def reveal_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers with their secrets, to be sent."""
    return {name: reveal_text(value, f"header {name}") for name, value in headers.items()}


def conceal(workload: dict[str, Any]) -> dict[str, Any]:
    """Return a workload for documents: without plain secrets in headers, bodies and paths."""
    return _with_texts(_with_headers(workload, conceal_headers), conceal_in_text)


def reveal(workload: dict[str, Any]) -> dict[str, Any]:
    """Return a workload for a client, with its secrets; never to be stored.

    Raises
    ------
    UsageError
        If a reference cannot be resolved.
    """
    return _with_texts(
        _with_headers(workload, reveal_headers), lambda text: reveal_in_text(text, "a request")
    )


_TEXTS = ("body", "path", "command", "send", "sql", "parameters")


def _with_texts(workload: dict[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    def convert(value: Any) -> Any:  # noqa: ANN401 (any value of the file)
        if isinstance(value, str):
            return change(value)
        if isinstance(value, list):
            return [convert(item) for item in value]
        return value

    result = {name: convert(value) if name in _TEXTS else value for name, value in workload.items()}
    for name, value in workload.items():
        if name not in _TEXTS and isinstance(value, list):
            result[name] = [_with_texts(item, change) if isinstance(item, dict) else item for item in value]
    return result


def _with_headers(
    workload: dict[str, Any], change: Callable[[Mapping[str, str]], dict[str, str]]
) -> dict[str, Any]:
    def convert(request: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(headers := request.get("headers"), dict):
            return request
        texts = {name: value for name, value in headers.items() if isinstance(value, str)}
        return request | {"headers": {**headers, **change(texts)}}

    result = convert(workload)
    if isinstance(requests := result.get("requests"), list):
        result = result | {
            "requests": [convert(request) if isinstance(request, dict) else request for request in requests]
        }
    return result
