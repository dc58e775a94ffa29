"""Placement: the server has its own CPUs, two clients never spin on one CPU, and helpers avoid both."""

import pytest
from messages import raises
from rows import each_row

from hindmost.core.fleet import allot
from hindmost.core.fleet.cpus import free_cpus, read_cores
from hindmost.errors import UsageError


@each_row(
    ("cpus", "options", "server", "clients", "pacing"),
    [
        ([0, 1], {}, (0,), ((1,),), "spin"),
        ([0, 1, 2, 3], {}, (0, 1), ((2,),), "spin"),
        ([0, 1, 2], {}, (0,), ((1,),), "spin"),
        ([0], {}, (0,), ((0,),), "sleep"),
        ([0, 1], {"clients": 2}, (0,), ((1,), (1,)), "sleep"),
        ([0, 1, 2, 3], {"clients": 1}, (0, 1), ((2,),), "spin"),
        ([0, 1, 2, 3], {"server": [3]}, (3,), ((0,), (1,)), "spin"),
        ([0, 1], {"server": []}, (), ((0,), (1,)), "spin"),
        ([0, 1, 2, 3], {"client_cpus": [1]}, (0, 2), ((1,),), "spin"),
        ([0, 1], {"client_cpus": [0]}, (1,), ((0,),), "spin"),
        ([0, 1], {"client_cpus": [0, 1]}, (0, 1), ((0,), (1,)), "sleep"),
        ([0, 1, 2, 3], {"server": [0], "client_cpus": [2]}, (0,), ((2,),), "spin"),
        ([0, 1, 2, 3], {"server": [0, 1, 2, 3]}, (0, 1, 2, 3), ((0,), (1,), (2,), (3,)), "sleep"),
        ([0, 1, 2, 3], {"threads": 2}, (0, 1), ((2, 3),), "spin"),
        ([0, 1, 2, 3], {"server": [0], "threads": 2}, (0,), ((1, 2),), "spin"),
        ([0, 1, 2, 3], {"clients": 2, "threads": 2}, (0, 1), ((2, 3), (2, 3)), "sleep"),
        ([4, 9], {}, (4,), ((9,),), "spin"),
        ([1, 0, 1], {}, (0,), ((1,),), "spin"),
    ],
)
def test_cpus_are_assigned(cpus, options, server, clients, pacing):
    allotment = allot(cpus, **options)
    assert (allotment.server, allotment.clients, allotment.pacing) == (server, clients, pacing)


@pytest.mark.parametrize(("role", "option"), [("server", "--server-cpus"), ("client_cpus", "--client-cpus")])
def test_a_cpu_outside_the_affinity_is_refused(role, option):
    with raises(UsageError, "bad-value", option=option, value=7, known=[0, 1]):
        allot([0, 1], **{role: [0, 7]})


def test_clients_on_the_servers_cpu_sleep():
    allotment = allot([0, 1], server=[0], client_cpus=[0])
    assert allotment.beside_server
    assert not allotment.shared
    assert allotment.pacing == "sleep"


def siblings(cores, threads=2):
    """Number CPUs as Linux does on Intel: the second threads follow all first ones."""
    return [[core + thread * cores for thread in range(threads)] for core in range(cores)]


PLACES = [
    # cores, rate, server, clients, helpers
    ([[0]], 20e3, (0,), ((0,),), ()),
    (siblings(1), 20e3, (0,), ((1,),), ()),
    ([[0], [1]], 20e3, (0,), ((1,),), ()),
    (siblings(2), 20e3, (0, 2), ((1,),), (3,)),
    ([[cpu] for cpu in range(4)], 20e3, (0, 1), ((2,),), (3,)),
    (siblings(4), 20e3, (0, 4, 1, 5), ((2,),), (3, 7)),
    ([[cpu] for cpu in range(16)], 20e3, tuple(range(8)), ((8,), (9,)), tuple(range(10, 16))),
    ([[cpu] for cpu in range(16)], 600e3, tuple(range(8)), tuple((cpu,) for cpu in range(8, 15)), (15,)),
    (siblings(8), 20e3, (0, 8, 1, 9, 2, 10, 3, 11), ((4,), (5,)), (6, 14, 7, 15)),
    (siblings(32), 300e3, None, tuple((cpu,) for cpu in range(16, 22)), None),
]


@each_row(("cores", "rate", "server", "clients", "helpers"), PLACES)
def test_no_core_is_shared_while_another_is_free(cores, rate, server, clients, helpers):
    cpus = sorted(cpu for core in cores for cpu in core)
    allotment = allot(cpus, rate_per_s=rate, cores=cores)
    assert allotment.clients == clients
    assert server in (None, allotment.server)
    free = tuple(free_cpus(cores, {*allotment.server, *sum(allotment.clients, ())}))
    assert helpers in (None, free)
    used = {
        "server": {*allotment.server},
        "clients": {*sum(allotment.clients, ())},
        "helpers": {*free},
    }
    if len(cores) > 3:
        for core in cores:
            assert sum(bool(cpus & set(core)) for cpus in used.values()) <= 1, f"core {core} has two users"


def test_the_cores_of_another_node_come_last(tmp_path):
    for cpu, core, node in ((0, 0, 1), (1, 1, 1), (2, 0, 0), (3, 1, 0)):
        place = tmp_path / f"sys/devices/system/cpu/cpu{cpu}/topology"
        place.mkdir(parents=True)
        for name, value in (("core_id", core), ("physical_package_id", node), ("thread_siblings_list", cpu)):
            (place / name).write_text(f"{value}\n")
        (tmp_path / f"sys/devices/system/node/node{node}").mkdir(parents=True, exist_ok=True)
    (tmp_path / "sys/devices/system/cpu/online").write_text("0-3\n")
    (tmp_path / "sys/devices/system/node/node0/cpulist").write_text("2-3\n")
    (tmp_path / "sys/devices/system/node/node1/cpulist").write_text("0-1\n")
    assert read_cores(str(tmp_path)) == [[2], [3], [0], [1]]


def test_a_server_elsewhere_leaves_all_cpus_to_the_clients():
    assert allot([0, 1], server=[], rate_per_s=20e3).clients == ((0,), (1,))
