"""``hindmost synth verify``: shows whether a clone is as slow as its original."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import quote

from hindmost.cli.options import LOAD, OUTPUT, PROCEDURE, TARGET, Json, option, switch, whole
from hindmost.errors import HindmostError, Interrupted, UsageError

if TYPE_CHECKING:
    from hindmost.models import Clone
    from hindmost.plan import MeasurePlan
    from hindmost.store import Study
    from hindmost.store.verification import Verification as Document
    from hindmost.store.verification import VerifiedPoint
    from hindmost.studies.verification import Logged, Point
    from hindmost.targets import Managed

NOT_ALIKE = 3
"""Exit code of a clone that was shown to be unlike: a limit is crossed."""
OPEN = 4
SPOKEN = ("memcached", "http")
"""What the server of a clone speaks; originals that speak something else meet it in the first."""
BETWEEN_S = 1.5
"""What a run takes beside warm-up and measurement: starting a server, calibrating, writing files."""


def verify(
    clone: Annotated[str, option(TARGET, None, "A document (.toml or .json), or an application's name.")],
    original: Annotated[
        str, option(TARGET, None, "What it is a clone of: a preset, or a target file (TOML) that starts it.")
    ],
    *,
    threads: Annotated[int | None, whole(TARGET, "Worker threads of both; default: the document's.")] = None,
    loads: Annotated[str, option(LOAD, "LIST", "Shares of the capacity.")] = "20%,50%,70%",
    connections: Annotated[int, whole(LOAD, "Connections.")] = 16,
    logged: Annotated[
        list[Path] | None,
        option(PROCEDURE, "STUDY", "Studies in which CLONE's logs were made: what a request cost then."),
    ] = None,
    pairs: Annotated[int, whole(PROCEDURE, "Pairs of runs at each load.")] = 6,
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
    plan = _plan(
        original,
        seed=seed,
        connections=connections,
        duration=duration,
        warmup=warmup,
        server_cpus=server_cpus,
        runs=str(pairs),
    )
    result, folder = _verify(document, plan, points, pairs, out, occupy, _logged(logged), quiet=quiet)
    from hindmost.report import render_verification, render_verification_page

    page = page or folder / "verification.html"
    page.write_text(render_verification_page(result), encoding="utf-8")
    print(json.dumps(result, allow_nan=False) if json_ else render_verification(result))
    print(f"page: {page}", file=sys.stderr)
    return {"equivalent": 0, "different": NOT_ALIKE}.get(result["verdict"], OPEN)


def _points(loads: str, clone: Clone) -> list[Point]:
    from hindmost.plan import parse_percent
    from hindmost.studies.verification import Point

    if clone.capacity_per_s is None:
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
    return [Point(share, clone.rate_at(share) or 0.0) for share in sorted(set(shares))]


def _logged(studies: list[Path] | None) -> Logged | None:
    from hindmost.studies.verification import read_logged

    return read_logged(studies) if studies else None


def _plan(original: str, **changes: Any) -> MeasurePlan:  # noqa: ANN401 (options of measure)
    """The plan of the runs: what ``hindmost measure`` would do with the original."""
    from hindmost.cli.asked import plan_with
    from hindmost.plan import parse_runs
    from hindmost.targets import parse_target

    if not parse_target(original).managed:
        raise UsageError(
            f"{original} runs already, and a pair needs servers that are started anew",
            hint="a preset, or a target file with the command that starts it",
        )
    asked = changes | {"rate": "1k", "samples": 0, "stamps": "off", "quantiles": "50,95,99"}
    return plan_with(original, **asked | {"runs": parse_runs(changes["runs"])})


def _verify(
    clone: Clone,
    plan: MeasurePlan,
    points: list[Point],
    pairs: int,
    out: Path | None,
    occupy: str,
    logged: Logged | None,
    *,
    quiet: bool,
) -> tuple[Document, Path]:
    from hindmost.cli.progress import Progress
    from hindmost.studies.verification import WHO, Verification

    study, original, double = _begun(clone, plan, out, occupy)
    talk = Progress(plan, quiet=quiet)
    seconds = len(points) * pairs * len(WHO) * (plan.duration_s + float(plan.warmup) + BETWEEN_S)
    talk.say(
        f"{clone.name} against {original.name}: {pairs} pairs at {len(points)} load(s),"
        f" {plan.duration_s:g} s each, about {seconds / 60:.0f} min; study {study.folder}"
    )
    if original.protocol != double.protocol:
        print(
            f"clones do not speak {original.protocol}: this one is asked in {double.protocol}'s words, whose"
            " reading and writing takes a little more or less time",
            file=sys.stderr,
        )

    def told(found: VerifiedPoint) -> None:
        ratios = ", ".join(
            f"{name} {one['clone']['ratio']:.3f}" if one["clone"] else f"{name} not known"
            for name, one in found["figures"].items()
        )
        talk.say(f"{found['load']:.0%} of capacity: clone / original {ratios}")

    work = Verification(
        study,
        plan,
        clone,
        {"original": original, "clone": double},
        points,
        pairs,
        lambda one, who: Progress(one.model_copy(update={"target": who}), quiet=True),
        told,
        logged,
    )
    again = f"run the same command with --out {study.folder}"
    try:
        with study.lock():
            return work.run(), study.folder
    except (KeyboardInterrupt, Interrupted) as stop:
        raise Interrupted(
            f"{str(stop) or 'interrupted'}; finished runs are kept in {study.folder}", hint=again
        ) from None
    except HindmostError:
        print(f"finished runs are kept in {study.folder}: {again}", file=sys.stderr)
        raise


def _begun(clone: Clone, plan: MeasurePlan, out: Path | None, occupy: str) -> tuple[Study, Managed, Managed]:
    """The study, new or to go on with; the original and the clone's server, with as many threads each."""
    from hindmost.cli.begin import begin
    from hindmost.store import Study
    from hindmost.targets import Managed, parse_target

    study = Study.open(out) if out is not None and (out / "manifest.json").exists() else None
    if study is not None:
        _alike(study, clone, plan, occupy)
    study, original = begin(plan, study, out, verification={"clone": clone.document, "occupy": occupy})
    assert isinstance(original, Managed)
    document = study.write("clone.json", clone.text).resolve()
    protocol = original.protocol if original.protocol in SPOKEN else SPOKEN[0]
    double = parse_target(f"synth?clone={quote(str(document))}&protocol={protocol}&occupy={occupy}")
    assert isinstance(double, Managed)
    threads = {"threads": clone.threads}
    return (
        study,
        replace(original, spec=original.spec.model_copy(update=threads)),
        replace(double, spec=double.spec.model_copy(update=threads)),
    )


def _alike(study: Study, clone: Clone, plan: MeasurePlan, occupy: str) -> None:
    """Refuse to mix runs that are not alike: only loads and the number of pairs may change."""
    verified = study.manifest.get("verification")
    if not isinstance(verified, dict):
        raise UsageError(f"{study.folder} is a study, but of no verification", hint="choose another --out")
    if verified.get("clone") != clone.document:
        raise UsageError(
            f"{study.folder} verified another clone: pairs of two clones would be mixed",
            hint="choose another --out",
        )
    if verified.get("occupy", "wall") != occupy:
        raise UsageError(
            f"{study.folder} was made with --occupy {verified.get('occupy', 'wall')}, not {occupy}",
            hint="choose another --out, or the same --occupy",
        )
    before, now = study.manifest["plan"], plan.model_dump(mode="json")
    if changed := [name for name in now if name != "runs" and before.get(name) != now[name]]:
        name = changed[0]
        raise UsageError(
            f"{study.folder} was made with {name} {before.get(name)}, and {now[name]} is asked for now:"
            " runs would not be alike",
            hint="choose another --out, or the same options; --loads and --pairs may change",
        )
