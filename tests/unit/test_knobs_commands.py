"""Settings that need no server: commands of one's own, files of groups, an interface of one's own; all are put back."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from messages import assert_error, raises
from namespaces import need_private_mounts

from hindmost.errors import HindmostError, HostUnfit, UsageError
from hindmost.knobs import Knob, kind_of, knob_of, recover
from hindmost.knobs.kinds import cgroup
from hindmost.targets import Managed, parse_target


@pytest.fixture
def target() -> Managed:
    found = parse_target("memcached")
    assert isinstance(found, Managed)
    return found


def made(target: Managed, journal: Path, **what: object) -> Knob:
    return knob_of(kind_of(what), what, target, journal)


def test_commands_write_and_undo_what_was_read(target, tmp_path) -> None:
    file = tmp_path / "it's a setting"
    file.write_text("one\n")
    writer = shlex.join(["sh", "-c", f'echo "$1" > {shlex.quote(str(file))}', "sh"])
    what = {"command": f"{writer} {{level}}", "read": shlex.join(["cat", str(file)])}
    knob = made(target, tmp_path / "journal", **what)
    knob.attempt("two")
    with knob.before("two; $(touch no)"):
        assert file.read_text() == "two; $(touch no)\n"
        entry = json.loads((tmp_path / "journal" / "knobs.jsonl").read_text())
        assert (entry["found"], entry["steps"][0]["command"][-1]) == ("one", "one")
    assert file.read_text() == "one\n"
    undone = made(target, tmp_path / "journal", **what, undo=f"{writer} 'was {{found}}'")
    with pytest.raises(KeyboardInterrupt), undone.before("three"):
        raise KeyboardInterrupt
    assert file.read_text() == "was one\n"


def test_commands_that_fail_are_told(target, tmp_path) -> None:
    for what, code in (
        ({"command": "false {level}", "undo": "true"}, "command-failed"),
        ({"command": "true {level}", "read": "echo other"}, "setting-differs"),
        ({"command": "true {level}", "undo": "false"}, "not-restored"),
    ):
        with raises(HindmostError, code), made(target, tmp_path / code, **what).before("x"):
            pass
    with raises(HostUnfit, "command-failed"):
        made(target, tmp_path, command="true {level}", read="no-such-program").attempt("x")


@pytest.mark.parametrize("key", ["command", "read", "undo"])
@pytest.mark.parametrize(
    "command", ["true {level} > x", "true {level}; x", "true '{level}", "true {level}&&x"]
)
def test_what_only_a_shell_understands_is_refused(target, tmp_path, key, command) -> None:
    what = {"command": "true {level}", "read": "true", key: command}
    with raises(UsageError, "bad-value", key=key):
        made(target, tmp_path, **what)


@pytest.mark.parametrize(
    "write",
    [
        """sh -c 'read x < FIFO; echo "$1" > FILE' sh {level}""",
        """sh -c 'sh -c "read x < FIFO; echo $1 > FILE" & wait' sh {level}""",
    ],
)
def test_a_command_does_not_write_after_its_undo(tmp_path, write) -> None:
    """Its study is killed in mid-write: the shell ends with it, and what the shell has started is waited for."""
    file, fifo, journal = tmp_path / "setting", tmp_path / "fifo", tmp_path / "journal"
    file.write_text("found\n")
    os.mkfifo(fifo)
    command = write.replace("FIFO", str(fifo)).replace("FILE", str(file))
    what = {"command": command, "read": f"cat {file}", "undo": f"sh -c 'echo $1 > {file}' sh {{found}}"}
    code = (
        "import json, sys; from pathlib import Path\n"
        "from hindmost.knobs import kind_of, knob_of; from hindmost.targets import parse_target\n"
        "what = json.loads(sys.argv[1])\n"
        "knob = knob_of(kind_of(what), what, parse_target('memcached'), Path(sys.argv[2]))\n"
        "knob.before('late').__enter__()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, json.dumps(what), str(journal)]) as study:
        writing = os.open(fifo, os.O_WRONLY)  # as soon as the command waits for it
        study.kill()
    with contextlib.suppress(BrokenPipeError):  # nobody reads where the shell itself did
        os.write(writing, b"go on\n")
    os.close(writing)
    assert [one["failure"] for one in recover(journal)] == [None]
    assert file.read_text() == "found\n"


def test_what_a_group_does_not_take_is_refused_and_no_group_stays(target, tmp_path) -> None:
    try:
        made(target, tmp_path, cgroup="cpu.max").attempt("max 100000")
    except HostUnfit as refusal:
        pytest.skip(f"{refusal}")
    for file, level, codes in (
        ("cpu.max", "plenty", {"setting-refused"}),
        ("cpu.nothing", "1", {"setting-unavailable"}),
        ("nothing.max", "1", {"setting-unavailable"}),
        ("cpu.weight", "heavy", {"bad-value", "setting-refused"}),
    ):
        knob = made(target, tmp_path, cgroup=file)
        with pytest.raises(HindmostError) as caught:
            (knob.check(level), knob.attempt(level))
        assert caught.value.code in codes, file
        assert not list(cgroup.hierarchy("cpu").top.glob(f"hindmost-*{os.getpid()}-*"))


def test_what_accepted_sockets_do_not_inherit_is_refused(target, tmp_path) -> None:
    knob = made(target, tmp_path, socket="incoming_cpu")
    # Which processor takes a connection in is the host's business: one that is asked for may be the one.
    for cpu in [*sorted(os.sched_getaffinity(0))[:2]] * 5:
        try:
            knob.check(str(cpu))
        except HostUnfit as refused:
            assert_error(refused, "setting-differs", value=cpu)
            return
    pytest.skip("this kernel hands incoming_cpu down")


IN_A_NAMESPACE = """
import json, os, subprocess, sys
from pathlib import Path
from hindmost.errors import HindmostError
from hindmost.knobs.kinds import host
from hindmost.targets import parse_target
subprocess.run(["mount", "-t", "sysfs", "none", "/sys"], check=True)  # the mount namespace is ours, too
subprocess.run(["ip", "link", "add", "hm0", "type", "veth", "peer", "name", "hm1"], check=True)
queues = Path("/sys/class/net/hm0/queues")
def made(name):
    return host.make({"knob": name}, parse_target("memcached"), Path(sys.argv[1]))
def offload():
    from hindmost.knobs.journal import knobs
    return knobs(Path(sys.argv[1]))["gro@hm0"]["value"]
said = {"before": [offload(), (queues / "rx-0/rps_cpus").read_text()]}
with made("rps@hm0").before("one"), made("gro@hm0").before("on"):
    said["inside"] = [offload(), (queues / "rx-0/rps_cpus").read_text()]
said["after"] = [offload(), (queues / "rx-0/rps_cpus").read_text()]
try:
    made("rx_usecs@hm0")
except HindmostError as error:
    said["coalescing"] = error.code
print(json.dumps(said))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a namespace")
@pytest.mark.skipif(shutil.which("ip") is None, reason="no ip here: iproute2")
def test_queues_and_offloads_of_an_interface_of_our_own(tmp_path) -> None:
    need_private_mounts()
    words = ["unshare", "--net", "--mount", sys.executable, "-c", IN_A_NAMESPACE, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["inside"] == ["on", "1\n"]
    assert said["after"] == said["before"] == ["off", "0\n"]
    assert said["coalescing"] == "unknown-name"
