"""Settings without a server: valid tables of factors, and the effect of each level on the target."""

import os
from pathlib import Path

import pytest
from messages import raises
from rows import each_row

from hindmost.core.codes import CODES
from hindmost.core.knobs import KINDS, Knob, kind_of, knob_of
from hindmost.core.knobs.kinds import cgroup, numa
from hindmost.core.knobs.registry import missing
from hindmost.core.targets import Managed, parse_target
from hindmost.errors import HindmostError, HostUnfit, UsageError


@pytest.fixture
def target() -> Managed:
    found = parse_target("memcached")
    assert isinstance(found, Managed)
    return found


def make_knob(target: Managed, **what: object) -> Knob:
    return knob_of(kind_of(what), what, target, Path("/nonexistent"))


@pytest.mark.parametrize(
    ("what", "code", "fields"),
    [
        ({}, "missing-argument", {"keys": []}),
        ({"optoin": "threads"}, "missing-argument", {"keys": ["optoin"]}),
        ({"option": "threads", "cpus": True}, "conflicting-options", {"options": ["option", "cpus"]}),
        ({"option": 3}, "bad-value", {"key": "option", "value": 3}),
        ({"cpus": False}, "bad-value", {"key": "cpus", "value": False}),
        ({"interference": "spin", "onn": "0"}, "unknown-key", {"key": "onn"}),
        ({"interference": "spin", "share": "much"}, "bad-value", {"key": "share", "value": "much"}),
        ({"interference": "spin", "mib": True}, "bad-value", {"key": "mib", "value": True}),
        ({"interference": "spin", "share": 2.0}, "bad-value", {"key": "share", "value": 2.0}),
        ({"interference": "spin", "on": "0-"}, "bad-value", {"key": "interference"}),
        ({"interference": "sleep 9", "mib": 7}, "conflicting-options", {"options": ["interference", "mib"]}),
        ({"interference": "'"}, "bad-value", {"key": "interference", "value": "'"}),
        ({"knob": "swapiness"}, "unknown-name", {"value": "swapiness", "nearest": "swappiness"}),
        ({"option": "memory_mb"}, "unknown-name", {"key": "option", "value": "memory_mb"}),
        ({"argument": " "}, "bad-value", {"key": "argument", "value": " "}),
        ({"env": "A=B"}, "bad-value", {"key": "env", "value": "A=B"}),
    ],
)
def test_an_invalid_table_is_refused(target, what, code, fields) -> None:
    with raises(UsageError, code, **fields):
        make_knob(target, **what)


@pytest.mark.parametrize(
    ("what", "level"),
    [
        ({"option": "threads"}, "0"),
        ({"option": "threads"}, "two"),
        ({"argument": "-o x"}, "yes"),
        ({"argument": "{level}"}, "-o 'x"),
        ({"argument": "{level}"}, "-o {memory}"),
        ({"env": "X"}, "{nothing_such}"),
        ({"cpus": True}, "all"),
        ({"schedule": True}, "fifo"),
        ({"schedule": True}, "fifo:100"),
        ({"schedule": True}, "nice:20"),
        ({"pinning": True}, "some:0"),
        ({"pinning": True}, "each:"),
        ({"interference": "spin"}, "1"),
    ],
)
def test_a_value_that_a_setting_cannot_have_is_refused(target, what, level) -> None:
    knob = make_knob(target, **what)
    with raises(UsageError, "bad-value", name=knob.name, value=level):
        knob.check(level)


def test_a_missing_cpu_or_program_is_refused(target) -> None:
    with pytest.raises(HindmostError) as caught:
        make_knob(target, cpus=True).check("8191")
    assert caught.value.code in CODES
    with raises(HostUnfit, "missing-program", name="no-such-program-at-all"):
        make_knob(target, interference="no-such-program-at-all").check("on")


def test_options_have_the_names_of_the_command_line(target) -> None:
    check = make_knob(target, option="memory_mib")
    check.check("512")
    assert check.spec(target.spec, "512").options["memory_mib"] == 512
    assert make_knob(target, option="threads").spec(target.spec, "3").threads == 3
    assert target.spec.threads is None, "the target itself is unchanged"


@pytest.mark.parametrize(
    ("template", "level", "arguments"),
    [
        ("-o no_lru_maintainer", "on", ["-o", "no_lru_maintainer"]),
        ("-o no_lru_maintainer", "off", []),
        ("{level}", "-o 'a b'", ["-o", "a b"]),
        ("{level}", "", []),
        ("--limit={level} -v", "a b", ["--limit=a b", "-v"]),
        ("--limit={level} -v", "", []),
    ],
)
def test_arguments_follow_the_command(target, template, level, arguments) -> None:
    knob = make_knob(target, argument=template)
    knob.check(level)
    assert knob.spec(target.spec, level).command == [*target.spec.command, *arguments]


