"""``hindmost colocate predict``: predict what jobs cost a server, from profiles or a model, or measure it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from hindmost.cli.modes import select_mode
from hindmost.cli.options import LOAD, OUTPUT, PROCEDURE, TARGET, Json, integer_option, option, switch
from hindmost.cli.outcome import refuse_files, write_files
from hindmost.cli.streams import say
from hindmost.core.exits import Exit
from hindmost.errors import UsageError

if TYPE_CHECKING:
    from hindmost.commands.colocate.documents.profiles import Profile
    from hindmost.commands.colocate.prediction.decision import Sources

EXITS = {"yes": Exit.DONE, "no": Exit.CROSSED, "unknown": Exit.INCONCLUSIVE}
OWN = {
    "": (
        "--within",
        "--load",
        "--pairs",
        "--violations",
        "--promise",
        "--all-evidence",
        "--prometheus",
        "--page",
    ),
    "--advise": (
        "--within",
        "--load",
        "--pairs",
        "--violations",
        "--promise",
        "--all-evidence",
        "--server-cpus",
        "--unit",
        "--at",
        "--page",
        "--out",
    ),
    "--measure": ("--within", "--rates", "--cpu", "--other", "--budget", "--seed", "--page", "--out"),
    "--lost": ("--load", "--workers", "--service", "--beside", "--quantiles", "--seed"),
}
"""Options of each mode. --measure takes the load from the profile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of all modes. Each is None if it is not given."""

    within: str | None
    load: str | None
    pairs: Path | None
    violations: str | None
    promise: str | None
    all_evidence: bool
    prometheus: Path | None
    advise: bool
    server_cpus: str | None
    unit: str | None
    at: str | None
    measure: bool
    rates: str | None
    cpu: int | None
    other: str | None
    budget: str | None
    lost: str | None
    workers: int | None
    service: Path | None
    beside: Path | None
    quantiles: str | None
    seed: int | None
    page: Path | None
    out: Path | None

    def given(self) -> dict[str, object]:
        """Return the options by their names on the command line."""
        return {f"--{one.name.replace('_', '-')}": getattr(self, one.name) for one in fields(self)}

    @property
    def share(self) -> float:
        """Largest acceptable growth of a percentile, as a share."""
        from hindmost.core.plan import parse_share

        return parse_share(self.within or "10%", "--within")

    @property
    def utilisation(self) -> float:
        """Utilisation of the server, as a share."""
        from hindmost.core.plan import parse_percent

        return parse_percent(self.load or "50%", "--load")


def predict(
    server: Annotated[Path | None, option(TARGET, "SERVER", "The server's profile (JSON).")] = None,
    *jobs: Annotated[Path, option(TARGET, "JOB", "Profiles of jobs (JSON).")],
    within: Annotated[
        str | None,
        option(TARGET, "SHARE", "Largest acceptable growth of a percentile of the server. [default: 10%]"),
    ] = None,
    load: Annotated[str | None, option(LOAD, "SHARE", "Utilisation of the server. [default: 50%]")] = None,
    pairs: Annotated[
        Path | None,
        option(TARGET, "FILE", "Predict with a model of these measured pairs, with a safety margin."),
    ] = None,
    violations: Annotated[
        str | None,
        option(
            PROCEDURE,
            "SHARE",
            "Share of supervised windows that may break the promise. With --pairs: share of yes answers that"
            " may be wrong. [default: 5%]",
        ),
    ] = None,
    promise: Annotated[
        str | None,
        option(
            TARGET,
            "LIMIT",
            "Answer from windows with this latency limit. [default: the last supervised one; p95<1ms in the"
            " commands of --advise]",
        ),
    ] = None,
    all_evidence: Annotated[
        bool,
        switch(
            PROCEDURE,
            "Also use windows on other processor models and of other versions of the programs.",
            "--all-evidence",
        ),
    ] = False,
    prometheus: Annotated[
        Path | None,
        option(OUTPUT, "FILE", "Write the answer for one job to this file, in Prometheus text format."),
    ] = None,
    advise: Annotated[
        bool, switch(PROCEDURE, "Recommend processors and priorities for each job.", "--advise")
    ] = False,
    server_cpus: Annotated[
        str | None,
        option(
            PROCEDURE,
            "LIST",
            "With --advise: processors of the server. [default: as many as its load needs]",
        ),
    ] = None,
    unit: Annotated[
        str | None,
        option(
            TARGET, "NAME.service", "With --advise: systemd unit of the server, for which to write a drop-in."
        ),
    ] = None,
    at: Annotated[
        str | None,
        option(
            TARGET,
            "URL",
            "With --advise: server address to use in the commands. [default: memcached://127.0.0.1:11211]",
        ),
    ] = None,
    measure: Annotated[
        bool,
        switch(
            PROCEDURE,
            "Run the jobs next to the server under load, and compare with the prediction.",
            "--measure",
        ),
    ] = False,
    rates: Annotated[
        str | None,
        option(LOAD, "LIST", "With --measure: additional rates above the profile's, for example 1k,2k."),
    ] = None,
    cpu: Annotated[
        int | None,
        integer_option(PROCEDURE, "With --measure: processor for the server. [default: the last one]"),
    ] = None,
    other: Annotated[
        str | None,
        option(
            PROCEDURE,
            "N|sibling",
            "With --measure: processor for the jobs; sibling: the second hardware thread of the core."
            " [default:"
            " the nearest one]",
        ),
    ] = None,
    budget: Annotated[
        str | None, option(PROCEDURE, "TIME", "With --measure: maximum time per rate. [default: 60s]")
    ] = None,
    lost: Annotated[
        str | None,
        option(
            LOAD, "SHARE", "Without profiles: predict the server's tail if it loses this share of its speed."
        ),
    ] = None,
    workers: Annotated[
        int | None,
        integer_option(LOAD, "With --lost: workers of the server, which share one queue. [default: 1]"),
    ] = None,
    service: Annotated[
        Path | None,
        option(
            TARGET,
            "FILE",
            "With --lost: service times without a job, one per line, in order. [default: exponential]",
        ),
    ] = None,
    beside: Annotated[
        Path | None,
        option(TARGET, "FILE", "With --lost: service times next to a job, to map quantiles."),
    ] = None,
    quantiles: Annotated[
        str | None, option(PROCEDURE, "LIST", "With --lost: percentiles to predict. [default: 50,90,99]")
    ] = None,
    seed: Annotated[
        int | None, integer_option(PROCEDURE, "With --measure or --lost: random seed.", least=0)
    ] = None,
    page: Annotated[
        Path | None, option(OUTPUT, "FILE", "Write an HTML page to this file; not with --lost.")
    ] = None,
    out: Annotated[
        Path | None,
        option(
            OUTPUT, "PATH", "With --measure: JSON document to write. With --advise: folder for the files."
        ),
    ] = None,
    json_: Json = False,
) -> int:
    """Predict which jobs may run next to a server, the best first: yes, no or unknown.

    The server loses at most the sum of its losses to each resource that the job uses (Eq 3.3 of the SMiTe
    paper). The growth of p50 and p99 in its profile counts as well, and Eq 3.6 converts it to --load.
    Profiles from different processors are refused. With --pairs (from `colocate pairs`), a measured pair
    answers for itself, and a model with a margin answers for the other pairs. What `colocate supervise
    --learn` kept next to the server's profile outranks both. The exit code is that of the best job: 0 for
    yes, 3 for no, 4 for unknown.

    --measure runs the server next to each job, and compares the growth of p50 and p99 with the prediction. It
    exits with 3 if p99 certainly grew by more than --within next to a job. --advise changes nothing: --out
    writes files for systemd, and a script for cpusets. --lost compares queue models. Eq 3.6 (M/M/1) holds
    only for exponential service.
    """
    options = Options(
        within=within,
        load=load,
        pairs=pairs,
        violations=violations,
        promise=promise,
        all_evidence=all_evidence,
        prometheus=prometheus,
        advise=advise,
        server_cpus=server_cpus,
        unit=unit,
        at=at,
        measure=measure,
        rates=rates,
        cpu=cpu,
        other=other,
        budget=budget,
        lost=lost,
        workers=workers,
        service=service,
        beside=beside,
        quantiles=quantiles,
        seed=seed,
        page=page,
        out=out,
    )
    mode = select_mode(options.given(), OWN, "profiles alone")
    if mode == "--lost":
        if server is not None:
            raise UsageError("unexpected-argument", "--lost accepts no profile", value=str(server))
        return _show_slower(options, as_json=json_)
    if server is None or not jobs:
        raise UsageError(
            "missing-argument",
            "the server's profile and at least one job's profile are required",
            hint="hindmost colocate predict server.json job.json",
            argument="SERVER" if server is None else "JOB",
        )
    from hindmost.commands.colocate.documents.stored import load_card

    cards = load_card(server), [load_card(one) for one in jobs]
    if mode == "--measure":
        return _measure(*cards, options, as_json=json_)
    refuse_files({"--page": options.page})
    sources = _load_sources(server, options)
    return (_advise if mode == "--advise" else _rank)(*cards, options, sources, as_json=json_)


def _load_sources(server: Path, options: Options) -> Sources:
    """Read what decides besides the profiles."""
    from hindmost.commands.colocate.documents.stored import load_pairs, load_supervised
    from hindmost.commands.colocate.prediction.observation import Observations, Promise
    from hindmost.core.plan import parse_percent, parse_term

    promise = None
    if options.promise is not None:
        term = parse_term(options.promise, "promise", "'p95<1ms' or 'p99<5ms'")
        if term.level is not None:
            promise = Promise(round(100 * term.level, 10), term.limit)
    return {
        "pairs": None if options.pairs is None else load_pairs(options.pairs),
        "violations": parse_percent(options.violations or "5%", "--violations"),
        "observations": Observations(load_supervised(server), promise, options.all_evidence),
    }


def _rank(
    server: Profile, jobs: Sequence[Profile], options: Options, sources: Sources, *, as_json: bool
) -> int:
    from hindmost.cli.outcome import write_in_place
    from hindmost.commands.colocate.cli.output import print_document
    from hindmost.commands.colocate.prediction.decision import decide, rank_jobs
    from hindmost.commands.colocate.view.decision import prometheus_text, view_answer, view_neighbours
    from hindmost.errors import HindmostError
    from hindmost.present.page import render_page

    within, load = options.share, options.utilisation
    if len(jobs) > 1:
        if options.prometheus is not None:
            raise UsageError(
                "conflicting-options",
                "--prometheus applies to one job only",
                hint="use one job profile",
                option="--prometheus",
                other="JOB",
            )
        ranking = rank_jobs(server, jobs, within=within, load=load, **sources)
        view = view_neighbours(ranking)
        print_document(ranking, view, as_json=as_json)
        write_files({options.page: render_page(view)})
        return EXITS[ranking.jobs[0].answer]
    answer = decide(jobs[0], server, within=within, load=load, **sources)
    failure = (
        None if options.prometheus is None else write_in_place(options.prometheus, prometheus_text(answer))
    )
    view = view_answer(answer)
    print_document(answer, view, as_json=as_json)
    write_files({options.page: render_page(view)})
    if failure is not None:
        raise HindmostError(
            "unwritable-file",
            failure,
            hint="--prometheus FILE in a folder that you may write to",
            option="--prometheus",
            path=str(options.prometheus),
        )
    return EXITS[answer.answer]


def _advise(
    server: Profile, jobs: Sequence[Profile], options: Options, sources: Sources, *, as_json: bool
) -> int:
    from hindmost.commands.colocate.cli.output import print_document
    from hindmost.commands.colocate.prediction.advice import advise, files_of
    from hindmost.commands.colocate.view.advice import view_advice
    from hindmost.core.plan import parse_term
    from hindmost.core.store.files import install
    from hindmost.core.targets.cpus import parse_cpus
    from hindmost.present.page import render_page

    cpus, asked = sorted(os.sched_getaffinity(0)), options.server_cpus
    try:
        own = None if asked is None else parse_cpus(asked)
    except ValueError as error:
        raise UsageError(
            "bad-value",
            f"--server-cpus {asked}: {error}",
            hint="--server-cpus 0-1",
            option="--server-cpus",
            value=asked,
        ) from None
    if own is not None and not set(own) <= set(cpus):
        raise UsageError(
            "bad-value",
            f"--server-cpus {asked}: this machine has only {', '.join(map(str, cpus))}",
            hint="lscpu -e",
            option="--server-cpus",
            value=asked,
            known=cpus,
        )
    at, promise = options.at or "memcached://127.0.0.1:11211", options.promise or "p95<1ms"
    parse_term(promise, "promise")
    document = advise(
        server,
        jobs,
        within=options.share,
        load=options.utilisation,
        cpus=cpus,
        server_cpus=own,
        **sources,
    )
    texts, view = files_of(document, options.unit), view_advice(document, at, promise)
    print_document(document, view, as_json=as_json)
    write_files({options.page: render_page(view)})
    if options.out is not None:
        say(*(f"wrote {path}" for path in install(options.out, texts)))
    return Exit.DONE


def _measure(server: Profile, jobs: Sequence[Profile], options: Options, *, as_json: bool) -> int:
    from hindmost.commands.colocate.cli.output import print_document
    from hindmost.commands.colocate.corun import corun
    from hindmost.commands.colocate.view.corun import view_corun
    from hindmost.core.plan import parse_duration, parse_rate
    from hindmost.core.store.estimates import encode
    from hindmost.present.page import render_page

    refuse_files({"--out": options.out, "--page": options.page})
    document = corun(
        server,
        jobs,
        rates=[parse_rate(one) for one in options.rates.split(",")] if options.rates else (),
        within=options.share,
        cpu=options.cpu,
        other=options.other,
        budget_s=parse_duration(options.budget or "60s", "budget", 1.0),
        seed=1 if options.seed is None else options.seed,
        say=say,
    )
    view = view_corun(document)
    print_document(document, view, as_json=as_json)
    write_files({options.out: encode(document, indent=1) + "\n", options.page: render_page(view)})
    return Exit.CROSSED if view.word == "broken" else Exit.DONE


def _show_slower(options: Options, *, as_json: bool) -> int:
    from hindmost.commands.colocate.cli.output import print_document
    from hindmost.commands.colocate.prediction.growth import predict_growth, read_services
    from hindmost.commands.colocate.view.tail import view_tail
    from hindmost.core.plan import parse_share

    quantiles = options.quantiles or "50,90,99"
    try:
        levels = [float(one) / 100 for one in quantiles.split(",")]
    except ValueError:
        raise UsageError(
            "bad-value",
            f"--quantiles {quantiles}: use numbers separated by commas",
            hint="--quantiles 50,99",
            option="--quantiles",
            value=quantiles,
        ) from None
    document = predict_growth(
        None if options.service is None else read_services(options.service),
        levels=levels,
        load=parse_share(options.load or "50%", "--load", most=1.0),
        lost=parse_share(str(options.lost), "--lost", most=1.0),
        workers=1 if options.workers is None else options.workers,
        with_job=None if options.beside is None else read_services(options.beside),
        seed=1 if options.seed is None else options.seed,
    )
    print_document(document, view_tail(document), as_json=as_json)
    return Exit.DONE
