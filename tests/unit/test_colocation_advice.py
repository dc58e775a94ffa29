"""Advice from profiles: where each job runs, and files that systemd and the kernel accept."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from messages import assert_refused, raises
from msgspec.structs import replace
from profile_cards import write_card
from rows import each_row
from test_colocation_kubernetes import CARDS

from hindmost.cli import main
from hindmost.commands.colocate.prediction.advice import SCRIPT, SLICE, advise, command_of, files_of
from hindmost.core.knobs.kinds.cgroup import hierarchy
from hindmost.errors import HostUnfit, UsageError


def advise_jobs(*jobs: str, server: str = "kv", **more):
    return advise(
        CARDS[server],
        [CARDS[job] for job in jobs],
        **{"within": 0.1, "load": 0.5, "cpus": [0, 1, 2, 3]} | more,
    )


def test_each_job_is_placed_by_its_profile_and_gets_a_command():
    plan = advise_jobs("memory", "cache")
    assert {job.job: job.place for job in plan.jobs} == {"memory": "beside", "cache": "supervised"}
    assert (plan.server_cpus, plan.job_cpus) == ([0, 1], [2, 3])
    beside, supervised = (command_of(job, "memcached://a:1", "p95<1ms") for job in plan.jobs)
    assert beside == f"systemd-run --slice={SLICE} -- memory"
    assert supervised == "hindmost colocate supervise memcached://a:1 cache --promise 'p95<1ms'"
    (job,) = advise_jobs("quiet", server="lone").jobs
    assert (job.place, command_of(job, "x", "y")) == ("elsewhere", None)


def test_losses_to_several_jobs_on_a_server_add_up(monkeypatch):
    monkeypatch.setitem(CARDS, "memory-2", replace(CARDS["memory"], name="memory-2"))
    jobs = advise_jobs("memory", "memory-2", "quiet").jobs
    assert [job.place for job in jobs] == ["beside", "supervised", "beside"]
    assert [note.code for note in jobs[1].notes][-1] == "sum-of-jobs"


@each_row(("load", "own"), [(0.05, [0]), (0.26, [0, 1]), (0.75, [0, 1, 2])])
def test_the_server_has_as_many_cpus_as_its_load_needs(load, own):
    assert advise_jobs("quiet", load=load).server_cpus == own


def test_impossible_advice_is_refused():
    with raises(HostUnfit, "no-free-processor", have=4, load=0.9):
        advise_jobs("quiet", load=0.9)
    with raises(UsageError, "duplicate-name", name="quiet"):
        advise_jobs("quiet", "quiet")
    with raises(UsageError, "other-processor"):
        advise_jobs("other")
    with raises(UsageError, "bad-value", option="--unit"):
        files_of(advise_jobs("quiet"), "../../etc/passwd")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_accepts_the_slice(tmp_path):
    for name, text in files_of(advise_jobs("quiet"), None).items():
        (tmp_path / name).write_text(text)
    command = ["systemd-analyze", "verify", str(tmp_path / SLICE)]
    process = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (process.returncode, process.stdout + process.stderr) == (0, "")
    (tmp_path / SLICE).write_text((tmp_path / SLICE).read_text().replace("CPUWeight=idle", "CPUWeight=idly"))
    process = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert "idly" in process.stdout + process.stderr, "systemd-analyze reports the error in the edited file"


def script_for(cpu: int) -> str:
    """Return the script that confines processes to this CPU."""
    return files_of(advise_jobs("quiet", cpus=[0, cpu, cpu + 1], server_cpus=[0, cpu + 1]), None)[SCRIPT]


@pytest.mark.parametrize(
    ("mounts", "groups", "used", "old"),
    [
        ({"cpuset": "cgroup rw,cpuset"}, "9:cpuset:/batch\n0::/user\n", "cpuset", "batch"),
        ({"cpu": "cgroup rw,cpu,cpuset"}, "9:cpu,cpuset:/batch\n", "cpu", "batch"),
        ({"": "cgroup2 rw"}, "0::/user/7\n", "", "user/7"),
        ({"unified": "cgroup2 rw"}, "9:cpu:/batch\n0::/\n", "unified", ""),
        ({"cpuset": "cgroup rw,cpuset", "unified": "cgroup2 rw,-"}, "9:cpuset:/\n0::/user\n", "cpuset", ""),
    ],
    ids=["v1", "v1-shared", "v2", "hybrid-v2", "hybrid-v1"],
)
def test_the_script_finds_the_hierarchy_with_cpusets(tmp_path, mounts, groups, used, old):
    """Files replace the kernel's. Checks what the script writes, and where, for each kind of mounts."""
    lines = []
    for name, mount in mounts.items():
        top = tmp_path / "cgroup" / name
        (top / old).mkdir(parents=True)
        kind, options = mount.split()
        lines.append(f"none {top} {kind} {options} 0 0\n")
        if kind == "cgroup2":
            (top / "cgroup.controllers").write_text("cpu memory" if options.endswith("-") else "cpuset cpu")
            (top / "cgroup.subtree_control").write_text("cpu\n")
        (top / "cpuset.mems").write_text("0\n")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/41").mkdir()
    (tmp_path / "proc/self/mounts").write_text("".join(lines))
    (tmp_path / "proc/41/cgroup").write_text(groups)
    script = tmp_path / SCRIPT
    script.write_text(script_for(3).replace("/proc/", f"{tmp_path}/proc/").replace("/run/", f"{tmp_path}/"))
    process = subprocess.run(["sh", str(script), "43", "41"], check=False, capture_output=True, text=True)
    assert (process.returncode, process.stderr.rpartition(":")[2].split()) == (
        1,
        ["43"],
    )  # 43 has ended, and 41 is moved
    assert not any(
        line.startswith("43 ") for line in (tmp_path / "hindmost-beside.back").read_text().splitlines()
    )
    top = tmp_path / "cgroup" / used
    group = top / "hindmost-beside"
    assert (group / "cpuset.cpus").read_text() == "3\n"
    assert (group / "cgroup.procs").read_text() == "41\n"
    unified = (top / "cgroup.controllers").exists()
    assert (group / "cpuset.mems").exists() != unified
    if unified:
        assert (top / "cgroup.subtree_control").read_text() == "+cpuset\n"
    # Process 42 was started by 41 in the group. The kernel's files do not keep a folder from being removed.
    (group / "cgroup.procs").write_text("41\n42\n")
    moved = top / old / "cgroup.procs"
    moved.unlink(missing_ok=True)
    os.mkfifo(moved)  # a file would contain the last write only
    with os.fdopen(os.open(moved, os.O_RDONLY | os.O_NONBLOCK)) as pipe:
        subprocess.run(["sh", str(script), "undo"], check=False, stderr=subprocess.DEVNULL)
        assert pipe.read() == "41\n42\n"


