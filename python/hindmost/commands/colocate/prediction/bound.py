"""Bounds that two profiles guarantee, without a model learned from pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hindmost.commands.colocate.documents.pairs import Answer
from hindmost.commands.colocate.documents.profiles import Evidence
from hindmost.commands.colocate.prediction.tail import MOST_LOAD, allowed_loss
from hindmost.core.notes import Note
from hindmost.errors import UsageError

if TYPE_CHECKING:
    from msgspec import UnsetType

    from hindmost.commands.colocate.documents.profiles import Growth, Profile, Share

SIGNIFICANT = 0.01
"""Share from which a bound of an interval counts as use of a resource."""
NOISY = 0.5
"""Half the width of an interval of losses that spans everything from nothing to all."""
PRESENCE = "presence"
"""Name of the inert companion in the list of stressors without a figure."""
Measure = Literal["rate", "p50", "p99"]


def in_common(job: Profile, server: Profile) -> str:
    """Describe which resources both programs use on their own machines; this holds on other machines too."""
    if both := shared_axes(job, server):
        return f"{job.name} uses {', '.join(both)}, which slows {server.name}"
    return f"{job.name} uses no resource whose use by others slows {server.name}"


def shared_axes(job: Profile, server: Profile) -> list[str]:
    """Return the stressors whose resource the job uses and to which the server is sensitive."""
    taken = {
        axis.stressor
        for axis in job.axes
        if axis.contentiousness is not None and axis.contentiousness.low > SIGNIFICANT
    }
    return [
        axis.stressor
        for axis in server.axes
        if axis.sensitivity is not None and axis.sensitivity.low > SIGNIFICANT and axis.stressor in taken
    ]


@dataclass(frozen=True, slots=True)
class Bound:
    """Loss of a server by one measure: its rate, or a percentile of its latency.

    Attributes
    ----------
    expected, worst : float
        Share of its rate that the server loses next to the job. The growth of a percentile is converted to
        the loss that would cause it in the queue of Eq 3.6.
    stressor : str or None
        The stressor with the largest possible cost.
    missing : tuple of str
        Stressors without a figure.
    presence : float
        Share that the server certainly loses to any companion, even an inert one.
    """

    expected: float
    worst: float
    stressor: str | None
    missing: tuple[str, ...]
    presence: float


def bounds_of(job: Profile, server: Profile) -> dict[Measure, Bound]:
    """Bound the loss of a server next to a job: ``rate``, and ``p50`` and ``p99`` if its profile has them.

    Losses add up as in Eq 3.3 with coefficients of 1, at the upper bounds of all intervals. The loss to a
    single resource counts in full, because a stressor may lose less to the job than the server does. The loss
    to an inert companion is added.
    """
    rates = [(axis.stressor, axis.sensitivity) for axis in server.axes]
    bounds: dict[Measure, Bound] = {"rate": _bound(job, rates, server.presence)}
    if server.loaded:
        busy = min(max(server.loaded.busy, 0.0), MOST_LOAD)

        def loss(growth: Growth | UnsetType, percentile: Measure) -> Share | None:
            share: Share | None = getattr(growth, percentile) if growth else None
            return None if share is None else share.map(lambda grown: allowed_loss(grown, busy))

        percentiles: tuple[Measure, ...] = ("p50", "p99")
        for one in percentiles:
            losses = [(axis.stressor, loss(axis.latency, one)) for axis in server.axes]
            bounds[one] = _bound(job, losses, loss(server.loaded.presence, one))
    return bounds


def _bound(job: Profile, losses: Sequence[tuple[str, Share | None]], presence: Share | None) -> Bound:
    taken = {axis.stressor: axis.contentiousness for axis in job.axes}
    missing = [] if presence is not None else [PRESENCE]
    expected, total, largest, stressor = 0.0, 0.0, 0.0, None
    for name, lost in losses:
        con = taken.get(name)
        if con is None or lost is None:
            missing.append(name)
            continue
        expected += min(1.0, max(0.0, con.value)) * max(0.0, lost.value)
        if con.high > SIGNIFICANT and lost.high > largest:
            largest, stressor = lost.high, name
        total += min(1.0, max(0.0, con.high)) * max(0.0, lost.high)
    worst, certain = max(total, largest), 0.0
    if presence is not None:
        # If presence may cost nothing, its value counts, because its noise is the noise of the whole profile.
        worst += max(0.0, presence.high if presence.low > 0 else presence.value)
        expected, certain = expected + max(0.0, presence.value), presence.low
    return Bound(min(1.0, expected), min(1.0, worst), stressor, tuple(missing), certain)


def judge_pair(job: Profile, server: Profile, *, within: float, load: float) -> Answer:
    """Decide whether ``job`` may run next to ``server`` if a percentile of the server may grow by ``within``.

    Yes, if the largest possible loss (`bounds_of`), of rate and of each percentile in the server's profile,
    is allowed. No, if the presence of any companion costs more than allowed. Everything else cannot be
    decided from two profiles.

    Parameters
    ----------
    job, server : Profile
    within : float
        Largest tolerable growth of the percentile, as a share.
    load : float
        Load of the server alone, between 0 and 1.

    Raises
    ------
    UsageError
        The profiles come from different kinds of processors.
    """
    mine, other = ((one.vendor, one.family, one.model) for one in (card.processor for card in (job, server)))
    if mine != other:
        names = [card.processor.name for card in (job, server)]
        raise UsageError(
            "other-processor",
            f"the profiles are from different processors ({names[0]} {mine}, {names[1]} {other}), so losses"
            f" on one do not predict losses on the other. What they do show: {in_common(job, server)}",
            hint="profile both on the same kind of machine",
            value=names[0],
            need=names[1],
            shared=shared_axes(job, server),
        )
    allowed = allowed_loss(within, load)
    bounds = bounds_of(job, server)
    measure, bound = max(bounds.items(), key=lambda one: one[1].worst)
    missing = list(dict.fromkeys(name for one in bounds.values() for name in one.missing))
    noisy = [
        card.name
        for card, shares in (
            (job, [axis.contentiousness for axis in job.axes]),
            (server, [axis.sensitivity for axis in server.axes]),
        )
        if card.noise > NOISY or any(one is not None and one.half_width > NOISY for one in shares)
    ]
    notes: list[Note] = []
    if missing:
        notes.append(
            Note("missing-axes", f"the profiles have no figures for {', '.join(missing)}", {"axes": missing})
        )
    if noisy:
        notes.append(
            Note(
                "noisy-profile",
                f"losses in the profile of {', '.join(noisy)} are not known to {NOISY:.0%} of the rate",
                {"names": noisy, "most": NOISY},
            )
        )
    differ = job.placement != server.placement
    if differ:
        notes.append(
            Note(
                "different-placements",
                f"the CPUs were {job.placement} for one profile and {server.placement} for the other",
                {"job": job.placement, "server": server.placement},
            )
        )
    answer: Literal["yes", "no", "unknown"] = "unknown"
    if any(one.presence > allowed for one in bounds.values()):
        answer = "no"
    elif bound.worst <= allowed and not (missing or noisy or differ):
        answer = "yes"
    if answer == "yes" and not server.loaded:
        text = f"the profile of {server.name} has no latency; its percentiles follow from its rate (Eq 3.6)"
        notes.append(Note("no-server-latency", text))
    return Answer(
        job=job.name,
        server=server.name,
        answer=answer,
        by="bound",
        evidence=Evidence(pairs=0, supervised=None),
        allowed=allowed,
        expected=None if noisy else bound.expected,
        worst=bound.worst,
        measure=measure,
        stressor=bound.stressor,
        within=within,
        load=load,
        violations=None,
        least_rate=None,
        notes=[one.document() for one in notes],
    )
