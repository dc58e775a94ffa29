"""Names that versions before 0.2 wrote into their documents and files, and what they are called now."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

SCHEMAS = {"instance": "client", "rulers": "stressors"}
"""Documents that have another name now."""
KEYS: dict[str, tuple[str, ...]] = {
    "asked": ("requested", "request"),
    "asked_per_s": ("requested_per_s",),
    "calm": ("isolated",),
    "calm_us": ("isolated_us",),
    "calm_values_us": ("isolated_values_us",),
    "came": ("received",),
    "done": ("completed",),
    "due": ("scheduled",),
    "due_dispersion": ("scheduled_dispersion",),
    "due_per_s": ("scheduled_per_s",),
    "ideal_slip_us": ("ideal_send_delay_us",),
    "instances": ("clients", "count"),
    "mind_above": ("note_above",),
    "p_twin": ("p_textbook",),
    "per_instance": ("per_client",),
    "ruler": ("stressor",),
    "ruler_per_s": ("stressor_per_s",),
    "rulers": ("stressors",),
    "set_aside": ("excluded",),
    "slip": ("send_delay",),
    "slip_us": ("send_delay_us",),
    "struck_out_below": ("ruled_out_below",),
    "taken_share": ("interference_share",),
    "theft": ("interference",),
    "thefts": ("interruptions",),
    "twin": ("replica",),
}
"""Keys of documents. A key with two names has the one that the type at its place knows."""
VALUES = {"mind": "note", "struck out": "ruled out", "as ever": "normal load"}
"""Values of fields that allow only some words."""
TAGS = {"slip": "send_delay", "ideal_slip": "ideal_send_delay", "due_gaps": "scheduled_gaps"}
"""Tags of histograms in a client's ``.hlog`` file, without the kind of request."""
COLUMNS = {"due_ns": "scheduled_ns", "done_ns": "completed_ns"}
"""Columns of Parquet files with single requests; the engine's reader knows them, too."""


def current_key(key: str, known: Collection[str]) -> str:
    """Name a document's key as this version does.

    Parameters
    ----------
    key : str
        The key in the document.
    known : collection of str
        The keys that the type at this place has.

    Examples
    --------
    >>> current_key("calm", {"isolated"}), current_key("instances", {"count"}), current_key("calm", {"calm"})
    ('isolated', 'count', 'calm')
    """
    if key in known:
        return key
    return next((name for name in KEYS.get(key, ()) if name in known), key)


def client_file(folder: Path, index: int, ending: str) -> Path:
    """Find a file of a client in a run: ``client-K.json``, or ``instance-K.json`` of an older version."""
    path, older = (folder / f"{name}-{index}.{ending}" for name in ("client", "instance"))
    return older if not path.exists() and older.exists() else path
