"""The plug-ins for Hadoop: the same decisions as the engine, and HDFS-H on real name and data nodes."""

import contextlib
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hadoop_daemons import ROOT, run_setup

from hindmost.harvest import Traces, classify
from hindmost.harvest.hadoop import (
    SCHEDULER,
    SITE,
    TENANTS,
    YARN_SITE,
    tenants_text,
    write_config,
    yarn_texts,
)
from hindmost.harvest.reading import Tenant

pytestmark = pytest.mark.timeout(600)


def numbers(text: str) -> list[float]:
    return [float(one) for one in re.findall(r"\d+(?:\.\d+)?", text)]


@pytest.fixture(autouse=True)
def one_at_a_time(exclusive):
    exclusive("hadoop")


@pytest.mark.nightly
def test_a_step_that_waits_for_ever_is_ended_and_says_so(tmp_path, monkeypatch):
    run_setup("build")
    java = (
        tmp_path / "java"
    )  # as a JVM that Hadoop's threads keep alive: it does nothing, whatever it is asked
    java.write_text(
        '#!/bin/sh\n[ "$1" = -version ] && { echo \'openjdk version "17.0.1"\' >&2; exit; }\n'
        f"trap '' TERM\necho $$ >{tmp_path}/pid\nexec sleep 600\n"
    )
    java.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("HADOOP_PATIENCE", "1")
    done = subprocess.run(
        [ROOT.parent / "setup/hadoop.sh", "golden"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert "GoldenMain" in done.stderr
    # Who was killed may be there until the next of its parents has looked at it.
    status = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/status")
    with contextlib.suppress(OSError):
        assert "State:\tZ" in status.read_text()


@pytest.fixture
def classes():
    servers = [f"dn{number}.test" for number in range(18)]
    cpu = np.stack([np.full(720, 0.1 * (1 + at % 6)) for at in range(9)])
    tenants = [Tenant(f"t{at}", f"e{at}", servers[2 * at : 2 * at + 2], 0.1 * at, 2.0) for at in range(9)]
    return classify(Traces(tenants, cpu, 3600.0))


def test_java_decides_as_the_engine_does_and_reads_what_python_writes(classes, tmp_path):
    run_setup("golden")
    run_setup("parts")
    run_setup("policy")
    folder = tmp_path / "conf"
    yarn = yarn_texts(
        "/run/primary/%h.load", 0.25, 5000, installed=folder, heartbeats=True, queues={"root.nightly": "long"}
    )
    write_config(
        classes, folder, name_nodes=["nn1", "nn2"], installed=folder, load_file="/run/load", yarn=yarn
    )
    out = run_setup("read", *(str(folder / name) for name in (TENANTS, SITE, YARN_SITE, SCHEDULER)))
    assert numbers(out.splitlines()[0]) == [9, 18, len(classes["classes"])]
    assert numbers(out.partition(YARN_SITE)[2].splitlines()[0]) == [8, 0.25, 5000]
    assert "hindmost.hadoop.HarvestNodeOrder" in out


@pytest.mark.nightly
def test_nobody_runs_half_a_build_nor_an_old_one(classes, tmp_path):
    tenants_file = tmp_path / "tenants.tsv"
    tenants_file.write_text(tenants_text(classes))
    clone = tmp_path / "clone"
    shutil.copytree(ROOT.parent / "setup", clone / "setup")
    shutil.copytree(ROOT, clone / "hadoop", ignore=shutil.ignore_patterns("target*"))

    def read_by_four():
        with ThreadPoolExecutor(4) as beside:
            asked = [beside.submit(run_setup, "read", str(tenants_file), root=clone) for _ in range(4)]
            return {one.result().splitlines()[0].rsplit(", ", 1)[0] for one in asked}

    assert read_by_four() == {"9 tenants, 18 hosts"}

    (clone / "hadoop/target/test-classes/hindmost/hadoop/ReadMain.class").unlink()
    assert read_by_four() == {"9 tenants, 18 hosts"}

    source = clone / "hadoop/src/test/java/hindmost/hadoop/ReadMain.java"
    source.write_text(source.read_text().replace("%d hosts", "%d servers"))
    os.utime(source, (0, 0))  # as an archive's file, older than what was built of another
    assert read_by_four() == {"9 tenants, 18 servers"}


@pytest.mark.nightly
def test_where_no_tenant_is_known_hadoops_own_tests_of_placement_hold():
    assert numbers(run_setup("contract").splitlines()[-1])[0] > 40


@pytest.mark.nightly
def test_yarn_keeps_a_reserve_and_kills_the_youngest_first():
    run_setup("yarn")


@pytest.mark.nightly
def test_hdfs_keeps_replicas_apart_and_denies_what_a_primary_tenant_needs():
    assert "[600, 0, 0, 0, 0]" in run_setup("hdfs", "20", "300")


@pytest.mark.nightly
@pytest.mark.parametrize("step", ["golden", "parts", "hdfs", "yarn"])
def test_the_next_hadoop_has_the_same_hooks(step, monkeypatch):
    monkeypatch.setenv("HADOOP_VERSION", "3.5.0")
    run_setup(step)
