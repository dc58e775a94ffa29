"""``hindmost watch remove``: remove a service from those that the daemon watches."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from hindmost.cli.options import OUTPUT, TARGET, option
from hindmost.cli.streams import say
from hindmost.commands.watch import options
from hindmost.core.exits import Exit


def remove(
    name: Annotated[str, option(TARGET, None, "Name of the service.")],
    *,
    folder: Annotated[Path | None, option(OUTPUT, "DIR", options.FOLDER)] = None,
) -> int:
    """Remove a service from those that `hindmost watch serve` watches. Its ring stays."""
    from hindmost.commands.watch.services import default_folder, remove_service

    remove_service(folder or default_folder(), name)
    say(f"{name} is no longer watched; its ring stays")
    return Exit.DONE
