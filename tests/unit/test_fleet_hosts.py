"""What ``--fleet`` may say, and how what it may not is told."""

from __future__ import annotations

import pytest
from messages import raises

from hindmost.errors import UsageError
from hindmost.fleet.dask.hosts import Hosts, parse_fleet
from hindmost.run.request.elsewhere import places_of, refuse_unreachable
from hindmost.targets import parse_target


def hosts(text: str, tmp_path) -> Hosts:
    path = tmp_path / "hosts.toml"
    path.write_text(text)
    return parse_fleet(str(path))


TWO = '[[host]]\nname = "a"\naddress = "10.0.0.1"\nclients = 2\ncpus = "2-3"\n[[host]]\nname = "b"\n'


def test_clients_go_to_hosts_in_turn_on_the_processors_that_the_file_names(tmp_path):
    found = hosts(TWO, tmp_path)
    assert [one.name for one in found.slots] == ["a", "b", "a"]
    places = places_of(found, clients=None, threads=1, server=())
    assert places.clients == ((2,), (), (3,))
    assert places.pacing == "spin"


def test_clients_that_share_a_processor_of_their_host_sleep(tmp_path):
    found = hosts(TWO.replace("clients = 2", "clients = 3"), tmp_path)
    assert places_of(found, clients=None, threads=1, server=()).pacing == "sleep"


@pytest.mark.parametrize(
    ("text", "code", "fields"),
    [
        (TWO.replace('"b"', '"a"'), "duplicate-name", {"name": "a", "value": "a"}),
        (TWO.replace('"b"', '"10.0.0.1"'), "duplicate-name", {"name": "10.0.0.1", "value": "10.0.0.1"}),
        ('[[host]]\nname = "a"\nclients = 0\n', "missing-argument", {"key": "host"}),
        ('[[host]]\nname = "a b"\n', "bad-value", {"key": "host.0.name", "value": "a b", "line": 2}),
        ('[[host]]\nname = "a"\ncpu = "1"\n', "unknown-key", {"key": "host.0.cpu", "line": 3}),
        (TWO.replace('"2-3"', '"3-2"'), "bad-value", {"key": "host.0.cpus", "value": "3-2", "line": 5}),
        (TWO + '[target]\nhost = "c"\n', "unknown-name", {"value": "c", "known": ["a", "b"]}),
        ("[[host]\n", "bad-file", {"option": "--fleet"}),
        ('scheduler = "tcp://10.0.0.1:8786"\n', "unencrypted-scheduler", {"key": "scheduler"}),
        ('scheduler = "tls://10.0.0.1"\n', "bad-value", {"value": "tls://10.0.0.1", "missing": "port"}),
        ('scheduler = "http://10.0.0.1:1"\n', "bad-value", {"key": "scheduler"}),
        ('scheduler = "tls://h:1"\n' + TWO, "conflicting-options", {"options": ["scheduler", "host"]}),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_place_in_the_file(text, code, fields, tmp_path):
    with raises(UsageError, code, path=str(tmp_path / "hosts.toml"), **fields):
        hosts(text, tmp_path)


def test_several_mistakes_in_a_file_are_refused_at_once(tmp_path):
    with raises(UsageError, "bad-file") as caught:
        hosts('[[host]]\nnam = "a"\n', tmp_path)
    found = {(one["code"], one["key"]) for one in caught.value.fields["problems"]}
    assert found == {("unknown-key", "host.0.nam"), ("missing-argument", "host.0.name")}


def test_an_unencrypted_scheduler_is_refused_off_this_machine_unless_the_file_allows_it(tmp_path):
    with raises(UsageError, "unencrypted-scheduler", value="tcp://10.0.0.1:8786"):
        parse_fleet("tcp://10.0.0.1:8786")
    assert parse_fleet("tcp://127.0.0.1:8786").scheduler
    assert hosts('scheduler = "tcp://10.0.0.1:8786"\ntls = false\n', tmp_path).scheduler


def test_a_file_of_hosts_that_does_not_exist_is_refused(tmp_path):
    with raises(UsageError, "no-such-file", option="--fleet", path=str(tmp_path / "none.toml")):
        parse_fleet(str(tmp_path / "none.toml"))


def test_a_server_that_listens_on_loopback_is_refused_for_other_machines(tmp_path):
    found = hosts(TWO, tmp_path)
    with raises(UsageError, "server-unreachable", address="127.0.0.1"):
        refuse_unreachable(found, parse_target("memcached://127.0.0.1:11211"))
    refuse_unreachable(found, parse_target("memcached://10.0.0.9:11211"))
    elsewhere = hosts(TWO + '[target]\nhost = "b"\n', tmp_path)
    refuse_unreachable(elsewhere, parse_target("memcached"))


def test_the_number_of_clients_is_said_in_one_place(tmp_path):
    with raises(UsageError, "conflicting-options", options=["--clients", "--fleet"]):
        places_of(hosts(TWO, tmp_path), clients=4, threads=1, server=())
