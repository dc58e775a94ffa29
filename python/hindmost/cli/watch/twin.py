"""``hindmost watch twin``: who names the cause, where the truth is known."""

from __future__ import annotations

import json
from typing import Annotated

from hindmost.cli.options import PROCEDURE, Json, option, whole
from hindmost.errors import UsageError
from hindmost.exits import Exit


def twin(
    *,
    trials: Annotated[int, whole(PROCEDURE, "Simulated anomalies a situation.")] = 50,
    look_alike: Annotated[
        float, option(PROCEDURE, "COSINE", "How like the cause its look-alike is, between 0 and 1.")
    ] = 0.8,
    seed: Annotated[int, whole(PROCEDURE, "Of all that is drawn.")] = 1,
    json_: Json = False,
) -> int:
    """Compare ways to name a cause, in a simulated data centre whose truth is known.

    Hosts that differ, 24 metrics with autocorrelated noise, seven causes with a signature each: the paper's
    rule, the same as printed, ours, and rankers that only look judge the same anomalies, with the true cause
    among the candidates or not, and with one that looks like it. The same seed gives the same figures.
    """
    from hindmost.report.watch.leaderboard import render_leaderboard
    from hindmost.watch.twin import leaderboard

    if trials < 1:
        raise UsageError(
            "bad-value",
            f"--trials {trials}: it must be at least 1",
            hint="--trials 50",
            option="--trials",
            value=trials,
            least=1,
        )
    if not 0.0 < look_alike < 1.0:
        raise UsageError(
            "bad-value",
            f"--look-alike {look_alike:g}: it must be a cosine between 0 and 1",
            hint="--look-alike 0.8",
            option="--look-alike",
            value=look_alike,
            least=0.0,
            most=1.0,
        )
    document = leaderboard(trials, seed, look_alike=look_alike)
    print(json.dumps(document) if json_ else render_leaderboard(document), end="\n" if json_ else "")
    return Exit.DONE
