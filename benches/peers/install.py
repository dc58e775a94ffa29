"""Installs the peers: Debian packages by ``setup/system.sh``, others into ``.peers/``, which git ignores."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benches.peers.peer import Peer, Source

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".peers"
_TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
SERVERS = ("memcached", "redis-server", "nginx", "tcpdump")


@dataclass(frozen=True)
class Had:
    """Path of a peer's program and its version; or why it is missing."""

    path: str | None
    version: str
    remark: str = ""


def _stamp(source: Source) -> Path:
    return FOLDER / "stamps" / f"{source.program}-{source.version}"


def _command(source: Source) -> tuple[list[str], dict[str, str]]:
    if source.kind == "cargo":
        wanted = f"{source.package}@{source.version}"
        return ["cargo", "install", "--quiet", "--locked", "--root", str(FOLDER), wanted], {
            "CARGO_TARGET_DIR": str(FOLDER / "target")
        }
    if source.kind == "example":
        manifest = str(ROOT / "Cargo.toml")
        build = ["cargo", "build", "--quiet", "--release", "--locked", "--manifest-path", manifest]
        return [*build, "-p", source.package, "--example", source.program], {"CARGO_TARGET_DIR": str(_TARGET)}
    return ["go", "install", f"{source.package}@{source.version}"], {"GOBIN": str(FOLDER / "bin")}


def _build(source: Source) -> str:
    """Build one program; return the error, or an empty string."""
    command, extra = _command(source)
    if shutil.which(command[0]) is None:
        return f"there is no {command[0]} here"
    print(f"peers: installing {source.program} {source.version}: {' '.join(command)}", file=sys.stderr)
    # Build outside the project, so that its toolchain file and workspace do not apply.
    done = subprocess.run(
        command,
        cwd="/",
        env={**os.environ, **extra},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return f"{' '.join(command)} failed: {last.strip()}"
    _stamp(source).parent.mkdir(parents=True, exist_ok=True)
    _stamp(source).touch()
    return ""


def install(peers: Iterable[Peer]) -> dict[str, str]:
    """Install the missing programs of peers, like `install_sources`."""
    return install_sources(peer.source for peer in peers)


def install_sources(wanted_sources: Iterable[Source]) -> dict[str, str]:
    """Install missing programs at their pinned versions.

    Returns
    -------
    dict
        The reason for each program that cannot be installed.
    """
    sources = {source.program: source for source in wanted_sources}
    wanted = [f"{one.program}={one.package}" for one in sources.values() if one.kind == "debian"]
    subprocess.run([ROOT / "setup" / "system.sh", "want", *SERVERS, *wanted], check=False)
    failures = {}
    for one in sources.values():
        if one.kind == "example" or (one.kind in ("cargo", "go") and not _stamp(one).exists()):
            failure = _build(one)
            if failure:
                failures[one.program] = failure
    return failures


def _debian_version(package: str) -> str:
    command = ["dpkg-query", "-W", "-f", "${Version}", package]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def _debian(source: Source) -> Had:
    path = shutil.which(source.program)
    if path is None:
        return Had(None, "", f"there is no {source.program} here (Debian package {source.package})")
    version = _debian_version(source.package)
    upstream = version.rpartition(":")[2]
    remark = "" if upstream.startswith(source.version) else f"pinned is {source.version}"
    return Had(path, version or "of unknown version", remark)


def find(source: Source) -> Had:
    """Look for a program without installing it."""
    if source.kind == "debian":
        return _debian(source)
    if source.kind == "here":
        return Had(str(Path(sys.executable).parent / source.program), source.version)
    if source.kind == "example":
        built = _TARGET / "release" / "examples" / source.program
        return Had(str(built), source.version) if built.exists() else Had(None, "", f"{built} is not built")
    path = FOLDER / "bin" / source.program
    if _stamp(source).exists() and path.exists():
        return Had(str(path), source.version)
    return Had(None, "", f"{source.program} {source.version} is not in {FOLDER}: --install")
