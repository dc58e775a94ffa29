"""Turns a target's description into the request for its guard: folder, files, placeholders, program."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hindmost.core.plan.tls import Tls
from hindmost.core.targets import temporary
from hindmost.core.targets.cpus import format_cpus, parse_cpus
from hindmost.core.targets.placeholders import render
from hindmost.core.targets.procfs import join_address
from hindmost.core.targets.spec import TargetSpec
from hindmost.core.targets.users import Account
from hindmost.core.targets.warden import Folder, Request
from hindmost.errors import TargetError, UsageError

# Debian installs servers here, outside a user's PATH: PostgreSQL's programs in a folder for each version.
_SYSTEM_PATH = ["/usr/local/sbin", "/usr/sbin", "/sbin"]
_POSTGRESQL = Path("/usr/lib/postgresql")
_ONLINE = Path("/sys/devices/system/cpu/online")


@dataclass(frozen=True)
class Launch:
    """One start of a server, ready to run.

    Attributes
    ----------
    request
        For the guard.
    ready_argv
        Command of the ready probe; empty for the other kinds.
    tls, socket
        TLS settings and Unix socket of the target file, with placeholders filled in.
    """

    request: Request
    ready_argv: tuple[str, ...]
    tls: Tls | None = None
    socket: str | None = None


def threads_for(spec: TargetSpec, cpus: Sequence[int] | None) -> int:
    """Return the value of ``{threads}``: the file's, else the number of CPUs that the server may use."""
    return spec.threads or len(cpus or os.sched_getaffinity(0))


def choose_folder(spec: TargetSpec, account: Account | None) -> Folder:
    """Choose a new folder that the server's user can reach and write; the guard creates it.

    Raises
    ------
    TargetError
        If there is no place for the folder.
    """
    for path in temporary.candidates():
        # The server's user must be able to enter every parent folder.
        if account is None or all(_passable(folder) for folder in (path, *path.parents)):
            name = path / f"hindmost-{spec.protocol}-{secrets.token_hex(4)}"
            return Folder(str(name), account.uid if account else None, account.gid if account else None)
    raise TargetError(
        "unwritable-file",
        f"cannot create a temporary folder for {spec.name} in {temporary.folder()}",
        hint="set TMPDIR to a folder that every user may enter",
        path=str(temporary.folder()),
        name=spec.name,
    )


def prepare(
    spec: TargetSpec,
    folder: Path,
    account: Account | None,
    *,
    cpus: Sequence[int] | None,
    port: int,
    log: Path | None,
) -> Launch:
    """Fill in the placeholders and write the target's files into `folder`, which we still own.

    Raises
    ------
    TargetError
        If the program is missing, or a file cannot be written.
    UsageError
        If the target names CPUs that do not exist.
    """
    check_cpus(spec, cpus)
    values: dict[str, object] = {
        **spec.options,
        "host": spec.host,
        "port": port,
        "address": join_address(spec.host, port),
        "cpus": format_cpus(cpus or os.sched_getaffinity(0)),
        "threads": threads_for(spec, cpus),
        "dir": str(folder),
        "here": str(spec.folder),
        "python": sys.executable,
        "options": spec.options,
    }
    if spec.socket is not None:
        values["socket"] = str(folder / render(spec.socket, values))
    tls = None
    if spec.tls is not None:
        tls = spec.tls.with_paths(lambda path: render(path, values)).absolute(spec.folder)
    env = {**os.environ, **{name: render(text, values) for name, text in spec.env.items()}}
    env["PATH"] = search_path(env)
    for needed in spec.needs:
        find_program(spec, needed, env)
    argv = [render(text, values) for text in spec.command]
    try:
        _write_files(spec, folder, values)
    except (OSError, ValueError) as error:
        raise TargetError(
            "unwritable-file",
            f"cannot write the files of {spec.name}: {error}",
            hint=f"df -h {folder.parent}",
            path=str(folder),
            name=spec.name,
        ) from None
    request = Request(
        argv=argv,
        program=find_program(spec, argv[0], env),
        env=env,
        cwd=str(folder if spec.cwd is None else spec.folder / render(spec.cwd, values)),
        cpus=list(cpus or []),
        log=str((log or folder / "server.log").absolute()),
        stop_signal=spec.stop.number,
        stop_argv=[render(text, values) for text in spec.stop.command or []],
        stop_timeout_s=spec.stop.timeout_s,
        uid=account.uid if account else None,
        gid=account.gid if account else None,
        groups=account.groups if account else None,
    )
    ready = tuple(render(text, values) for text in spec.ready.command or [])
    socket = None if spec.socket is None else str(values["socket"])
    return Launch(request, ready, tls, socket)


def search_path(env: Mapping[str, str]) -> str:
    """Return the search path of a server's programs and scripts: PATH, then the system's folders."""
    newest_first = sorted(_POSTGRESQL.glob("*/bin"), key=lambda path: -float(path.parent.name))
    folders = dict.fromkeys([env.get("PATH", os.defpath), *_SYSTEM_PATH, *map(str, newest_first)])
    return ":".join(folders)


def find_program(spec: TargetSpec, name: str, env: Mapping[str, str]) -> str:
    """Find the file that a command names: in PATH and the system's folders, or relative to the target file.

    Raises
    ------
    TargetError
        If it is missing or not executable; the hint names the package if known.
    """
    if "/" in name:
        path = spec.folder / name
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
        problem = "is not executable" if path.exists() else "does not exist"
        raise TargetError(
            "missing-program",
            f"cannot start {spec.name}: {path} {problem}",
            hint=f"ls -l {path}",
            name=spec.name,
            path=str(path),
        )
    found = shutil.which(name, path=search_path(env))
    if found is None:
        hint = f"apt-get install {spec.package}" if spec.package else f"install {name}, or give its full path"
        raise TargetError(
            "missing-program",
            f"cannot start {spec.name}: the program {name} is not installed",
            hint=hint,
            name=name,
            package=spec.package,
        )
    return str(Path(found).absolute())


def check_cpus(spec: TargetSpec, cpus: Sequence[int] | None) -> None:
    """Refuse CPUs that this machine does not have (UsageError)."""
    try:
        online = parse_cpus(_ONLINE.read_text().strip())
    except (OSError, ValueError):
        return  # the guard checks what the kernel permits
    if missing := sorted(set(cpus or []) - set(online)):
        raise UsageError(
            "bad-value",
            f"target {spec.name}: cpus = {format_cpus(cpus or [])}, but CPU {format_cpus(missing)} is"
            f" missing or offline; online: {format_cpus(online)}",
            hint=f'cpus = "{format_cpus(os.sched_getaffinity(0))}" is what Hindmost itself may use',
            key="cpus",
            value=format_cpus(cpus or []),
            missing=missing,
            known=format_cpus(online),
        )


def _passable(folder: Path) -> bool:
    return folder.is_dir() and bool(folder.stat().st_mode & 0o001)


def _write_files(spec: TargetSpec, folder: Path, values: Mapping[str, object]) -> None:
    for name, text in spec.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(render(text, values), encoding="utf-8")
