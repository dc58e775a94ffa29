"""``hindmost synth verify``: shows whether a clone is as slow as its original."""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from hindmost.cli.options import LOAD, OUTPUT, PROCEDURE, TARGET, Json, option, switch, whole
from hindmost.errors import HindmostError, Interrupted, UsageError

if TYPE_CHECKING:
    from hindmost.experiment.verification import Compared, Point
    from hindmost.models import Clone
    from hindmost.plan import MeasurePlan

NOT_ALIKE = 3
"""Exit code of a clone that was shown to be unlike: a limit is crossed."""
OPEN = 4


def verify(
    clone: Annotated[str, option(TARGET, None, "A document (.toml or .json), or an application's name.")],
    original: Annotated[
        str, option(TARGET, None, "What it is a clone of: a preset, or a target file (TOML) that starts it.")
    ],
    *,
    threads: Annotated[int | None, whole(TARGET, "Worker threads of both; default: the document's.")] = None,
    loads: Annotated[str, option(LOAD, "LIST", "Shares of the capacity.")] = "20%,50%,70%",
    connections: Annotated[int, whole(LOAD, "Connections.")] = 16,
    pairs: Annotated[int, whole(PROCEDURE, "Pairs of runs at each load.")] = 6,
    duration: Annotated[str, option(PROCEDURE, "TIME", "Length of each run's measurement.")] = "5s",
    warmup: Annotated[str, option(PROCEDURE, "TIME", "Length of each run's warm-up.")] = "1s",
    server_cpus: Annotated[str | None, option(PROCEDURE, "LIST", "Processors of either server.")] = None,
    seed: Annotated[int, whole(PROCEDURE, "Same seed, same arrivals.")] = 1,
    out: Annotated[
        Path | None, option(OUTPUT, "STUDY", "Folder of the study; one that exists goes on.")
    ] = None,
    json_: Json = False,
    quiet: Annotated[bool, switch(OUTPUT, "No progress.", "--quiet", "-q")] = False,
) -> int:
    """Show whether a clone is as slow as its original.

    Both are loaded alike, in pairs of runs with the same arrivals, at shares of the clone's capacity; and the
    original a second time, which says how far two runs of one server lie apart. Equivalent are they where the
    90 % interval of the ratio lies within 5 % for the mean and p95, 8 % for p99 (two one-sided tests).
    """
    from hindmost.models import load_clone

    document = load_clone(clone)
    if threads is not None:
        document = document.with_changes(threads=threads)
    if not 2 <= pairs <= 1_000:
        raise UsageError(
            f"--pairs {pairs} is not between 2 and 1000: one pair says nothing about how runs scatter",
            hint="--pairs 6",
        )
    points = _points(loads, document)
    plan = _plan(original, document, seed=seed, connections=connections, duration=duration, warmup=warmup,
                 server_cpus=server_cpus, runs=str(pairs))  # fmt: skip
    result = _verify(document, plan, points, pairs, out, quiet=quiet)
    if json_:
        print(json.dumps(result, allow_nan=False))
    else:
        from hindmost.report import render_verification

        print(render_verification(result))
    return {"equivalent": 0, "different": NOT_ALIKE}.get(result["verdict"], OPEN)


def _points(loads: str, clone: Clone) -> list[Point]:
    from hindmost.experiment.verification import Point
    from hindmost.plan import parse_percent

    capacity = clone.capacity_per_s
    if capacity is None:
        raise UsageError(
            f"nothing takes time in {clone.name}, so it has no capacity of which --loads could be shares",
            hint="hindmost measure synth",
        )
    shares = [parse_percent(text.strip()) for text in loads.split(",")]
    for share in shares:
        if not 0.0 < share < 1.0:
            raise UsageError(
                f"--loads {loads!r}: {share:.4g} is not between 0 % and 100 %", hint="--loads 20%,50%"
            )
    return [Point(share, share * capacity) for share in sorted(set(shares))]


def _plan(original: str, clone: Clone, **changes: Any) -> MeasurePlan:  # noqa: ANN401 (options of measure)
    """The plan of the runs: what ``hindmost measure`` would do with the original."""
    from hindmost.cli.asked import plan_asked_for
    from hindmost.cli.measure import measure
    from hindmost.plan import parse_runs
    from hindmost.targets import parse_target

    if not parse_target(original).managed:
        raise UsageError(
            f"{original} runs already, and a pair needs servers that are started anew",
            hint="a preset, or a target file with the command that starts it",
        )
    options = {name: one.default for name, one in inspect.signature(measure).parameters.items()}
    threads = f"{'&' if '?' in original else '?'}threads={clone.threads}"
    asked = options | changes | {"target": original + threads, "rate": "1k", "samples": 0}
    return plan_asked_for(asked | {"runs": parse_runs(changes["runs"]), "quantiles": "50,95,99"})


def _verify(
    clone: Clone, plan: MeasurePlan, points: list[Point], pairs: int, out: Path | None, *, quiet: bool
) -> dict[str, Any]:
    from hindmost.cli.begin import begin
    from hindmost.cli.progress import Progress
    from hindmost.experiment.verification import Verification
    from hindmost.store import Study
    from hindmost.targets import parse_target

    study = Study.open(out) if out is not None and (out / "manifest.json").exists() else None
    study, original = begin(plan, study, out, verification={"clone": clone.document})
    document = study.write("clone.json", clone.text)
    double = parse_target(f"synth?clone={document.resolve()}&protocol={original.protocol}")
    talk = Progress(plan, quiet=quiet)
    seconds = len(points) * pairs * 3 * (plan.duration_s + float(plan.warmup) + 1.5)
    talk.say(
        f"{clone.name} against {plan.target}: {pairs} pairs at {len(points)} load(s),"
        f" {plan.duration_s:g} s each, about {seconds / 60:.0f} min; study {study.folder}"
    )

    def told(found: Compared) -> None:
        ratios = ", ".join(f"{name} {one.ratio:.3f}" for name, one in found.clone.items() if one is not None)
        talk.say(f"{found.point.load:.0%} of capacity: clone / original {ratios or 'not known'}")

    work = Verification(
        study,
        plan,
        {"original": original, "clone": double},
        points,
        pairs,
        lambda one, who: Progress(one.model_copy(update={"target": who}), quiet=True),
        told,
    )
    again = f"run the same command with --out {study.folder}"
    try:
        with study.lock():
            return work.run()
    except (KeyboardInterrupt, Interrupted) as stop:
        raise Interrupted(
            f"{str(stop) or 'interrupted'}; finished runs are kept in {study.folder}", hint=again
        ) from None
    except HindmostError:
        print(f"finished runs are kept in {study.folder}: {again}", file=sys.stderr)
        raise
