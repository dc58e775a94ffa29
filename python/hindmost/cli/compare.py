"""``hindmost compare``: compare studies, targets, levels, batching, or a clone and its original."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from hindmost.cli.modes import UNGIVEN, refuse_conflict, select_mode
from hindmost.cli.options import (
    LOAD,
    OUTPUT,
    PROCEDURE,
    TARGET,
    Json,
    Page,
    Shared,
    Yes,
    integer_option,
    keep_private,
    option,
    switch,
)
from hindmost.cli.requests import add_request_options
from hindmost.errors import UsageError
from hindmost.run.request import MeasureRequest

if TYPE_CHECKING:
    from hindmost.cli.progress import Talk
    from hindmost.store import Study
    from hindmost.studies.kind import Shown

KINDS = ("comparison", "trial", "batching", "verification")
"""Kinds of studies that this command creates and continues."""


@dataclass(frozen=True, slots=True)
class Arms:
    """Options that select what to compare. Each is None if it is not given."""

    live: bool
    set_: str | None
    batch: str | None
    clone: str | None
    anyway: bool
    margin: str | None
    by: str | None
    refine: int | None
    keep: bool
    loads: str | None
    server_threads: int | None
    logged: tuple[Path, ...]
    occupy: Literal["wall", "cpu"] | None

    def given(self) -> dict[str, object]:
        """Return the given options by their names on the command line."""
        named = {"set_": "--set", "server_threads": "--server-threads"}
        values = {named.get(name, f"--{name}"): getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in values.items() if value not in UNGIVEN}


OWN = {
    "--live": ("--margin",),
    "--set": ("--by", "--refine", "--keep"),
    "--batch": ("--by",),
    "--clone": ("--loads", "--server-threads", "--logged", "--occupy"),
    "": ("--margin", "--anyway"),
}
"""Options of each mode; the empty key is the mode for stored studies."""
UNFIT = {"--set": {"--quick", "--schedule"}, "--batch": {"--quick", "--schedule", "--batching"}}
"""Options of a measurement that a mode does not accept."""


@add_request_options(
    MeasureRequest,
    before={"server_cpus": "live", "stamps": "pairs"},
    without=("target", "runs", "precision", "decide_on", "verify_wire"),
)
def compare(
    asked: MeasureRequest,
    *what: Annotated[
        str,
        option(TARGET, "STUDY|TARGET", "Folders of studies, or servers in the form that `measure` accepts."),
    ],
    live: Annotated[bool, switch(TARGET, "Measure the targets now, interleaved in random order.")] = False,
    set_: Annotated[
        str | None,
        Parameter(
            name="--set",
            group=TARGET,
            metavar="SETTING=LEVELS",
            help="Compare levels of a setting of the target, the current level first: threads=4,1, or"
            " 'socket = \"busy_poll\"=0,10..160'.",
        ),
    ] = None,
    batch: Annotated[
        str | None,
        option(
            TARGET,
            "INTERVALS",
            "Compare batching intervals of the client, for example 50us,100us; auto: intervals that batch"
            " 2 to 32 requests. No batching and Nagle's algorithm are always included.",
        ),
    ] = None,
    clone: Annotated[
        str | None,
        option(TARGET, "CLONE", "Compare a clone (document or application) with its original, the target."),
    ] = None,
    loads: Annotated[
        str | None,
        option(LOAD, "LIST", "With --clone: loads as shares of the capacity. [default: 20%,50%,70%]"),
    ] = None,
    server_threads: Annotated[
        int | None,
        integer_option(TARGET, "With --clone: worker threads of both servers. [default: the document's]"),
    ] = None,
    logged: Annotated[
        tuple[Path, ...],
        option(
            PROCEDURE,
            "STUDY",
            "With --clone: studies during which its logs were recorded, for the costs at that time.",
        ),
    ] = (),
    occupy: Annotated[
        Literal["wall", "cpu"] | None,
        option(
            PROCEDURE,
            None,
            "With --clone: whether a service takes CPU time or wall-clock time. [default: cpu]",
        ),
    ] = None,
    pairs: Annotated[
        int | None,
        integer_option(
            PROCEDURE,
            "Valid runs of each arm; you can raise this later. [default: as many as needed to decide;"
            " 10 with --live]",
        ),
    ] = None,
    margin: Annotated[
        str | None, option(PROCEDURE, "SHARE", "Treat ratios within this margin as equal. [default: 5%]")
    ] = None,
    by: Annotated[
        str | None,
        option(
            PROCEDURE,
            "FIGURE",
            "Figure to minimise: mean or a percentile. [default: p99 with --set, mean with --batch]",
        ),
    ] = None,
    refine: Annotated[
        int | None,
        integer_option(
            PROCEDURE,
            "With --set and numeric levels: rounds of levels between the best and its neighbors. [default:"
            " 0]",
        ),
    ] = None,
    keep: Annotated[
        bool,
        switch(
            PROCEDURE,
            "With --set: leave a host setting at its best level if the runs prove it better.",
            "--keep",
        ),
    ] = False,
    anyway: Annotated[bool, switch(PROCEDURE, "Compare stored studies even if their loads differ.")] = False,
    fail_if: Annotated[
        tuple[str, ...],
        Parameter(
            group=OUTPUT,
            metavar="CHANGE",
            negative="",
            help="Exit with 3 if the whole interval of a change is beyond this limit, for example 'p99>+5%'.",
        ),
    ] = (),
    out: Annotated[
        Path | None, option(OUTPUT, "STUDY", "Folder for new runs. [default: hindmost-TARGET-TIME]")
    ] = None,
    page: Page = None,
    shared: Shared = False,
    yes: Yes = False,
    json_: Json = False,
    quiet: Annotated[bool, switch(OUTPUT, "Do not show progress.", "--quiet", "-q")] = False,
) -> int:
    """Show whether two servers, settings or versions differ, percentile by percentile.

    Each arm is a stored study, a target (--live), a level of a setting (--set), a batching interval
    (--batch), or a clone next to its original (--clone). New runs alternate in random order, so all arms meet
    the same conditions. Each ratio has an interval over runs. To continue an unfinished comparison, specify
    only its folder.
    """
    from hindmost.cli.outcome import print_answer, refuse_files
    from hindmost.cli.progress import Talk
    from hindmost.plan import parse_changes, parse_percent

    keep_private(shared=shared)
    refuse_files({"--page": page})
    limits = [one.text for one in parse_changes(fail_if)]
    arms = Arms(
        live, set_, batch, clone, anyway, margin, by, refine, keep, loads, server_threads, logged, occupy
    )
    share = None if margin is None else parse_percent(margin, "--margin")
    talk = Talk(quiet=quiet, trust=yes)
    mode = select_mode(arms.given(), OWN, "stored studies")
    if kind := _kind_to_continue(what):
        study = _reopen_study(asked, Path(what[0]), kind, arms, (pairs, limits, out))
    elif mode == "":
        _refuse_options_of_runs(asked, pairs=pairs, out=out)
        return print_answer(
            _compare_stored(what, share, limits, page, anyway=anyway), as_json=json_, quiet=quiet, timed=False
        )
    else:
        if limits and mode != "--live":
            refuse_conflict("--fail-if", mode)
        study = _create_study(asked, what, mode, arms, (pairs, share, limits, out))
    return print_answer(_run_study(study, talk, page, keep=keep), as_json=json_, quiet=quiet, timed=True)


def _kind_to_continue(what: tuple[str, ...]) -> str:
    """Return the kind of the study to continue if this command made it, else an empty string."""
    from hindmost.store import Study, name_of

    if len(what) != 1 or not (Path(what[0]) / "manifest.json").exists():
        return ""
    kind = name_of(Study.open(Path(what[0])).manifest)
    return kind if kind in KINDS else ""


def _reopen_study(
    asked: MeasureRequest,
    folder: Path,
    kind: str,
    arms: Arms,
    more: tuple[int | None, list[str], Path | None],
) -> Study:
    """Open a study to continue it with its own settings."""
    from hindmost.studies import batching, comparison, trial, verification
    from hindmost.studies.begin import refuse_changes

    pairs, limits, out = more
    own = [name for name in arms.given() if (kind, name) != ("trial", "--keep")]
    changed = [*asked.fixed_options(), *own, *(["--out"] if out is not None else [])]
    if kind == "comparison":
        refuse_changes(changed, f"hindmost compare {folder}; --pairs and --fail-if may change")
        return comparison.reopened(folder, pairs, limits)
    changed += ["--fail-if"] if limits else []
    refuse_changes(changed, f"hindmost compare {folder}; --pairs may change")
    if kind == "verification":
        return verification.reopened(folder, pairs)
    return trial.reopened(folder, pairs) if kind == "trial" else batching.reopened(folder, pairs)


def _create_study(
    asked: MeasureRequest,
    what: tuple[str, ...],
    mode: str,
    arms: Arms,
    more: tuple[int | None, float | None, list[str], Path | None],
) -> Study:
    """Create a study."""
    from hindmost.studies import batching, comparison, trial, verification

    pairs, share, limits, out = more
    if mode == "--live":
        return comparison.opened(what, asked, pairs, share, limits, out)
    if len(what) != 1:
        raise UsageError(
            "missing-argument" if not what else "unexpected-argument",
            f"{mode} compares arms of one target, but the command has {len(what)} targets",
            hint=f"hindmost compare memcached {mode} ...",
            argument="TARGET",
        )
    request = replace(asked, target=what[0])
    given = set(asked.fixed_options())
    if unknown := sorted(given & UNFIT.get(mode, set())):
        refuse_conflict(unknown[0], mode)
    if arms.set_ is not None:
        setting, levels = trial.parse_setting(arms.set_, request)
        return trial.opened(request, setting, levels, pairs, arms.by or "p99", out, arms.refine or 0)
    if arms.batch is not None:
        intervals = None if arms.batch == "auto" else arms.batch
        return batching.opened(request, intervals, pairs, arms.by or "mean", out)
    known = {"--connections", "--duration", "--warmup", "--server-cpus", "--seed"}
    if unknown := sorted(given - known):
        refuse_conflict(unknown[0], "--clone")
    return verification.asked_for(
        str(arms.clone),
        what[0],
        threads=arms.server_threads,
        loads=arms.loads or "20%,50%,70%",
        logged=arms.logged,
        pairs=6 if pairs is None else pairs,
        occupy=arms.occupy or "cpu",
        out=out,
        seed=asked.seed,
        connections=asked.connections,
        duration=asked.duration if "--duration" in given else "5s",
        warmup=asked.warmup if "--warmup" in given else "1s",
        server_cpus=asked.server_cpus,
        remake=asked.remake or "50%",
    )


def _run_study(study: Study, talk: Talk, page: Path | None, *, keep: bool) -> Shown:
    """Make the missing runs, and return the answer."""
    from hindmost.store import name_of
    from hindmost.studies.kind import carry_out

    more = {"keep": keep} if name_of(study.manifest) == "trial" else {}
    return carry_out(study, talk, page, **more)


def _compare_stored(
    what: tuple[str, ...], margin: float | None, limits: list[str], page: Path | None, *, anyway: bool
) -> Shown:
    """Compare stored studies."""
    from hindmost.studies.comparison import MARGIN, compare, shown

    for one in what:
        if not Path(one).exists():
            raise UsageError(
                "no-such-file",
                f"{one} is not a study folder",
                hint=f"to measure the targets now: hindmost compare --live {' '.join(what)}",
                path=one,
            )
    document = compare(what, margin=MARGIN if margin is None else margin, fail_if=limits, anyway=anyway)
    return shown(document, page)


def _refuse_options_of_runs(asked: MeasureRequest, *, pairs: int | None, out: Path | None) -> None:
    """Refuse options of new runs if the command compares stored studies."""
    given = asked.fixed_options() + [
        flag
        for flag, value in (("--remake", asked.remake), ("--pairs", pairs), ("--out", out))
        if value is not None
    ]
    if given:
        raise UsageError(
            "conflicting-options",
            f"{given[0]} applies to new runs, but stored studies are already measured",
            hint=f"add --live, or leave out {given[0]}",
            option=given[0],
        )
