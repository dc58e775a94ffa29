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
from hindmost.core.run.request import MeasureRequest
from hindmost.errors import UsageError

if TYPE_CHECKING:
    from hindmost.cli.progress import Talk
    from hindmost.core.store import Study
    from hindmost.core.study.kind import PublishedAnswer

KINDS = ("comparison", "trial", "batching", "verification")
"""Kinds of studies that this command makes and resumes."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of this command, each None or empty if it is not given."""

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
    pairs: int | None
    limits: tuple[str, ...]
    out: Path | None

    def list_given(self, *names: str) -> list[str]:
        """Return the names of the given options among `names`; default: among all that select arms."""
        renamed = {"set_": "--set", "server_threads": "--server-threads", "limits": "--fail-if"}
        wanted = names or [name for name in self.__slots__ if name not in SHARED]
        return [renamed.get(name, f"--{name}") for name in wanted if getattr(self, name) not in UNGIVEN]


SHARED = ("pairs", "limits", "out")
"""Options that belong to no mode."""
OWN = {
    "--live": ("--margin",),
    "--set": ("--by", "--refine", "--keep"),
    "--batch": ("--by",),
    "--clone": ("--loads", "--server-threads", "--logged", "--occupy"),
    "": ("--margin", "--anyway"),
}
"""Options that belong to each mode; the last mode compares stored studies."""
UNFIT = {
    "--set": {"--quick", "--schedule", "--decide-on"},
    "--batch": {"--quick", "--schedule", "--batching", "--decide-on"},
}
"""Options of a measurement that a mode refuses."""
CLONE_RUNS = {"--connections", "--duration", "--warmup", "--server-cpus", "--seed"}
"""Options of a measurement that --clone allows."""


@add_request_options(
    MeasureRequest,
    before={"server_cpus": "live", "stamps": "pairs"},
    without=("target", "runs", "precision", "verify_wire", "live"),
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
            "Valid runs of each arm; you can raise this later. [default: as many as needed to decide]",
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
    from hindmost.core.plan import parse_changes

    keep_private(shared=shared)
    refuse_files({"--page": page})
    limits = tuple(one.text for one in parse_changes(fail_if))
    options = Options(
        *(live, set_, batch, clone, anyway, margin, by, refine, keep, loads, server_threads, logged, occupy),
        *(pairs, limits, out),
    )
    mode = select_mode(dict.fromkeys(options.list_given(), True), OWN, "stored studies")
    if kind := _kind_to_resume(what):
        study = _reopen(asked, Path(what[0]), kind, options)
    elif mode == "":
        return print_answer(
            _compare_stored(asked, what, options, page), as_json=json_, quiet=quiet, timed=False
        )
    else:
        study = _open_new(asked, what, mode, options)
    shown = _carry_out(study, Talk(quiet=quiet, trust=yes), page, keep=keep)
    return print_answer(shown, as_json=json_, quiet=quiet, timed=True)


def _kind_to_resume(what: tuple[str, ...]) -> str:
    """Return the kind of the only named study if this command made it; otherwise an empty string."""
    from hindmost.core.store import Study, name_of

    if len(what) != 1 or not (Path(what[0]) / "manifest.json").exists():
        return ""
    kind = name_of(Study.open(Path(what[0])).manifest)
    return kind if kind in KINDS else ""


def _reopen(asked: MeasureRequest, folder: Path, kind: str, options: Options) -> Study:
    from hindmost.commands.compare import batching, clone, setting, targets
    from hindmost.core.study.begin import refuse_changes

    changed = asked.fixed_options() + [
        name for name in options.list_given() if (kind, name) != ("trial", "--keep")
    ]
    changed += options.list_given("out")
    if kind == "comparison":
        refuse_changes(changed, f"hindmost compare {folder}; --pairs and --fail-if may change")
        return targets.reopen(folder, options.pairs, options.limits)
    refuse_changes(changed + options.list_given("limits"), f"hindmost compare {folder}; --pairs may change")
    if kind == "verification":
        return clone.reopen(folder, options.pairs)
    if kind == "trial":
        return setting.reopen(folder, options.pairs)
    return batching.reopen(folder, options.pairs)


def _open_new(asked: MeasureRequest, what: tuple[str, ...], mode: str, options: Options) -> Study:
    from hindmost.commands.compare import batching, setting, targets

    if mode == "--live":
        return targets.open_new(what, asked, options.pairs, _margin(options), options.limits, options.out)
    if options.limits:
        refuse_conflict("--fail-if", mode)
    if len(what) != 1:
        raise UsageError(
            "missing-argument" if not what else "unexpected-argument",
            f"{mode} compares arms of one target, but the command has {len(what)} targets",
            hint=f"hindmost compare memcached {mode} ...",
            argument="TARGET",
        )
    given = set(asked.fixed_options())
    unfit = given - CLONE_RUNS if mode == "--clone" else given & UNFIT[mode]
    if unfit:
        refuse_conflict(min(unfit), mode)
    request = replace(asked, target=what[0])
    if options.set_ is not None:
        name, levels = setting.parse_setting(options.set_, request)
        by, refine = options.by or "p99", options.refine or 0
        return setting.open_new(request, name, levels, options.pairs, by, options.out, refine)
    if options.batch is not None:
        intervals = None if options.batch == "auto" else options.batch
        return batching.open_new(request, intervals, options.pairs, options.by or "mean", options.out)
    return _open_clone(request, what[0], options)


def _open_clone(asked: MeasureRequest, original: str, options: Options) -> Study:
    from hindmost.commands.compare.clone.request import LOADS, PAIRS, open_new

    return open_new(
        str(options.clone),
        original,
        threads=options.server_threads,
        loads=options.loads or LOADS,
        logged=options.logged,
        pairs=PAIRS if options.pairs is None else options.pairs,
        occupy=options.occupy or "cpu",
        out=options.out,
        seed=asked.seed,
        connections=asked.connections,
        duration=asked.duration or "5s",
        warmup=asked.warmup or "1s",
        server_cpus=asked.server_cpus,
        remake=asked.remake or "50%",
    )


def _carry_out(study: Study, talk: Talk, page: Path | None, *, keep: bool) -> PublishedAnswer:
    from hindmost.core.store import name_of
    from hindmost.core.study.kind import carry_out

    more = {"keep": keep} if name_of(study.manifest) == "trial" else {}
    return carry_out(study, talk, page, **more)


def _compare_stored(
    asked: MeasureRequest, what: tuple[str, ...], options: Options, page: Path | None
) -> PublishedAnswer:
    from hindmost.commands.compare.targets import MARGIN, compare, show

    if given := [
        *(name for name in asked.fixed_options() if name != "--decide-on"),
        *([] if asked.remake is None else ["--remake"]),
        *options.list_given("pairs", "out"),
    ]:
        raise UsageError(
            "conflicting-options",
            f"{given[0]} applies to new runs, but stored studies are already measured",
            hint=f"add --live, or leave out {given[0]}",
            option=given[0],
        )
    for name in what:
        if not Path(name).exists():
            raise UsageError(
                "no-such-file",
                f"{name} is not a study folder",
                hint=f"to measure the targets now: hindmost compare --live {' '.join(what)}",
                path=name,
            )
    margin = _margin(options)
    document = compare(
        what,
        margin=MARGIN if margin is None else margin,
        fail_if=options.limits,
        anyway=options.anyway,
        decide_on=asked.decide_on,
    )
    return show(document, page)


def _margin(options: Options) -> float | None:
    from hindmost.core.plan import parse_percent

    return None if options.margin is None else parse_percent(options.margin, "--margin")
