"""The kind ``explain``: a traced run, candidates, rounds that drop the worst, fresh pairs that confirm."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from hindmost import _engine
from hindmost.commands.attribute.apply import set_knob
from hindmost.commands.compare.arms import Arm, Level
from hindmost.commands.explain import schedule
from hindmost.commands.explain.answer import (
    answer,
    compare_sides,
    figures,
    rounds_of,
    spent_s,
    trace_of,
    typical_run_s,
)
from hindmost.commands.explain.catalogue import CLIENT, list_candidates, setting_of
from hindmost.commands.explain.document import Candidate, Explanation
from hindmost.commands.explain.request import KIND as NAME
from hindmost.commands.explain.request import State, plan_without
from hindmost.core.exits import Exit
from hindmost.core.knobs import recover
from hindmost.core.knobs.journal import FOLDER
from hindmost.core.notes import Note
from hindmost.core.plan import MeasurePlan
from hindmost.core.run.readings import plan_of
from hindmost.core.run.text import percent
from hindmost.core.store import Study
from hindmost.core.study.kind import Kind, PublishedAnswer, publish_view
from hindmost.core.study.pairs import draw_order
from hindmost.core.study.part import open_part
from hindmost.core.study.talk import Talk
from hindmost.core.targets import parse_target
from hindmost.core.tracing.support import tracing_error
from hindmost.errors import HindmostError, HostUnfit, Inconclusive, TargetError
from hindmost.present import numbers

FILE = "explanation.json"
LOOK, LOOK_S = "look", (0.5, 8.0)
"""Folder of the traced run, and bounds of its duration of three runs, s."""
START_S = 1.0
"""Time between two runs, before one has shown it."""


def run(study: Study, talk: Talk, *, apply: bool = False) -> Explanation:
    """Make the missing runs and return the answer.

    Parameters
    ----------
    apply : bool
        Keep the confirmed settings of this host until ``hindmost host knobs restore``.
    """
    for one in recover(FOLDER):
        talk.say(f"restored after a killed study: {one.name} is {one.value} again")
    plan, state = plan_of(study), State.load(study)
    talk.say(f"{plan.target} at {numbers.rate(plan.rate_per_s)}: {_abilities(plan)}; study {study.folder}")
    talk.say(_decidable(plan, state))
    state = _trace_run(study, state, plan, talk)
    if state.candidates is None:
        state = _fix_candidates(study, state, plan)
    candidates = state.candidates or ()
    each = typical_run_s(study)
    names = ", ".join(one.label for one in candidates) or "none"
    talk.say(f"candidates: {names}; a run takes about {numbers.seconds(each)}")
    if candidates:
        state = _try(study, state, plan, talk)
        state = _combine(study, state, plan, talk)
        state = _confirm(study, state, plan, talk)
    explanation = answer(study)
    if apply and explanation.verdict == "gain":
        _apply(study, state, talk)
        explanation = answer(study)
    elif apply:
        talk.say("nothing to apply: no gain was confirmed")
    return explanation


def _abilities(plan: MeasurePlan) -> str:
    """Summarise what Hindmost can do on this host, in one line."""
    target = parse_target(plan.target)
    able = [f"{len(os.sched_getaffinity(0))} CPUs"]
    able.append("settings can be changed" if os.geteuid() == 0 else "no root, so host settings stay")
    able.append("requests can be traced" if _engine.trace_fault() is None else "requests cannot be traced")
    able.append("restarted for each run" if target.managed else "not restarted, so its own settings stay")
    return ", ".join(able)


def _decidable(plan: MeasurePlan, state: State) -> str:
    """Say which changes the budget can decide, from the number of runs for which it has room."""
    warmup_s = plan.warmup if isinstance(plan.warmup, float) else plan.duration_s
    run_s = schedule.GUESSED * (plan.duration_s + warmup_s + START_S)
    pairs = schedule.pairs_affordable(state.budget_s / run_s)
    room = f"{numbers.seconds(state.budget_s)} has room for about {state.budget_s / run_s:.0f} runs"
    if pairs < schedule.LOOKS[0]:
        return f"{room}, too few to confirm a change: use --budget {schedule.LEAST_RUNS * run_s:.0f}s"
    twofold, small = (percent(schedule.scatter_allowed(pairs, ratio)) for ratio in (0.5, 0.8))
    return (
        f"{room}: enough to confirm that {state.by} halves if pairs of runs differ by less than {twofold},"
        f" and that it falls by 20 % if they differ by less than {small}"
    )


def _trace_run(study: Study, state: State, plan: MeasurePlan, talk: Talk) -> State:
    """Make the traced run; make it without a trace if this host or server cannot be traced."""
    low, high = LOOK_S
    seconds = min(high, max(low, 3.0 * plan.duration_s))
    look = plan.model_copy(update={"duration_s": seconds, "trace": state.untraced is None})
    fault = _engine.trace_fault()
    if look.trace and fault is not None:
        return _trace_run(study, _record_untraced(study, state, tracing_error(*fault), talk), plan, talk)
    side = Arm(open_part(study, study.folder / LOOK, look), look, parse_target(plan.target))
    if not side.has(1):
        try:
            side.make(1)
        except (HostUnfit, Inconclusive, TargetError) as error:
            if not look.trace:
                raise
            return _trace_run(study, _record_untraced(study, state, error, talk), plan, talk)
    return state


def _record_untraced(study: Study, state: State, error: HindmostError, talk: Talk) -> State:
    talk.say(f"requests are not traced: {error.message}")
    values = {"code": error.code, "hint": error.hint}
    note = Note("not-traced", f"requests are not traced: {error.message}", values)
    return state.update(study, untraced=note.document())


def _fix_candidates(study: Study, state: State, plan: MeasurePlan) -> State:
    """Fix the candidates, as many as the budget allows."""
    trace, parts, culprits = trace_of(study)
    found, left_out = list_candidates(parse_target(plan.target), plan, trace, parts, culprits)
    room = schedule.count_affordable(len(found), _runs_left(study, state))
    return state.update(study, candidates=found[:room], left_out=[one.document() for one in left_out])


def _runs_left(study: Study, state: State) -> float:
    return (state.budget_s - spent_s(study)) / typical_run_s(study)


def _try(study: Study, state: State, plan: MeasurePlan, talk: Talk) -> State:
    """Make rounds of the present state and all candidates, dropping the worst."""
    candidates = state.candidates or ()
    sides = [(), *((one,) for one in candidates)]
    names = ["as it is", *(one.label for one in candidates)]
    while state.chosen is None:
        rounds = rounds_of(study, "try", state.by)
        following = schedule.next_try(rounds, len(candidates), _runs_left(study, state))
        if following is None:
            active, _ = schedule.survivors(rounds, len(candidates))
            return state.update(study, combined=_combinable(state, plan, active, rounds), chosen=active[:1])
        _make(study, state, plan, following, sides, names, talk)
    return state


def _combinable(state: State, plan: MeasurePlan, active: Sequence[int], rounds: schedule.Rounds) -> list[int]:
    """Return the candidates that look better and can be combined, best first; empty if fewer than two."""
    candidates, target = state.candidates or (), parse_target(plan.target)
    changed: set[str] = set()
    found = []
    for place in active:
        logs, one = schedule.log_ratios(rounds, place), candidates[place - 1]
        sets = {CLIENT} if CLIENT in one.what else set(setting_of(target, one).sets)
        enough = len(logs) >= schedule.LEAST_TRIES
        if enough and sum(logs) / len(logs) < schedule.PROMISING and not sets & changed:
            found.append(place)
            changed |= sets
    return found if len(found) > 1 else []


def _combine(study: Study, state: State, plan: MeasurePlan, talk: Talk) -> State:
    """Make rounds of the best candidate and of all promising ones together."""
    candidates, chosen = state.candidates or (), state.chosen or ()
    if len(state.combined) < 2 or len(chosen) > 1:
        return state
    together = tuple(candidates[place - 1] for place in state.combined)
    sides = [(candidates[chosen[0] - 1],), together]
    names = [sides[0][0].label, " and ".join(one.label for one in together)]
    while True:
        rounds = rounds_of(study, "combine", state.by)
        following = schedule.next_combining(rounds, _runs_left(study, state))
        if following is None:
            logs = schedule.log_ratios(rounds, 1)
            better = bool(logs) and sum(logs) < 0.0
            return state.update(study, chosen=list(state.combined)) if better else state
        _make(study, state, plan, following, sides, names, talk)


def _confirm(study: Study, state: State, plan: MeasurePlan, talk: Talk) -> State:
    """Make fresh pairs with and without the chosen changes; if these do not help, with the next best."""
    candidates = state.candidates or ()
    while True:
        looks = schedule.LOOKS[: len(schedule.LOOKS) - _looks_used(study, state)]
        rounds = _confirm_chosen(study, state, plan, looks, talk)
        tried = [*state.hopeless, list(state.chosen or ())]
        following = None
        if schedule.is_hopeless(rounds):
            following = schedule.next_choice(
                rounds_of(study, "try", state.by),
                len(candidates),
                tried,
                len(looks) - schedule.count_looks(schedule.count_pairs(rounds)),
                _runs_left(study, state),
            )
        if following is None:
            return state
        talk.say(f"fresh pairs show no gain; next candidate: {candidates[following - 1].label}")
        state = state.update(study, hopeless=tried, chosen=[following])


def _looks_used(study: Study, state: State) -> int:
    """Return how many looks earlier confirmations have had: all looks together share the error."""
    earlier = [rounds_of(study, stage, state.by) for stage in state.confirmations[1:]]
    return sum(schedule.count_looks(schedule.count_pairs(rounds)) for rounds in earlier)


def _confirm_chosen(
    study: Study, state: State, plan: MeasurePlan, looks: Sequence[int], talk: Talk
) -> schedule.Rounds:
    """Make fresh pairs of the present state and the chosen changes, and return them."""
    changes = tuple((state.candidates or ())[place - 1] for place in state.chosen or ())
    names = ["as it is", " and ".join(one.label for one in changes)]
    while True:
        rounds = rounds_of(study, state.confirmation, state.by)
        found = compare_sides(rounds)
        decided = found is not None and (found.high or 2.0) < 1.0
        left = _runs_left(study, state)
        following = schedule.next_confirming(rounds, left, decided, state.confirmation, looks)
        if following is None:
            return rounds
        _make(study, state, plan, following, [(), changes], names, talk)


def _make(
    study: Study,
    state: State,
    plan: MeasurePlan,
    following: schedule.Next,
    sides: Sequence[Sequence[Candidate]],
    names: Sequence[str],
    talk: Talk,
) -> None:
    """Make the missing runs of a round, in a random order."""
    made = {str(side): _side(study, plan, following.stage, side, sides[side]) for side in following.sides}
    for name in draw_order(made, f"{plan.seed} {following.stage}", following.round):
        if not made[name].has(following.round):
            made[name].make(following.round)
    values = {side: figures(made[str(side)].study, following.round)[state.by] for side in following.sides}
    shown = ", ".join(f"{names[side]} {numbers.latency(value)}" for side, value in values.items())
    talk.say(f"{following.stage}, round {following.round}: {state.by} {shown}")


def _side(study: Study, plan: MeasurePlan, stage: str, side: int, changes: Sequence[Candidate]) -> Arm:
    plan = plan_without(plan, changes)
    target = parse_target(plan.target)
    part = open_part(study, study.folder / stage / str(side), plan)
    settings = [
        Level(one.what, setting_of(target, one), one.level) for one in changes if CLIENT not in one.what
    ]
    return Arm(part, plan, target, levels=settings)


def _apply(study: Study, state: State, talk: Talk) -> None:
    """Set the confirmed settings of this host, and name the other changes."""
    done = []
    for place in state.chosen or ():
        one = (state.candidates or ())[place - 1]
        if "knob" in one.what:
            set_knob(str(one.what["knob"]), one.level)
            talk.say(f"{one.label} is set; to undo: hindmost host knobs restore")
            done.append(one.label)
        else:
            talk.say(f"not set, because it concerns how the server or the client is started: {one.label}")
    state.update(study, applied=done)


def publish(study: Study, result: Explanation, page: Path | None = None) -> PublishedAnswer:
    """Write ``explanation.json`` and the page."""
    from hindmost.commands.explain.view import view

    code = Exit.INCONCLUSIVE if result.verdict == "undecided" else Exit.DONE
    return publish_view(study, FILE, result, view(result), code, page)


KIND = Kind(NAME, run, answer, publish, "hindmost.commands.explain.result:ExplainResult")
