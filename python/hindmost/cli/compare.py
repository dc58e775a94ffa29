"""``hindmost compare``: whether two servers, settings or versions really differ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from hindmost.cli.options import (
    OUTPUT,
    PROCEDURE,
    TARGET,
    Json,
    Shared,
    Yes,
    keep_private,
    option,
    switch,
    whole,
)
from hindmost.cli.requests import takes
from hindmost.errors import UsageError
from hindmost.run.request import MeasureRequest

if TYPE_CHECKING:
    from hindmost.cli.progress import Talk
    from hindmost.studies.kind import Shown


@takes(
    MeasureRequest,
    before={"server_cpus": "live", "aggregate": "pairs"},
    without=("target", "runs", "precision", "verify_wire"),
)
def compare(
    asked: MeasureRequest,
    *what: Annotated[
        str, option(TARGET, "STUDY|TARGET", "Folders of studies; with --live, servers as measure takes them.")
    ],
    live: Annotated[
        bool, switch(TARGET, "Measure the targets now, in rounds of one run each, in an order drawn anew.")
    ] = False,
    pairs: Annotated[
        int | None, whole(PROCEDURE, "Rounds that count, with --live; may be raised later. [default: 10]")
    ] = None,
    margin: Annotated[
        str | None, option(PROCEDURE, "SHARE", "Ratios within it count as the same. [default: 5%]")
    ] = None,
    anyway: Annotated[bool, switch(PROCEDURE, "Compare studies that were not loaded alike, too.")] = False,
    fail_if: Annotated[
        tuple[str, ...],
        Parameter(
            group=OUTPUT,
            metavar="CHANGE",
            negative="",
            help="Exit with 3 if a change lies beyond with all of its interval, like 'p99>+5%'.",
        ),
    ] = (),
    out: Annotated[
        Path | None, option(OUTPUT, "STUDY", "Folder of a live comparison. [default: hindmost-TARGET-TIME]")
    ] = None,
    page: Annotated[
        Path | None, option(OUTPUT, "FILE", "Write the page there. [default: into the study, if --live]")
    ] = None,
    shared: Shared = False,
    yes: Yes = False,
    json_: Json = False,
    quiet: Annotated[bool, switch(OUTPUT, "No progress.", "--quiet", "-q")] = False,
) -> int:
    """Show whether two servers, settings or versions differ, percentile by percentile.

    Each ratio to the first has an interval over runs; same is what is shown to lie within the margin. Studies
    are compared as they are stored; with --live, targets are measured in turn, so that what drifts meets all
    alike. A folder of such a comparison alone goes on with it.
    """
    from hindmost.cli.outcome import tell
    from hindmost.cli.progress import Talk
    from hindmost.plan import parse_changes, parse_percent

    keep_private(shared=shared)
    limits = [one.text for one in parse_changes(fail_if)]
    share = None if margin is None else parse_percent(margin, "--margin")
    if measures := live or _goes_on(what):
        if anyway:
            raise UsageError(
                "conflicting-options",
                "--anyway is for stored studies; --live loads all targets in the same way",
                hint="leave out --anyway",
                option="--anyway",
                other="--live",
            )
        talk = Talk(quiet=quiet, trust=yes)
        shown = _measured(asked, what, more=(pairs, share, limits, out), talk=(page, talk))
    else:
        _refuse_options_of_live(asked, pairs=pairs, out=out)
        shown = _stored(what, share, limits, page, anyway=anyway)
    return tell(shown, as_json=json_, quiet=quiet, timed=measures)


def _goes_on(what: tuple[str, ...]) -> bool:
    """Whether what is named is a comparison that was begun."""
    from hindmost.store import Study, name_of

    if len(what) != 1 or not (Path(what[0]) / "manifest.json").exists():
        return False
    return name_of(Study.open(Path(what[0])).manifest) == "comparison"


def _measured(
    asked: MeasureRequest,
    what: tuple[str, ...],
    more: tuple[int | None, float | None, list[str], Path | None],
    talk: tuple[Path | None, Talk],
) -> Shown:
    """Measure targets in turn, or go on with that."""
    from hindmost.studies.begin import refuse_changes
    from hindmost.studies.comparison import opened, reopened
    from hindmost.studies.kind import carry_out

    pairs, margin, limits, out = more
    if _goes_on(what):
        own = {"--margin": margin, "--out": out}
        refuse_changes(
            [*asked.fixed(), *(name for name, given in own.items() if given is not None)],
            f"hindmost compare {what[0]}; --pairs and --fail-if may change",
        )
        study = reopened(Path(what[0]), pairs, limits)
    else:
        study = opened(what, asked, pairs, margin, limits, out)
    return carry_out(study, talk[1], talk[0])


def _stored(
    what: tuple[str, ...], margin: float | None, limits: list[str], page: Path | None, *, anyway: bool
) -> Shown:
    """Compare studies as they are stored."""
    from hindmost.studies.comparison import MARGIN, compare, shown

    for one in what:
        if not Path(one).exists():
            raise UsageError(
                "no-such-file",
                f"{one} is not a study folder",
                hint=f"to measure targets now: hindmost compare --live {' '.join(what)}",
                path=one,
            )
    document = compare(what, margin=MARGIN if margin is None else margin, fail_if=limits, anyway=anyway)
    return shown(document, page)


def _refuse_options_of_live(asked: MeasureRequest, *, pairs: int | None, out: Path | None) -> None:
    """Refuse what only runs that are made now can have."""
    given = asked.fixed() + [
        flag
        for flag, value in (("--remake", asked.remake), ("--pairs", pairs), ("--out", out))
        if value is not None
    ]
    if given:
        raise UsageError(
            "conflicting-options",
            f"{given[0]} applies to new runs, and stored studies are already measured",
            hint=f"add --live, or leave out {given[0]}",
            option=given[0],
        )
