"""Options of the target, as in ``TARGET?name=value``; also ``threads``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost.core.knobs.knob import Idle, refuse_level
from hindmost.core.names import nearest
from hindmost.core.notes import Note
from hindmost.core.targets import Managed, TargetSpec
from hindmost.errors import UsageError


@dataclass(frozen=True)
class Option(Idle):
    """One option of a preset or target file, and so any part of its command or configuration."""

    option: str
    target: TargetSpec

    @property
    def name(self) -> str:  # noqa: D102
        return f"option {self.option}"

    @property
    def sets(self) -> frozenset[str]:  # noqa: D102
        return frozenset({f"target:option.{self.option}"})

    def check(self, level: str) -> None:  # noqa: D102
        self.spec(self.target, level)

    def spec(self, spec: TargetSpec, level: str) -> TargetSpec:  # noqa: D102
        if self.option == "threads" and "threads" not in spec.options:
            if not level.isascii() or not level.isdigit() or not 1 <= int(level) <= 8192:
                raise refuse_level(
                    self.name, level, "threads are a number from 1 to 8192", least=1, most=8192
                )
            return spec.model_copy(update={"threads": int(level)})
        return spec.with_options({self.option: _value(level)})


def _value(level: str) -> object:
    """Parse the level as JSON if possible (as on the command line), else return the text."""
    try:
        value: object = json.loads(level)
    except ValueError:
        return level
    return value


def make(what: Mapping[str, Any], target: Managed, journal: Path) -> Option:
    """Make the setting ``option = "NAME"``."""
    option, options = what["option"], sorted({"threads", *target.spec.options})
    if option not in options:
        raise UsageError(
            "unknown-name",
            f"target {target.name} has no option {option!r}{nearest(option, options)}",
            hint=f"options: {', '.join(options)}; a target file may add more, or use argument or env",
            key="option",
            value=option,
            known=options,
        )
    return Option(option, target.spec)


def missing() -> Note | None:
    """Return None: it is always available."""
    return None
