"""Resources for connections: files, ports, memory, and the limit of the server. Too little is refused with numbers."""

from __future__ import annotations

import resource
from typing import Any

from messages import raises
from rows import each_row

from hindmost.errors import HostUnfit, UsageError
from hindmost.fleet import prepare_resources, resources
from hindmost.plan import MeasurePlan

GIB = 2**30
HOST: dict[str, Any] = {
    "open_files_limit": 20_000,
    "open_files_hard_limit": 20_000,
    "local_ports": {"first": 32_768, "last": 60_999},
    "memory_available_bytes": 8 * GIB,
}
HUGE = {"kind": "key-value", "value_bytes": 900_000}


def plan(connections: int, clients: int = 1, **more: Any) -> MeasurePlan:
    """As asked for on the command line."""
    return MeasurePlan(target="memcached", connections=connections, clients=clients, **more)


@each_row(
    ("asked", "facts", "more"),
    [
        (plan(10_000), {}, {"managed": True, "accepts": 16_384}),
        (plan(28_000, clients=2), {}, {}),  # each instance has its own files
        (plan(100_000), dict.fromkeys(HOST), {}),  # nothing is known of the host: nothing is refused
    ],
)
def test_what_fits_is_let_through(asked, facts, more):
    prepare_resources(asked, "memcached", facts={**HOST, **facts}, **more)


@each_row(
    ("asked", "facts", "more", "error", "code", "fields"),
    [
        (plan(20_000), {}, {}, HostUnfit, "open-files", {"need": 20_065, "most": 20_000}),
        (plan(20_000, clients=4), {}, {"managed": True}, HostUnfit, "open-files", {"need": 20_064}),
        (plan(28_233, clients=4), {}, {}, HostUnfit, "ports", {"need": 28_233, "have": 28_232}),
        (plan(10_000, workload=HUGE), {}, {}, HostUnfit, "little-memory", {"most": 4 * GIB}),
        (
            plan(100),
            {"memory_available_bytes": GIB // 16},
            {},
            HostUnfit,
            "little-memory",
            {"have": GIB // 16},
        ),
        (plan(16_000), {}, {"accepts": 15_999}, UsageError, "full", {"need": 16_000, "most": 15_999}),
    ],
)
def test_what_does_not_fit_is_refused_with_numbers(asked, facts, more, error, code, fields):
    with raises(error, code, **fields) as caught:
        prepare_resources(asked, "memcached", facts={**HOST, **facts}, **more)
    assert caught.value.fields["need"] > caught.value.fields.get("most", 0)


def test_our_own_limit_is_raised_only_where_it_must(monkeypatch):
    raised: list[tuple[int, int]] = []
    monkeypatch.setattr(resources.resource, "setrlimit", lambda _, limits: raised.append(limits))
    usual = {**HOST, "open_files_limit": 1024, "open_files_hard_limit": 4096}
    prepare_resources(plan(500), "memcached", facts=usual)
    assert raised == []
    prepare_resources(plan(2_000), "memcached", facts=usual)
    prepare_resources(plan(2_000), "memcached", facts={**usual, "open_files_hard_limit": None})
    assert raised == [(4096, 4096), (resource.RLIM_INFINITY, resource.RLIM_INFINITY)]
