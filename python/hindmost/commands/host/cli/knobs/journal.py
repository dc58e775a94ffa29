"""The option for the folder of the journal of changed settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from hindmost.cli.options import OUTPUT, option
from hindmost.core.knobs.journal import FOLDER

__all__ = ["FOLDER", "Journal"]

Journal = Annotated[Path, option(OUTPUT, "FOLDER", "Folder of the journal of changed settings.")]
