"""``hindmost clone verify``: shows whether a clone is as slow as its original."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from hindmost.cli.options import (
    LOAD,
    OUTPUT,
    PROCEDURE,
    TARGET,
    Json,
    Shared,
    Yes,
    keep_private,
    option,
    switch,
    whole,
)
from hindmost.errors import UsageError


def verify(
    clone: Annotated[
        str,
        option(
            TARGET,
            None,
            "A document (.toml or .json), or an application's name. Alone: the folder of a verification, to"
            " go on with it.",
        ),
    ],
    original: Annotated[
        str | None,
        option(TARGET, None, "What it is a clone of: a preset, or a target file (TOML) that starts it."),
    ] = None,
    *,
    threads: Annotated[int | None, whole(TARGET, "Worker threads of both; default: the document's.")] = None,
    loads: Annotated[str, option(LOAD, "LIST", "Shares of the capacity.")] = "20%,50%,70%",
    connections: Annotated[int, whole(LOAD, "Connections.")] = 16,
    logged: Annotated[
        list[Path] | None,
        option(PROCEDURE, "STUDY", "Studies in which CLONE's logs were made: what a request cost then."),
    ] = None,
    pairs: Annotated[int, whole(PROCEDURE, "Pairs of runs at each load.")] = 6,
    remake: Annotated[
        str,
        option(
            PROCEDURE, "SHARE", "Pairs that the host disturbed are made again: so many of those asked for."
        ),
    ] = "50%",
    duration: Annotated[str, option(PROCEDURE, "TIME", "Length of each run's measurement.")] = "5s",
    warmup: Annotated[str, option(PROCEDURE, "TIME", "Length of each run's warm-up.")] = "1s",
    server_cpus: Annotated[str | None, option(PROCEDURE, "LIST", "Processors of either server.")] = None,
    occupy: Annotated[
        Literal["wall", "cpu"],
        option(PROCEDURE, None, "A service of the clone takes so much CPU time, or time."),
    ] = "cpu",
    seed: Annotated[int, whole(PROCEDURE, "Same seed, same arrivals.")] = 1,
    out: Annotated[
        Path | None, option(OUTPUT, "STUDY", "Folder of the study; one that exists goes on.")
    ] = None,
    page: Annotated[
        Path | None, option(OUTPUT, "PAGE.html", "Page of the curves. [default: STUDY/verification.html]")
    ] = None,
    shared: Shared = False,
    yes: Yes = False,
    json_: Json = False,
    quiet: Annotated[bool, switch(OUTPUT, "No progress.", "--quiet", "-q")] = False,
) -> int:
    """Show whether a clone is as slow as its original.

    Both are loaded alike, in pairs of runs with the same arrivals, at shares of the clone's capacity; and
    the original a second time, which says how far two runs of one server lie apart. Equivalent are they
    where the 90 % interval of the ratio lies within 5 % for the mean and p95, 8 % for p99 (two one-sided
    tests). With --logged, the ratio is also told for a request that costs what it did when it was logged:
    hosts drift.
    """
    from hindmost.cli.outcome import tell
    from hindmost.cli.progress import Talk
    from hindmost.studies.kind import carry_out
    from hindmost.studies.verification import asked_for, reopened

    keep_private(shared=shared)
    if original is None and not Path(clone).is_dir():
        raise UsageError(
            "missing-argument",
            f"ORIGINAL is missing: what is {clone} a clone of?",
            hint=f"hindmost clone verify {clone} ORIGINAL",
            argument="ORIGINAL",
        )
    if original is None:
        study = reopened(Path(clone))
    else:
        study = asked_for(
            clone,
            original,
            threads=threads,
            loads=loads,
            logged=logged,
            pairs=pairs,
            occupy=occupy,
            out=out,
            seed=seed,
            connections=connections,
            duration=duration,
            warmup=warmup,
            server_cpus=server_cpus,
            remake=remake,
        )
    return tell(carry_out(study, Talk(quiet=quiet, trust=yes), page), as_json=json_, quiet=quiet, timed=True)
