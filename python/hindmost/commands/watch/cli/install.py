"""``hindmost watch install``: let systemd run the daemon."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from hindmost.cli.options import OUTPUT, PROCEDURE, integer_option, option, switch
from hindmost.cli.streams import say
from hindmost.commands.watch import options
from hindmost.core.exits import Exit


def install(
    *,
    user: Annotated[
        bool, switch(PROCEDURE, "Install it for this user, without any privileges.", "--user")
    ] = False,
    diagnose: Annotated[
        bool,
        switch(
            PROCEDURE,
            "Give it the rights of `hindmost diagnose`, for services with --on-change.",
            "--diagnose",
        ),
    ] = False,
    folder: Annotated[Path | None, option(OUTPUT, "DIR", options.FOLDER)] = None,
    port: Annotated[int, integer_option(OUTPUT, options.PORT, "PORT")] = 9617,
    print_: Annotated[bool, switch(OUTPUT, "Only print the unit.", "--print")] = False,
) -> int:
    """Write a systemd unit that runs `hindmost watch serve`, and start it.

    The unit of the system runs as a user of its own that may read other users' processes and write nothing
    but its rings. `hindmost watch uninstall` removes the unit.
    """
    from hindmost.commands.watch.services import default_folder, default_rings
    from hindmost.commands.watch.unit import NAME, Unit, install_unit

    system = Path("/etc/hindmost/watch"), Path("/var/lib/hindmost-watch")
    usual, rings = (default_folder(), default_rings()) if user else system
    unit = Unit((folder or usual).absolute(), rings, port, user, diagnose)
    if print_:
        print(unit.text, end="")
        return Exit.DONE
    started = install_unit(unit)
    state = "started" if started else "not started: there is no systemctl"
    say(f"wrote {unit.path}; {NAME} is {state}", "next: hindmost watch add NAME APPLICATION")
    return Exit.DONE
