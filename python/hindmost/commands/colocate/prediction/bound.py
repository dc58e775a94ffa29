"""Bounds that two profiles guarantee, without a model learned from pairs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost.commands.colocate.documents.profiles import PROFILE_SCHEMA
from hindmost.commands.colocate.prediction.tail import MOST_LOAD, allowed_loss
from hindmost.core.documents import read_text
from hindmost.core.notes import Note
from hindmost.core.store.reading import revive
from hindmost.errors import UsageError

SIGNIFICANT = 0.01
"""Share from which a bound of an interval counts as use of a resource."""
NOISY = 0.5
"""Half the width of an interval of losses that spans everything from nothing to all."""
PRESENCE = "presence"
"""Name of the inert companion in the list of stressors without a figure."""
_MODEL = ("vendor", "family", "model")


def read_card(text: str, where: str) -> dict[str, Any]:
    """Read a profile.

    Raises
    ------
    UsageError
        The text is not a profile.
    """
    try:
        card = revive(json.loads(text))
        schema = card["schema"]
    except (ValueError, KeyError, TypeError):
        raise UsageError(
            "bad-file",
            f"{where} is not a profile",
            hint="hindmost colocate profile --out FILE",
            path=where,
            value=None,
            need=PROFILE_SCHEMA,
        ) from None
    if schema != PROFILE_SCHEMA:
        raise UsageError(
            "bad-file",
            f"{where} is not a profile, but a document {schema}",
            hint="hindmost colocate profile --out FILE",
            path=where,
            value=schema,
            need=PROFILE_SCHEMA,
        )
    return card


def load_card(path: Path) -> dict[str, Any]:
    """Read a profile from a file.

    Raises
    ------
    UsageError
        The file cannot be read, or is not a profile.
    """
    try:
        text = read_text(path)
    except OSError as error:
        raise UsageError(
            "no-such-file" if isinstance(error, FileNotFoundError) else "unreadable-file",
            f"{path} cannot be read: {error.strerror}",
            hint=f"ls -l {path}",
            path=str(path),
        ) from None
    return read_card(text, str(path))


def in_common(job: Mapping[str, Any], server: Mapping[str, Any]) -> str:
    """Describe which resources both programs use on their own machines; this holds on other machines too.

    Examples
    --------
    >>> share = {"value": 0.1, "low": 0.05, "high": 0.2}
    >>> card = {"axes": [{"stressor": "l3", "sensitivity": share, "contentiousness": share}]}
    >>> in_common({**card, "name": "zstd"}, {**card, "name": "kv"})
    'zstd uses l3, which slows kv'
    """
    both = shared_axes(job, server)
    if both:
        return f"{job['name']} uses {', '.join(both)}, which slows {server['name']}"
    return f"{job['name']} uses no resource whose use by others slows {server['name']}"


def shared_axes(job: Mapping[str, Any], server: Mapping[str, Any]) -> list[str]:
    """Return the stressors whose resource the job uses and to which the server is sensitive."""
    taken = {
        axis["stressor"]
        for axis in job["axes"]
        if axis["contentiousness"] and axis["contentiousness"]["low"] > SIGNIFICANT
    }
    return [
        axis["stressor"]
        for axis in server["axes"]
        if axis["sensitivity"] and axis["sensitivity"]["low"] > SIGNIFICANT and axis["stressor"] in taken
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


def bounds_of(job: Mapping[str, Any], server: Mapping[str, Any]) -> dict[str, Bound]:
    """Bound the loss of a server next to a job: ``rate``, and ``p50`` and ``p99`` if its profile has them.

    Losses add up as in Eq 3.3 with coefficients of 1, at the upper bounds of all intervals. The loss to a
    single resource counts in full, because a stressor may lose less to the job than the server does. The loss
    to an inert companion is added.
    """

    def rate(share: Mapping[str, float]) -> Mapping[str, float]:
        return share

    bounds = {
        "rate": _bound(
            job, [(one["stressor"], one["sensitivity"]) for one in server["axes"]], server["presence"], rate
        )
    }
    if "loaded" in server:
        busy = min(max(server["loaded"]["busy"], 0.0), MOST_LOAD)

        def loss_from_growth(growth: Mapping[str, float]) -> Mapping[str, float]:
            return {key: allowed_loss(growth[key], busy) for key in ("value", "low", "high")}

        for name in ("p50", "p99"):
            costs = [(one["stressor"], one.get("latency", {}).get(name)) for one in server["axes"]]
            bounds[name] = _bound(job, costs, server["loaded"]["presence"][name], loss_from_growth)
    return bounds


def _bound(
    job: Mapping[str, Any],
    costs: Sequence[tuple[str, Mapping[str, float] | None]],
    presence: Mapping[str, float] | None,
    loss: Callable[[Mapping[str, float]], Mapping[str, float]],
) -> Bound:
    taken = {axis["stressor"]: axis["contentiousness"] for axis in job["axes"]}
    missing = [] if presence is not None else [PRESENCE]
    alone = {"value": 0.0, "low": 0.0, "high": 0.0} if presence is None else loss(presence)
    expected, total, largest, stressor = 0.0, 0.0, 0.0, None
    for name, cost in costs:
        con = taken.get(name)
        if con is None or cost is None:
            missing.append(name)
            continue
        lost = loss(cost)
        expected += min(1.0, max(0.0, con["value"])) * max(0.0, lost["value"])
        if con["high"] > SIGNIFICANT and lost["high"] > largest:
            largest, stressor = lost["high"], name
        total += min(1.0, max(0.0, con["high"])) * max(0.0, lost["high"])
    # If presence may cost nothing, its value counts, because its noise is the noise of the whole profile.
    worst = max(total, largest) + max(0.0, alone["high"] if alone["low"] > 0 else alone["value"])
    return Bound(
        min(1.0, expected + max(0.0, alone["value"])), min(1.0, worst), stressor, tuple(missing), alone["low"]
    )


def judge_pair(
    job: Mapping[str, Any], server: Mapping[str, Any], *, within: float, load: float
) -> dict[str, Any]:
    """Decide whether ``job`` may run next to ``server`` if a percentile of the server may grow by ``within``.

    Yes, if the largest possible loss (`bounds_of`), of rate and of each percentile in the server's profile,
    is allowed. No, if the presence of any companion costs more than allowed. Everything else cannot be
    decided from two profiles.

    Parameters
    ----------
    job, server : dict
        Profiles.
    within : float
        Largest tolerable growth of the percentile, as a share.
    load : float
        Load of the server alone, between 0 and 1.

    Returns
    -------
    dict
        ``measure`` names the deciding measure: ``rate``, ``p50`` or ``p99``. ``expected`` is None if a
        profile's intervals span the whole scale.

    Raises
    ------
    UsageError
        The profiles come from different kinds of processors.
    """
    mine, other = (tuple(card["processor"][key] for key in _MODEL) for card in (job, server))
    if mine != other:
        names = [card["processor"]["name"] for card in (job, server)]
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
        card["name"]
        for card, key in ((job, "contentiousness"), (server, "sensitivity"))
        if card["noise"] > NOISY
        or any((share := axis[key]) and share["high"] - share["low"] > 2 * NOISY for axis in card["axes"])
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
    differ = job["placement"] != server["placement"]
    if differ:
        notes.append(
            Note(
                "different-placements",
                f"the CPUs were {job['placement']} for one profile and {server['placement']} for the other",
                {"job": job["placement"], "server": server["placement"]},
            )
        )
    if any(one.presence > allowed for one in bounds.values()):
        answer = "no"
    else:
        answer = "yes" if bound.worst <= allowed and not (missing or noisy or differ) else "unknown"
    if answer == "yes" and "loaded" not in server:
        text = (
            f"the profile of {server['name']} has no latency; its percentiles follow from its rate (Eq 3.6)"
        )
        notes.append(Note("no-server-latency", text))
    return {
        "job": job["name"],
        "server": server["name"],
        "answer": answer,
        "allowed": allowed,
        "expected": None if noisy else bound.expected,
        "worst": bound.worst,
        "measure": measure,
        "stressor": bound.stressor,
        "within": within,
        "load": load,
        "notes": [one.document() for one in notes],
    }
