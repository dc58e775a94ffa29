"""``hindmost synth verify``: shows whether a clone is as slow as its original."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from hindmost.cli.options import LOAD, OUTPUT, PROCEDURE, TARGET, Json, option, switch, whole
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
    from hindmost.models import load_clone
    from hindmost.studies.kind import carry_out
    from hindmost.studies.verification import Asked, opened, points_of, read_logged, reopened, request_for

    if original is None and not Path(clone).is_dir():
        raise UsageError(f"{clone} is a clone of what?", hint=f"hindmost synth verify {clone} ORIGINAL")
    if original is None:
        study = reopened(Path(clone))
    else:
        document = load_clone(clone)
        if threads is not None:
            document = document.with_changes(threads=threads)
        if not 2 <= pairs <= 1_000:
            raise UsageError(
                f"--pairs {pairs} is not between 2 and 1000: one pair says nothing about how runs scatter",
                hint="--pairs 6",
            )
        points = points_of(loads, document)
        request = request_for(
            original,
            seed=seed,
            connections=connections,
            duration=duration,
            warmup=warmup,
            server_cpus=server_cpus,
            runs=str(pairs),
            remake=remake,
        )
        asked = Asked(document, occupy, points, read_logged(logged) if logged else None)
        study = opened(asked, request.plan(), out)
    return tell(carry_out(study, Talk(quiet=quiet), page), as_json=json_, quiet=quiet)
