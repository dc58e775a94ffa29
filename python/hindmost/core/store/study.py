"""A study folder.

::

    STUDY/manifest.json      the request, the host, versions and seeds (hindmost.study/1)
    STUDY/runs/0001/         one run: run.json, client-K.json, client-K.hlog, samples-K.parquet,
                             worst-K.parquet, server.log, figures.msgpack
    STUDY/result.json        the result (hindmost.measure/2)
    STUDY/report.html        the page

Every file and every run folder is written under a hidden name, synced, and renamed, so it is whole or absent
even after a crash. ``runs`` are numbered without gaps, and a resumed study continues after the last. Older
manifests have no ``kind``; they have ``search``, ``verification`` or ``attribution`` instead.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from hindmost.core.documents import read_json, write_whole
from hindmost.core.store.kinds import go_on
from hindmost.core.store.manifest import RunRecord
from hindmost.core.store.reading import load_written
from hindmost.errors import StudyError, UsageError

Part = TypeVar("Part")
SCHEMA = "hindmost.study/1"


@dataclass(frozen=True)
class StoredRun:
    """One finished run: its number, its folder, and the contents of ``run.json``."""

    number: int
    folder: Path
    record: RunRecord


def now_utc() -> str:
    """Return the current time, ISO 8601 in UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


_shared = False


def share() -> None:
    """Let other users of this host read the studies that this process creates."""
    global _shared
    _shared = True


class Study:
    """An open study folder. One process at a time may write to it; any number may read.

    Parameters
    ----------
    folder : Path
        The study's folder.
    manifest : dict
        Its manifest.
    fresh : bool
        Whether this process created it; otherwise it may belong to another user.
    """

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.folder = folder
        self.manifest = manifest
        self.fresh = False

    @classmethod
    def create(cls, folder: Path, manifest: dict[str, Any]) -> Study:
        """Create a new study.

        A folder without any finished run is reused: it has nothing to keep.

        Raises
        ------
        UsageError
            If the folder contains anything else.
        StudyError
            If it cannot be written, or another process is using it.
        """
        study = cls(folder, msgspec.to_builtins({"schema": SCHEMA, **manifest}))
        study.fresh = True
        if _never_measured(folder):
            with study.lock():
                study.update()
            return study
        if (folder / "manifest.json").exists():
            try:
                existing = cls.open(folder)
            except StudyError as error:
                raise UsageError(
                    "study-exists",
                    f"{folder} already holds a study, which cannot be read: {error}",
                    hint="choose another --out",
                    path=str(folder),
                    reason=error.code,
                ) from None
            raise UsageError(
                "study-exists",
                f"{folder} already holds a study",
                hint=f"resume it: {existing.resume_command}",
                path=str(folder),
            )
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(
                "folder-in-use",
                f"{folder} exists and is not an empty folder",
                hint="choose another --out",
                path=str(folder),
            )
        with _explain_failures(folder):
            (folder / "runs").mkdir(parents=True, exist_ok=True)
            if not _shared:
                folder.chmod(0o700)
            write_whole(folder / "manifest.json", json.dumps(study.manifest, indent=1).encode())
        return study

    @classmethod
    def open(cls, folder: Path) -> Study:
        """Open an existing study.

        Raises
        ------
        StudyError
            If there is none, or its format is not supported.
        """
        path = folder / "manifest.json"
        try:
            manifest = read_json(path)
        except FileNotFoundError:
            raise StudyError(
                "no-such-study",
                f"{folder} holds no study: it has no manifest.json",
                hint=f"ls {folder}",
                path=str(folder),
            ) from None
        except (OSError, ValueError) as error:
            unreadable = isinstance(error, OSError)
            raise StudyError(
                "unreadable-file" if unreadable else "bad-file",
                f"cannot read {path}: {error}",
                hint=f"ls -ld {folder}" if unreadable else f"head -c 200 {path}",
                path=str(path),
            ) from None
        if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
            schema = manifest.get("schema") if isinstance(manifest, dict) else type(manifest).__name__
            raise StudyError(
                "unsupported-format",
                f"{folder} is a study of format {schema!r}; this version reads {SCHEMA!r}",
                hint="read it with the version of Hindmost that wrote it",
                path=str(path),
                value=schema,
                known=[SCHEMA],
            )
        study = cls(folder, manifest)
        for name in ("plan", "host"):
            study.part(name, dict)
        return study

    def part(self, name: str, kind: type[Part]) -> Part:
        """Return an entry of the manifest as its type.

        Raises
        ------
        StudyError
            It is missing, or of another type.
        """
        try:
            return msgspec.convert(self.manifest.get(name), kind)
        except msgspec.ValidationError as error:
            path = self.folder / "manifest.json"
            raise StudyError(
                "bad-file",
                f"{path} has no valid `{name}`: {error}",
                hint=f"head -c 2000 {path}",
                path=str(path),
                key=name,
            ) from None

    def update(self, **entries: object) -> None:
        """Replace entries of the manifest, and store it."""
        self.manifest |= msgspec.to_builtins(entries)
        self.write("manifest.json", json.dumps(self.manifest, indent=1))

    @property
    def resume_command(self) -> str:
        """The command that resumes the study."""
        return go_on(self.folder, self.manifest)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other writers out, and remove runs that a killed writer left unfinished."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with (
            _explain_failures(self.folder, self.resume_command),
            os.fdopen(os.open(self.folder / ".lock", flags, 0o666), "wb") as lock,
        ):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise StudyError(
                    "study-in-use",
                    f"another process is working in {self.folder}",
                    hint="wait until it ends, or choose another --out",
                    path=str(self.folder),
                ) from None
            for unfinished in self.folder.glob("runs/.part-*"):
                shutil.rmtree(unfinished, ignore_errors=True)
            yield

    def busy(self) -> bool:
        """Whether another process is writing to it; False if that cannot be checked."""
        try:
            with (self.folder / ".lock").open() as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def runs(self) -> list[StoredRun]:
        """Return all finished runs, in order."""
        return [_run(folder) for folder in sorted(self.folder.glob("runs/[0-9]*"))]

    def run(self, number: int) -> StoredRun | None:
        """Return a finished run; None if there is none of this number."""
        folder = self.folder / "runs" / f"{number:04d}"
        return _run(folder) if folder.is_dir() else None

    @contextmanager
    def new_run(self, number: int) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Provide a hidden folder and a dict for the fields of its record; keep run `number` on success."""
        part = self.folder / "runs" / f".part-{number:04d}"
        with _explain_failures(self.folder, self.resume_command):
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
            fields: dict[str, Any] = {}
            try:
                yield part, fields
                write_whole(part / "run.json", msgspec.json.encode(RunRecord(run=number, **fields)))
                part.rename(self.folder / "runs" / f"{number:04d}")
                _sync_folder(self.folder / "runs")
            except BaseException:
                shutil.rmtree(part, ignore_errors=True)
                raise

    def write(self, name: str, text: str) -> Path:
        """Write a file of the study atomically."""
        return self._write(self.folder / name, text)

    def write_page(self, text: str, elsewhere: Path | None = None) -> Path:
        """Write the study's page, ``report.html`` in its folder or a file `elsewhere`."""
        return self._write(elsewhere or self.folder / "report.html", text)

    def _write(self, path: Path, text: str) -> Path:
        failed = _TOLERATED.get()
        if failed is not None and not os.access(path.parent, os.W_OK):
            failed.append(f"{path.parent} is read-only")
            return path
        try:
            with _explain_failures(self.folder, self.resume_command):
                return write_whole(path, text.encode())
        except StudyError as error:
            if failed is None:
                raise
            failed.append(error.message.partition(";")[0])
            return path


