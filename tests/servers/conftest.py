"""What tests of whole programs share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from measuring import CALIBRATED_SOON, CLIENTS_SLEEP, LOOKED_AT_ONCE, NOTHING_REMADE, Haste, Household
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

Haste.first = NOTHING_REMADE + LOOKED_AT_ONCE + CALIBRATED_SOON + CLIENTS_SLEEP

TIMEOUT_S = 400
"""Whole programs on a busy host: what hangs is found by shorter patience within the tests."""

TOGETHER = {
    "attribution": ("test_attribute.py",),
    "search": ("test_find_rate.py",),
    "verification": ("test_synth_verify.py",),
    "two machines": ("test_fleet.py",),
    "a set machine": ("test_fleet_knobs.py",),
    "one run": (
        "dies_in_mid_run",
        "load_instance_that_dies",
        "interrupted_study_keeps",
        "kill_9_leaves_no_process_and_the_study",
        "two_at_a_time",
    ),
    "accept queues": ("unreachable_host", "short_queue_drops", "nothing_of_ours_wakes", "not_in_the_way"),
    "cpu_dma_latency": ("test_knobs_kills.py", "wake_ups_are_limited"),
}
"""By parts of their names, those that share a study, or read and move what the host has once only."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All but those that name their own."""
    for item in items:
        if item.path.parent == Path(__file__).parent and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TIMEOUT_S))


class InGroups(LoadScopeScheduling):
    """Tests in any order on any worker, but those of one group on one, one after the other."""

    def _split_scope(self, nodeid: str) -> str:
        groups = (group for group, names in TOGETHER.items() if any(name in nodeid for name in names))
        return next(groups, nodeid)


@pytest.hookimpl
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> InGroups | None:
    """Instead of xdist's own groups, whose marks its release 3.8 does not see under pytest 9."""
    return InGroups(config, log) if config.getvalue("dist") == "loadgroup" else None


@pytest.fixture
def household() -> Iterator[Household]:
    """Whoever asks for it ends with nothing left behind."""
    one = Household()
    yield one
    try:
        one.assert_empty()
    finally:
        one.close()
