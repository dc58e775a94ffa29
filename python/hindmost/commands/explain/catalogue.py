"""Candidate changes: from the trace, the target file, and a catalogue of known settings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from hindmost.commands.compare.setting.request import parse_what
from hindmost.commands.explain import split
from hindmost.commands.explain.document import Candidate, Culprit, Part, Risk
from hindmost.core.knobs import Knob, kind_of, knob_of
from hindmost.core.knobs.journal import FOLDER
from hindmost.core.notes import Note
from hindmost.core.plan import MeasurePlan
from hindmost.core.targets import Attached, Managed
from hindmost.core.tracing.document import Trace
from hindmost.errors import HindmostError

Target = Attached | Managed
RUNNING = ("host", "cpu_dma_latency")
"""Kinds of settings for a running server. The journal or the kernel undoes them after `kill -9`."""
CLIENT = "client"
"""Key of a change in how the client sends, which is no setting of the host or server."""
RISKS: Mapping[Risk, float] = {"low": 1.0, "medium": 0.9, "high": 0.7}
"""Weight of a predicted gain, by risk."""
BLIND = 0.8
"""Predicted ratio of every candidate without a trace."""
EFFECT = 0.5
"""Share of the part it acts on that a setting is assumed to remove."""
LEAST_GAIN = 0.05
"""Candidates with a smaller predicted gain are not tried."""
MOST = 6
RISK_OF: Mapping[str, Risk] = {
    "host": "low",
    "cpu_dma_latency": "low",
    CLIENT: "low",
    "schedule": "high",
    "argument": "high",
}


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the catalogue: a setting, and the parts of the path on which it acts.

    Attributes
    ----------
    servers : tuple of str
        Names of targets; empty for any.
    setting : str
        As for ``compare --set``. ``{cpus}`` is the number of the server's CPUs, ``{twice}`` twice that
        number.
    acts_on : tuple of str
        `split.PARTS`, and kinds of culprits.
    needs : str
        Text that the server's command or files must contain, if any.
    """

    servers: tuple[str, ...]
    setting: str
    acts_on: tuple[str, ...]
    reason: str
    needs: str = ""


QUEUES = (split.QUEUE, split.BEHIND, split.OTHERS)
CATALOGUE = (
    Row(
        (),
        'option = "threads" = {cpus}',
        (split.QUEUE, split.WAITS),
        "one thread for each CPU of the server",
        "{threads}",
    ),
    Row(
        (),
        'option = "threads" = {twice}',
        (split.BEHIND, split.WORK),
        "more threads than CPUs let a short request pass a long one",
        "{threads}",
    ),
    Row(
        (),
        "schedule = true = nice:-10",
        (split.OTHERS, split.QUEUE),
        "the server runs before other programs on its CPUs",
    ),
    Row(
        (),
        "schedule = true = fifo:10",
        (split.OTHERS,),
        "the server runs before every ordinary program on its CPUs",
    ),
    Row(
        (), 'knob = "autogroup" = off', (split.OTHERS,), "programs of other sessions compete thread by thread"
    ),
    Row((), 'knob = "thp" = always', ("page faults",), "huge pages need fewer page faults"),
    Row((), "cpu_dma_latency = true = 0", ("idle CPU",), "CPUs stay out of deep idle states"),
    Row(
        (),
        'cgroup = "cpu.max" = max',
        (split.QUEUE, split.BEHIND),
        "the server leaves its CPU quota",
        "cpu.max",
    ),
    Row((), 'socket = "nodelay" = on', ("delayed ACK", split.NETWORK_OUT), "small responses leave at once"),
    Row(
        ("memcached",),
        'argument = "-o no_lru_maintainer" = on',
        (split.WAITS,),
        "no thread holds the locks of the LRU lists",
    ),
    Row(
        ("redis",),
        'argument = "--appendfsync no" = on',
        (split.WAITS, split.WORK),
        "redis does not wait for the disk; a crash loses up to 30 s of writes",
        "appendonly yes",
    ),
    Row(
        ("redis",),
        'argument = "--no-appendfsync-on-rewrite yes" = on',
        (split.WAITS,),
        "redis does not wait for the disk while it rewrites its log",
        "appendonly yes",
    ),
    Row(
        ("nginx",),
        'option = "listen" = reuseport',
        (split.QUEUE, split.BEHIND),
        "each worker has its own accept queue",
        "{listen}",
    ),
    Row(
        ("apache",),
        'option = "workers" = 16',
        (split.QUEUE, split.WAITS),
        "fewer threads wait for CPUs and locks",
        "{workers}",
    ),
)


