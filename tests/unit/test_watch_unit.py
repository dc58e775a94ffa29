"""The systemd unit of the watch daemon."""

import configparser
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from messages import raises

from hindmost.cli import main
from hindmost.commands.watch.unit import NAME, Unit, capabilities
from hindmost.errors import HindmostError

SYSTEMCTL = """#!/bin/sh
echo "$@" >> {calls}
case "$*" in *{fails}*) echo "refused" >&2; exit 1;; esac
"""


@pytest.fixture
def systemctl(tmp_path, monkeypatch):
    """A program `systemctl` that keeps its arguments, and fails at a word; returns a function that reads them."""
    programs, calls = tmp_path / "bin", tmp_path / "calls"
    programs.mkdir()
    calls.touch()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")

    def program(fails="nothing at all"):
        (programs / "systemctl").write_text(SYSTEMCTL.format(calls=calls, fails=fails.replace(" ", "\\ ")))
        (programs / "systemctl").chmod(0o755)
        return lambda: calls.read_text().splitlines()

    return program


def unit_file(tmp_path):
    return tmp_path / "config/systemd/user" / NAME


def read_unit(text):
    unit = configparser.RawConfigParser(strict=True)
    unit.optionxform = str
    unit.read_string(text)
    return unit


def test_the_unit_of_the_system_has_only_the_needed_rights(capsys):
    assert main(["watch", "install", "--print", "--port", "9700"]) == 0
    service = read_unit(capsys.readouterr().out)["Service"]
    assert service["DynamicUser"] == "yes"
    assert service["CapabilityBoundingSet"].split() == [
        "CAP_SYS_PTRACE",
        "CAP_DAC_READ_SEARCH",
        "CAP_SYS_NICE",
    ]
    assert service["AmbientCapabilities"] == service["CapabilityBoundingSet"]
    assert service["ProtectSystem"] == "strict"
    words = service["ExecStart"].split()
    assert words[1:6] == ["-P", "-m", "hindmost", "watch", "serve"]
    assert words[words.index("--rings") + 1] == f"/var/lib/{service['StateDirectory']}"
    assert words[words.index("--port") + 1] == "9700"


def test_a_diagnosis_needs_root_and_may_write():
    service = read_unit(
        Unit(Path("/etc/hindmost/watch"), Path("/var/lib/hindmost-watch"), diagnose=True).text
    )["Service"]
    assert "DynamicUser" not in service
    assert "ProtectKernelTunables" not in service
    assert set(capabilities(diagnose=False)) < set(capabilities(diagnose=True))
    assert "ProtectSystem" not in service
    assert service["NoNewPrivileges"] == "yes"


def test_the_unit_of_a_user_has_no_rights_and_quotes_its_paths(tmp_path, monkeypatch):
    unit = Unit(Path("/home/me/100% mine"), Path("/home/me/rings"), user=True)
    service = read_unit(unit.text)["Service"]
    assert not {"CapabilityBoundingSet", "AmbientCapabilities", "DynamicUser", "StateDirectory"} & set(
        service
    )
    assert '"/home/me/100%% mine"' in service["ExecStart"]


def test_install_starts_the_daemon_and_uninstall_removes_all(tmp_path, systemctl):
    calls = systemctl()
    services = tmp_path / "services"
    assert main(["watch", "install", "--user", "--folder", str(services)]) == 0
    assert services.is_dir()
    assert str(services) in unit_file(tmp_path).read_text()
    assert calls() == ["--user daemon-reload", f"--user enable --now {NAME}"]
    assert main(["watch", "uninstall", "--user"]) == 0
    assert not unit_file(tmp_path).exists()
    assert calls()[2:] == [f"--user disable --now {NAME}", "--user daemon-reload"]
    assert main(["watch", "uninstall", "--user"]) == 0
    assert len(calls()) == 4


def test_a_refused_unit_is_removed(tmp_path, systemctl, monkeypatch):
    systemctl("enable")
    from hindmost.commands.watch.unit import install_unit

    unit = Unit(tmp_path / "services", tmp_path / "rings", user=True)
    with raises(HindmostError, "unit-failed", value=1):
        install_unit(unit)
    assert not unit_file(tmp_path).exists()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("diagnose", [False, True])
def test_systemd_accepts_the_unit(diagnose, tmp_path):
    path = tmp_path / NAME
    path.write_text(
        Unit(Path("/etc/hindmost/watch"), Path("/var/lib/hindmost-watch"), diagnose=diagnose).text
    )
    done = subprocess.run(
        ["systemd-analyze", "verify", str(path)], capture_output=True, text=True, check=False
    )
    lines = [line for line in done.stderr.splitlines() if NAME in line]
    assert not lines, done.stderr
