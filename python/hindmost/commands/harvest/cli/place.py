"""``hindmost harvest place``: choose servers for the replicas of blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from hindmost.cli.options import PROCEDURE, TARGET, Json, integer_option, option, switch
from hindmost.core.exits import Exit


def place(
    classes: Annotated[Path, option(TARGET, None, "Output of `hindmost harvest classify`.")],
    *,
    blocks: Annotated[int, integer_option(TARGET, "Blocks to place.")] = 1000,
    replicas: Annotated[int, integer_option(TARGET, "Replicas of each block.")] = 3,
    weigh: Annotated[
        Literal["tenants", "space"],
        option(PROCEDURE, None, "Draw tenants with equal weights, or in proportion to their space."),
    ] = "tenants",
    block_space: Annotated[
        float,
        option(TARGET, "SPACE", "Space of a replica, in the unit of tenants.csv; 0: ignore space."),
    ] = 0.0,
    hard: Annotated[
        bool, switch(PROCEDURE, "Omit a replica rather than place two in one environment.", "--hard")
    ] = False,
    seed: Annotated[int, integer_option(PROCEDURE, "Random seed.")] = 1,
    json_: Json = False,
) -> int:
    """Place blocks on a grid of reimages and peaks, and show how diverse the replicas are (algorithm 2)."""
    from hindmost.commands.harvest.classes import load_classes
    from hindmost.commands.harvest.decisions import first_full
    from hindmost.commands.harvest.decisions import place as placed
    from hindmost.commands.harvest.document import Placement
    from hindmost.commands.harvest.view import placement_view
    from hindmost.core.store.estimates import encode
    from hindmost.errors import UsageError
    from hindmost.present.terminal import render_terminal

    if blocks < 1 or not 1 <= replicas <= 16:
        raise UsageError(
            "bad-value",
            f"--blocks {blocks}, --replicas {replicas}: use at least 1 block and 1 to 16 replicas",
            hint="--blocks 1000 --replicas 3",
            option="--blocks" if blocks < 1 else "--replicas",
            value=blocks if blocks < 1 else replicas,
        )
    loaded = load_classes(classes)
    rules = {"weigh": weigh, "soft": not hard}
    found = placed(loaded, blocks, replicas=replicas, rules=rules, block_space=block_space, seed=seed)
    placement = Placement(blocks=found, first_full=first_full(loaded, found))
    print(encode(placement) if json_ else render_terminal(placement_view(placement, loaded, replicas)))
    return Exit.DONE
