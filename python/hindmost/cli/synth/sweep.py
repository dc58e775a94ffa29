"""``hindmost synth sweep``: latency against load, design by design; and which design meets an objective."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from hindmost.cli.options import LOAD, OUTPUT, TARGET, Json, option, switch
from hindmost.cli.synth.load import ArrivalsOf, Requests, Seed, check_counts
from hindmost.errors import UsageError
from hindmost.exits import Exit

MOST_LOADS = 1_000


def sweep(
    clone: Annotated[str, option(TARGET, None, "A document (.toml or .json), or an application's name.")],
    *,
    vary: Annotated[
        list[str] | None,
        option(TARGET, "PATH=VALUES", "A parameter and its values; may be given several times."),
    ] = None,
    together: Annotated[
        bool,
        switch(TARGET, "Vary the parameters together, not in all combinations.", "--together"),
    ] = False,
    rate: Annotated[str | None, option(LOAD, "RATES", "Requests a second: 1k,2k or 1k..9k:5.")] = None,
    utilisation: Annotated[
        str | None, option(LOAD, "SHARES", "Instead: shares of the capacity. [default: 10%..90%:9]")
    ] = None,
    arrivals: ArrivalsOf = "exponential",
    find: Annotated[
        str | None, option(LOAD, "OBJECTIVE", "Search for the last value at which p99<500us holds.")
    ] = None,
    by: Annotated[
        str | None,
        option(
            LOAD, "PARAMETER", "With --find: rate, threads, service (a factor), or a path. [default: rate]"
        ),
    ] = None,
    between: Annotated[str | None, option(LOAD, "LOW..HIGH", "With --find: where to search.")] = None,
    requests: Requests = 100_000,
    seed: Seed = 1,
    out: Annotated[Path | None, option(OUTPUT, "PAGE.html", "Where the page is written.")] = None,
    json_: Json = False,
) -> int:
    """Predict latency against load for many designs of a clone.

    All designs meet the same requests, so that what differs is the design and not chance.
    """
    from hindmost.models import load_clone
    from hindmost.models.inverse import Question, answer
    from hindmost.models.parameters import parse_vary
    from hindmost.models.simulation import Design
    from hindmost.models.sweep import settings, sweep, with_found
    from hindmost.plan.units import parse_threshold
    from hindmost.report.sweep.page import render_sweep_page
    from hindmost.report.sweep.terminal import render_sweep

    check_counts(requests, seed)
    if find is None and (by or between):
        raise UsageError("--by and --between belong to --find", hint="--find 'p99<500us' --by threads")
    if out is not None and not out.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {out.parent} for {out.name}", hint=f"mkdir -p {out.parent}")
    loaded = load_clone(clone)
    design = Design(requests=requests, seed=seed, arrivals=arrivals)
    varied = [parse_vary(one) for one in vary or []]
    loads = _loads(rate, utilisation)
    question = None if find is None else Question(parse_threshold(find), by or "rate", _between(between))
    fixed = None
    if question is not None and question.by != "rate":
        if len(loads) != 1:
            raise UsageError(
                f"--find needs one load to search --by {question.by}", hint="--rate 5k, or --utilisation 70%"
            )
        fixed = loads[0]
    count = len(settings(varied, together=together)) * len(loads)
    document = sweep(
        loaded, varied, loads, together=together, design=design, progress=_progress(count, quiet=json_)
    )
    if question is not None:
        designs = settings(varied, together=together)
        document = with_found(
            document, [answer(loaded, question, fixed, setting=one, design=design) for one in designs]
        )
    if out is not None:
        out.write_text(render_sweep_page(document.typed), encoding="utf-8")
    if json_:
        print(json.dumps(document, allow_nan=False))
    else:
        print(render_sweep(document.typed), end="")
    if out is not None:
        print(f"page: {out}", file=sys.stderr)
    return Exit.DONE


def _loads(rate: str | None, utilisation: str | None) -> list[dict[str, float]]:
    from hindmost.plan.units import parse_percent, parse_rate

    if rate is not None and utilisation is not None:
        raise UsageError("--rate and --utilisation say the same thing twice", hint="leave out one of them")
    if rate is not None:
        return [{"rate_per_s": value} for value in _grid(rate, parse_rate, "--rate 1k..9k:5")]
    shares = _grid(
        utilisation or "10%..90%:9", lambda one: parse_percent(one, "utilisation"), "--utilisation 10%..90%:9"
    )
    return [{"utilisation": value} for value in shares]


def _grid(text: str, parse: Callable[[str], float], example: str) -> list[float]:
    """Read ``A,B,C`` and ``A..B:N``."""
    values: list[float] = []
    for part in text.split(","):
        ends, _, count = part.partition(":")
        low, dots, high = ends.partition("..")
        if not dots and not count:
            values.append(parse(low))
            continue
        if not (dots and count.isdigit() and 2 <= int(count) <= MOST_LOADS):
            raise UsageError(f"{part!r} is no grid of loads: write FIRST..LAST:HOW_MANY", hint=example)
        first, last, n = parse(low), parse(high), int(count)
        if first >= last:
            raise UsageError(f"{part!r} does not rise", hint=example)
        values += [first + (last - first) * step / (n - 1) for step in range(n)]
    if len(values) > MOST_LOADS:
        raise UsageError(f"{len(values):,} loads are too many", hint=f"at most {MOST_LOADS:,}")
    return sorted(set(values))


def _between(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = (float(end) for end in text.split(".."))
    except ValueError:
        raise UsageError(f"--between {text!r} cannot be read", hint="--between 1..100") from None
    return low, high


def _progress(count: int, *, quiet: bool) -> Callable[[int], None] | None:
    if quiet or not sys.stderr.isatty():
        return None

    def told(done: int) -> None:
        end = "\n" if done >= count else ""
        print(f"\r{done:,} of {count:,} design points", end=end, file=sys.stderr, flush=True)

    return told
