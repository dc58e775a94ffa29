"""Options: how the field of a request is shown to people, and which values it takes."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from hindmost.errors import UsageError
from hindmost.names import nearest

UNBOUNDED = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Option:
    """What a field is annotated with.

    Attributes
    ----------
    group : str
        Its group on the help page.
    metavar : str or None
        What stands for its value; None of a switch, and of what needs no dashes.
    help : str
        What it does.
    may_change : bool
        Whether it may be another when a study goes on; where not, runs would not be alike.
    least, most : int
        Bounds of a whole number.
    """

    group: str
    metavar: str | None
    help: str
    may_change: bool = False
    least: int = 0
    most: int = UNBOUNDED


@dataclass(frozen=True, slots=True)
class Declared:
    """A field: its name, type, default, and how it is shown."""

    name: str
    type: Any
    default: Any
    option: Option

    @property
    def flag(self) -> str:
        """As it is written on the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def whole(self) -> bool:
        """Whether it is a whole number."""
        return int in self._types

    @property
    def _types(self) -> tuple[Any, ...]:
        return get_args(self.type) or (self.type,)

    @property
    def repeated(self) -> bool:
        """Whether it may be given several times."""
        return get_origin(self.type) is tuple

    def read(self, value: object) -> object:
        """A value as a file has it: a number may stand for text, and text for a path or a list of one."""
        if self.repeated:
            return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value
        if str in self._types and type(value) in (int, float):
            return str(value)
        return Path(value) if Path in self._types and isinstance(value, str) else value

    def check(self, value: object) -> None:
        """Refuse what is of a wrong type, none of the choices, or out of bounds.

        Raises
        ------
        UsageError
            Names the option, the value, and what would be right.
        """
        least, most = self.option.least, self.option.most
        if self.repeated:
            if not (isinstance(value, tuple) and all(isinstance(one, str) for one in value)):
                raise UsageError(
                    "bad-value",
                    f"{self.flag} is {type(value).__name__}, not a list of strings",
                    hint="hindmost measure --help",
                    option=self.flag,
                    value=value,
                    need="list",
                )
        elif get_origin(self.type) is Literal:
            if value not in self._types:
                raise UsageError(
                    "unknown-name",
                    f"{self.flag} {value!r} is none of {', '.join(self._types)}"
                    f"{nearest(str(value), self._types)}",
                    hint=f"{self.flag} {self.default}",
                    option=self.flag,
                    value=value,
                    known=list(self._types),
                )
        elif not any(type(value) is one or (one is Path and isinstance(value, Path)) for one in self._types):
            wanted = next(one for one in self._types if one is not NoneType)
            raise UsageError(
                "bad-value",
                f"{self.flag} {value!r} is {type(value).__name__}, not {wanted.__name__}",
                hint="hindmost measure --help",
                option=self.flag,
                value=value,
                need=wanted.__name__,
            )
        elif type(value) is int and not least <= value <= most:
            raise UsageError(
                "bad-value",
                f"{self.flag} {value} is not between {least} and {'2^63' if most == UNBOUNDED else most}",
                hint=f"{self.flag} {self.default}" if most == UNBOUNDED else "hindmost measure --help",
                option=self.flag,
                value=value,
                least=least,
                most=most,
            )


def declared(request: type) -> dict[str, Declared]:
    """The fields of a request, by name, in their order."""
    hints = get_type_hints(request, include_extras=True)
    found = {}
    for one in fields(request):
        what, option = get_args(hints[one.name])[:2]
        found[one.name] = Declared(one.name, what, one.default, option)
    return found
