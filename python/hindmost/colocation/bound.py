"""What two cards alone can promise: bounds, without a model that has learned from pairs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hindmost.colocation.tail import allowed_loss
from hindmost.documents import read_text
from hindmost.errors import UsageError
from hindmost.notes import Note
from hindmost.store.colocation import PROFILE_SCHEMA

TOLD = 0.01
"""Share from which on a lower end of an interval counts as use of a resource."""
_MODEL = ("vendor", "family", "model")


def read_card(text: str, where: str) -> dict[str, Any]:
    """Read a profile card.

    Raises
    ------
    UsageError
        Where it is none.
    """
    try:
        card: dict[str, Any] = json.loads(text)
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
    """Read a profile card from a file.

    Raises
    ------
    UsageError
        It cannot be read, or is none.
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
    """Say which resources both use, each on its own machine: that much holds on another.

    Examples
    --------
    >>> share = {"value": 0.1, "low": 0.05, "high": 0.2}
    >>> card = {"axes": [{"ruler": "l3", "sensitivity": share, "contentiousness": share}]}
    >>> in_common({**card, "name": "zstd"}, {**card, "name": "kv"})
    'zstd uses l3, which slows kv'
    """
    both = shared_axes(job, server)
    if both:
        return f"{job['name']} uses {', '.join(both)}, which slows {server['name']}"
    return f"{job['name']} uses no resource whose use by others slows {server['name']}"


def shared_axes(job: Mapping[str, Any], server: Mapping[str, Any]) -> list[str]:
    """List the stressors whose resource the job takes and the server is sensitive to, both significantly."""
    taken = {
        axis["ruler"]
        for axis in job["axes"]
        if axis["contentiousness"] and axis["contentiousness"]["low"] > TOLD
    }
    return [
        axis["ruler"]
        for axis in server["axes"]
        if axis["sensitivity"] and axis["sensitivity"]["low"] > TOLD and axis["ruler"] in taken
    ]


def question(
    job: Mapping[str, Any], server: Mapping[str, Any], *, within: float, load: float
) -> dict[str, Any]:
    """Answer whether ``job`` may run beside ``server``, of which a percentile must stay ``within``.

    Yes where even the worst shared resource costs the server less than it may lose: the largest upper end
    of its sensitivity, over rulers that the job slows at all. No where the presence of anything costs more
    than that. All else cannot be told from two cards.

    Parameters
    ----------
    job, server : dict
        Cards.
    within : float
        Growth of the percentile.
    load : float
        Of the server, alone.

    Raises
    ------
    UsageError
        Where the cards are of different processors, or stood differently to each other.
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
    taken = {axis["ruler"]: axis["contentiousness"] for axis in job["axes"]}
    worst, ruler, unknown = 0.0, None, []
    for axis in server["axes"]:
        con, sen = taken.get(axis["ruler"]), axis["sensitivity"]
        if con is None or sen is None:
            unknown.append(axis["ruler"])
        elif con["high"] > 0.01 and sen["high"] > worst:
            worst, ruler = sen["high"], axis["ruler"]
    presence = server["presence"]
    if presence is not None and presence["low"] > allowed:
        answer = "no"
    else:
        answer = "yes" if worst <= allowed and not unknown else "unknown"
    notes: list[Note] = []
    if unknown:
        notes.append(
            Note("missing-axes", f"the profiles have no figures for {', '.join(unknown)}", {"axes": unknown})
        )
    if job["placement"] != server["placement"]:
        notes.append(
            Note(
                "different-placements",
                f"the processors were {job['placement']} for one profile and {server['placement']} for"
                " the other",
                {"job": job["placement"], "server": server["placement"]},
            )
        )
        answer = "unknown" if answer == "yes" else answer
    return {
        "job": job["name"],
        "server": server["name"],
        "answer": answer,
        "allowed": allowed,
        "worst": worst,
        "ruler": ruler,
        "within": within,
        "load": load,
        "notes": [one.document() for one in notes],
    }
