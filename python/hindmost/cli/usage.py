"""Conversion of the parser's errors into Hindmost's: one line, a code, and where to look."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, get_args

import cyclopts
from cyclopts.exceptions import (
    CoercionError,
    ConsumeMultipleError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from hindmost.errors import UsageError


def convert_error(error: cyclopts.CycloptsError, verbs: Mapping[str, Iterable[str]]) -> UsageError:
    """Convert the parser's error. `verbs` maps a command (or "") to its subcommands."""
    verb = " ".join(error.command_chain or ())
    code, text, fields = _mistake(error, verb, verbs)
    return UsageError(code, text, hint=f"hindmost {verb} --help" if verb else "hindmost --help", **fields)


def _mistake(
    error: cyclopts.CycloptsError, verb: str, verbs: Mapping[str, Iterable[str]]
) -> tuple[str, str, dict[str, Any]]:
    """Return code, sentence and fields of an error."""
    wrong = (error.unused_tokens or [""])[0]
    match error:
        case UnknownCommandError() if not wrong.startswith("-"):
            known = list(verbs[verb])
            text = f"there is no command {wrong!r}{_near(wrong, known)}; commands: {', '.join(known)}"
            return "unknown-command", text, {"name": wrong, "known": known}
        case UnknownCommandError():
            return "unknown-option", f"there is no option {wrong}", {"option": wrong}
        case UnknownOptionError():
            wrong = error.token.keyword or error.token.value
            names = [name for one in error.argument_collection for name in one.names]
            text = f"there is no option {wrong}{_near(wrong, names)}"
            return "unknown-option", text, {"option": wrong, "known": names}
        case UnusedCliTokensError():
            return "unexpected-argument", f"unexpected argument {wrong!r}", {"value": wrong}
        case RepeatArgumentError():
            option = error.token.keyword
            return "unexpected-argument", f"{option} is given twice", {"option": option}
        case ConsumeMultipleError() | MissingArgumentError() if error.keyword:
            return "missing-argument", f"{error.keyword} needs a value", {"option": error.keyword}
        case MissingArgumentError():
            return "missing-argument", f"{_upper(error)} is missing", {"argument": _upper(error)}
        case CoercionError():
            return _unreadable(error)
        case _:
            return "bad-value", " ".join(str(error).split()), {}


def _unreadable(error: CoercionError) -> tuple[str, str, dict[str, Any]]:
    given = error.token.value if error.token else ""
    name = (error.token.keyword if error.token else None) or _upper(error)
    fields: dict[str, Any] = {"option" if name.startswith("-") else "argument": name, "value": given}
    if choices := [choice for choice in get_args(error.target_type) if isinstance(choice, str)]:
        text = f"{name} {given!r} is not one of {', '.join(choices)}{_near(given, choices)}"
        return "bad-value", text, fields | {"known": choices}
    why = str(error.msg) if error.msg else "cannot be read"
    return "bad-value", f"{name} {why}" if given in why else f"{name} {given!r} {why}", fields


def _upper(error: Any) -> str:  # noqa: ANN401 (any of cyclopts' errors)
    return error.argument.name.lstrip("-").upper() if error.argument else "an argument"


def _near(wrong: str, right: Iterable[str]) -> str:
    bare = {name.lstrip("-"): name for name in right}
    close = difflib.get_close_matches(wrong.lstrip("-").lower(), bare, n=1)
    return f" (did you mean {bare[close[0]]}?)" if close else ""
