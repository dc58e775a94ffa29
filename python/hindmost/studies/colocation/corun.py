"""A server beside real jobs, under load: what cards predict, and what comes of it."""

from __future__ import annotations

import json
import random
import shlex
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hindmost import _engine
from hindmost.colocation.bound import question
from hindmost.colocation.prediction import predicted
from hindmost.errors import Inconclusive, UsageError
from hindmost.store.colocation import CORUN_SCHEMA
from hindmost.studies.colocation.corunner import CoRunner
from hindmost.studies.colocation.processor import pair, processor, spare
from hindmost.studies.colocation.rulers import asked, made
from hindmost.studies.colocation.served import Served
from hindmost.studies.colocation.shares import LEAST_ROUNDS, growth, loaded, shares_lost
from hindmost.studies.colocation.windows import Seen, Stand, placement_of
from hindmost.watch import Application, latency_from

if TYPE_CHECKING:
    from hindmost.store.colocation import CoRan, CoRun, Score, Share

_TAKEN = ("alone", "null")


def corun(
    server: Mapping[str, Any],
    jobs: Sequence[Mapping[str, Any]],
    *,
    within: float = 0.1,
    cpu: int | None = None,
    budget_s: float = 60.0,
    seed: int = 1,
    say: Callable[[str], None] = lambda _: None,
) -> CoRun:
    """Start the server of a card, ask it as it was asked for its card, and run each job beside it.

    Parameters
    ----------
    server, jobs : dict
        Cards; the server's with ``loaded``.
    within : float
        How much its p99 may grow: what is promised.
    cpu : int, optional
        Of the server; jobs run on the nearest other.
    budget_s : float
        When the last round begins at the latest; four rounds at least.
    seed : int
        Of the order of windows.
    say : callable

    Raises
    ------
    UsageError
        The server's card tells no latency, two jobs have one name, or cards are of other processors.
    TargetError
        The server or a job cannot be started, or ends.
    Inconclusive
        Hardly a window could be used.
    """
    if "loaded" not in server:
        raise UsageError(
            f"the card of {server['name']} tells no latency",
            hint="hindmost colocate profile SERVER --probe 2k --probe-address URL --out CARD",
        )
    names = [str(one["name"]) for one in jobs]
    for name in names:
        if name in _TAKEN or names.count(name) > 1:
            raise UsageError(f"two cards are named {name!r}", hint="colocate profile --name NAME")
    load = server["loaded"]
    answers = [question(one, server, within=within, load=load["busy"]) for one in jobs]
    here, kind = processor(), server["processor"]
    if here != kind:
        raise UsageError(
            f"the cards are of {kind['name']}, and this is {here['name']}: they predict nothing here",
            hint="profile server and jobs on this machine",
        )
    cpus, order, begun = pair(cpu), random.Random(seed), time.monotonic()
    source = latency_from(
        Application(server["name"], None), probe=str(load["asked_per_s"]), address=load["address"]
    )
    assert source is not None
    window_ms, seen = server["method"]["window_ms"], list[list[Seen]]()
    knees = json.dumps(asked(_engine.cache_knees, cpus[1], seed))
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        beside = made(["null"], knees, folder, seed)
        runners = {
            name: stack.enter_context(CoRunner(one["command"], cpus[1]))
            for name, one in zip(names, jobs, strict=True)
        }
        subject = stack.enter_context(Served(server["command"], cpus[0], source, spare(cpus)))
        stand = Stand(subject, cpus, {**beside, **runners}, real_time=False)
        started = time.monotonic()
        while True:
            say(f"round {len(seen) + 1}: {shlex.join(server['command'][:1])} beside each job")
            states = [*_TAKEN, *names]
            order.shuffle(states)
            windows = []
            for one in states:
                windows.append(stand.window(one, window_ms))
                if one in runners:
                    runners[one].check()
            seen.append(windows)
            spent = time.monotonic() - started
            if len(seen) >= LEAST_ROUNDS and spent * (1 + 1 / len(seen)) > budget_s:
                break
        found = loaded(seen, subject)
    placement, notes = placement_of([one for windows in seen for one in windows])
    ran = [
        _ran(seen, server, job, str(answer["answer"]), within)
        for job, answer in zip(jobs, answers, strict=True)
    ]
    return {
        "schema": CORUN_SCHEMA,
        "server": server["name"],
        "processor": here,
        "placement": placement,
        "within": within,
        "loaded": found,
        "axes": list(server["axes"]),
        "jobs": ran,
        "scores": _scores(ran),
        "window_ms": window_ms,
        "windows": sum(map(len, seen)),
        "dropped": sum(not one.kept for windows in seen for one in windows),
        "took_s": time.monotonic() - begun,
        "notes": notes,
    }


def _ran(
    seen: Sequence[Sequence[Seen]],
    server: Mapping[str, Any],
    job: Mapping[str, Any],
    answer: str,
    within: float,
) -> CoRan:
    name = str(job["name"])
    grown = growth(seen, name, "null")
    return {
        "job": name,
        "command": list(job["command"]),
        "answer": answer,  # type: ignore[typeddict-item]
        "promise": verdict(grown["p99"], within),
        "lost": shares_lost(seen, name, "program", ("null", True)),
        "latency": grown,
        "predicted": predicted(server, job),
        "axes": list(job["axes"]),
    }


def verdict(grown: Share | None, within: float) -> Literal["kept", "broken", "undecided"]:
    """Say whether a percentile stayed within what it may grow, by its interval."""
    if grown is None or grown["low"] <= within < grown["high"]:
        return "undecided"
    return "kept" if grown["high"] <= within else "broken"


def _scores(ran: Sequence[CoRan]) -> list[Score]:
    """Mean absolute error of each guess, in logarithms of growth."""
    scores: list[Score] = []
    for place, model in enumerate(one["model"] for one in ran[0]["predicted"]):
        errors: dict[str, float | None] = {}
        for level in ("p50", "p99"):
            pairs = [(one["latency"][level], one["predicted"][place][level]) for one in ran]
            off = [
                abs(np.log1p(guess) - np.log1p(real["value"]))
                for real, guess in pairs
                if real is not None and guess is not None
            ]
            errors[level] = float(np.mean(off)) if off else None
        scores.append({"model": model, "p50": errors["p50"], "p99": errors["p99"]})
    if all(one["p99"] is None for one in scores):
        raise Inconclusive(
            "no percentile beside any job could be told", hint="a longer --budget, or a calmer host"
        )
    return scores
