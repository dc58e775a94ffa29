"""Resources for connections: files, ports, memory, and the server's limit. A shortage is refused with numbers."""

from __future__ import annotations

import resource
from typing import Any

from messages import raises
from rows import each_row

from hindmost.core.fleet import prepare_resources, resources
from hindmost.core.plan import MeasurePlan
from hindmost.errors import HostUnfit, UsageError

GIB = 2**30
HOST: dict[str, Any] = {
    "open_files_limit": 20_000,
    "open_files_hard_limit": 20_000,
    "local_ports": {"first": 32_768, "last": 60_999},
    "memory_available_bytes": 8 * GIB,
}
HUGE = {"kind": "key-value", "value_bytes": 900_000}


def make_plan(connections: int, clients: int = 1, **more: Any) -> MeasurePlan:
    """Return a plan as from the command line."""
    return MeasurePlan(target="memcached", connections=connections, clients=clients, **more)


@each_row(
    ("plan", "facts", "more"),
    [
        (make_plan(10_000), {}, {"managed": True, "accepts": 16_384}),
        (make_plan(28_000, clients=2), {}, {}),  # each client has its own files
        (make_plan(100_000), dict.fromkeys(HOST), {}),  # unknown facts of the host refuse nothing
    ],
)
def test_sufficient_resources_are_accepted(plan, facts, more):
    prepare_resources(plan, "memcached", facts={**HOST, **facts}, **more)


@each_row(
    ("plan", "facts", "more", "error", "code", "fields"),
    [
        (make_plan(20_000), {}, {}, HostUnfit, "open-files", {"need": 20_065, "most": 20_000}),
        (make_plan(20_000, clients=4), {}, {"managed": True}, HostUnfit, "open-files", {"need": 20_064}),
        (make_plan(28_233, clients=4), {}, {}, HostUnfit, "ports", {"need": 28_233, "have": 28_232}),
        (make_plan(10_000, workload=HUGE), {}, {}, HostUnfit, "little-memory", {"most": 4 * GIB}),
        (
            make_plan(100),
            {"memory_available_bytes": GIB // 16},
            {},
            HostUnfit,
            "little-memory",
            {"have": GIB // 16},
        ),
        (make_plan(16_000), {}, {"accepts": 15_999}, UsageError, "full", {"need": 16_000, "most": 15_999}),
    ],
)
def test_insufficient_resources_are_refused_with_numbers(plan, facts, more, error, code, fields):
    with raises(error, code, **fields) as caught:
        prepare_resources(plan, "memcached", facts={**HOST, **facts}, **more)
    assert caught.value.fields["need"] > caught.value.fields.get("most", 0)


def test_the_limit_of_open_files_is_raised_only_if_necessary(monkeypatch):
    limits_set: list[tuple[int, int]] = []
    monkeypatch.setattr(resources.resource, "setrlimit", lambda _, limits: limits_set.append(limits))
    facts = {**HOST, "open_files_limit": 1024, "open_files_hard_limit": 4096}
    prepare_resources(make_plan(500), "memcached", facts=facts)
    assert limits_set == []
    prepare_resources(make_plan(2_000), "memcached", facts=facts)
    prepare_resources(make_plan(2_000), "memcached", facts={**facts, "open_files_hard_limit": None})
    assert limits_set == [(4096, 4096), (resource.RLIM_INFINITY, resource.RLIM_INFINITY)]
