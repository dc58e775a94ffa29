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
    seeds: Annotated[int, whole(PROCEDURE, "Data centers drawn for each point.")] = 5,
    servers: Annotated[int, whole(PROCEDURE, "Servers of each.")] = 1000,
    out: Annotated[
        Path | None, option(OUTPUT, "CARD", "Where the card is written: a page (.html), or Markdown.")
    ] = None,
    json_: Json = False,
) -> int:
    """Simulate what chapter IV shows, and print each figure with what comes out here beside it.

    Each point is drawn over several seeds. The ablation, which the chapter has not, shows what each rule of
    placement is worth. Takes minutes.
    """
    from hindmost.errors import UsageError
    from hindmost.harvest.card import card
    from hindmost.report.harvest.card import render_card, render_card_page
    from hindmost.store.files import install

    if not 1 <= seeds <= 100 or not 100 <= servers <= 20_000:
        raise UsageError(
            "bad-value",
            f"--seeds {seeds}, --servers {servers}: use 1 to 100 seeds and 100 to 20000 servers",
            hint="--seeds 5 --servers 4000",
            option="--servers" if 1 <= seeds <= 100 else "--seeds",
            value=servers if 1 <= seeds <= 100 else seeds,
        )
    if out is not None:
        install(out.parent, {})
    found = card(seeds, servers, say)
    text = render_card(found)
    if out is not None:
        page = out.suffix == ".html"
        install(out.parent, {out.name: render_card_page(found) if page else text})
        say(f"card: {out}")
    print(json.dumps(found, allow_nan=False) if json_ else text, end="\n" if json_ else "")
    return Exit.DONE
