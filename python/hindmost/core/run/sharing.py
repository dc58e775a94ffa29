"""Whether server and clients have separate CPUs. If they share one, each waits while the other works."""

from __future__ import annotations

from collections.abc import Iterable

from hindmost.core.plan import MeasurePlan

SEPARATE_CPUS = (
    "use a CPU for each: a machine (or cpuset) with two, then `--server-cpus` and `--client-cpus`, or"
    " taskset for a server that runs already; or a lower `--rate`"
)
"""The hint."""


def apart(plan: MeasurePlan, server: Iterable[int]) -> bool:
    """Whether every client is bound to CPUs on which the server does not run.

    >>> plan = MeasurePlan(target="memcached", client_cpus=((1,), (2,)))
    >>> apart(plan, [0]), apart(plan, [0, 2]), apart(MeasurePlan(target="memcached"), [0])
    (True, False, False)
    """
    servers = set(server)
    return bool(plan.client_cpus) and all(cpus and not servers & set(cpus) for cpus in plan.client_cpus)


def shared_cpus(plan: MeasurePlan, server: Iterable[int]) -> list[int]:
    """Return the CPUs assigned to the server and to a client.

    >>> shared_cpus(MeasurePlan(target="memcached", client_cpus=((0,), (1,))), [0])
    [0]
    """
    return sorted(set(server) & {cpu for cpus in plan.client_cpus for cpu in cpus})


def format_cpus(cpus: list[int]) -> str:
    """Name CPUs in a sentence.

    >>> format_cpus([0]), format_cpus([0, 2])
    ('CPU 0', 'CPUs 0, 2')
    """
    return f"CPU{'' if len(cpus) == 1 else 's'} {', '.join(map(str, cpus))}"
