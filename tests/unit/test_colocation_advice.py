"""Advice from cards: who goes where, and files that systemd and the kernel take."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from test_colocation_kubernetes import CARDS

from hindmost.cli import main
from hindmost.colocation.advice import SCRIPT, SLICE, advise, command_of, files_of
from hindmost.errors import HostUnfit, UsageError
from hindmost.knobs.kinds.cgroup import hierarchy, missing


def advice(*jobs: str, server: str = "kv", **more):
    return advise(
        CARDS[server],
        [CARDS[one] for one in jobs],
        **{"within": 0.1, "load": 0.5, "cpus": [0, 1, 2, 3]} | more,
    )


def test_each_job_goes_where_its_card_says_and_its_command_follows():
    found = advice("memory", "cache")
    assert {one["job"]: one["place"] for one in found["jobs"]} == {"memory": "beside", "cache": "supervised"}
    assert (found["server_cpus"], found["job_cpus"]) == ([0, 1], [2, 3])
    beside, supervised = (command_of(one, "memcached://a:1", "p95<1ms") for one in found["jobs"])
    assert beside == f"systemd-run --slice={SLICE} -- memory"
    assert supervised == "hindmost colocate supervise memcached://a:1 cache --promise 'p95<1ms'"
    (one,) = advice("quiet", server="lone")["jobs"]
    assert (one["place"], command_of(one, "x", "y")) == ("elsewhere", None)


@pytest.mark.parametrize(("load", "own"), [(0.05, [0]), (0.26, [0, 1]), (0.75, [0, 1, 2])])
def test_the_server_has_as_many_processors_as_its_load_needs(load, own):
    assert advice("quiet", load=load)["server_cpus"] == own


def test_where_nothing_is_left_for_jobs_and_where_names_meet_it_is_refused():
    with pytest.raises(HostUnfit, match="nothing is left"):
        advice("quiet", load=0.9)
    with pytest.raises(UsageError, match="two cards are named 'quiet'"):
        advice("quiet", "quiet")
    with pytest.raises(UsageError, match="different processors"):
        advice("other")
    with pytest.raises(UsageError, match="no service"):
        files_of(advice("quiet"), "../../etc/passwd")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not here")
def test_systemd_takes_the_slice_as_it_is(tmp_path):
    for name, text in files_of(advice("quiet"), None).items():
        (tmp_path / name).write_text(text)
    words = ["systemd-analyze", "verify", str(tmp_path / SLICE)]
    told = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert (told.returncode, told.stdout + told.stderr) == (0, "")
    (tmp_path / SLICE).write_text((tmp_path / SLICE).read_text().replace("CPUWeight=idle", "CPUWeight=idly"))
    told = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert "idly" in told.stdout + told.stderr, "it looks at what it is given"


@pytest.mark.skipif(missing() is not None, reason="no control group can be made here")
def test_the_script_confines_processes_and_puts_them_back(tmp_path):
    cpu = max(os.sched_getaffinity(0))
    top = hierarchy("cpuset").top
    script = tmp_path / SCRIPT
    # A name of its own: another run of this test may be at work.
    text = files_of(advice("quiet", cpus=[0, cpu, cpu + 1], server_cpus=[0, cpu + 1]), None)[SCRIPT]
    script.write_text(text.replace("hindmost-beside", f"hindmost-test-{os.getpid()}"))
    process = subprocess.Popen(["sleep", "60"])
    before = os.sched_getaffinity(process.pid), Path(f"/proc/{process.pid}/cgroup").read_text()
    try:
        subprocess.run(["sh", str(script), str(process.pid)], check=True)
        assert os.sched_getaffinity(process.pid) == {cpu}
        subprocess.run(["sh", str(script), "undo"], check=True)
        assert (os.sched_getaffinity(process.pid), Path(f"/proc/{process.pid}/cgroup").read_text()) == before
        assert not (top / f"hindmost-test-{os.getpid()}").exists()
        subprocess.run(["sh", str(script), "undo"], check=True)
    finally:
        process.kill()
        process.wait()
        subprocess.run(["sh", str(script), "undo"], check=False)


def test_the_verb_tells_and_writes(tmp_path, capsys):
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("one processor only")
    for name in ("kv", "memory", "cache"):
        (tmp_path / f"{name}.json").write_text(json.dumps(CARDS[name]))
    cards = [str(tmp_path / f"{name}.json") for name in ("kv", "memory", "cache")]
    words = ["colocate", "advise", *cards, "--server-cpus", str(cpus[0]), "--unit", "kv.service"]
    out = tmp_path / "advice"
    assert main([*words, "--out", str(out)]) == 0
    told = capsys.readouterr()
    assert "memory: may run beside it" in told.out
    assert (
        "cache: cards cannot tell: only under supervision (costs up to 13.0%, l3 being the worst" in told.out
    )
    assert "hindmost colocate supervise memcached://127.0.0.1:11211 cache --promise 'p95<1ms'" in told.out
    assert f"AllowedCPUs={cpus[0]}\n" in (out / "kv.service.d/hindmost.conf").read_text()
    assert f"AllowedCPUs={','.join(map(str, cpus[1:]))}\n" in (out / SLICE).read_text()
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "hindmost.advice/1"
    assert main(["colocate", "advise", cards[0]]) == 2
    assert main(["colocate", "advise", *cards, "--server-cpus", "999"]) == 2
    assert main(["colocate", "advise", *cards, "--server-cpus", "many"]) == 2
    (tmp_path / "file").write_text("")
    assert main([*words, "--out", str(tmp_path / "file")]) == 1
