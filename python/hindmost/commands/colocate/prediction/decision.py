"""Decisions on which jobs may run next to a server, and which is best, from profiles and what was measured.

There are four sources, most reliable first: supervised windows of the pair; a measurement of the pair in
isolation; a model learned from other pairs, with a margin that limits the rate of violations; and the bound
from the two profiles.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np
from msgspec.structs import replace

from hindmost.commands.colocate.documents.pairs import NEIGHBOURS_SCHEMA, Answer, Neighbours
from hindmost.commands.colocate.documents.profiles import Evidence
from hindmost.commands.colocate.prediction.bound import bounds_of, judge_pair
from hindmost.commands.colocate.prediction.models import default_model
from hindmost.commands.colocate.prediction.observation import Observations, judge_observed
from hindmost.commands.colocate.prediction.profiles import profiles_from_cards, values_of
from hindmost.commands.colocate.prediction.promise import learn_admission
from hindmost.core.notes import Note
from hindmost.errors import UsageError

if TYPE_CHECKING:
    from hindmost.commands.colocate.documents.pairs import Pairs
    from hindmost.commands.colocate.documents.profiles import Profile

LEAST_KNOWN = 6
"""Programs that a model needs in order to learn from pairs, and its margin from programs left out."""
_ORDER = ("yes", "unknown", "no")


class Sources(TypedDict, total=False):
    """What decides besides two profiles: parameters of `decide`."""

    pairs: Pairs | None
    violations: float
    observations: Observations | None


def decide(
    job: Profile,
    server: Profile,
    *,
    within: float,
    load: float,
    pairs: Pairs | None = None,
    violations: float = 0.05,
    observations: Observations | None = None,
) -> Answer:
    """Decide whether a job may run next to a server.

    Parameters
    ----------
    job, server : Profile
    within, load : float
        Largest tolerable growth of the server's percentiles, and its load.
    pairs : Pairs, optional
        Measured on the same kind of processor.
    violations : float
        Share of the jobs admitted by a model that may lose more than allowed, and of supervised windows that
        may break the promise.
    observations : Observations, optional
        Supervised windows of this server.

    Raises
    ------
    UsageError
        The profiles, or the pairs, come from different processors.
    """
    answer = judge_pair(job, server, within=within, load=load)
    if pairs is not None:
        answer = _decide_by_pairs(answer, job, server, pairs, violations)
    if observations is not None:
        answer = judge_observed(answer, job, server, observations, violations)
    return answer


def _decide_by_pairs(
    answer: Answer, job: Profile, server: Profile, pairs: Pairs, violations: float
) -> Answer:
    if pairs.processor != server.processor:
        raise UsageError(
            "other-processor",
            f"the pairs were measured on {pairs.processor.name}, the profiles on {server.processor.name}",
            hint="measure pairs and profiles on the same kind of machine",
            value=pairs.processor.name,
            need=server.processor.name,
        )
    decision = _decide_by_pair(answer, pairs) or _decide_by_model(answer, job, server, pairs, violations)
    latency = [one.worst for name, one in bounds_of(job, server).items() if name != "rate"]
    if decision.answer == "yes" and any(worst > decision.allowed for worst in latency):
        # Pairs measure the loss of rate, not the growth of a percentile.
        return replace(decision, answer="unknown", by="bound", evidence=answer.evidence)
    return decision


def rank_jobs(
    server: Profile,
    jobs: Sequence[Profile],
    *,
    within: float,
    load: float,
    **sources: Unpack[Sources],
) -> Neighbours:
    """Rank jobs as neighbours of a server: by answer, then by expected loss, then by largest loss.

    Jobs with unknown loss come last within an answer. ``sources``: as in `decide`.
    """
    answers = [decide(job, server, within=within, load=load, **sources) for job in jobs]
    return Neighbours(schema=NEIGHBOURS_SCHEMA, server=server.name, jobs=sorted(answers, key=_rank))


def _rank(one: Answer) -> tuple[int, float, float]:
    return _ORDER.index(one.answer), math.inf if one.expected is None else one.expected, one.worst


def _decide_by_pair(answer: Answer, pairs: Pairs) -> Answer | None:
    """Decide by the measured loss of the pair (95 % interval); None if the pair was not measured."""
    names = pairs.programs
    if answer.job not in names or answer.server not in names:
        return None
    lost = pairs.lost[names.index(answer.server)][names.index(answer.job)]
    if lost is None:
        return None
    decision = "yes" if lost.high <= answer.allowed else "no" if lost.low > answer.allowed else "unknown"
    evidence = Evidence(pairs=1, supervised=None)
    return replace(answer, answer=decision, by="measured", evidence=evidence, expected=lost.value)


def _decide_by_model(
    answer: Answer, job: Profile, server: Profile, pairs: Pairs, violations: float
) -> Answer:
    names = list(pairs.programs)
    if len(names) < LEAST_KNOWN:
        note = Note(
            "few-programs",
            f"the pairs of {len(names)} programs are too few to learn from; {LEAST_KNOWN} are needed",
            {"have": len(names), "need": LEAST_KNOWN},
        )
        return replace(answer, notes=[*answer.notes, note.document()])
    cards = list(pairs.cards)
    for card in (server, job):
        if card.name not in names:
            cards.append(card)
            names.append(card.name)
    profiles = profiles_from_cards(cards)
    lost = np.full((len(names), len(names)), np.nan)
    known = np.arange(len(pairs.programs))
    lost[np.ix_(known, known)] = values_of(pairs.lost)
    rule = learn_admission(default_model, profiles, known, lost, limit=answer.allowed, rate=violations)
    pair = (np.array([names.index(answer.server)]), np.array([names.index(answer.job)]))
    predicted = float(rule.model.predict(profiles, *pair)[0])
    found = replace(answer, expected=predicted, violations=violations, least_rate=rule.least_rate)
    if rule.least_rate > violations:
        note = Note(
            "high-violation-rate",
            f"pairs of {len(known)} programs cannot promise fewer than {rule.least_rate:.0%} violations;"
            " the answer is the bound from the two profiles",
            {"least": rule.least_rate, "value": violations, "have": len(known)},
        )
        return replace(found, notes=[*answer.notes, note.document()])
    evidence = Evidence(pairs=int(np.isfinite(lost).sum()), supervised=None)
    return replace(found, answer=rule.answer(predicted), by="model", evidence=evidence)