def list_candidates(
    target: Target,
    plan: MeasurePlan,
    trace: Trace | None,
    parts: Sequence[Part],
    culprits: Sequence[Culprit],
) -> tuple[list[Candidate], list[Note]]:
    """List candidates, the most promising first, and the reasons why others were left out.

    Parameters
    ----------
    target : Attached or Managed
    plan : MeasurePlan
        Plan of the measurement without changes.
    trace : Trace or None
        Trace of a run; None if this host cannot trace.
    parts, culprits : sequence
        Parts of the path and culprits of that trace.
    """
    candidates: dict[tuple[str, str], Candidate] = {}
    left_out: list[Note] = []
    for one in (
        *_from_trace(trace, culprits),
        *_from_target(target),
        *_from_client(plan),
        *_from_catalogue(target, plan, trace, parts, culprits),
    ):
        key = (repr(one.what), one.level)
        if key in candidates or 1.0 - one.predicted < LEAST_GAIN or _is_in_force(target, plan, one):
            continue
        if CLIENT not in one.what and (why := _find_obstacle(target, one)) is not None:
            left_out.append(
                Note("not-tried", f"{one.label}: {why.message}", {"setting": one.label, "why": why.code})
            )
            continue
        candidates[key] = one
    ranked = sorted(candidates.values(), key=lambda one: -(1.0 - one.predicted) * RISKS[one.risk])
    return ranked[:MOST], list({one.text: one for one in left_out}.values())


def setting_of(target: Target, one: Candidate) -> Knob:
    """Return the setting of a candidate, ready to be applied.

    Raises
    ------
    UsageError
        The setting does not apply to a running server.
    """
    return knob_of(kind_of(one.what, "setting"), one.what, cast("Managed", target), FOLDER)


def _find_obstacle(target: Target, one: Candidate) -> HindmostError | None:
    """Return why a candidate cannot be tried on this host or server; None if it can."""
    kind = kind_of(one.what, "setting")
    if not target.managed and kind not in RUNNING:
        return HindmostError(
            "needs-managed-target", "the server is already running, and only a restart changes this"
        )
    try:
        knob = setting_of(target, one)
        knob.check(one.level)
        knob.attempt(one.level)
    except HindmostError as error:
        return error
    return None


def _candidate(setting: str, level: str, reason: str, predicted: float) -> Candidate:
    what = parse_what(setting)
    return Candidate(what, level, reason, predicted, RISK_OF.get(kind_of(what), "medium"))


def _from_trace(trace: Trace | None, culprits: Sequence[Culprit]) -> Iterator[Candidate]:
    """Yield the trace's advice. The predicted gain is the culprits' share of the slowest requests."""
    for one in [] if trace is None else trace.advice:
        if one.knob is None:
            continue
        names = {one.who.name, *one.also} if one.who else set()
        shares = [culprit.of_slowest or 0.0 for culprit in culprits if culprit.name in names]
        gain = max(sum(shares), one.share_of_variance)
        for level in one.levels[1:]:
            yield _candidate(one.knob, level, one.why, max(0.05, 1.0 - gain))


def _from_target(target: Target) -> Iterator[Candidate]:
    """Yield the settings that the target file declares under ``[settings]``."""
    if not target.managed:
        return
    for name, levels in target.spec.settings.items():
        for level in levels:
            kind = "option" if name == "threads" or name in target.spec.options else "knob"
            yield _candidate(f'{kind} = "{name}"', str(level), "the target file declares it", EFFECT)


def _from_client(plan: MeasurePlan) -> Iterator[Candidate]:
    if plan.batching != "none":
        yield Candidate(
            {CLIENT: "batching"}, "none", f"the client holds requests back ({plan.batching})", EFFECT, "low"
        )


def _from_catalogue(
    target: Target,
    plan: MeasurePlan,
    trace: Trace | None,
    parts: Sequence[Part],
    culprits: Sequence[Culprit],
) -> Iterator[Candidate]:
    cpus = len(plan.server_cpus) or len(os.sched_getaffinity(0))
    of_parts = {one.name: split.weight(one) for one in parts}
    of_kinds: dict[str, float] = {}
    for culprit in culprits:
        of_kinds[culprit.kind] = of_kinds.get(culprit.kind, 0.0) + split.weight(culprit)
    texts = " ".join(target.spec.texts().values()) if target.managed else ""
    program = target.spec.name if target.managed else target.protocol
    for row in CATALOGUE:
        if row.servers and not any(name in program for name in row.servers):
            continue
        if row.needs and row.needs not in texts and row.needs not in texts.replace('", "', " "):
            continue
        # A culprit's time is in a part of the path as well, so the two are not added.
        gain = EFFECT * max(
            sum(shares.get(name, 0.0) for name in row.acts_on) for shares in (of_parts, of_kinds)
        )
        setting, _, level = row.setting.format(cpus=cpus, twice=2 * cpus).rpartition(" = ")
        yield _candidate(setting, level, row.reason, BLIND if trace is None else 1.0 - min(0.9, gain))


def _is_in_force(target: Target, plan: MeasurePlan, one: Candidate) -> bool:
    """Whether a candidate's level is already in force."""
    if not target.managed or "option" not in one.what:
        return False
    name = one.what["option"]
    if name == "threads" and name not in target.spec.options:
        now: object = target.spec.threads or len(plan.server_cpus) or len(os.sched_getaffinity(0))
    else:
        now = target.spec.options.get(name)
    return str(now) == one.level
