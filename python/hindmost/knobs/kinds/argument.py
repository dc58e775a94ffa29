"""Arguments after the target's command line, such as ``-o no_lru_maintainer`` of memcached."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost.errors import UsageError
from hindmost.knobs.knob import Idle, refuse_level
from hindmost.notes import Note
from hindmost.targets import Managed, TargetSpec, placeholders

LEVEL = "{level}"


@dataclass(frozen=True)
class Argument(Idle):
    """Words that are appended to the command; nothing for the level ``""``.

    Attributes
    ----------
    template
        With ``{level}`` in it, levels are words of the shell; without it they are ``off`` and ``on``.
    """

    template: str
    target: TargetSpec

    @property
    def name(self) -> str:  # noqa: D102
        return f"argument {self.template}"

    @property
    def sets(self) -> frozenset[str]:  # noqa: D102
        return frozenset({f"target:argument.{self.template}"})

    def words(self, level: str) -> list[str]:
        """What is appended."""
        if LEVEL not in self.template:
            if level not in ("off", "on"):
                raise refuse_level(
                    self.name,
                    level,
                    "only off, on",
                    'write "{level}" where a value belongs',
                    known=["off", "on"],
                )
            return shlex.split(self.template) if level == "on" else []
        if not level:
            return []
        try:
            # Alone, it may be several words; inside one, it stays in that one.
            parts = [[part] if part != LEVEL else shlex.split(level) for part in shlex.split(self.template)]
        except ValueError as error:
            raise refuse_level(self.name, level, f"not words of the shell: {error}") from None
        return [word.replace(LEVEL, level) for part in parts for word in part]

    def check(self, level: str) -> None:  # noqa: D102
        for word in self.words(level):
            try:
                placeholders.check(word, [*placeholders.BUILT_IN, *self.target.options])
            except ValueError as error:
                raise refuse_level(self.name, level, str(error)) from None

    def spec(self, spec: TargetSpec, level: str) -> TargetSpec:  # noqa: D102
        return spec.model_copy(update={"command": [*spec.command, *self.words(level)]})


def make(what: Mapping[str, Any], target: Managed, journal: Path) -> Argument:
    """The knob ``argument = "WORDS"``."""
    try:
        if not shlex.split(what["argument"]):
            raise ValueError("it is empty")
    except ValueError as error:
        raise UsageError(
            "bad-value",
            f"argument = {what['argument']!r}: {error}",
            hint='argument = "-o no_lru_maintainer"',
            key="argument",
            value=what["argument"],
        ) from None
    return Argument(what["argument"], target.spec)


def missing() -> Note | None:
    """Return None: it is always available."""
    return None
