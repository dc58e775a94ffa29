"""From the options of ``hindmost measure`` to a plan."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hindmost.errors import UsageError

if TYPE_CHECKING:
    from hindmost.plan import MeasurePlan
    from hindmost.targets import Attached

MAY_CHANGE = ("resume", "runs", "precision", "require", "json_", "quiet")
"""What may be said of a study that goes on; the rest is in its manifest."""


def nothing_else(asked: Mapping[str, Any], signature: inspect.Signature, study: Path) -> None:
    """Refuse what cannot change when a study goes on: runs of two kinds would be mixed.

    Raises
    ------
    UsageError
        If an option that is not in `MAY_CHANGE` was given another value than its default.
    """
    for name, option in signature.parameters.items():
        if name not in MAY_CHANGE and asked[name] != option.default:
            raise UsageError(
                f"--{name.replace('_', '-')} cannot change in a study that goes on: runs would not be alike",
                hint=f"hindmost measure --resume {study}, or a new study with --out",
            )


def plan_asked_for(asked: Mapping[str, Any]) -> MeasurePlan:
    """Everything that was asked for, checked before anything starts.

    Parameters
    ----------
    asked : mapping
        Values of the options of ``hindmost measure`` by their Python names; ``runs`` and ``precision`` read
        already, where they were given.

    Raises
    ------
    UsageError
        If something of it cannot be meant, or the engine refuses it.
    """
    from hindmost.fleet import allot
    from hindmost.plan import MeasurePlan, load_workload, parse_duration, parse_quantiles, parse_rate
    from hindmost.plan.protocols import ENTRIES
    from hindmost.targets import parse_target
    from hindmost.targets.cpus import parse_cpus

    def cpus(name: str) -> list[int] | None:
        if asked[name] is None:
            return None
        try:
            return parse_cpus(asked[name])
        except ValueError as error:
            raise UsageError(
                f"--{name.replace('_', '-')} {asked[name]!r}: {error}", hint="write it like 0-3,5"
            ) from None

    for name, least, most in (
        ("clients", 1, 1024),
        ("threads", 1, 256),
        ("connections", 1, 100_000),
        ("samples", 0, 10_000_000),
    ):
        if asked[name] is not None and not least <= asked[name] <= most:
            raise UsageError(
                f"--{name} {asked[name]} is not between {least} and {most}", hint="hindmost measure --help"
            )
    if not 0 <= asked["seed"] < 2**63:
        raise UsageError(f"--seed {asked['seed']} is not between 0 and 2^63", hint="--seed 1")
    closed, rate = asked["closed"], asked["rate"]
    target = parse_target(asked["target"])
    if asked["workload"] is not None:
        workload = load_workload(asked["workload"])
    else:
        workload = ENTRIES[target.protocol].mix.workload(target.path)
    server = cpus("server_cpus")
    if target.managed and server is None and target.spec.cpus:
        server = list(target.spec.cpus)
    if not target.managed:
        if server is not None:
            raise UsageError("--server-cpus is for servers that Hindmost starts", hint="taskset -cp CPUS PID")
        server = _cpus_of_attached(target)
    places = allot(
        sorted(os.sched_getaffinity(0)),
        clients=asked["clients"],
        server=server,
        client_cpus=cpus("client_cpus"),
        threads=asked["threads"],
    )
    warmup = asked["warmup"]
    plan = MeasurePlan(
        target=asked["target"],
        loop="closed" if closed else "open",
        rate_per_s=parse_rate(rate) if rate is not None else (None if closed else 10_000.0),
        arrivals=asked["arrivals"],
        clients=len(places.clients),
        threads=asked["threads"],
        connections=max(asked["connections"], len(places.clients) * asked["threads"]),
        client_cpus=places.clients,
        server_cpus=places.server if target.managed else (),
        pacing=places.pacing if asked["pacing"] == "auto" else asked["pacing"],
        io=asked["io"],
        duration_s=parse_duration(asked["duration"], "duration", 0.1),
        warmup="auto" if warmup == "auto" else parse_duration(warmup, "warm-up"),
        timeout_s=parse_duration(asked["timeout"], "timeout", 0.001),
        quantiles=parse_quantiles(asked["quantiles"]),
        aggregate=asked["aggregate"],
        seed=asked["seed"],
        samples=asked["samples"],
        stamp_every=_stamp_every(asked["stamps"]),
        verify_wire=asked["verify_wire"],
        workload=workload,
        **{name: asked[name] for name in ("runs", "precision") if asked[name] is not None},
    )
    if plan.pacing == "spin" and places.shared:
        raise UsageError(
            f"{plan.clients} clients cannot all spin on {len(set(sum(places.clients, ())))} processor(s)",
            hint="--pacing auto, or fewer --clients",
        )
    # The engine's own checks, before anything starts; what it returns has the workload's defaults filled in.
    checked = json.loads(plan.engine_plan(1, 0, target.protocol, "127.0.0.1:1"))
    return plan.model_copy(update={"workload": checked["workload"]})


def plan_of_search(asked: Mapping[str, Any], objective_text: str) -> MeasurePlan:
    """The plan of a search's steps; `asked` as for `plan_asked_for`."""
    from hindmost.studies.search.asked import RUNS, refuse_contradictions, searchable

    refuse_contradictions(asked)
    plan = plan_asked_for({**asked, "runs": asked["runs"] or RUNS})
    return searchable(plan, objective_text, asked["rate"])


def plan_with(target: str, **changes: object) -> MeasurePlan:
    """The plan of ``hindmost measure TARGET`` with some options given, by their Python names.

    Raises
    ------
    UsageError
        If something of it cannot be meant.
    """
    from hindmost.cli.measure import measure

    options = {name: one.default for name, one in inspect.signature(measure).parameters.items()}
    return plan_asked_for(options | changes | {"target": target})


def _cpus_of_attached(target: Attached) -> list[int]:
    """Processors of a server on this host, as far as it is bound; empty where it is elsewhere."""
    from hindmost.targets import cpu_affinity, local_owner

    pid = local_owner(target.address)
    if pid is None:
        return []
    bound = cpu_affinity(pid)
    at_hand = sorted(os.sched_getaffinity(0))
    return bound if set(bound) < set(at_hand) else at_hand[: len(at_hand) // 2]


def _stamp_every(text: str) -> int:
    """Read ``--stamps``: one request in so many, or ``off``."""
    if text == "off":
        return 0
    if text.isdecimal() and 1 <= int(text) <= 1_000_000:
        return int(text)
    raise UsageError(
        f"--stamps {text!r} is neither off nor a whole number from 1 to 1000000",
        hint="--stamps 16 stamps one request in sixteen; --stamps off none",
    )
