"""``hindmost colocate pairs``: programs next to each other, and how well that is predicted here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from hindmost.cli.options import OUTPUT, PROCEDURE, TARGET, Json, option, switch, whole
from hindmost.cli.outcome import put_files, refuse_files
from hindmost.cli.streams import say
from hindmost.exits import Exit


def pairs(
    *cards: Annotated[Path, option(TARGET, None, "Profiles of programs (JSON).")],
    cpu: Annotated[
        int | None, whole(PROCEDURE, "Processor of the measured program. [default: the last]")
    ] = None,
    other: Annotated[
        str | None,
        option(
            PROCEDURE,
            "N|sibling",
            "Processor of the others; sibling: the other thread of the core. [default: the nearest]",
        ),
    ] = None,
    window: Annotated[str, option(PROCEDURE, "TIME", "Length of a window.")] = "40ms",
    budget: Annotated[str, option(PROCEDURE, "TIME", "Longest time.")] = "60s",
    seed: Annotated[int, whole(PROCEDURE, "Seed of the order of windows and of halves.")] = 1,
    no_real_time: Annotated[
        bool,
        switch(
            PROCEDURE, "Run programs without real-time priority, even if it is allowed.", "--no-real-time"
        ),
    ] = False,
    page: Annotated[Path | None, option(OUTPUT, "FILE", "Write a page here (HTML).")] = None,
    out: Annotated[Path | None, option(OUTPUT, "FILE", "Write the document here (JSON).")] = None,
    json_: Json = False,
) -> int:
    """Run every program next to every other, and score predictors on these pairs.

    Windows come in random order; each is compared with one next to the inert stressor in the same round. The
    result says which pairs exceed the noise, and how well odd and even rounds agree. Every predictor, trivial
    ones included, learns from random halves of the programs and predicts the other half; its score is its
    skill over the best trivial one. `colocate predict --pairs` learns from the file.
    """
    from hindmost.colocation.bound import load_card
    from hindmost.errors import UsageError
    from hindmost.plan import parse_duration
    from hindmost.report.colocation.pairs import render_pairs, render_pairs_page
    from hindmost.store.estimates import encode
    from hindmost.studies.colocation.pairs import pairs as measured

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
    print(encode(document) if json_ else render_pairs(document), end="\n" if json_ else "")
    texts = {out: encode(document, indent=1) + "\n"}
    if page is not None:
        texts[page] = render_pairs_page(document)
    put_files(texts)
    return Exit.DONE
