"""What ``--fleet`` may say, and how what it may not is told."""

from __future__ import annotations

import pytest

from hindmost.errors import UsageError
from hindmost.fleet.dask.hosts import Hosts, parse_fleet
from hindmost.run.request.elsewhere import places_of, refuse_unreachable
from hindmost.targets import parse_target


def hosts(text: str, tmp_path) -> Hosts:
    path = tmp_path / "hosts.toml"
    path.write_text(text)
    return parse_fleet(str(path))


TWO = '[[host]]\nname = "a"\naddress = "10.0.0.1"\nclients = 2\ncpus = "2-3"\n[[host]]\nname = "b"\n'


def test_instances_go_to_hosts_in_turn_on_the_processors_that_the_file_names(tmp_path):
    found = hosts(TWO, tmp_path)
    assert [one.name for one in found.slots] == ["a", "b", "a"]
    places = places_of(found, clients=None, threads=1, server=())
    assert places.clients == ((2,), (), (3,))
    assert places.pacing == "spin"


def test_instances_that_share_a_processor_of_their_host_sleep(tmp_path):
    found = hosts(TWO.replace("clients = 2", "clients = 3"), tmp_path)
    assert places_of(found, clients=None, threads=1, server=()).pacing == "sleep"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TWO.replace('"b"', '"a"'), "host 'a' is listed twice"),
        (TWO.replace('"b"', '"10.0.0.1"'), "listed twice: 10.0.0.1 is 'a', too"),
        ('[[host]]\nname = "a"\nclients = 0\n', "no host has a load instance"),
        ('[[host]]\nname = "a b"\n', "host.0.name"),
        ('[[host]]\nname = "a"\ncpu = "1"\n', "line 3: unknown key host.0.cpu (did you mean cpus?)"),
        ('[[host]]\nnam = "a"\n', "line 2: unknown key host.0.nam (did you mean name?)"),
        (TWO + '[target]\nhots = "a"\n', "unknown key target.hots (did you mean host?)"),
        (TWO.replace('"2-3"', '"3-2"'), 'host.0.cpus = "3-2": '),
        (TWO + '[target]\nhost = "c"\n', "target.host 'c' is none of a, b"),
        ("[[host]\n", "hosts.toml: "),
        ('scheduler = "tcp://10.0.0.1:8786"\n', "in clear"),
        ('scheduler = "tls://10.0.0.1"\n', "lacks a port"),
        ('scheduler = "http://10.0.0.1:1"\n', "no address like tls://"),
        ('scheduler = "tls://h:1"\n' + TWO, "both given"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_place_in_the_file(text, said, tmp_path):
    with pytest.raises(UsageError, match=r"hosts\.toml") as refused:
        hosts(text, tmp_path)
    assert said in refused.value.message
    assert refused.value.hint


def test_a_scheduler_in_clear_is_refused_off_this_machine_unless_the_file_allows_it(tmp_path):
    with pytest.raises(UsageError, match="in clear"):
        parse_fleet("tcp://10.0.0.1:8786")
    assert parse_fleet("tcp://127.0.0.1:8786").scheduler
    assert hosts('scheduler = "tcp://10.0.0.1:8786"\ntls = false\n', tmp_path).scheduler


def test_a_fleet_that_is_no_file_is_told(tmp_path):
    with pytest.raises(UsageError, match="No such file"):
        parse_fleet(str(tmp_path / "none.toml"))


def test_a_server_that_listens_on_loopback_is_refused_for_other_machines(tmp_path):
    found = hosts(TWO, tmp_path)
    with pytest.raises(UsageError, match="no other machine reaches it"):
        refuse_unreachable(found, parse_target("memcached://127.0.0.1:11211"))
    refuse_unreachable(found, parse_target("memcached://10.0.0.9:11211"))
    elsewhere = hosts(TWO + '[target]\nhost = "b"\n', tmp_path)
    refuse_unreachable(elsewhere, parse_target("memcached"))


def test_the_number_of_clients_is_said_in_one_place(tmp_path):
    with pytest.raises(UsageError, match="--clients 4"):
        places_of(hosts(TWO, tmp_path), clients=4, threads=1, server=())