def find_group_obstacle() -> str | None:
    """Return why no process can be moved into a new cpuset group and back; None if it can."""
    try:
        place = hierarchy("cpuset")
    except HostUnfit as refusal:
        return refusal.message
    group = place.top / f"hindmost-probe-{os.getpid()}"
    with subprocess.Popen(["sleep", "60"]) as process:
        old = place.group_of(process.pid)
        try:
            group.mkdir()
            for name in ("cpuset.cpus", "cpuset.mems") if place.version == 1 else ():
                (group / name).write_text((place.top / name).read_text())
            (group / "cgroup.procs").write_text(str(process.pid))
            ((old or place.top) / "cgroup.procs").write_text(str(process.pid))
        except OSError as error:
            return f"cpuset groups cannot be used here: {error}"
        finally:
            process.kill()
            process.wait()
            if group.exists():
                group.rmdir()
    return None


def test_the_script_confines_processes_and_restores_them(tmp_path):
    if reason := find_group_obstacle():
        pytest.skip(reason)
    cpu = max(os.sched_getaffinity(0))
    top = hierarchy("cpuset").top
    script, name = tmp_path / SCRIPT, f"hindmost-test-{os.getpid()}"
    # A unique name, as another run of this test may be active.
    script.write_text(script_for(cpu).replace("hindmost-beside", name).replace("/run/", f"{tmp_path}/"))
    with subprocess.Popen(["sleep", "60"]) as process:
        before = os.sched_getaffinity(process.pid), Path(f"/proc/{process.pid}/cgroup").read_text()
        try:
            for missing in ([], ["999999999"]):  # in the second round the process is in the group already
                command = ["sh", str(script), *missing, str(process.pid)]
                assert subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == len(
                    missing
                )
            assert os.sched_getaffinity(process.pid) == {cpu}
            subprocess.run(["sh", str(script), "undo"], check=True)
            after = os.sched_getaffinity(process.pid), Path(f"/proc/{process.pid}/cgroup").read_text()
            assert after == before
            assert not (top / name).exists()
            subprocess.run(["sh", str(script), "undo"], check=True)
        finally:
            process.kill()
            process.wait()
            subprocess.run(["sh", str(script), "undo"], check=False)


def test_the_command_prints_and_writes_the_advice(tmp_path, capsys):
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("only one CPU")
    cards = [write_card(tmp_path, CARDS[name]) for name in ("kv", "memory", "cache")]
    command = [
        "colocate",
        "predict",
        "--advise",
        *cards,
        "--server-cpus",
        str(cpus[0]),
        "--unit",
        "kv.service",
    ]
    out = tmp_path / "advice"
    assert main([*command, "--out", str(out)]) == 0
    output = capsys.readouterr().out
    for value in (
        "memory",
        "cache",
        "13.0\u202f%",
        "l3",
        "colocate supervise memcached://127.0.0.1:11211 cache",
    ):
        assert value in output
    assert f"AllowedCPUs={cpus[0]}\n" in (out / "kv.service.d/hindmost.conf").read_text()
    assert f"AllowedCPUs={','.join(map(str, cpus[1:]))}\n" in (out / SLICE).read_text()
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "hindmost.advice/2"
    assert_refused(
        ["colocate", "predict", "--advise", cards[0]], capsys, 2, "missing-argument", argument="JOB"
    )
    for wrong in ("999", "many"):
        command = ["colocate", "predict", "--advise", *cards, "--server-cpus", wrong]
        assert_refused(command, capsys, 2, "bad-value", option="--server-cpus", value=wrong)
    (tmp_path / "file").write_text("")
    assert main(["colocate", "predict", "--advise", *cards, "--out", str(tmp_path / "file")]) == 1
