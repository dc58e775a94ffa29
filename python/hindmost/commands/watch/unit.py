"""The systemd unit of the watch daemon: its text, and its installation."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from hindmost.core.privileges import NEEDS
from hindmost.errors import HindmostError

NAME = "hindmost-watch.service"
SANDBOX = """NoNewPrivileges=yes
LockPersonality=yes
RestrictNamespaces=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK AF_UNIX
SystemCallArchitectures=native
"""
"""Limits that any user may set, and that do not hinder a diagnosis."""
READ_ONLY = """ProtectSystem=strict
ProtectHome=read-only
ProtectClock=yes
ProtectHostname=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
PrivateDevices=yes
PrivateTmp=yes
RestrictRealtime=yes
SystemCallFilter=@system-service
"""
"""Limits of a daemon that only reads."""


def capabilities(*, diagnose: bool) -> tuple[str, ...]:
    """Return the capabilities of the system's unit.

    To watch processes of other users takes those that `hindmost host doctor` lists. CAP_SYS_NICE lets the
    probe run before other threads, so that its own waits for a CPU do not count as the server's.
    """
    command = "the same, with neighbours of other users" if diagnose else "watch PID, of another user"
    needed = next(need.capabilities for need in NEEDS if need.command == command)
    return (*needed, "CAP_SYS_NICE", *(("CAP_NET_ADMIN",) if diagnose else ()))


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit of a daemon.

    Attributes
    ----------
    user : bool
        Whether it belongs to the user's manager, without any privileges, instead of the system's.
    diagnose : bool
        Whether the daemon may start diagnoses, which change the host.
    """

    folder: Path
    rings: Path
    port: int = 9617
    user: bool = False
    diagnose: bool = False

    @property
    def path(self) -> Path:
        """The unit file."""
        return unit_folder(user=self.user) / NAME

    @property
    def text(self) -> str:
        """The text of the unit file."""
        words = [sys.executable, "-P", "-m", "hindmost", "watch", "serve", "--folder", str(self.folder)]
        words += ["--rings", str(self.rings), "--port", str(self.port)]
        command = " ".join(map(_quote, words))
        target = "default.target" if self.user else "multi-user.target"
        return (
            f"# By hindmost watch install; hindmost watch uninstall{' --user' * self.user} removes it.\n"
            "[Unit]\n"
            "Description=Hindmost watches services\n"
            "After=network.target\n\n"
            "[Service]\n"
            "Type=exec\n"
            f"ExecStart={command}\n"
            "Restart=on-failure\n"
            "RestartSec=5\n"
            f"{self._rights()}{SANDBOX}\n"
            "[Install]\n"
            f"WantedBy={target}\n"
        )

    def _rights(self) -> str:
        if self.user:
            return ""
        names = " ".join(capabilities(diagnose=self.diagnose))
        state = f"StateDirectory={self.rings.name}"
        if self.diagnose:
            # A diagnosis needs root, and writes below /proc, /sys and /var/lib/hindmost.
            return f"CapabilityBoundingSet={names}\n{state}\nProtectHome=read-only\n"
        granted = f"CapabilityBoundingSet={names}\nAmbientCapabilities={names}\n"
        return f"DynamicUser=yes\n{granted}{state}\n{READ_ONLY}"


def unit_folder(*, user: bool) -> Path:
    """Return the folder of units that administrators, or a user, write."""
    if not user:
        return Path("/etc/systemd/system")
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "systemd/user"


def install_unit(unit: Unit) -> bool:
    """Write the unit file and start the daemon. Return whether systemd was there to start it.

    Raises
    ------
    HindmostError
        The file cannot be written, or systemd refused it; then the file is removed again.
    """
    try:
        unit.folder.mkdir(parents=True, exist_ok=True)
        unit.path.parent.mkdir(parents=True, exist_ok=True)
        unit.path.write_text(unit.text, encoding="utf-8")
    except OSError as error:
        raise _not_writable(unit.path, error) from None
    if shutil.which("systemctl") is None:
        return False
    try:
        _systemctl("daemon-reload", user=unit.user)
        _systemctl("enable", "--now", NAME, user=unit.user)
    except HindmostError:
        unit.path.unlink(missing_ok=True)
        raise
    return True


def uninstall_unit(*, user: bool) -> bool:
    """Stop the daemon and remove its unit file. Return whether there was one.

    Raises
    ------
    HindmostError
        The file cannot be removed, or systemd did not stop the daemon.
    """
    path = unit_folder(user=user) / NAME
    if not path.exists():
        return False
    if shutil.which("systemctl") is not None:
        _systemctl("disable", "--now", NAME, user=user)
    try:
        path.unlink()
    except OSError as error:
        raise _not_writable(path, error) from None
    if shutil.which("systemctl") is not None:
        _systemctl("daemon-reload", user=user)
    return True


def _systemctl(*words: str, user: bool) -> None:
    command = ["systemctl", *(["--user"] if user else []), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise HindmostError(
            "unit-failed",
            f"{shlex.join(command)}: {done.stderr.strip() or f'exit code {done.returncode}'}",
            hint="hindmost watch install --print shows the unit",
            command=shlex.join(command),
            value=done.returncode,
        )


def _not_writable(path: Path, error: OSError) -> HindmostError:
    return HindmostError(
        "unwritable-file",
        f"{path} cannot be written: {error.strerror}",
        hint="run as root, or install it for this user: --user",
        path=str(path),
    )


def _quote(word: str) -> str:
    """Quote a word for a command line of systemd (systemd.service(5)).

    Examples
    --------
    >>> print(_quote("/srv/50% off"))
    "/srv/50%% off"
    """
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if " " in word or escaped != word else word
