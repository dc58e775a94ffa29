"""``hindmost colocate pairs``: run programs next to each other, and score predictors on these pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from hindmost.cli.options import OUTPUT, PROCEDURE, TARGET, Json, integer_option, option, switch
from hindmost.cli.outcome import refuse_files, write_files
from hindmost.cli.streams import say
from hindmost.core.exits import Exit


def pairs(
    *cards: Annotated[Path, option(TARGET, None, "Profiles of programs (JSON).")],
    cpu: Annotated[
        int | None, integer_option(PROCEDURE, "Processor for the measured program. [default: the last one]")
    ] = None,
    other: Annotated[
        str | None,
        option(
            PROCEDURE,
            "N|sibling",
            "Processor for the other programs; sibling: the second hardware thread of the core."
            ", [default: the nearest one]",
        ),
    ] = None,
    window: Annotated[str, option(PROCEDURE, "TIME", "Length of a window.")] = "40ms",
    budget: Annotated[str, option(PROCEDURE, "TIME", "Maximum time.")] = "60s",
    seed: Annotated[
        int, integer_option(PROCEDURE, "Random seed for the order of windows and the random halves.")
    ] = 1,
    no_real_time: Annotated[
        bool,
        switch(
            PROCEDURE, "Run programs without real-time priority, even if it is permitted.", "--no-real-time"
        ),
    ] = False,
    page: Annotated[Path | None, option(OUTPUT, "FILE", "Write an HTML page to this file.")] = None,
    out: Annotated[Path | None, option(OUTPUT, "FILE", "Write the JSON document to this file.")] = None,
    json_: Json = False,
) -> int:
    """Run every program next to every other, and score predictors on these pairs.

    Windows run in random order. Each is compared with a window next to the inert stressor in the same round.
    The result states which pairs exceed the noise, and how well odd and even rounds agree. Every predictor,
    including trivial ones, is fitted to random halves of the programs and predicts the other half. Its score
    is its skill relative to the best trivial predictor. `colocate predict --pairs` learns from the resulting
    file.
    """
    from hindmost.commands.colocate.cli.output import print_document
    from hindmost.commands.colocate.documents.stored import load_card
    from hindmost.commands.colocate.pairs import pairs as measured
    from hindmost.commands.colocate.view.pairs import view_pairs
    from hindmost.core.plan import parse_duration
    from hindmost.core.store.estimates import encode
    from hindmost.errors import UsageError
    from hindmost.present.page import render_page

    if not cards:
        raise UsageError(
            "missing-argument",
            "no profile is given",
            hint="hindmost colocate pairs zstd.json sqlite.json",
            name="cards",
        )
    refuse_files({"--out": out, "--page": page})
    document = measured(
        [load_card(one) for one in cards],
        cpu=cpu,
        other=other,
        window_ms=parse_duration(window, "window", 0.005) * 1000,
        budget_s=parse_duration(budget, "budget", 1.0),
        real_time=not no_real_time,
        seed=seed,
        say=say,
    )
    view = view_pairs(document)
    print_document(document, view, as_json=json_)
    write_files({out: encode(document, indent=1) + "\n", page: render_page(view)})
    return Exit.DONE
