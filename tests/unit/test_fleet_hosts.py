"""Values of ``--fleet``, and how invalid ones are reported."""

from __future__ import annotations

import pytest
from messages import raises

from hindmost.core.fleet.dask.hosts import Hosts, parse_fleet
from hindmost.core.run.request.elsewhere import places_of, refuse_unreachable
from hindmost.core.targets import parse_target
from hindmost.errors import UsageError


def parse_hosts(text: str, tmp_path) -> Hosts:
    path = tmp_path / "hosts.toml"
    path.write_text(text)
    return parse_fleet(str(path))


TWO = '[[host]]\nname = "a"\naddress = "10.0.0.1"\nclients = 2\ncpus = "2-3"\n[[host]]\nname = "b"\n'


def test_clients_are_placed_round_robin_on_the_given_cpus(tmp_path):
    fleet = parse_hosts(TWO, tmp_path)
    assert [slot.name for slot in fleet.slots] == ["a", "b", "a"]
    places = places_of(fleet, clients=None, threads=1, server=())
    assert places.clients == ((2,), (), (3,))
    assert places.pacing == "spin"


def test_clients_that_share_a_cpu_sleep(tmp_path):
    fleet = parse_hosts(TWO.replace("clients = 2", "clients = 3"), tmp_path)
    assert places_of(fleet, clients=None, threads=1, server=()).pacing == "sleep"


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
def test_an_invalid_entry_is_refused_by_its_line_and_key(text, code, fields, tmp_path):
    with raises(UsageError, code, path=str(tmp_path / "hosts.toml"), **fields):
        parse_hosts(text, tmp_path)


def test_several_mistakes_in_a_file_are_reported_together(tmp_path):
    with raises(UsageError, "bad-file") as caught:
        parse_hosts('[[host]]\nnam = "a"\n', tmp_path)
    problems = {(problem["code"], problem["key"]) for problem in caught.value.fields["problems"]}
    assert problems == {("unknown-key", "host.0.nam"), ("missing-argument", "host.0.name")}


def test_an_unencrypted_scheduler_is_refused_off_this_machine_unless_the_file_allows_it(tmp_path):
    with raises(UsageError, "unencrypted-scheduler", value="tcp://10.0.0.1:8786"):
        parse_fleet("tcp://10.0.0.1:8786")
    assert parse_fleet("tcp://127.0.0.1:8786").scheduler
    assert parse_hosts('scheduler = "tcp://10.0.0.1:8786"\ntls = false\n', tmp_path).scheduler


def test_a_file_of_hosts_that_does_not_exist_is_refused(tmp_path):
    with raises(UsageError, "no-such-file", option="--fleet", path=str(tmp_path / "none.toml")):
        parse_fleet(str(tmp_path / "none.toml"))


def test_a_server_that_listens_on_loopback_is_refused_for_other_machines(tmp_path):
    fleet = parse_hosts(TWO, tmp_path)
    with raises(UsageError, "server-unreachable", address="127.0.0.1"):
        refuse_unreachable(fleet, parse_target("memcached://127.0.0.1:11211"))
    refuse_unreachable(fleet, parse_target("memcached://10.0.0.9:11211"))
    with_server_host = parse_hosts(TWO + '[target]\nhost = "b"\n', tmp_path)
    refuse_unreachable(with_server_host, parse_target("memcached"))


def test_clients_and_fleet_are_conflicting_options(tmp_path):
    with raises(UsageError, "conflicting-options", options=["--clients", "--fleet"]):
        places_of(parse_hosts(TWO, tmp_path), clients=4, threads=1, server=())
