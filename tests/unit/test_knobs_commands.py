"""Settings that need no server: commands, files of control groups, an interface; all are restored."""

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

from hindmost.core.knobs import Knob, kind_of, knob_of, recover
from hindmost.core.knobs.kinds import cgroup
from hindmost.core.targets import Managed, parse_target
from hindmost.errors import HindmostError, HostUnfit, UsageError


@pytest.fixture
def target() -> Managed:
    found = parse_target("memcached")
    assert isinstance(found, Managed)
    return found


def make_knob(target: Managed, journal: Path, **what: object) -> Knob:
    return knob_of(kind_of(what), what, target, journal)


def test_commands_write_and_undo_what_was_read(target, tmp_path) -> None:
    file = tmp_path / "it's a setting"
    file.write_text("one\n")
    writer = shlex.join(["sh", "-c", f'echo "$1" > {shlex.quote(str(file))}', "sh"])
    what = {"command": f"{writer} {{level}}", "read": shlex.join(["cat", str(file)])}
    knob = make_knob(target, tmp_path / "journal", **what)
    knob.attempt("two")
    with knob.before("two; $(touch no)"):
        assert file.read_text() == "two; $(touch no)\n"
        entry = json.loads((tmp_path / "journal" / "knobs.jsonl").read_text())
        assert (entry["found"], entry["steps"][0]["command"][-1]) == ("one", "one")
    assert file.read_text() == "one\n"
    with_undo = make_knob(target, tmp_path / "journal", **what, undo=f"{writer} 'was {{found}}'")
    with pytest.raises(KeyboardInterrupt), with_undo.before("three"):
        raise KeyboardInterrupt
    assert file.read_text() == "was one\n"


def test_failing_commands_are_reported(target, tmp_path) -> None:
    for what, code in (
        ({"command": "false {level}", "undo": "true"}, "command-failed"),
        ({"command": "true {level}", "read": "echo other"}, "setting-differs"),
        ({"command": "true {level}", "undo": "false"}, "not-restored"),
    ):
        with raises(HindmostError, code), make_knob(target, tmp_path / code, **what).before("x"):
            pass
    with raises(HostUnfit, "command-failed"):
        make_knob(target, tmp_path, command="true {level}", read="no-such-program").attempt("x")


@pytest.mark.parametrize("key", ["command", "read", "undo"])
@pytest.mark.parametrize(
    "command", ["true {level} > x", "true {level}; x", "true '{level}", "true {level}&&x"]
)
def test_shell_syntax_in_commands_is_refused(target, tmp_path, key, command) -> None:
    what = {"command": "true {level}", "read": "true", key: command}
    with raises(UsageError, "bad-value", key=key):
        make_knob(target, tmp_path, **what)


@pytest.mark.parametrize(
    "write",
    [
        """sh -c 'read x < FIFO; echo "$1" > FILE' sh {level}""",
        """sh -c 'sh -c "read x < FIFO; echo $1 > FILE" & wait' sh {level}""",
    ],
)
def test_a_command_cannot_write_after_its_undo(tmp_path, write) -> None:
    """The study is killed during a write: the shell ends with it, and the undo waits for the shell's children."""
    file, fifo, journal = tmp_path / "setting", tmp_path / "fifo", tmp_path / "journal"
    file.write_text("found\n")
    os.mkfifo(fifo)
    command = write.replace("FIFO", str(fifo)).replace("FILE", str(file))
    what = {"command": command, "read": f"cat {file}", "undo": f"sh -c 'echo $1 > {file}' sh {{found}}"}
    code = (
        "import json, sys; from pathlib import Path\n"
        "from hindmost.core.knobs import kind_of, knob_of; from hindmost.core.targets import parse_target\n"
        "what = json.loads(sys.argv[1])\n"
        "knob = knob_of(kind_of(what), what, parse_target('memcached'), Path(sys.argv[2]))\n"
        "knob.before('late').__enter__()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, json.dumps(what), str(journal)]) as study:
        writing = os.open(fifo, os.O_WRONLY)  # as soon as the command waits for it
        study.kill()
    with contextlib.suppress(BrokenPipeError):  # the shell itself was the reader, and has ended
        os.write(writing, b"go on\n")
    os.close(writing)
    assert [one.failure for one in recover(journal)] == [None]
    assert file.read_text() == "found\n"


def test_an_invalid_group_setting_is_refused_and_leaves_no_group(target, tmp_path) -> None:
    try:
        make_knob(target, tmp_path, cgroup="cpu.max").attempt("max 100000")
    except HostUnfit as refusal:
        pytest.skip(f"{refusal}")
    for file, level, codes in (
        ("cpu.max", "plenty", {"setting-refused"}),
        ("cpu.nothing", "1", {"setting-unavailable"}),
        ("nothing.max", "1", {"setting-unavailable"}),
        ("cpu.weight", "heavy", {"bad-value", "setting-refused"}),
    ):
        knob = make_knob(target, tmp_path, cgroup=file)
        with pytest.raises(HindmostError) as caught:
            (knob.check(level), knob.attempt(level))
        assert caught.value.code in codes, file
        assert not list(cgroup.hierarchy("cpu").top.glob(f"hindmost-*{os.getpid()}-*"))


def test_a_socket_option_that_is_not_inherited_is_refused(target, tmp_path) -> None:
    knob = make_knob(target, tmp_path, socket="incoming_cpu")
    # The kernel chooses the CPU that accepts a connection, so one requested CPU may happen to match.
    for cpu in [*sorted(os.sched_getaffinity(0))[:2]] * 5:
        try:
            knob.check(str(cpu))
        except HostUnfit as refused:
            assert_error(refused, "setting-differs", value=cpu)
            return
    pytest.skip("accepted sockets inherit incoming_cpu on this kernel")


IN_A_NAMESPACE = """
import json, os, subprocess, sys
from pathlib import Path
from hindmost.errors import HindmostError
from hindmost.core.knobs.kinds import host
from hindmost.core.targets import parse_target
subprocess.run(["mount", "-t", "sysfs", "none", "/sys"], check=True)  # the mount namespace is ours, too
subprocess.run(["ip", "link", "add", "hm0", "type", "veth", "peer", "name", "hm1"], check=True)
queues = Path("/sys/class/net/hm0/queues")
def made(name):
    return host.make({"knob": name}, parse_target("memcached"), Path(sys.argv[1]))
def offload():
    from hindmost.core.knobs.journal import knobs
    return knobs(Path(sys.argv[1]))["gro@hm0"].value
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


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can create a namespace")
@pytest.mark.skipif(shutil.which("ip") is None, reason="ip (iproute2) is not installed")
def test_queues_and_offloads_of_an_interface_are_set_and_restored(tmp_path) -> None:
    need_private_mounts()
    command = ["unshare", "--net", "--mount", sys.executable, "-c", IN_A_NAMESPACE, str(tmp_path)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    values = json.loads(process.stdout)
    assert values["inside"] == ["on", "1\n"]
    assert values["after"] == values["before"] == ["off", "0\n"]
    assert values["coalescing"] == "unknown-name"
