"""Options: how a field of a request appears to users, and which values it takes."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from hindmost.core.names import nearest
from hindmost.errors import UsageError

UNBOUNDED = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Option:
    """The annotation of a field.

    Attributes
    ----------
    group : str
        Its group on the help page.
    metavar : str or None
        Placeholder for its value; None for a switch or a positional argument.
    help : str
        What it does.
    may_change : bool
        Whether it may change when a study is resumed. If not, runs would not be comparable.
    least, most : int
        Bounds of an integer.
    """

    group: str
    metavar: str | None
    help: str
    may_change: bool = False
    least: int = 0
    most: int = UNBOUNDED


@dataclass(frozen=True, slots=True)
class OptionField:
    """A field: its name, type, default, and how users see it."""

    name: str
    type: Any
    default: Any
    option: Option

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def is_integer(self) -> bool:
        """Whether its value is an integer."""
        return int in self._types

    @property
    def _types(self) -> tuple[Any, ...]:
        return get_args(self.type) or (self.type,)

    @property
    def is_repeated(self) -> bool:
        """Whether it may be given several times."""
        return get_origin(self.type) is tuple

    def read(self, value: object) -> object:
        """Convert a value from a file: a number may stand for text, and text for a path or a list of one."""
        if self.is_repeated:
            return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value
        if str in self._types and type(value) in (int, float):
            return str(value)
        return Path(value) if Path in self._types and isinstance(value, str) else value

    def check(self, value: object) -> None:
        """Refuse a value of the wrong type, outside the choices, or out of bounds.

        Raises
        ------
        UsageError
            Names the option, the value, and the valid values.
        """
        least, most = self.option.least, self.option.most
        if self.is_repeated:
            if not (isinstance(value, tuple) and all(isinstance(item, str) for item in value)):
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
                    f"{self.flag} {value!r} is not one of {', '.join(self._types)}"
                    f"{nearest(str(value), self._types)}",
                    hint=f"{self.flag} {self.default}",
                    option=self.flag,
                    value=value,
                    known=list(self._types),
                )
        elif not any(
            type(value) is kind or (kind is Path and isinstance(value, Path)) for kind in self._types
        ):
            expected = next(kind for kind in self._types if kind is not NoneType)
            raise UsageError(
                "bad-value",
                f"{self.flag} {value!r} is {type(value).__name__}, not {expected.__name__}",
                hint="hindmost measure --help",
                option=self.flag,
                value=value,
                need=expected.__name__,
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


def declare_fields(request: type) -> dict[str, OptionField]:
    """Return the fields of a request by name, in their order."""
    hints = get_type_hints(request, include_extras=True)
    declared = {}
    for field in fields(request):
        kind, option = get_args(hints[field.name])[:2]
        declared[field.name] = OptionField(field.name, kind, field.default, option)
    return declared
