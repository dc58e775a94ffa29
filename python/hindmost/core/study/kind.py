"""Kinds of studies: how each is run, answered from its folder, and published.

The manifest names the kind of a study. A kind is a module with a `Kind` as ``KIND``, one row in `KINDS`,
and its command in `hindmost.core.store.kinds`. This module does what all kinds share: the lock, Ctrl-C, what
is kept, and the command to resume.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from hindmost.core.exits import Exit
from hindmost.core.plan.secrets import trust, untrusted_references
from hindmost.core.store import Study, name_of
from hindmost.core.store.estimates import encode, to_document
from hindmost.core.store.study import read_only
from hindmost.core.study.talk import Talk
from hindmost.errors import HindmostError, Interrupted, StudyError, UsageError

if TYPE_CHECKING:
    from hindmost.core.frames import Library
    from hindmost.core.results.result import Result
    from hindmost.present.blocks import View

Answer = TypeVar("Answer")

KINDS = {
    "measure": "hindmost.commands.measure.kind",
    "search": "hindmost.commands.measure.search.kind",
    "attribution": "hindmost.commands.attribute.kind",
    "verification": "hindmost.commands.compare.clone.kind",
    "comparison": "hindmost.commands.compare.targets.kind",
    "batching": "hindmost.commands.compare.batching.kind",
    "trial": "hindmost.commands.compare.setting.kind",
    "explain": "hindmost.commands.explain.procedure",
}
"""The registry: from name to the module with its `KIND`, which is imported when needed."""
DEEPEST = 4
"""Most folder levels between a study and its deepest part: ``LOAD/confirmation/SIDE/CELL``."""


@dataclass(frozen=True, slots=True)
class PublishedAnswer:
    """An answer that was written into its study, and what to show.

    Attributes
    ----------
    answer : msgspec.Struct or mapping
        The answer.
    document : mapping
        The answer as plain data, for JSON.
    table : callable
        Renders the answer for the terminal.
    exit : Exit
        Exit code for scripts.
    notes : tuple of str
        Where the files are, and what to do next; for people only.
    account : callable, optional
        Renders the complete table, if `table` leaves anything out (``--verbose``).
    said : tuple of str
        Lines that are shown even with ``--quiet``.
    failed : tuple of str
        Files that could not be written.
    """

    answer: object
    document: Mapping[str, Any]
    table: Callable[[], str]
    exit: Exit
    notes: tuple[str, ...]
    account: Callable[[], str] | None = None
    said: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kind(Generic[Answer]):
    """A kind of study.

    Attributes
    ----------
    run : callable
        ``run(study, talk, **options)``: make the missing runs, and return the answer. The study is locked,
        and its manifest determines its runs.
    answer : callable
        ``answer(study)``: compute the same answer from the folder alone, on any machine.
    publish : callable
        ``publish(study, answer, page=None)``: write the files and the page.
    result_class : str
        ``module:class`` of its result for Python users.
    """

    name: str
    run: Callable[..., Answer]
    answer: Callable[[Study], Answer]
    publish: Callable[[Study, Answer, Path | None], PublishedAnswer]
    result_class: str

    def result(self, document: object, folder: Path, *, frames: Library | None = None) -> Result[Any]:
        """Return a document of this kind as a result for Python users."""
        made: Result[Any] = resolve_name(self.result_class)(document, folder, frames=frames)
        return made


def publish_view(
    study: Study,
    file: str,
    answer: object,
    view: View,
    exit_code: Exit,
    page: Path | None = None,
) -> PublishedAnswer:
    """Write an answer as `file` and its view as a page into its study.

    Parameters
    ----------
    page : Path, optional
        Path of the page; ``report.html`` in the study by default.
    """
    from hindmost.present.page import render_page
    from hindmost.present.terminal import render_terminal

    document = to_document(answer)
    study.write(file, encode(document))
    where = study.write_page(render_page(view), page)
    notes = (f"page: {where}", f"study: {study.folder}")
    return PublishedAnswer(answer, document, lambda: render_terminal(view), exit_code, notes)


def kind_of(study: Study) -> Kind[Any]:
    """Return the kind of a study.

    Raises
    ------
    StudyError
        This version does not know the kind.
    """
    name = name_of(study.manifest)
    if name not in KINDS:
        raise StudyError(
            "unsupported-format",
            f"{study.folder} is a study of kind {name!r}; this version knows {', '.join(KINDS)}",
            hint="read it with the version of Hindmost that wrote it",
            path=str(study.folder),
            kind=name,
            known=list(KINDS),
        )
    kind: Kind[Any] = import_module(KINDS[name]).KIND
    return kind


def resume_command(study: Study) -> str:
    """Return the command that resumes a study, or the study of which it is a part."""
    return (_whole_of(study) or study).resume_command


def refuse_another(study: Study, *names: str) -> None:
    """Refuse to resume a study of another kind, or a part of a study; the error names the right command.

    Raises
    ------
    UsageError
        The study's kind is not in `names`, or it is a part, which does not know its server's setting.
    """
    if (whole := _whole_of(study)) is not None:
        raise UsageError(
            "part-of-study",
            f"{study.folder} is a part of {whole.folder}, a study of kind {name_of(whole.manifest)}",
            hint=f"to resume the whole study: {whole.resume_command}",
            path=str(study.folder),
            study=str(whole.folder),
            kind=name_of(whole.manifest),
        )
    kind = kind_of(study)
    if kind.name not in names:
        raise UsageError(
            "wrong-study-kind",
            f"{study.folder} is a study of kind {kind.name}, not {' or '.join(names)}",
            hint=f"to resume it: {study.resume_command}",
            path=str(study.folder),
            kind=kind.name,
            need=list(names),
        )


def carry_out(study: Study, talk: Talk, page: Path | None = None, **options: object) -> PublishedAnswer:
    """Make the missing runs of a study, answer it and publish the answer.

    Parameters
    ----------
    study : Study
        A new study, or one to resume.
    talk : Talk
        Receives the progress.
    page : Path, optional
        Path of the page; in the study's folder by default.
    options
        Options of the kind's `run`.

    Raises
    ------
    HindmostError
        The reason for the end; finished runs are kept, and the error contains the command to resume.
    """
    kind = kind_of(study)
    _confirm(study, talk)
    try:
        with study.lock():
            answer = kind.run(study, talk, **options)
            with read_only() as failed:
                shown = kind.publish(study, answer, page)
            if failed:  # the answer is shown anyway, and the runs are kept
                notes = (f"study: {study.folder}",)
                return replace(shown, notes=notes, failed=tuple(dict.fromkeys(failed)))
            return shown
    except (KeyboardInterrupt, Interrupted) as stop:
        kept = _count_finished_runs(study)
        raise Interrupted(
            f"{str(stop) or 'interrupted'}; {_runs(kept)} kept in {study.folder}",
            hint=study.resume_command,
            runs=kept,
            path=str(study.folder),
        ) from None
    except HindmostError as error:
        if kept := _count_finished_runs(study):
            error.add_note(f"{_runs(kept)} kept: {study.resume_command}")
        raise


def _confirm(study: Study, talk: Talk) -> None:
    """Ask before a stored study, perhaps from someone else, sends our secrets or runs its own programs."""
    if study.fresh:
        trust(study.manifest)
        for note in study.manifest.get("plan", {}).get("notes", ()):
            talk.warn(f"note[{note['code']}]: {note['text']}")
    if not (named := untrusted_references(study.manifest)):
        return
    target, names = str(study.manifest["plan"].get("target")), ", ".join(named)
    if not talk.trusts(f"{study.folder} would use {names} for {target}. Continue?"):
        raise UsageError(
            "untrusted-reference",
            f"{study.folder} would use {names} for {target}",
            hint=f"{study.resume_command} --yes",
            names=named,
            target=target,
            path=str(study.folder),
        )
    trust(study.manifest)


def report_study(study: Study, page: Path | None = None) -> PublishedAnswer:
    """Answer and publish a stored study again, without measuring; the page goes to `page` if given.

    A read-only study, such as one in an archive, is answered too.

    Raises
    ------
    StudyError
        The study has no finished run, or cannot be read.
    """
    kind = kind_of(study)
    with read_only() as failed:  # publishing also answers and writes the parts of a study
        shown = kind.publish(study, kind.answer(study), page)
    if failed:
        return replace(shown, notes=(f"not stored: {failed[0]}", f"study: {study.folder}"))
    return shown


def _count_finished_runs(study: Study) -> int:
    """Return the number of finished runs, including those of parts."""
    return sum(1 for _ in study.folder.glob("**/runs/[0-9]*"))


def _runs(count: int) -> str:
    return f"{count} finished run{'' if count == 1 else 's'}"


def _whole_of(part: Study) -> Study | None:
    """Find the study of which `part` is a part, by its folder; None if it is a whole study."""
    for folder in list(part.folder.resolve().parents)[:DEEPEST]:
        try:
            whole = Study.open(folder)
        except StudyError:
            continue
        if name_of(whole.manifest) != "measure":  # a measurement has no parts
            return whole
    return None
