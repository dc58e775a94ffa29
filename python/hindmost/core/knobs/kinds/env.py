"""Environment variables of the target, such as ``MALLOC_ARENA_MAX``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost.core.knobs.knob import Idle, refuse_level
from hindmost.core.notes import Note
from hindmost.core.targets import Managed, TargetSpec, placeholders
from hindmost.errors import UsageError


@dataclass(frozen=True)
class Env(Idle):
    """One variable; the level ``""`` leaves it as in the target file or Hindmost's own environment."""

    variable: str
    target: TargetSpec

    @property
    def name(self) -> str:  # noqa: D102
        return f"env {self.variable}"

    @property
    def sets(self) -> frozenset[str]:  # noqa: D102
        return frozenset({f"target:env.{self.variable}"})

    def check(self, level: str) -> None:  # noqa: D102
        if "\0" in level:
            raise refuse_level(self.name, level, "a variable cannot contain NUL")
        try:
            placeholders.check(level, [*placeholders.BUILT_IN, *self.target.options])
        except ValueError as error:
            raise refuse_level(self.name, level, str(error)) from None

    def spec(self, spec: TargetSpec, level: str) -> TargetSpec:  # noqa: D102
        return spec.model_copy(update={"env": {**spec.env, self.variable: level}}) if level else spec


def make(what: Mapping[str, Any], target: Managed, journal: Path) -> Env:
    """Make the setting ``env = "NAME"``."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", what["env"], re.ASCII):
        raise UsageError(
            "bad-value",
            f"env = {what['env']!r} is not the name of a variable",
            hint='env = "MALLOC_ARENA_MAX"',
            key="env",
            value=what["env"],
        )
    return Env(what["env"], target.spec)


def missing() -> Note | None:
    """Return None: it is always available."""
    return None