def _run(folder: Path) -> StoredRun:
    try:
        return StoredRun(int(folder.name), folder, load_written(folder / "run.json", RunRecord))
    except (OSError, ValueError) as error:
        raise StudyError(
            "unreadable-file" if isinstance(error, PermissionError) else "damaged-run",
            f"cannot read run {folder.name}: {error}",
            hint=_repair(error, folder),
            path=str(folder / "run.json"),
            run=int(folder.name),
        ) from None


_TOLERATED: ContextVar[list[str] | None] = ContextVar("tolerated", default=None)


@contextmanager
def read_only() -> Iterator[list[str]]:
    """Collect results that cannot be written into their studies in this list, instead of failing."""
    failed: list[str] = []
    token = _TOLERATED.set(failed)
    try:
        yield failed
    finally:
        _TOLERATED.reset(token)


def _repair(error: Exception, run: Path) -> str:
    """Return a hint for a run that cannot be read; another user's run is not damaged."""
    if isinstance(error, PermissionError):
        return f"ls -ld {run}, then read it as its owner"
    return f"move {run} away, then report again"


def _never_measured(folder: Path) -> bool:
    """Whether a study was started there, but has no finished run to keep."""
    try:
        Study.open(folder)
        names = {path.name for path in folder.iterdir()}
    except (StudyError, OSError):
        return False
    return names <= {"manifest.json", "runs", ".lock"} and not any(folder.glob("runs/[!.]*"))


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _explain_failures(folder: Path, resume_command: str = "") -> Iterator[None]:
    """Turn a failed write into an error with a hint; `resume_command` resumes a study that has runs."""
    try:
        yield
    except OSError as error:
        next_step = resume_command or "repeat, or choose another --out"
        hints = {
            errno.ENOSPC: f"free some space (df -h {folder}), then {next_step}",
            errno.EDQUOT: f"free some space (quota -s), then {next_step}",
            errno.ENOTDIR: "choose another --out",
            errno.EROFS: "choose another --out",
            errno.EACCES: f"choose another --out, or ls -ld {folder}",
        }
        path = error.filename or folder
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise StudyError(
            "disk-full" if full else "unwritable-file",
            f"cannot write {path}: {error.strerror}" + ("; finished runs are kept" if resume_command else ""),
            hint=hints.get(error.errno or 0, f"ls -ld {folder}"),
            path=str(path),
            errno=errno.errorcode.get(error.errno or 0),
        ) from error
