"""How a study begins: make room, greet a running server, look at the host, make the folder, step aside."""

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
from hindmost.errors import UsageError
from hindmost.fleet import make_room
from hindmost.knobs import left_finding
from hindmost.plan import MeasurePlan
from hindmost.plan.first import first_request
from hindmost.run.readings import plan_of
from hindmost.run.request import MeasureRequest
from hindmost.store import Study, name_of, now_utc
from hindmost.studies.kind import refuse_another
from hindmost.targets import Attached, Managed, greet, parse_target
from hindmost.testing import default_of

SPIN_S = 0.3
"""Spin for the noise floor before a study: short, and long enough to see a host that is busy."""
LONGEST_NAME = 100
"""Letters of a target in the name of a folder, which has 255 in all."""
LOOKS, PAUSE_S = 3, 1.0
"""A host is called unfit only if it looks so each time: one look of a third of a second may meet the last
breath of the program that ran before."""


def begin(plan: MeasurePlan, out: Path | None, kind: str, **more: object) -> Study:
    """Do all that comes before the first run of a new study; returns it.

    Parameters
    ----------
    plan : MeasurePlan
        What is to be done.
    out : Path or None
        Its folder.
    kind : str
        Of what kind it is.
    more : object
        What its manifest says next to the plan.

    Raises
    ------
    HostUnfit
        If this host has no room for the plan's connections.
    TargetError
        If a running server is not there or speaks another protocol.

    In both cases nothing is written.
    """
    target = ready(plan)
    study = _new_study(plan, target, out, kind=kind, **more)
    _step_aside(plan)
    return study


def go_on(study: Study, plan: MeasurePlan, **more: object) -> Study:
    """Do all that comes before the next run of a study; its manifest then says the plan, and `more`."""
    ready(plan)
    study.manifest |= {"plan": plan.model_dump(mode="json"), "kind": name_of(study.manifest), **more}
    study.write("manifest.json", json.dumps(study.manifest, indent=1))
    _step_aside(plan)
    return study


def refuse_changes(given: Sequence[str], again: str) -> None:
    """Refuse options that would make the runs of a study that goes on unlike those that it has.

    Parameters
    ----------
    given : sequence of str
        The options that were given and may not change.
    again : str
        The hint: the command that goes on.

    Raises
    ------
    UsageError
        If there are any.
    """
    if given:
        raise UsageError(
            "fixed-option",
            f"{given[0]} cannot change when a study is resumed: its runs would not be comparable",
            hint=again,
            option=given[0],
        )


def again_with(folder: Path, kind: str, runs: int | None) -> Study:
    """A study of `kind` to go on with as it was begun; only how many runs or rounds it has may change.

    Raises
    ------
    UsageError
        If it is a study of another kind.
    """
    study = Study.open(folder)
    refuse_another(study, kind)
    plan = plan_of(study)
    return go_on(study, plan if runs is None else plan.model_copy(update={"runs": (runs, runs)}))


def reopened(
    folder: Path, asked: MeasureRequest, *, find_rate: str | None, out: Path | None
) -> tuple[Study, MeasurePlan]:
    """A study or search to go on with, and its plan with what may change in it.

    Raises
    ------
    UsageError
        If anything else was asked for, or it is a study of another kind.
    """
    changes = asked.stopping_options()
    if asked.target is not None or out is not None:
        raise UsageError(
            "conflicting-options",
            "--resume takes target and folder from the study",
            hint=f"hindmost measure --resume {folder}",
            options=["TARGET" if asked.target is not None else "--out", "--resume"],
        )
    refuse_changes(
        asked.fixed_options() or (["--find-rate"] if find_rate is not None else []),
        f"hindmost measure --resume {folder}, or a new study with --out",
    )
    study = Study.open(folder)
    refuse_another(study, "measure", "search")
    return study, plan_of(study).model_copy(update=changes)


def ready(plan: MeasurePlan) -> Attached | Managed:
    """Make room for a plan's connections, and greet a server that runs already.

    Raises
    ------
    HostUnfit
        If this host has no room for them.
    TargetError
        If a running server is not there or speaks another protocol.
    """
    target = parse_target(plan.target)
    takes = target.spec.options.get("connections") if target.managed else None
    if plan.fleet is not None:  # its hosts say themselves what they have room for
        if not target.managed:
            _greet(target, plan)
        return target
    make_room(plan, target.protocol, takes=takes, managed=target.managed)
    if not target.managed:
        _greet(target, plan)
    return target


def _greet(target: Attached, plan: MeasurePlan) -> None:
    """Make sure that a running server is there and speaks its protocol, before anything is written."""
    accept = plan.workload.get("accept", ())
    first = first_request(plan, target.protocol, target.address)
    greet(target, accept=accept, tls=plan.tls, login=plan.login, first=first)


def _new_study(plan: MeasurePlan, target: Attached | Managed, out: Path | None, **more: object) -> Study:
    """A new study of a target, with what this host is like; `more` goes into its manifest."""
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
    """A target in the name of a folder: of a running server its whole address, host and port."""
    name = target.spec.name if target.managed else f"{target.host}-{target.port}"
    safe = "".join(c if c.isalnum() or c in "-." else "-" for c in name).strip("-.")
    return safe[:LONGEST_NAME] or "target"


def _diagnosis(looks: int) -> dict[str, Any]:
    """Facts and findings of this host; looked at again where it seems unfit."""
    host: dict[str, Any] = {}
    for look in range(looks):
        if look:
            time.sleep(PAUSE_S)
        host = json.loads(_engine.doctor("/", default_of("host_spin_s", SPIN_S)))
        if not any(finding["mark"] == "unfit" for finding in host["findings"]):
            break
    host.pop("noise", None)
    host["findings"].append(left_finding())
    return host


def _step_aside(plan: MeasurePlan) -> None:
    """Keep this process off the server's processors: its work must show as send delay, not as latency."""
    mine = os.sched_getaffinity(0)
    clients = {cpu for cpus in plan.client_cpus for cpu in cpus}
    server = set(plan.server_cpus)
    rest = (mine - server - clients) or (mine - server) or mine
    os.sched_setaffinity(0, rest)
