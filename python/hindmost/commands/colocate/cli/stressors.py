"""``hindmost colocate stressors``: measure what stressors achieve on this core, or run some of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from hindmost.cli.modes import select_mode
from hindmost.cli.options import LOAD, OUTPUT, PROCEDURE, TARGET, Json, integer_option, option, switch
from hindmost.cli.outcome import refuse_files, write_files
from hindmost.cli.streams import say
from hindmost.core.exits import Exit
from hindmost.errors import UsageError

OWN = {
    "": ("--cpu", "--bursts", "--out", "--picture"),
    "--run": ("--duty", "--period", "--duration", "--cpus", "--real-time", "--folder", "--seed"),
    "--list": (),
}


def stressors(
    *names: Annotated[str, option(TARGET, "STRESSOR", "With --run: stressors to run.")],
    run: Annotated[
        bool, switch(PROCEDURE, "Run stressors instead of measuring all of them.", "--run")
    ] = False,
    list_: Annotated[bool, switch(OUTPUT, "List the available stressors.", "--list")] = False,
    cpu: Annotated[
        int | None, integer_option(PROCEDURE, "Processor to measure. [default: the last one]")
    ] = None,
    bursts: Annotated[
        int | None, integer_option(PROCEDURE, "Bursts without interference for each figure. [default: 5]")
    ] = None,
    duty: Annotated[
        str | None,
        option(
            LOAD, "SHARE", "With --run: share of each period in which the stressors work. [default: 100%]"
        ),
    ] = None,
    period: Annotated[
        str | None,
        option(LOAD, "TIME", "With --run: period of the duty cycle, at least 5us. [default: 10us]"),
    ] = None,
    duration: Annotated[str | None, option(PROCEDURE, "TIME", "With --run: duration. [default: 10s]")] = None,
    cpus: Annotated[
        str | None,
        option(PROCEDURE, "LIST", "With --run: processors, one for each stressor. [default: the last ones]"),
    ] = None,
    real_time: Annotated[
        bool, switch(PROCEDURE, "With --run: use real-time priority, if it is permitted.", "--real-time")
    ] = False,
    folder: Annotated[
        Path | None,
        option(
            PROCEDURE,
            "FOLDER",
            "With --run: folder in which the disk stressor writes. [default: the current folder]",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        integer_option(PROCEDURE, "With --run: random seed for orders and memory sequences. [default: 1]"),
    ] = None,
    out: Annotated[Path | None, option(OUTPUT, "FILE", "Write the JSON certificate to this file.")] = None,
    picture: Annotated[
        Path | None, option(OUTPUT, "FILE", "Draw the matrix as an SVG image in this file.")
    ] = None,
    json_: Json = False,
) -> int:
    """Measure what stressors achieve on this core, and which of them share execution ports.

    The command needs no performance counters, so it works in virtual machines. It mixes two classes of
    instructions in one stream. If they use different ports, the mix takes as long as one class alone. If they
    use the same ports, it takes as long as both together. The matrix of all pairs is the certificate of this
    core.

    With --run, each named stressor stresses one resource at a share of full strength and counts its work. All
    stressors start at the same moment, each on its own processor. Memory stressors measure cache sizes
    instead of trusting the processor's own report. Ctrl-C ends the run and prints the work so far.
    """
    options = {
        "--run": run,
        "--list": list_,
        "--cpu": cpu,
        "--bursts": bursts,
        "--duty": duty,
        "--period": period,
        "--duration": duration,
        "--cpus": cpus,
        "--real-time": real_time,
        "--folder": folder,
        "--seed": seed,
        "--out": out,
        "--picture": picture,
    }
    mode = select_mode(options, OWN, "measuring all stressors")
    if bool(names) != (mode == "--run"):
        raise UsageError(
            "unexpected-argument" if names else "missing-argument",
            "stressor names need --run" if names else "--run needs at least one stressor name",
            hint="hindmost colocate stressors --run dram; hindmost colocate stressors --list",
            argument="STRESSOR",
        )
    if mode == "--list":
        from msgspec import to_builtins

        from hindmost.commands.colocate.stressors import known_stressors
        from hindmost.commands.colocate.view.stressors import view_list
        from hindmost.core.store.estimates import encode
        from hindmost.present.terminal import render_terminal

        known = known_stressors()
        text = encode(to_builtins(known)) if json_ else render_terminal(view_list(known))
        print(text, end="\n" if json_ else "")
        return Exit.DONE
    if mode == "--run":
        return _run(
            names,
            duty or "100%",
            period or "10us",
            duration or "10s",
            cpus,
            folder,
            1 if seed is None else seed,
            real_time=real_time,
            as_json=json_,
        )
    from hindmost.commands.colocate.cli.output import print_document
    from hindmost.commands.colocate.stressors import certify
    from hindmost.commands.colocate.view.stressors import picture as drawn
    from hindmost.commands.colocate.view.stressors import view_stressors
    from hindmost.core.store.estimates import encode

    refuse_files({"--out": out, "--picture": picture})
    document = certify(cpu, bursts=5 if bursts is None else bursts, say=say)
    print_document(document, view_stressors(document), as_json=json_)
    write_files({out: encode(document, indent=1) + "\n", picture: drawn(document)})
    return Exit.DONE


def _run(
    names: tuple[str, ...],
    duty: str,
    period: str,
    duration: str,
    cpus: str | None,
    folder: Path | None,
    seed: int,
    *,
    real_time: bool,
    as_json: bool,
) -> int:
    from hindmost.commands.colocate.cli.output import print_document
    from hindmost.commands.colocate.stress import stress
    from hindmost.commands.colocate.view.stressors import view_stress
    from hindmost.core.plan import parse_duration, parse_share
    from hindmost.core.targets.cpus import parse_cpus

    try:
        places = None if cpus is None else parse_cpus(cpus)
    except ValueError as error:
        raise UsageError(
            "bad-value", f"--cpus {cpus}: {error}", hint="--cpus 0-1", option="--cpus", value=cpus
        ) from None
    document = stress(
        names,
        duty=parse_share(duty, "--duty", most=1.0),
        period_ns=round(parse_duration(period, "period") * 1e9),
        duration_s=parse_duration(duration, "duration", 0.01),
        cpus=places,
        real_time=real_time,
        folder=folder,
        seed=seed,
        say=say,
    )
    print_document(document, view_stress(document), as_json=as_json)
    return Exit.DONE
