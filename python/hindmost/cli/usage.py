"""What a mistake on the command line means, in our own words: one line, and where to look."""

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


def explained(error: cyclopts.CycloptsError, verbs: Mapping[str, Iterable[str]]) -> UsageError:
    """Turn the parser's error into ours; `verbs`: a verb (or "") to what may follow it."""
    verb = " ".join(error.command_chain or ())
    wrong = (error.unused_tokens or [""])[0]
    match error:
        case UnknownCommandError() if not wrong.startswith("-"):
            known = list(verbs[verb])
            text = f"there is no verb {wrong!r}{_near(wrong, known)}; there are {', '.join(known)}"
        case UnknownCommandError():
            text = f"there is no option {wrong}"
        case UnknownOptionError():
            wrong = error.token.keyword or error.token.value
            names = [name for one in error.argument_collection for name in one.names]
            text = f"there is no option {wrong}{_near(wrong, names)}"
        case UnusedCliTokensError():
            text = f"nothing more was expected after TARGET, PLAN, STUDY or CLONE, but there is {wrong!r}"
        case RepeatArgumentError():
            text = f"{error.token.keyword} is given twice"
        case ConsumeMultipleError() | MissingArgumentError() if error.keyword:
            text = f"{error.keyword} needs a value"
        case MissingArgumentError():
            text = f"{_upper(error)} is missing"
        case CoercionError():
            text = _unreadable(error)
        case _:
            text = " ".join(str(error).split())
    return UsageError("todo", text, hint=f"hindmost {verb} --help" if verb else "hindmost --help")


def _unreadable(error: CoercionError) -> str:
    given = error.token.value if error.token else ""
    name = (error.token.keyword if error.token else None) or _upper(error)
    if choices := [choice for choice in get_args(error.target_type) if isinstance(choice, str)]:
        return f"{name} {given!r} is none of {', '.join(choices)}{_near(given, choices)}"
    why = str(error.msg) if error.msg else "cannot be read"
    return f"{name} {why}" if given in why else f"{name} {given!r} {why}"


def _upper(error: Any) -> str:  # noqa: ANN401 (any of cyclopts' errors)
    return error.argument.name.lstrip("-").upper() if error.argument else "an argument"


def _near(wrong: str, right: Iterable[str]) -> str:
    bare = {name.lstrip("-"): name for name in right}
    close = difflib.get_close_matches(wrong.lstrip("-").lower(), bare, n=1)
    return f" (did you mean {bare[close[0]]}?)" if close else ""
