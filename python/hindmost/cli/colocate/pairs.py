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
        int | None, whole(PROCEDURE, "Of who is measured; the others run elsewhere. [default: the last]")
    ] = None,
    other: Annotated[
        str | None,
        option(
            PROCEDURE, "N|sibling", "Where those run; the other thread of its core. [default: the nearest]"
        ),
    ] = None,
    window: Annotated[str, option(PROCEDURE, "TIME", "Of each window.")] = "40ms",
    budget: Annotated[str, option(PROCEDURE, "TIME", "How long at most.")] = "60s",
    seed: Annotated[int, whole(PROCEDURE, "Of the order of windows, and of halves.")] = 1,
    no_real_time: Annotated[
        bool, switch(PROCEDURE, "Programs as ordinary threads, though more were allowed.", "--no-real-time")
    ] = False,
    page: Annotated[Path | None, option(OUTPUT, "FILE", "Write a page here (HTML).")] = None,
    out: Annotated[Path | None, option(OUTPUT, "FILE", "Write the document here (JSON).")] = None,
    json_: Json = False,
) -> int:
    """Run every program next to every other, and score predictors on these pairs.

    Windows in random order, each against one next to the inert stressor in the same round. Pairs that are not
    told from nothing are said to be noise, and so is how well odd rounds agree with even ones. Every
    predictor learns on random halves of the programs and is asked about the other half, the trivial ones
    too: the score is skill over the best of those, above the noise. What is written is what `may` and
    `neighbours` learn from (--pairs).
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
