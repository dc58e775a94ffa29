"""Servers that Hindmost can start: one TOML file each, in this folder; a new file is a new preset."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from hindmost.core.names import nearest
from hindmost.core.targets.spec import TargetSpec, parse_target_toml
from hindmost.errors import UsageError


def preset_names() -> list[str]:
    """Return all presets, in alphabetical order."""
    paths = (Path(entry.name) for entry in files(__name__).iterdir())
    return sorted(path.stem for path in paths if path.suffix == ".toml")


def preset(name: str) -> TargetSpec:
    """Return the preset called `name`.

    Raises
    ------
    UsageError
        If there is none; suggests the nearest and lists them all.
    """
    if name not in preset_names():
        raise UsageError(
            "unknown-name",
            f"there is no preset {name!r}{nearest(name, preset_names())}",
            hint=f"presets: {', '.join(preset_names())}",
            name=name,
            known=preset_names(),
        )
    text = (files(__name__) / f"{name}.toml").read_text(encoding="utf-8")
    return parse_target_toml(text, f"preset {name}", Path.cwd())
