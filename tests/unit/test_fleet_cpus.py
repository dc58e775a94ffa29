"""Who runs where: the server's processors are its own, and two instances never spin on one."""

import pytest
from messages import raises
from rows import each_row

from hindmost.errors import UsageError
from hindmost.fleet import allot


@each_row(
    ("cpus", "asked", "server", "clients", "pacing"),
    [
        ([0, 1], {}, (0,), ((1,),), "spin"),
        ([0, 1, 2, 3], {}, (0, 1), ((2,), (3,)), "spin"),
        ([0, 1, 2], {}, (0,), ((1,), (2,)), "spin"),
        ([0], {}, (0,), ((0,),), "sleep"),
        ([0, 1], {"clients": 2}, (0,), ((1,), (1,)), "sleep"),
        ([0, 1, 2, 3], {"clients": 1}, (0, 1), ((2,),), "spin"),
        ([0, 1, 2, 3], {"server": [3]}, (3,), ((0,), (1,), (2,)), "spin"),
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
def test_processors_are_shared_out(cpus, asked, server, clients, pacing):
    found = allot(cpus, **asked)
    assert (found.server, found.clients, found.pacing) == (server, clients, pacing)


@pytest.mark.parametrize(("which", "option"), [("server", "--server-cpus"), ("client_cpus", "--client-cpus")])
def test_a_processor_that_this_process_may_not_use_is_refused(which, option):
    with raises(UsageError, "bad-value", option=option, value=7, known=[0, 1]):
        allot([0, 1], **{which: [0, 7]})


def test_clients_beside_the_server_sleep_although_each_has_a_processor():
    found = allot([0, 1], server=[0], client_cpus=[0])
    assert found.beside_server
    assert not found.shared
    assert found.pacing == "sleep"
