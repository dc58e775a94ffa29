"""Whether server and clients have processors apart: where they have not, each waits while the other works."""

from __future__ import annotations

from collections.abc import Iterable

from hindmost.plan import MeasurePlan

A_PROCESSOR_EACH = (
    "a processor for each: a machine (or cpuset) with two, then `--server-cpus` and `--client-cpus`, or"
    " taskset for a server that runs already; or a lower `--rate`"
)
"""What helps."""


def apart(plan: MeasurePlan, server: Iterable[int]) -> bool:
    """Whether every client is bound to processors on which the server does not run.

    >>> plan = MeasurePlan(target="memcached", client_cpus=((1,), (2,)))
    >>> apart(plan, [0]), apart(plan, [0, 2]), apart(MeasurePlan(target="memcached"), [0])
    (True, False, False)
    """
    servers = set(server)
    return bool(plan.client_cpus) and all(one and not servers & set(one) for one in plan.client_cpus)


def shared_cpus(plan: MeasurePlan, server: Iterable[int]) -> list[int]:
    """Processors that were given to the server and to a client.

    >>> shared_cpus(MeasurePlan(target="memcached", client_cpus=((0,), (1,))), [0])
    [0]
    """
    return sorted(set(server) & {cpu for cpus in plan.client_cpus for cpu in cpus})


def cpus_named(cpus: list[int]) -> str:
    """Processors in a sentence.

    >>> cpus_named([0]), cpus_named([0, 2])
    ('CPU 0', 'CPUs 0, 2')
    """
    return f"CPU{'' if len(cpus) == 1 else 's'} {', '.join(map(str, cpus))}"