def test_variables_and_cpus_are_set_at_the_start(target) -> None:
    env = make_knob(target, env="MALLOC_ARENA_MAX")
    assert env.spec(target.spec, "1").env == {"MALLOC_ARENA_MAX": "1"}
    assert env.spec(target.spec, "") == target.spec
    cpus = make_knob(target, cpus=True)
    first = min(os.sched_getaffinity(0))
    cpus.check(str(first))
    assert cpus.spec(target.spec, str(first)).cpus == [first]
    assert cpus.spec(target.spec, "free").cpus is None


def test_equal_knobs_set_the_same_and_different_knobs_do_not(target) -> None:
    pairs = [
        ({"option": "threads"}, {"option": "memory_mib"}),
        ({"argument": "-o a"}, {"argument": "-o b"}),
        ({"env": "A"}, {"env": "B"}),
        ({"interference": "spin", "on": "0"}, {"interference": "spin", "on": "1"}),
        ({"cpus": True}, {"pinning": True}),
    ]
    for first, second in pairs:
        assert make_knob(target, **first).sets == make_knob(target, **first).sets
        assert not make_knob(target, **first).sets & make_knob(target, **second).sets, (first, second)


def test_every_kind_has_a_valid_example() -> None:
    import tomllib

    for name, kind in KINDS.items():
        what = tomllib.loads("factor = {" + kind.example + "}")["factor"]
        assert len(what.pop("levels")) >= 2
        assert kind_of(what) == name
        why = missing(name)
        assert why is None or why.code in CODES


def test_memory_policies_precede_the_command(target, tmp_path, monkeypatch) -> None:
    nodes = tmp_path / numa.NODES
    nodes.parent.mkdir(parents=True)
    nodes.write_text("0-1\n")
    tool = tmp_path / "bin" / "numactl"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    knob = numa.Numa(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with raises(HostUnfit, "missing-program", name="numactl"):
        knob.check("local")
    monkeypatch.setenv("PATH", str(tool.parent))
    for level, arguments in [
        ("local", ["numactl", "--localalloc"]),
        ("interleave", ["numactl", "--interleave=all"]),
        ("node:1", ["numactl", "--membind=1"]),
        ("free", []),
    ]:
        knob.check(level)
        assert knob.spec(target.spec, level).command == [*arguments, *target.spec.command]
    with raises(UsageError, "bad-value", name="numa", value="node:2", known=[0, 1]):
        knob.check("node:2")
    with raises(UsageError, "bad-value", name="numa", value="bind"):
        knob.check("bind")
    nodes.write_text("0\n")
    with raises(HostUnfit, "setting-unavailable", name="numa"):
        knob.check("interleave")


@each_row(
    ("level", "policy", "fits"),
    [
        ("local", "default", True),
        ("interleave", "interleave:0-1", True),
        ("interleave", "default", False),
        ("node:1", "bind:1", True),
        ("node:1", "bind:0", False),
    ],
)
def test_a_policy_is_parsed_from_the_kernels_format(level, policy, fits) -> None:
    assert numa.fits(level, policy) is fits
    assert numa.policy(os.getpid()), "this kernel reports the policy"


@each_row(
    ("requested", "read_back", "same"),
    [
        ("50000 100000", "50000 100000", True),
        ("50000", "50000 100000", True),
        ("50000 100000", "60000 100000", False),
        ("max", "max 100000", True),
        ("512M", "536870912", True),
        ("1000000", "999424", True),
        ("1G", "536870912", False),
        ("0,1", "0-1", True),
        ("0", "0-1", False),
        ("-1", "9223372036854771712", True),
    ],
)
def test_equal_values_of_a_group_file_are_recognised(requested, read_back, same) -> None:
    assert cgroup.same(requested, read_back) is same


@each_row(
    ("file", "level", "files"),
    [
        ("cpu.max", "50000 200000", {"cpu.cfs_period_us": "200000", "cpu.cfs_quota_us": "50000"}),
        ("cpu.max", "max", {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "-1"}),
        ("cpu.weight", "100", {"cpu.shares": "1024"}),
        ("memory.max", "max", {"memory.limit_in_bytes": "-1"}),
        ("cpuset.cpus", "0-1", {"cpuset.cpus": "0-1"}),
        ("memory.swappiness", "10", {"memory.swappiness": "10"}),
    ],
)
def test_files_of_groups_are_translated_for_version_1(file, level, files) -> None:
    assert cgroup.translate_to_v1(file, level) == files
