"""Decisions on which jobs may run next to a server, and which is best, from profiles and measured pairs.

There are three sources, most reliable first: a measurement of the pair itself; a model learned from other
pairs, with a margin that limits the rate of violations; and the bound from the two profiles.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from hindmost.commands.colocate.documents.pairs import NEIGHBOURS_SCHEMA, PAIRS_SCHEMA, Answer, Neighbours
from hindmost.commands.colocate.prediction.bound import bounds_of, judge_pair
from hindmost.commands.colocate.prediction.models import default_model
from hindmost.commands.colocate.prediction.profiles import profiles_from_cards
from hindmost.commands.colocate.prediction.promise import learn_admission
from hindmost.core.notes import Note
from hindmost.core.store.reading import read_document
from hindmost.errors import UsageError

LEAST_KNOWN = 6
"""Programs that a model needs in order to learn from pairs, and its margin from programs left out."""
_ORDER = ("yes", "unknown", "no")


def load_pairs(path: Path) -> dict[str, Any]:
    """Read a document of ``hindmost colocate pairs``.

    Raises
    ------
    UsageError
        The file cannot be read, or is no such document.
    """
    try:
        found = read_document(path)
        schema = found["schema"]
    except OSError as error:
        raise UsageError(
            "no-such-file" if isinstance(error, FileNotFoundError) else "unreadable-file",
            f"{path} cannot be read: {error.strerror}",
            hint=f"ls -l {path}",
            path=str(path),
        ) from None
    except (ValueError, KeyError, TypeError):
        schema = None
    if schema != PAIRS_SCHEMA:
        raise UsageError(
            "bad-file",
            f"{path} is not a document {PAIRS_SCHEMA}" + (f", but {schema}" if schema else ""),
            hint="hindmost colocate pairs PROFILE... --out FILE",
            path=str(path),
            value=schema,
            need=PAIRS_SCHEMA,
        )
    return found


def decide(
    job: Mapping[str, Any],
    server: Mapping[str, Any],
    *,
    within: float,
    load: float,
    pairs: Mapping[str, Any] | None = None,
    violations: float = 0.05,
) -> Answer:
    """Decide whether a job may run next to a server.

    Parameters
    ----------
    job, server : dict
        Profiles.
    within, load : float
        Largest tolerable growth of the server's percentiles, and its load.
    pairs : dict, optional
        Document ``hindmost.pairs/2`` from the same kind of processor.
    violations : float
        Share of the jobs admitted by a model that may lose more than allowed.

    Raises
    ------
    UsageError
        The profiles, or the pairs, come from different processors.
    """
    bound = judge_pair(job, server, within=within, load=load)
    answer: Answer = {
        "job": bound["job"],
        "server": bound["server"],
        "answer": bound["answer"],
        "by": "bound",
        "allowed": bound["allowed"],
        "expected": bound["expected"],
        "worst": bound["worst"],
        "measure": bound["measure"],
        "stressor": bound["stressor"],
        "within": within,
        "load": load,
        "violations": None,
        "least_rate": None,
        "notes": bound["notes"],
    }
    if pairs is None:
        return answer
    if pairs["processor"] != server["processor"]:
        raise UsageError(
            "other-processor",
            f"the pairs were measured on {pairs['processor']['name']}, the profiles on"
            f" {server['processor']['name']}",
            hint="measure pairs and profiles on the same kind of machine",
            value=pairs["processor"]["name"],
            need=server["processor"]["name"],
        )
    decision = _decide_by_pair(answer, pairs) or _decide_by_model(answer, job, server, pairs, violations)
    latency = [one.worst for name, one in bounds_of(job, server).items() if name != "rate"]
    if decision["answer"] == "yes" and any(worst > decision["allowed"] for worst in latency):
        # Pairs measure the loss of rate, not the growth of a percentile.
        return {**decision, "answer": "unknown", "by": "bound"}
    return decision


def rank_jobs(
    server: Mapping[str, Any],
    jobs: Sequence[Mapping[str, Any]],
    *,
    within: float,
    load: float,
    pairs: Mapping[str, Any] | None = None,
    violations: float = 0.05,
) -> Neighbours:
    """Rank jobs as neighbours of a server: by answer, then by expected loss, then by largest loss.

    Jobs with unknown loss come last within an answer.
    """
    answers = [
        decide(job, server, within=within, load=load, pairs=pairs, violations=violations) for job in jobs
    ]
    answers.sort(key=_rank)
    return {"schema": NEIGHBOURS_SCHEMA, "server": str(server["name"]), "jobs": answers}


def _rank(one: Answer) -> tuple[int, float, float]:
    expected = one["expected"]
    return _ORDER.index(one["answer"]), math.inf if expected is None else expected, one["worst"]


def _decide_by_pair(answer: Answer, pairs: Mapping[str, Any]) -> Answer | None:
    """Decide by the measured loss of the pair (95 % interval); None if the pair was not measured."""
    names = pairs["programs"]
    if answer["job"] not in names or answer["server"] not in names:
        return None
    lost = pairs["lost"][names.index(answer["server"])][names.index(answer["job"])]
    if lost is None:
        return None
    allowed = answer["allowed"]
    decision = "yes" if lost["high"] <= allowed else "no" if lost["low"] > allowed else "unknown"
    return cast("Answer", {**answer, "answer": decision, "by": "measured", "expected": lost["value"]})


def _decide_by_model(
    answer: Answer,
    job: Mapping[str, Any],
    server: Mapping[str, Any],
    pairs: Mapping[str, Any],
    violations: float,
) -> Answer:
    names = list(pairs["programs"])
    if len(names) < LEAST_KNOWN:
        note = Note(
            "few-programs",
            f"the pairs of {len(names)} programs are too few to learn from; {LEAST_KNOWN} are needed",
            {"have": len(names), "need": LEAST_KNOWN},
        )
        return {**answer, "notes": [*answer["notes"], note.document()]}
    cards = [*pairs["cards"]]
    for card in (server, job):
        if card["name"] not in names:
            cards.append(card)
            names.append(str(card["name"]))
    profiles = profiles_from_cards(cards)
    lost = np.full((len(names), len(names)), np.nan)
    known = np.arange(len(pairs["programs"]))
    lost[np.ix_(known, known)] = [
        [np.nan if one is None else one["value"] for one in row] for row in pairs["lost"]
    ]
    rule = learn_admission(default_model, profiles, known, lost, limit=answer["allowed"], rate=violations)
    pair = (np.array([names.index(answer["server"])]), np.array([names.index(answer["job"])]))
    predicted = float(rule.model.predict(profiles, *pair)[0])
    notes = list(answer["notes"])
    if rule.least_rate > violations:
        notes.append(
            Note(
                "high-violation-rate",
                f"pairs of {len(known)} programs cannot promise fewer than {rule.least_rate:.0%} violations;"
                " the answer is the bound from the two profiles",
                {"least": rule.least_rate, "value": violations, "have": len(known)},
            ).document()
        )
        return {
            **answer,
            "expected": predicted,
            "violations": violations,
            "least_rate": rule.least_rate,
            "notes": notes,
        }
    return {
        **answer,
        "answer": rule.answer(predicted),
        "by": "model",
        "expected": predicted,
        "violations": violations,
        "least_rate": rule.least_rate,
        "notes": notes,
    }
