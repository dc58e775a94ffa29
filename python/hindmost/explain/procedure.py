"""The kind ``explain``: one traced run, candidates, rounds that drop the worst, fresh pairs that confirm."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from hindmost import _engine
from hindmost.errors import HindmostError, HostUnfit, Inconclusive, TargetError
from hindmost.exits import Exit
from hindmost.explain import course
from hindmost.explain.answer import answer, compared, figures, look_of, rounds_of, spent_s, typical_run_s
from hindmost.explain.catalogue import CLIENT, draw_up, setting_of
from hindmost.explain.document import Candidate, Explanation
from hindmost.explain.request import KIND as NAME
from hindmost.explain.request import Asked, plan_without
from hindmost.knobs import recover
from hindmost.knobs.journal import FOLDER
from hindmost.plan import MeasurePlan
from hindmost.report.common import numbers
from hindmost.run.readings import plan_of
from hindmost.store import Study
from hindmost.store.estimates import encode, without_nan
from hindmost.studies.attribution.apply import set_knob
from hindmost.studies.comparison.arms import Arm, Level
from hindmost.studies.kind import Kind, Shown
from hindmost.studies.pairs import draw_order
from hindmost.studies.part import open_part
from hindmost.studies.talk import Talk
from hindmost.targets import parse_target
from hindmost.trace.able import unable

FILE = "explanation.json"
LOOK, LOOK_S = "look", (0.5, 8.0)
"""Folder of the traced run, and how long it lasts: as long as three runs, within these."""


def run(study: Study, talk: Talk, *, apply: bool = False) -> Explanation:
    """Make the runs that are missing; returns the answer.

    Parameters
    ----------
    apply : bool
        Leave this host's settings as confirmed, until ``hindmost host knobs restore``.
    """
    for one in recover(FOLDER):
        talk.say(f"left by a study that was killed: {one['name']} is {one['value']} again")
    plan, asked = plan_of(study), Asked.of(study)
    talk.say(f"{plan.target} at {numbers.rate(plan.rate_per_s)}: {_abilities(plan)}; study {study.folder}")
    asked = _look(study, asked, plan, talk)
    if asked.candidates is None:
        asked = _draw_up(study, asked, plan)
    candidates = asked.candidates or ()
    each = typical_run_s(study)
    names = ", ".join(one.label for one in candidates) or "none"
    talk.say(f"candidates: {names}; a run takes about {numbers.seconds(each)}")
    if candidates:
        asked = _try(study, asked, plan, talk)
        asked = _combine(study, asked, plan, talk)
        _confirm(study, asked, plan, talk)
    found = answer(study)
    if apply and found.verdict == "gain":
        _apply(study, asked, talk)
        found = answer(study)
    elif apply:
        talk.say("nothing to apply: no gain was confirmed")
    return found


def _abilities(plan: MeasurePlan) -> str:
    """What can be done on this host, in a line."""
    target = parse_target(plan.target)
    able = [f"{len(os.sched_getaffinity(0))} CPUs"]
    able.append("settings can be changed" if os.geteuid() == 0 else "no root, so host settings stay")
    able.append("requests can be traced" if _engine.trace_fault() is None else "requests cannot be traced")
    able.append("restarted for each run" if target.managed else "not restarted, so its own settings stay")
    return ", ".join(able)


def _look(study: Study, asked: Asked, plan: MeasurePlan, talk: Talk) -> Asked:
    """Make the traced run; without the trace where this host, or this server, cannot be traced."""
    low, high = LOOK_S
    seconds = min(high, max(low, 3.0 * plan.duration_s))
    look = plan.model_copy(update={"duration_s": seconds, "trace": asked.untraced is None})
    fault = _engine.trace_fault()
    if look.trace and fault is not None:
        return _look(study, _untraced(study, asked, unable(*fault), talk), plan, talk)
    side = Arm(open_part(study, study.folder / LOOK, look), look, parse_target(plan.target))
    if not side.has(1):
        try:
            side.make(1)
        except (HostUnfit, Inconclusive, TargetError) as error:
            if not look.trace:
                raise
            return _look(study, _untraced(study, asked, error, talk), plan, talk)
    return asked


def _untraced(study: Study, asked: Asked, error: HindmostError, talk: Talk) -> Asked:
    talk.say(f"requests are not traced: {error.message}")
    values = {"code": error.code, "hint": error.hint}
    note = {"code": "not-traced", "text": f"requests are not traced: {error.message}", "values": values}
    return asked.changed(study, untraced=note)


def _draw_up(study: Study, asked: Asked, plan: MeasurePlan) -> Asked:
    """Fix the candidates, as many as the budget has room for."""
    trace, parts, culprits = look_of(study)
    found, left_out = draw_up(parse_target(plan.target), plan, trace, parts, culprits)
    room = course.affordable(len(found), _runs_left(study, asked))
    return asked.changed(study, candidates=found[:room], left_out=[one.document() for one in left_out])


def _runs_left(study: Study, asked: Asked) -> float:
    return (asked.budget_s - spent_s(study)) / typical_run_s(study)


def _try(study: Study, asked: Asked, plan: MeasurePlan, talk: Talk) -> Asked:
    """Rounds of the present state and all candidates; the worst are dropped."""
    candidates = asked.candidates or ()
    sides = [(), *((one,) for one in candidates)]
    names = ["as it is", *(one.label for one in candidates)]
    while asked.chosen is None:
        rounds = rounds_of(study, "try", asked.by)
        following = course.next_try(rounds, len(candidates), _runs_left(study, asked))
        if following is None:
            active, _ = course.survivors(rounds, len(candidates))
            return asked.changed(study, combined=_combinable(asked, plan, active, rounds), chosen=active[:1])
        _make(study, plan, following, sides, names, talk)
    return asked


def _combinable(asked: Asked, plan: MeasurePlan, active: Sequence[int], rounds: course.Rounds) -> list[int]:
    """Those that look better and can be set together, the best first; none where fewer than two."""
    candidates, target = asked.candidates or (), parse_target(plan.target)
    taken: set[str] = set()
    found = []
    for place in active:
        logs, one = course.log_ratios(rounds, place), candidates[place - 1]
        sets = {CLIENT} if CLIENT in one.what else set(setting_of(target, one).sets)
        enough = len(logs) >= course.LEAST_TRIES
        if enough and sum(logs) / len(logs) < course.PROMISING and not sets & taken:
            found.append(place)
            taken |= sets
    return found if len(found) > 1 else []


def _combine(study: Study, asked: Asked, plan: MeasurePlan, talk: Talk) -> Asked:
    """Rounds of the best candidate next to all that look better together."""
    candidates, chosen = asked.candidates or (), asked.chosen or ()
    if len(asked.combined) < 2 or len(chosen) > 1:
        return asked
    together = tuple(candidates[place - 1] for place in asked.combined)
    sides = [(candidates[chosen[0] - 1],), together]
    names = [sides[0][0].label, " and ".join(one.label for one in together)]
    while True:
        rounds = rounds_of(study, "combine", asked.by)
        following = course.next_combining(rounds, _runs_left(study, asked))
        if following is None:
            logs = course.log_ratios(rounds, 1)
            better = bool(logs) and sum(logs) < 0.0
            return asked.changed(study, chosen=list(asked.combined)) if better else asked
        _make(study, plan, following, sides, names, talk)


def _confirm(study: Study, asked: Asked, plan: MeasurePlan, talk: Talk) -> None:
    """Fresh pairs of the present state and the chosen changes."""
    candidates = asked.candidates or ()
    changes = tuple(candidates[place - 1] for place in asked.chosen or ())
    names = ["as it is", " and ".join(one.label for one in changes)]
    while True:
        rounds = rounds_of(study, "confirm", asked.by)
        found = compared(rounds)
        decided = found is not None and (found.high or 2.0) < 1.0
        following = course.next_confirming(rounds, _runs_left(study, asked), decided)
        if following is None:
            return
        _make(study, plan, following, [(), changes], names, talk)


def _make(
    study: Study,
    plan: MeasurePlan,
    following: course.Next,
    sides: Sequence[Sequence[Candidate]],
    names: Sequence[str],
    talk: Talk,
) -> None:
    """Make the runs of a round that are missing, in an order drawn anew."""
    made = {str(side): _side(study, plan, following.stage, side, sides[side]) for side in following.sides}
    for name in draw_order(made, f"{plan.seed} {following.stage}", following.round):
        if not made[name].has(following.round):
            made[name].make(following.round)
    ratios = [
        f"{names[side]} {numbers.latency(figures(made[str(side)].study, following.round)['p99'])}"
        for side in following.sides
        if "p99" in figures(made[str(side)].study, following.round)
    ]
    talk.say(f"{following.stage}, round {following.round}: p99 {', '.join(ratios)}")


def _side(study: Study, plan: MeasurePlan, stage: str, side: int, changes: Sequence[Candidate]) -> Arm:
    plan = plan_without(plan, changes)
    target = parse_target(plan.target)
    part = open_part(study, study.folder / stage / str(side), plan)
    settings = [
        Level(one.what, setting_of(target, one), one.level) for one in changes if CLIENT not in one.what
    ]
    return Arm(part, plan, target, levels=settings)


def _apply(study: Study, asked: Asked, talk: Talk) -> None:
    """Set the confirmed settings of this host, and say the others."""
    done = []
    for place in asked.chosen or ():
        one = (asked.candidates or ())[place - 1]
        if "knob" in one.what:
            set_knob(str(one.what["knob"]), one.level)
            talk.say(f"{one.label} is set; to undo: hindmost host knobs restore")
            done.append(one.label)
        else:
            talk.say(f"not set, as it belongs to how the server or the client is started: {one.label}")
    asked.changed(study, applied=done)


def publish(study: Study, result: Explanation, page: Path | None = None) -> Shown:
    """Write ``explanation.json`` and the page."""
    from hindmost.explain.view import render_page, render_terminal

    document = without_nan(msgspec.to_builtins(result))
    study.write(FILE, encode(document))
    where = study.write_page(render_page(result), page)
    code = Exit.INCONCLUSIVE if result.verdict == "undecided" else Exit.DONE
    notes = (f"page: {where}", f"study: {study.folder}")
    return Shown(document, lambda: render_terminal(result), code, notes)


KIND = Kind(NAME, run, answer, publish)
