"""``hindmost colocate extender``: what kube-scheduler asks about jobs beside servers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from hindmost.cli.extending import answered
from hindmost.cli.options import LOAD, PROCEDURE, TARGET, option, switch, whole


def extender(
    cards: Annotated[Path, option(TARGET, None, "A folder of profile cards (*.json).")],
    *,
    listen: Annotated[str, option(TARGET, "HOST", "Where to listen.")] = "127.0.0.1",
    port: Annotated[int, whole(TARGET, "Port; 0 takes any.")] = 9881,
    within: Annotated[
        str, option(TARGET, "SHARE", "How much a server's percentile may grow, where its node does not say.")
    ] = "10%",
    load: Annotated[
        str, option(LOAD, "SHARE", "How busy servers are, where their node does not say.")
    ] = "50%",
    strict: Annotated[
        bool, switch(PROCEDURE, "Refuse nodes of which cards cannot tell, too.", "--strict")
    ] = False,
) -> int:
    """Answer kube-scheduler (filter, prioritize) by profile cards, until Ctrl-C.

    Pods name their card by the label hindmost/job, nodes those of the servers that they carry by
    hindmost/servers, and may say hindmost/load and hindmost/within. A node is refused where a server would
    surely lose more than it may, and scored by what is left. Cards are read anew when their folder changes.
    """
    from hindmost.colocation.kubernetes import CardJudge, read_cards
    from hindmost.kubernetes import Watched
    from hindmost.plan import parse_percent, parse_share

    judge = CardJudge(
        Watched(cards, read_cards), parse_share(within, "--within"), parse_percent(load, "--load"), strict
    )
    return answered(judge, listen, port, judge.gauges, "hindmost_colocate")
