"""Kinds of studies: how each is carried out, answered from its folder, and shown.

The manifest says of what kind a study is. A kind is one file ``studies/NAME/kind.py`` with a `Kind`, one row
in `KINDS`, and its verb in `hindmost.store.kinds`. What holds for all is here, once: the lock, Ctrl-C,
what is kept, the way to go on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from hindmost.errors import HindmostError, Interrupted, StudyError, UsageError
from hindmost.exits import Exit
from hindmost.plan.secrets import trust, untrusted_references
from hindmost.store import Study, name_of
from hindmost.store.estimates import encode
from hindmost.store.study import read_only
from hindmost.studies.talk import Talk

Answer = TypeVar("Answer")

KINDS = {
    "measure": "hindmost.studies.measure.kind",
    "search": "hindmost.studies.search.kind",
    "attribution": "hindmost.studies.attribution.kind",
    "verification": "hindmost.studies.comparison.clone.kind",
    "comparison": "hindmost.studies.comparison.targets.kind",
    "batching": "hindmost.studies.comparison.batching.kind",
    "trial": "hindmost.studies.comparison.setting.kind",
    "explain": "hindmost.explain.procedure",
}
"""The registry: name to the module whose `KIND` it is, loaded when such a study is met."""
DEEPEST = 4
"""Folders between a study and its deepest part: ``LOAD/confirmation/SIDE/CELL``."""


@dataclass(frozen=True, slots=True)
class Shown:
    """An answer that was written into its study, and what to tell of it.

    Attributes
    ----------
    document : mapping
        The answer as JSON.
    table : callable
        Writes it for the terminal.
    exit : Exit
        What it says to scripts.
    notes : tuple of str
        Where things lie and what could be done next; talk, not data.
    account : callable, optional
        Writes the table with all that is known, where it leaves anything out (``--verbose``).
    said : tuple of str
        What is told even to those who want no talk.
    failed : tuple of str
        What could not be written.
    """

    document: Mapping[str, Any]
    table: Callable[[], str]
    exit: Exit
    notes: tuple[str, ...]
    account: Callable[[], str] | None = None
    said: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kind(Generic[Answer]):
    """One kind of study.

    Attributes
    ----------
    run : callable
        ``run(study, talk, **options)``: make all runs that are not there yet, and answer. The study is
        locked, and its manifest says all that decides its runs.
    answer : callable
        ``answer(study)``: the same answer from the folder alone, on any machine, years later.
    publish : callable
        ``publish(study, answer, page=None)``: write files and page.
    """

    name: str
    run: Callable[..., Answer]
    answer: Callable[[Study], Answer]
    publish: Callable[[Study, Answer, Path | None], Shown]


def write_answer(
    study: Study,
    file: str,
    answer: Answer,
    renderers: tuple[Callable[[Answer], str], Callable[[Answer], str]],
    exit_code: Exit,
    page: Path | None = None,
) -> Shown:
    """Write an answer as `file` and as a page into its study: what most kinds publish.

    Parameters
    ----------
    renderers : pair of callables
        Of the page, and of the terminal's table.
    page : Path, optional
        Where the page goes, if not to ``report.html`` in the study.
    """
    render, render_table = renderers
    from hindmost.report.common.document import clean

    document = cast("Mapping[str, Any]", answer)
    study.write(file, encode(document))
    printable = cast("Answer", clean(document))
    where = study.write_page(render(printable), page)
    notes = (f"page: {where}", f"study: {study.folder}")
    return Shown(document, lambda: render_table(printable), exit_code, notes)


def kind_of(study: Study) -> Kind[Any]:
    """The kind of a study.

    Raises
    ------
    StudyError
        If this version knows none of that name.
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


def again(study: Study) -> str:
    """The command that goes on with a study, or with the whole that it is a part of."""
    return (_whole_of(study) or study).resume_command


def refuse_another(study: Study, *names: str) -> None:
    """Refuse to go on with a study of another kind, or with a part; the error says what goes on with it.

    Raises
    ------
    UsageError
        If it is of none of the kinds `names`, or lies within a study: a part does not know its server's
        setting.
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


def carry_out(study: Study, talk: Talk, page: Path | None = None, **options: object) -> Shown:
    """Make all runs of a study that are not there yet; answer and publish it.

    Parameters
    ----------
    study : Study
        A new one, or one to go on with.
    talk : Talk
        Told how far it is.
    page : Path, optional
        Where the page goes, if not into the study's folder.
    options
        Of the kind's `run`.

    Raises
    ------
    HindmostError
        What ended it; finished runs are kept, and the error says how to go on.
    """
    kind = kind_of(study)
    _confirm(study, talk)
    try:
        with study.lock():
            answer = kind.run(study, talk, **options)
            with read_only() as failed:
                shown = kind.publish(study, answer, page)
            if failed:  # it is shown all the same, and what was measured is kept
                notes = (f"study: {study.folder}",)
                return replace(shown, notes=notes, failed=tuple(dict.fromkeys(failed)))
            return shown
    except (KeyboardInterrupt, Interrupted) as stop:
        kept = _finished(study)
        raise Interrupted(
            f"{str(stop) or 'interrupted'}; {_runs(kept)} kept in {study.folder}",
            hint=study.resume_command,
            runs=kept,
            path=str(study.folder),
        ) from None
    except HindmostError as error:
        if kept := _finished(study):
            error.add_note(f"{_runs(kept)} kept: {study.resume_command}")
        raise


def _confirm(study: Study, talk: Talk) -> None:
    """Ask before a stored study, which may be another's, sends what is ours or runs a program of its own."""
    if study.fresh:
        trust(study.manifest)
        for note in study.manifest.get("plan", {}).get("notes", ()):
            talk.warn(f"note[{note['code']}]: {note['text']}")
    if not (named := untrusted_references(study.manifest)):
        return
    target, names = str(study.manifest["plan"].get("target")), ", ".join(named)
    if not talk.trusts(f"{study.folder} would use {names} for {target}. Go on?"):
        raise UsageError(
            "untrusted-reference",
            f"{study.folder} would use {names} for {target}",
            hint=f"{study.resume_command} --yes",
            names=named,
            target=target,
            path=str(study.folder),
        )
    trust(study.manifest)


def reported(study: Study, page: Path | None = None) -> Shown:
    """Answer and publish a stored study again, its page to `page` if that is given; nothing is measured.

    A study that cannot be written, as in an archive, is shown all the same.

    Raises
    ------
    StudyError
        If it has no finished run, or cannot be read.
    """
    kind = kind_of(study)
    with read_only() as failed:  # parts of a study are answered, and written, with it
        shown = kind.publish(study, kind.answer(study), page)
    if failed:
        return replace(shown, notes=(f"not stored: {failed[0]}", f"study: {study.folder}"))
    return shown


def _finished(study: Study) -> int:
    """Runs that are there, those of its parts included."""
    return sum(1 for _ in study.folder.glob("**/runs/[0-9]*"))


def _runs(count: int) -> str:
    return f"{count} finished run{'' if count == 1 else 's'}"


def _whole_of(part: Study) -> Study | None:
    """The study that a study is a part of, found by where it lies; None if it is whole."""
    for folder in list(part.folder.resolve().parents)[:DEEPEST]:
        try:
            whole = Study.open(folder)
        except StudyError:
            continue
        if name_of(whole.manifest) != "measure":  # which has no parts
            return whole
    return None
