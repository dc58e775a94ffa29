"""The Hadoop plug-ins: the same decisions as the engine, and HDFS-H on real name and data nodes."""

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

from hindmost.commands.harvest.classes import classify
from hindmost.commands.harvest.hadoop import (
    SCHEDULER,
    SITE,
    TENANTS,
    YARN_SITE,
    tenants_text,
    write_config,
    yarn_texts,
)
from hindmost.commands.harvest.reading import Tenant, Traces

pytestmark = pytest.mark.timeout(600)


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]


@pytest.fixture(autouse=True)
def lock_hadoop(exclusive):
    exclusive("hadoop")


@pytest.mark.nightly
def test_a_step_that_hangs_is_ended_and_named(tmp_path, monkeypatch):
    run_setup("build")
    java = tmp_path / "java"  # like a JVM that Hadoop's threads keep alive: it does nothing and does not exit
    java.write_text(
        '#!/bin/sh\n[ "$1" = -version ] && { echo \'openjdk version "17.0.1"\' >&2; exit; }\n'
        f"trap '' TERM\necho $$ >{tmp_path}/pid\nexec sleep 600\n"
    )
    java.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("HADOOP_PATIENCE", "1")
    process = subprocess.run(
        [ROOT.parent / "setup/hadoop.sh", "golden"], capture_output=True, text=True, timeout=60, check=False
    )
    assert process.returncode == 1
    assert "GoldenMain" in process.stderr
    # A killed process remains a zombie until its parent waits for it.
    status = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/status")
    with contextlib.suppress(OSError):
        assert "State:\tZ" in status.read_text()


@pytest.fixture
def classes():
    servers = [f"dn{number}.test" for number in range(18)]
    cpu = np.stack([np.full(720, 0.1 * (1 + index % 6)) for index in range(9)])
    tenants = [
        Tenant(f"t{index}", f"e{index}", servers[2 * index : 2 * index + 2], 0.1 * index, 2.0)
        for index in range(9)
    ]
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
    assert numbers(out.splitlines()[0]) == [9, 18, len(classes.classes)]
    assert numbers(out.partition(YARN_SITE)[2].splitlines()[0]) == [8, 0.25, 5000]
    assert "hindmost.hadoop.HarvestNodeOrder" in out


@pytest.mark.nightly
def test_concurrent_and_outdated_builds_are_never_used(classes, tmp_path):
    tenants_file = tmp_path / "tenants.tsv"
    tenants_file.write_text(tenants_text(classes))
    clone = tmp_path / "clone"
    shutil.copytree(ROOT.parent / "setup", clone / "setup")
    shutil.copytree(ROOT, clone / "hadoop", ignore=shutil.ignore_patterns("target*"))

    def read_by_four():
        with ThreadPoolExecutor(4) as pool:
            futures = [pool.submit(run_setup, "read", str(tenants_file), root=clone) for _ in range(4)]
            return {future.result().splitlines()[0].rsplit(", ", 1)[0] for future in futures}

    assert read_by_four() == {"9 tenants, 18 hosts"}

    (clone / "hadoop/target/test-classes/hindmost/hadoop/ReadMain.class").unlink()
    assert read_by_four() == {"9 tenants, 18 hosts"}

    source = clone / "hadoop/src/test/java/hindmost/hadoop/ReadMain.java"
    source.write_text(source.read_text().replace("%d hosts", "%d servers"))
    os.utime(source, (0, 0))  # like a file from an archive, older than the build of another version
    assert read_by_four() == {"9 tenants, 18 servers"}


@pytest.mark.nightly
def test_without_known_tenants_hadoops_own_placement_tests_pass():
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
