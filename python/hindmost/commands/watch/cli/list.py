"""``hindmost watch list``: list the services that the daemon watches."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from hindmost.cli.options import OUTPUT, Json, option
from hindmost.commands.watch import options
from hindmost.core.exits import Exit


def list_(
    *,
    folder: Annotated[Path | None, option(OUTPUT, "DIR", options.FOLDER)] = None,
    rings: Annotated[Path | None, option(OUTPUT, "DIR", options.RINGS)] = None,
    json_: Json = False,
) -> int:
    """List the services that `hindmost watch serve` watches, and whether they run and are watched now."""
    from hindmost.commands.watch.listing import list_watched
    from hindmost.commands.watch.services import default_folder, default_rings
    from hindmost.commands.watch.view import services_view
    from hindmost.core.store.estimates import encode
    from hindmost.present.terminal import render_terminal

    document = list_watched(folder or default_folder(), rings or default_rings())
    print(encode(document) if json_ else render_terminal(services_view(document)))
    return Exit.DONE
