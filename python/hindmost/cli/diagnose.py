"""``hindmost diagnose``: what made it slow just now, shown by experiment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from hindmost.cli.culprits import culprits
from hindmost.cli.options import LOAD, OUTPUT, PROCEDURE, TARGET, Json, option, switch, whole
from hindmost.cli.outcome import put_files, refuse_files
from hindmost.cli.streams import say
from hindmost.errors import HostUnfit, UsageError
from hindmost.exits import Exit

if TYPE_CHECKING:
    from hindmost.stats.causes import Normal
    from hindmost.studies.diagnosis.twin.asked import TwinRequest

SHOWN_MOVED = 8
EXITS = {
    "cause": Exit.DONE,
    "unknown factor": Exit.DONE,
    "inconclusive": Exit.INCONCLUSIVE,
    "void": Exit.INCONCLUSIVE,
}


def diagnose(
    application: Annotated[
        str, option(TARGET, None, "A process id, or memcached://HOST:PORT (redis://, http://).")
    ],
    *,
    probe: Annotated[str, option(LOAD, "RATE", "Requests a second of the probe.")] = "200",
    probe_address: Annotated[
        str | None, option(LOAD, "URL", "Where the probe asks, of a process: http://127.0.0.1:80.")
    ] = None,
    percentile: Annotated[float, option(PROCEDURE, "P", "Of latency, that is to be explained.")] = 95.0,
    normal: Annotated[
        str | None, option(PROCEDURE, "TIME", "What it is when all is well, like 150us.")
    ] = None,
    normal_work: Annotated[
        float | None,
        option(PROCEDURE, "PROCESSORS", "What the application uses when all is well, like 0.15."),
    ] = None,
    ring: Annotated[
        Path | None,
        option(
            PROCEDURE, "FILE", "A ring of `hindmost watch`: tells what is normal, and what moved with it."
        ),
    ] = None,
    pairs: Annotated[
        int, whole(PROCEDURE, "Of the first of three looks; the last has four times as many.")
    ] = 10,
    window: Annotated[str, option(PROCEDURE, "TIME", "Each half of a pair.")] = "800ms",
    settle: Annotated[str, option(PROCEDURE, "TIME", "Left out after each change.")] = "200ms",
    policy: Annotated[
        Path | None, option(PROCEDURE, "FILE.toml", "What may be touched. [default: all that is listed]")
    ] = None,
    seed: Annotated[int, whole(PROCEDURE, "Of the orders.")] = 1,
    dry_run: Annotated[bool, switch(OUTPUT, "Only say what would be tried, and how.", "--dry-run")] = False,
    correct: Annotated[
        bool,
        switch(PROCEDURE, "Apply the correction, and keep it if the percentile comes back.", "--correct"),
    ] = False,
    trace: Annotated[
        Path | None,
        option(PROCEDURE, "FILE", "Of `hindmost trace --json`: its culprits are tried first."),
    ] = None,
    twin: Annotated[
        str | None,
        option(PROCEDURE, "TARGET", "Try suspects on a second instance first: a preset or a target file."),
    ] = None,
    twin_rate: Annotated[
        str | None,
        option(PROCEDURE, "RATE", "Of the twin's load. [default: as much work as the application has]"),
    ] = None,
    twin_workload: Annotated[
        Path | None,
        option(PROCEDURE, "FILE.json", "What the twin is asked, as `measure --workload` has it."),
    ] = None,
    page: Annotated[Path | None, option(OUTPUT, "FILE", "Write a page there (HTML), with all pairs.")] = None,
    out: Annotated[
        Path | None,
        option(OUTPUT, "FILE", "Keep the document (JSON): hindmost study report FILE makes the page again."),
    ] = None,
    json_: Json = False,
) -> int:
    """Find out what makes an application slow now, by taking suspects away one at a time.

    Each suspect (a busy neighbour, a quota, threads held on few processors, packets handled elsewhere) is
    there and gone in turns, in a drawn order, with a sham beside it. Everything is in the knobs' journal
    before it is touched and is given back at the end, also after a kill -9. No process is ended.
    With --twin suspects are brought to a second instance, and only who makes that one as slow is tried here.
    """
    from hindmost.plan.units import parse_duration
    from hindmost.report.diagnosis.page import render_diagnosis_page
    from hindmost.report.diagnosis.terminal import render_diagnosis
    from hindmost.store.estimates import encode
    from hindmost.studies.diagnosis.document import document_of
    from hindmost.studies.diagnosis.policy import read_policy
    from hindmost.studies.diagnosis.procedure import DiagnosisRequest
    from hindmost.studies.diagnosis.procedure import diagnose as diagnosed
    from hindmost.watch import find_application, latency_from

    found = find_application(application)
    if found.pid is None:
        raise UsageError(
            "bad-value",
            "an experiment needs one process, and a cgroup may have several",
            hint="name a process of it",
            value=application,
        )
    if not 1 <= percentile <= 99:
        raise UsageError(
            "bad-value",
            f"--percentile {percentile:g}: it must be between 1 and 99",
            hint="--percentile 95",
            option="--percentile",
            value=percentile,
            least=1,
            most=99,
        )
    if not 6 <= pairs <= 200:
        raise UsageError(
            "bad-value",
            f"--pairs {pairs}: it must be between 6 and 200",
            hint="--pairs 10",
            option="--pairs",
            value=pairs,
            least=6,
            most=200,
        )
    refuse_files({"--page": page, "--out": out})
    rules = read_policy(policy)
    if dry_run:
        return _tell_plan(found.pid, rules, as_json=json_)
    source = latency_from(found, probe=probe, address=probe_address)
    if source is None:
        raise HostUnfit(
            "missing-argument",
            "the probe needs an address: a process id alone does not say where it serves",
            hint="--probe-address memcached://127.0.0.1:11211",
            option="--probe-address",
        )
    normal_us = None if normal is None else 1e6 * parse_duration(normal, "normal")
    if normal_us is None and ring is not None:
        from hindmost.watch.blocks import normal_of

        normal_us = normal_of(ring, percentile / 100)
    if normal_work is None and ring is not None:
        from hindmost.watch.blocks import normal_work_of

        normal_work = normal_work_of(ring)
    if normal_work is not None and not normal_work > 0:
        raise UsageError(
            "bad-value",
            f"--normal-work {normal_work:g}: it must be greater than 0",
            hint="--normal-work 0.15",
            option="--normal-work",
            value=normal_work,
            least=0,
            unit="CPUs",
        )
    request = DiagnosisRequest(
        found,
        source,
        rules,
        percentile / 100,
        normal_us,
        pairs,
        parse_duration(window, "window", 0.05),
        parse_duration(settle, "settle"),
        seed,
        correct,
        normal_work=normal_work,
        normal_metrics=None if ring is None else _normal_metrics(ring),
        first=() if trace is None else tuple(one["name"] for one in culprits(trace)),
        twin=_twin(twin, twin_rate, twin_workload),
    )
    done = diagnosed(request, say)
    moved, wait = None, None
    if ring is not None and done.decision.ruling != "cause":
        from hindmost.watch.ranking import rank_ring

        moved, wait = rank_ring(ring, percentile / 100)
        moved = moved[:SHOWN_MOVED]
    document = document_of(done, moved, None if wait is None else wait.note)
    text = encode(document)
    print(text + "\n" if json_ else render_diagnosis(document), end="")
    put_files({out: text, page: render_diagnosis_page(document)})
    return EXITS[document["ruling"]]


def _normal_metrics(ring: Path) -> Normal:
    from hindmost.stats.causes import Normal
    from hindmost.studies.diagnosis.metrics import JUDGED
    from hindmost.watch.blocks import normal_metrics_of

    return Normal(JUDGED, normal_metrics_of(ring, JUDGED))


def _twin(twin: str | None, rate: str | None, workload: Path | None) -> TwinRequest | None:
    from hindmost.plan.units import parse_rate
    from hindmost.studies.diagnosis.twin.asked import TwinRequest
    from hindmost.targets import Managed, parse_target

    if twin is None:
        if rate is not None or workload is not None:
            raise UsageError(
                "missing-argument",
                "--twin-rate and --twin-workload need --twin",
                hint="--twin memcached",
                option="--twin",
            )
        return None
    target = parse_target(twin)
    if not isinstance(target, Managed):
        raise UsageError(
            "needs-managed-server",
            f"{twin} is a running server; Hindmost must start the replica itself",
            hint="--twin memcached, or a target file",
            option="--twin",
            value=twin,
        )
    return TwinRequest(target, None if rate is None else parse_rate(rate.removesuffix("/s")), workload)


def _tell_plan(pid: int, rules: object, *, as_json: bool) -> int:
    from hindmost.knobs.steps import describe
    from hindmost.studies.diagnosis.policy import Policy
    from hindmost.studies.diagnosis.suspects import find_suspects

    assert isinstance(rules, Policy)
    suspects = find_suspects(pid, rules)
    plan = {
        "try": [
            {
                "name": name,
                "about": one.about,
                "undo": one.undo,
                "corrections": [each.about for each in suspects.corrections.get(name, [one])],
            }
            for name, one in suspects.tried.items()
        ],
        "not_tried": {name: note.text for name, note in suspects.left_out.items()},
        "not_tried_notes": {name: note.document() for name, note in suspects.left_out.items()},
    }
    if as_json:
        print(json.dumps({"schema": "hindmost.diagnosis-plan/1", **plan}))
        return Exit.DONE
    if not suspects.tried:
        print("no suspect can be tried here")
    for name, one in suspects.tried.items():
        print(f"would try {name}: {one.about}; undone by: {describe(one.undo)}")
        for each in suspects.corrections.get(name, []):
            print(f"  --correct would {each.about}")
    for name, why in suspects.left_out.items():
        print(f"would not touch {name}: {why}")
    return Exit.DONE
