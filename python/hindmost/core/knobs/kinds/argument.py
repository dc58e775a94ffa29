"""Arguments after the target's command, such as ``-o no_lru_maintainer`` of memcached."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost.core.knobs.knob import Idle, refuse_level
from hindmost.core.notes import Note
from hindmost.core.targets import Managed, TargetSpec, placeholders
from hindmost.errors import UsageError

LEVEL = "{level}"


@dataclass(frozen=True)
class Argument(Idle):
    """Arguments appended to the command; none for the level ``""``.

    Attributes
    ----------
    template
        If it contains ``{level}``, levels are shell words; otherwise they are ``off`` and ``on``.
    """

    template: str
    target: TargetSpec

    @property
    def name(self) -> str:  # noqa: D102
        return f"argument {self.template}"

    @property
    def sets(self) -> frozenset[str]:  # noqa: D102
        return frozenset({f"target:argument.{self.template}"})

    def arguments(self, level: str) -> list[str]:
        """Return the arguments to append."""
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
            # On its own, a level may be several words; inside a word, it is part of that word.
            parts = [[part] if part != LEVEL else shlex.split(level) for part in shlex.split(self.template)]
        except ValueError as error:
            raise refuse_level(self.name, level, f"not shell words: {error}") from None
        return [word.replace(LEVEL, level) for part in parts for word in part]

    def check(self, level: str) -> None:  # noqa: D102
        for word in self.arguments(level):
            try:
                placeholders.check(word, [*placeholders.BUILT_IN, *self.target.options])
            except ValueError as error:
                raise refuse_level(self.name, level, str(error)) from None

    def spec(self, spec: TargetSpec, level: str) -> TargetSpec:  # noqa: D102
        return spec.model_copy(update={"command": [*spec.command, *self.arguments(level)]})


def make(what: Mapping[str, Any], target: Managed, journal: Path) -> Argument:
    """Make the setting ``argument = "WORDS"``."""
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
