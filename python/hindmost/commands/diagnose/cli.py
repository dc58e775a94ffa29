"""``hindmost diagnose``: find the cause of a slow application by experiment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from hindmost.cli.options import LOAD, OUTPUT, PROCEDURE, TARGET, Json, integer_option, option, switch
from hindmost.cli.outcome import refuse_files, write_files
from hindmost.cli.streams import say
from hindmost.commands.watch.culprits import read_culprits
from hindmost.core.exits import Exit
from hindmost.errors import HostUnfit, UsageError

if TYPE_CHECKING:
    from hindmost.commands.diagnose.replica.request import ReplicaRequest
    from hindmost.stats.causes import Normal

SHOWN_MOVED = 8
EXITS = {
    "cause": Exit.DONE,
    "unknown factor": Exit.DONE,
    "inconclusive": Exit.INCONCLUSIVE,
    "void": Exit.INCONCLUSIVE,
}


def diagnose(
    application: Annotated[
        str,
        option(TARGET, None, "Process id of the application, or memcached://HOST:PORT (redis://, http://)."),
    ],
    *,
    probe: Annotated[str, option(LOAD, "RATE", "Requests per second that the probe sends.")] = "200",
    probe_address: Annotated[
        str | None,
        option(
            LOAD,
            "URL",
            "Address to probe if the application is a process id, for example http://127.0.0.1:80.",
        ),
    ] = None,
    percentile: Annotated[float, option(PROCEDURE, "P", "Latency percentile to explain.")] = 95.0,
    normal: Annotated[
        str | None, option(PROCEDURE, "TIME", "The usual latency at this percentile, for example 150us.")
    ] = None,
    normal_work: Annotated[
        float | None,
        option(PROCEDURE, "PROCESSORS", "The application's usual CPU use in processors, for example 0.15."),
    ] = None,
    ring: Annotated[
        Path | None,
        option(
            PROCEDURE,
            "FILE",
            "Ring of `hindmost watch`: source of normal latency and of metrics that moved with it.",
        ),
    ] = None,
    pairs: Annotated[
        int,
        integer_option(
            PROCEDURE,
            "Before/after pairs in the first of three stages; the last stage uses four times as many.",
        ),
    ] = 10,
    window: Annotated[str, option(PROCEDURE, "TIME", "Length of each half of a pair.")] = "800ms",
    settle: Annotated[str, option(PROCEDURE, "TIME", "Time to ignore after each change.")] = "200ms",
    policy: Annotated[
        Path | None,
        option(
            PROCEDURE,
            "FILE.toml",
            "What `diagnose` may change, of which processes, and when. [default: every suspect]",
        ),
    ] = None,
    seed: Annotated[int, integer_option(PROCEDURE, "Random seed for the order of experiments.")] = 1,
    dry_run: Annotated[
        bool, switch(OUTPUT, "Only list the planned experiments, and exit.", "--dry-run")
    ] = False,
    correct: Annotated[
        bool,
        switch(PROCEDURE, "Apply the correction, and keep it if the percentile recovers.", "--correct"),
    ] = False,
    trace: Annotated[
        Path | None,
        option(PROCEDURE, "FILE", "Output of `hindmost trace --json`: test its culprits first."),
    ] = None,
    replica: Annotated[
        str | None,
        option(PROCEDURE, "TARGET", "Test suspects on a replica first: a preset or a target file."),
    ] = None,
    replica_rate: Annotated[
        str | None,
        option(
            PROCEDURE,
            "RATE",
            "Request rate of the replica's load. [default: as much work as the application has]",
        ),
    ] = None,
    replica_workload: Annotated[
        Path | None,
        option(PROCEDURE, "FILE.json", "Workload file of the replica, as for `measure --workload`."),
    ] = None,
    page: Annotated[
        Path | None, option(OUTPUT, "FILE", "Write an HTML page with all pairs to this file.")
    ] = None,
    out: Annotated[
        Path | None,
        option(
            OUTPUT,
            "FILE",
            "Write the JSON document to this file; `hindmost study report FILE` rebuilds the page.",
        ),
    ] = None,
    json_: Json = False,
) -> int:
    """Find out what makes an application slow now, by removing suspects one at a time.

    Suspects are a busy neighbour, a quota, threads restricted to few processors, packets handled on other
    CPUs. The command removes and restores each suspect in random order, and compares it with a sham that
    changes nothing. Every change is in the settings' journal before it is made, and is undone at the end,
    even after a kill -9. No process is ended. With --replica, suspects are first applied to a replica, and
    only those that make the replica equally slow are tested on the application.
    """
    from hindmost.commands.diagnose.answer import document_of
    from hindmost.commands.diagnose.procedure import DiagnosisRequest
    from hindmost.commands.diagnose.procedure import diagnose as diagnosed
    from hindmost.commands.diagnose.view import view
    from hindmost.commands.watch.application import find_application
    from hindmost.commands.watch.latency import latency_from
    from hindmost.core.interventions.policy import read_policy
    from hindmost.core.plan.units import parse_duration
    from hindmost.core.store.estimates import encode
    from hindmost.present.page import render_page
    from hindmost.present.terminal import render_terminal

    found = find_application(application)
    if found.pid is None:
        raise UsageError(
            "bad-value",
            "an experiment needs one process, but a cgroup may contain several",
            hint="use the id of one of its processes",
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
            "the probe needs an address: a process id does not tell where the process listens",
            hint="--probe-address memcached://127.0.0.1:11211",
            option="--probe-address",
        )
    normal_us = None if normal is None else 1e6 * parse_duration(normal, "normal")
    if normal_us is None and ring is not None:
        from hindmost.commands.watch.blocks import normal_of

        normal_us = normal_of(ring, percentile / 100)
    if normal_work is None and ring is not None:
        from hindmost.commands.watch.blocks import normal_work_of

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
        first=() if trace is None else tuple(one.name for one in read_culprits(trace)),
        replica=_replica(replica, replica_rate, replica_workload),
    )
    done = diagnosed(request, say)
    moved, wait = None, None
    if ring is not None and done.decision.ruling != "cause":
        from hindmost.commands.watch.ranking import rank_ring

        moved, wait = rank_ring(ring, percentile / 100)
        moved = moved[:SHOWN_MOVED]
    document = document_of(done, moved, None if wait is None else wait.note)
    text, shown = encode(document), view(document)
    print(text + "\n" if json_ else render_terminal(shown), end="")
    write_files({out: text, page: render_page(shown)})
    return EXITS[document.ruling]


def _normal_metrics(ring: Path) -> Normal:
    from hindmost.commands.diagnose.metrics import SIGNATURE_METRICS
    from hindmost.commands.watch.blocks import normal_metrics_of
    from hindmost.stats.causes import Normal

    return Normal(SIGNATURE_METRICS, normal_metrics_of(ring, SIGNATURE_METRICS))


def _replica(replica: str | None, rate: str | None, workload: Path | None) -> ReplicaRequest | None:
    from hindmost.commands.diagnose.replica.request import ReplicaRequest
    from hindmost.core.plan.units import parse_rate
    from hindmost.core.targets import Managed, parse_target

    if replica is None:
        if rate is not None or workload is not None:
            raise UsageError(
                "missing-argument",
                "--replica-rate and --replica-workload need --replica",
                hint="--replica memcached",
                option="--replica",
            )
        return None
    target = parse_target(replica)
    if not isinstance(target, Managed):
        raise UsageError(
            "needs-managed-server",
            f"{replica} is a running server; Hindmost must start the replica itself",
            hint="--replica memcached, or a target file",
            option="--replica",
            value=replica,
        )
    return ReplicaRequest(target, None if rate is None else parse_rate(rate.removesuffix("/s")), workload)


def _tell_plan(pid: int, rules: object, *, as_json: bool) -> int:
    from hindmost.commands.diagnose.suspects import find_suspects
    from hindmost.core.interventions.policy import Policy
    from hindmost.core.knobs.steps import describe

    assert isinstance(rules, Policy)
    suspects = find_suspects(pid, rules)
    plan = {
        "try": [
            {
                "name": name,
                "about": one.description,
                "undo": one.undo,
                "corrections": [each.description for each in suspects.corrections.get(name, [one])],
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
        print("no suspect can be tested here")
    for name, one in suspects.tried.items():
        print(f"would test {name}: {one.description}; undo: {describe(one.undo)}")
        for each in suspects.corrections.get(name, []):
            print(f"  --correct would {each.description}")
    for name, why in suspects.left_out.items():
        print(f"would not change {name}: {why}")
    return Exit.DONE
