"""``hindmost harvest report``: the reproduction card of chapter IV."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from hindmost.cli.options import OUTPUT, PROCEDURE, Json, option, whole
from hindmost.cli.streams import say
from hindmost.exits import Exit


def report(
    *,
    scale: Annotated[int, whole(PROCEDURE, "Times 1,000 servers and 200,000 blocks.")] = 1,
    out: Annotated[Path | None, option(OUTPUT, "CARD.md", "Where the card is written.")] = None,
    json_: Json = False,
) -> int:
    """Simulate what chapter IV shows, and print each figure with what comes out here beside it."""
    from hindmost.errors import UsageError
    from hindmost.harvest.card import card
    from hindmost.report.harvest.card import render_card

    if not 1 <= scale <= 20:
        raise UsageError(f"--scale {scale} lies outside of 1 to 20")
    entries = list(card(scale))
    text = render_card(entries)
    if out is not None:
        out.write_text(text, encoding="utf-8")
        say(f"card: {out}")
    print(json.dumps({"schema": "hindmost.harvest-card/1", "entries": entries}) if json_ else text, end="")
    return Exit.DONE
