"""After a run: what it stored on a server that goes on serving others is removed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hindmost import _engine
from hindmost.plan import MeasurePlan
from hindmost.targets import Attached, Managed


def leaves_keys(plan: MeasurePlan, target: Attached | Managed) -> bool:
    """Whether a run stores keys on a server that outlives it."""
    stores = plan.workload["kind"] == "key-value"
    changes = plan.workload.get("preload") is not False or plan.workload.get("get_ratio", 0.9) < 1.0
    return stores and changes and not target.managed


def is_cleaned_up(plan: MeasurePlan, target: Attached | Managed) -> bool:
    """Whether they are removed after it: as the workload says, else if no others' can be among them.

    Without ``preload`` a run stores some of its keys and cannot tell which of them it found; under
    ``key_names`` others may have stored before.
    """
    if not leaves_keys(plan, target):
        return False
    asked: bool | None = plan.workload.get("clean_up")
    stored_all = plan.workload.get("preload") is not False and plan.workload.get("key_names") is None
    return stored_all if asked is None else asked


@contextmanager
def cleaned_up(plan: str) -> Iterator[dict[str, Any]]:
    """Remove all keys of an engine plan when the block ends, however it ends.

    Yields
    ------
    dict
        For ``run.json``, filled in at the end: ``clean_up``, with ``removed`` keys, or why there may be some
        ``left``. A run that ended well counts without it.
    """
    told: dict[str, Any] = {}
    try:
        yield told
    finally:
        try:
            told["clean_up"] = {"removed": _engine.clean_up(plan)}
        except _engine.EngineError as error:
            told["clean_up"] = {"left": str(error.args[1])}
