"""The start of a study: free resources, greet a running server, check the host, create the folder."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from hindmost import __version__, _engine
from hindmost.core.fleet import prepare_resources
from hindmost.core.fleet.cpus import free_cpus, move_to, read_cores
from hindmost.core.knobs import left_finding
from hindmost.core.plan import MeasurePlan
from hindmost.core.plan.codes import accepted_at_first
from hindmost.core.plan.first import first_request
from hindmost.core.run.readings import plan_of
from hindmost.core.run.request import MeasureRequest
from hindmost.core.store import Study, name_of, now_utc
from hindmost.core.store.estimates import to_document
from hindmost.core.study.kind import refuse_another
from hindmost.core.targets import Attached, Managed, greet, parse_target
from hindmost.errors import UsageError
from hindmost.testing import default_of

SPIN_S = 0.3
"""How long to spin for the host's noise floor before a study, s; enough to notice a busy host."""
LONGEST_NAME = 100
"""Most characters of a target in a folder name, which may have 255."""
LOOKS, PAUSE_S = 3, 1.0
"""Number of host checks, and pause between them, s. A host counts as unfit only if every check says so,
because a single short check may catch the end of the program that ran before."""


def begin(plan: MeasurePlan, out: Path | None, kind: str, **more: object) -> Study:
    """Prepare a new study up to its first run, and return it.

    Parameters
    ----------
    plan : MeasurePlan
        What to run.
    out : Path or None
        The study's folder.
    kind : str
        The kind of study.
    more : object
        Further entries of its manifest.

    Raises
    ------
    HostUnfit
        This host lacks resources for the plan's connections.
    TargetError
        A running server does not answer, or speaks another protocol.

    In both cases nothing is written.
    """
    target = prepare_target(plan)
    study = _new_study(plan, target, out, kind=kind, **more)
    _step_aside(plan)
    return study


def continue_study(study: Study, plan: MeasurePlan, **more: object) -> Study:
    """Prepare a study up to its next run, and update its manifest with the plan and `more`."""
    prepare_target(plan)
    study.update(plan=plan.model_dump(mode="json"), kind=name_of(study.manifest), **more)
    _step_aside(plan)
    return study


def refuse_changes(given: Sequence[str], again: str) -> None:
    """Refuse options that would make new runs of a resumed study differ from its stored ones.

    Parameters
    ----------
    given : sequence of str
        Options that were given and may not change.
    again : str
        The command that resumes the study, for the hint.

    Raises
    ------
    UsageError
        There is such an option.
    """
    if given:
        raise UsageError(
            "fixed-option",
            f"{given[0]} cannot change when a study is resumed: its runs would not be comparable",
            hint=again,
            option=given[0],
        )


def resume_with_runs(folder: Path, kind: str, runs: int | None) -> Study:
    """Resume a study of `kind` unchanged, except for its number of runs or rounds.

    Raises
    ------
    UsageError
        The study is of another kind.
    """
    study = Study.open(folder)
    refuse_another(study, kind)
    plan = plan_of(study)
    return continue_study(study, plan if runs is None else plan.model_copy(update={"runs": (runs, runs)}))


def resume_measurement(
    folder: Path, request: MeasureRequest, *, find_rate: str | None, out: Path | None
) -> tuple[Study, MeasurePlan]:
    """Open a measurement or search to resume it, with the permitted changes in its plan.

    Raises
    ------
    UsageError
        Another option was given, or the study is of another kind.
    """
    changes = request.stopping_options()
    if request.target is not None or out is not None:
        raise UsageError(
            "conflicting-options",
            "--resume takes target and folder from the study",
            hint=f"hindmost measure --resume {folder}",
            options=["TARGET" if request.target is not None else "--out", "--resume"],
        )
    refuse_changes(
        request.fixed_options() or (["--find-rate"] if find_rate is not None else []),
        f"hindmost measure --resume {folder}, or a new study with --out",
    )
    study = Study.open(folder)
    refuse_another(study, "measure", "search")
    return study, plan_of(study).model_copy(update=changes)


def prepare_target(plan: MeasurePlan) -> Attached | Managed:
    """Provide the resources for a plan's connections, and greet a running server.

    Raises
    ------
    HostUnfit
        This host lacks resources for them.
    TargetError
        A running server does not answer, or speaks another protocol.
    """
    target = parse_target(plan.target)
    takes = target.spec.options.get("connections") if target.managed else None
    if plan.fleet is not None:  # load hosts check their own resources
        if not target.managed:
            _greet(target, plan)
        return target
    prepare_resources(plan, target.protocol, accepts=takes, managed=target.managed)
    if not target.managed:
        _greet(target, plan)
    return target


def _greet(target: Attached, plan: MeasurePlan) -> None:
    """Check that a running server answers in its protocol, before anything is written."""
    accept = accepted_at_first(plan.workload)
    first = first_request(plan, target.protocol, target.address)
    greet(target, accept=accept, tls=plan.tls, login=plan.login, first=first)


def _new_study(plan: MeasurePlan, target: Attached | Managed, out: Path | None, **more: object) -> Study:
    """Create a study of a target, with facts about this host; `more` goes into its manifest."""
    folder = out or Path(f"hindmost-{folder_name(target)}-{datetime.now():%Y%m%d-%H%M%S}")
    host = _diagnosis(1 if plan.quick else default_of("host_looks", LOOKS))
    manifest = {
        "created": now_utc(),
        "version": __version__,
        "python": sys.version.split()[0],
        "plan": plan.model_dump(mode="json"),
        "host": host,
        **more,
    }
    return Study.create(folder, manifest)


def folder_name(target: Attached | Managed) -> str:
    """Return a target's part of a folder name; for a running server its whole address."""
    name = target.spec.name if target.managed else f"{target.host}-{target.port}"
    safe = "".join(c if c.isalnum() or c in "-." else "-" for c in name).strip("-.")
    return safe[:LONGEST_NAME] or "target"


def _diagnosis(looks: int) -> dict[str, Any]:
    """Return facts and findings about this host; the check is repeated if the host seems unfit."""
    host: dict[str, Any] = {}
    for look in range(looks):
        if look:
            time.sleep(PAUSE_S)
        host = json.loads(_engine.doctor("/", default_of("host_spin_s", SPIN_S)))
        if not any(finding["mark"] == "unfit" for finding in host["findings"]):
            break
    host.pop("noise", None)
    host["findings"].append(to_document(left_finding()))
    return host


def _step_aside(plan: MeasurePlan) -> None:
    """Move this process, with its tracer and samplers, off the cores of server and clients if possible.

    Otherwise it shares a client's CPU, so that its work appears as send delay, not as latency. With a live
    view it works during the measurement, so it shares the server's CPUs instead.
    """
    mine = os.sched_getaffinity(0)
    clients = {cpu for cpus in plan.client_cpus for cpu in cpus}
    server = set(plan.server_cpus)
    cores = [[cpu for cpu in core if cpu in mine] for core in read_cores()]
    others = mine - (clients if plan.live else server)
    move_to(free_cpus(cores, server | clients) or others or mine)
