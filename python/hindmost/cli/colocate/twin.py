"""``hindmost colocate twin``: what predictions are worth where the truth is known."""

from __future__ import annotations

import json
from typing import Annotated

from hindmost.cli.options import PROCEDURE, Json, option, whole
from hindmost.exits import Exit


def twin(
    *,
    programs: Annotated[int, whole(PROCEDURE, "Random programs.", least=1)] = 28,
    partners: Annotated[
        int | None, whole(PROCEDURE, "Each runs beside so many others. [default: beside all]", least=1)
    ] = None,
    splits: Annotated[int, whole(PROCEDURE, "Random halves to learn on and to predict.", least=1)] = 100,
    seed: Annotated[int, whole(PROCEDURE, "Of programs, ticks and splits.", least=0)] = 1,
    violations: Annotated[
        str, option(PROCEDURE, "SHARE", "Of those admitted, how many may break the limit.")
    ] = "5%",
    json_: Json = False,
) -> int:
    """Compare predictors on a simulated core with two threads, whose truth is exact.

    Programs, rulers and all pairs run cycle by cycle on a toy of a core; every predictor learns on half of
    the programs and predicts the other half. Baselines stand beside the models. The same seed gives the
    same figures. A low rate of violations needs many programs; 200 of them beside 20 others each take two
    minutes.
    """
    from hindmost.plan import parse_percent
    from hindmost.report.colocation.twin import render_twin
    from hindmost.studies.colocation.twin import compare

    document = compare(
        programs, splits=splits, seed=seed, rate=parse_percent(violations, "--violations"), partners=partners
    )
    print(json.dumps(document) if json_ else render_twin(document), end="\n" if json_ else "")
    return Exit.DONE
