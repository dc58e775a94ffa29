"""Removal of the keys that a run stored on a server that keeps serving others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hindmost import _engine
from hindmost.core.plan import MeasurePlan
from hindmost.core.store.manifest import CleanUp
from hindmost.core.targets import Attached, Managed


def leaves_keys(plan: MeasurePlan, target: Attached | Managed) -> bool:
    """Whether a run stores keys on a server that outlives it."""
    stores = plan.workload["kind"] == "key-value"
    changes = plan.workload.get("preload") is not False or plan.workload.get("get_ratio", 0.9) < 1.0
    return stores and changes and not target.managed


def is_cleaned_up(plan: MeasurePlan, target: Attached | Managed) -> bool:
    """Whether the run's keys are removed: as the workload says, else only if no other keys can be among them.

    Without ``preload`` a run stores only some of its keys and cannot tell which existed before; under
    ``key_names`` others may have stored keys.
    """
    if not leaves_keys(plan, target):
        return False
    requested: bool | None = plan.workload.get("clean_up")
    stored_all = plan.workload.get("preload") is not False and plan.workload.get("key_names") is None
    return stored_all if requested is None else requested


@contextmanager
def remove_keys(plan: str) -> Iterator[dict[str, Any]]:
    """Remove all keys of an engine plan when the block ends, also after an error.

    Yields
    ------
    dict
        For ``run.json``, filled in at the end: ``clean_up`` with the number of keys ``removed``, or the error
        that may have ``left`` some. A run whose clean-up failed still counts.
    """
    record: dict[str, Any] = {}
    try:
        yield record
    finally:
        try:
            record["clean_up"] = CleanUp(removed=_engine.clean_up(plan))
        except _engine.EngineError as error:
            record["clean_up"] = CleanUp(left=str(error.args[1]))
