"""``hindmost watch uninstall``: remove the daemon's systemd unit."""

from __future__ import annotations

from typing import Annotated

from hindmost.cli.options import PROCEDURE, switch
from hindmost.cli.streams import say
from hindmost.core.exits import Exit


def uninstall(
    *,
    user: Annotated[bool, switch(PROCEDURE, "Remove the unit of this user.", "--user")] = False,
) -> int:
    """Stop the daemon and remove the unit that `hindmost watch install` wrote. Services and rings stay."""
    from hindmost.commands.watch.unit import uninstall_unit, unit_folder

    place = unit_folder(user=user)
    say(f"removed the unit in {place}" if uninstall_unit(user=user) else f"there is no unit in {place}")
    return Exit.DONE
