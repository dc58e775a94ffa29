"""Questions about a clone parsed from text (loads, ranges, objectives), and the sweeps that answer them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from hindmost.commands.clone.batch import Elsewhere
from hindmost.commands.clone.document import Clone
from hindmost.commands.clone.documents.predictions import Sweep
from hindmost.commands.clone.inverse import Question, answer
from hindmost.commands.clone.parameters import Vary
from hindmost.commands.clone.simulation import Design
from hindmost.commands.clone.sweep import count_designs, settings, sweep
from hindmost.core.plan import Term, parse_term
from hindmost.core.plan.units import parse_percent, parse_rate
from hindmost.errors import UsageError

MOST_LOADS = 1_000
MOST_REQUESTS = 10_000_000_000
MOST_SEED = 1 << 63


def check_counts(requests: int, seed: int) -> None:
    """Raise an error if the number of requests or the seed is out of range."""
    if not 1 <= requests <= MOST_REQUESTS:
        raise UsageError(
            "bad-value",
            f"--requests {requests} is not between 1 and {MOST_REQUESTS:,}",
            hint="--requests 1000000",
            option="--requests",
            value=requests,
            least=1,
            most=MOST_REQUESTS,
        )
    if not 0 <= seed < MOST_SEED:
        raise UsageError(
            "bad-value",
            f"--seed {seed} is not between 0 and 2^63",
            hint="--seed 1",
            option="--seed",
            value=seed,
            least=0,
            most=MOST_SEED - 1,
        )


def parse_load(rate: str | None, utilisation: str | None) -> dict[str, float]:
    """Read a rate or a utilisation; 70 % utilisation if neither is given."""
    check_one_load(rate, utilisation)
    if rate is not None:
        return {"rate_per_s": parse_rate(rate)}
    return {"utilisation": parse_percent(utilisation or "70%", "utilisation")}


def sweep_from_text(
    clone: Clone,
    varied: Sequence[Vary],
    *,
    together: bool = False,
    rate: str | None = None,
    utilisation: str | None = None,
    find: str | None = None,
    by: str | None = None,
    between: str | None = None,
    design: Design,
    progress: Callable[[int, int], None] | None = None,
    elsewhere: Elsewhere | None = None,
) -> Sweep:
    """Sweep designs of a clone under loads given as text, and answer the inverse question if there is one.

    Parameters
    ----------
    rate, utilisation : str, optional
        Grids such as ``1k,2k`` or ``10%..90%:9``. Without either, a grid of utilisations is used.
    find, by, between : str, optional
        An objective, the parameter to search for, and the range to search.
    progress : callable, optional
        Called with the number of finished points and the total.
    elsewhere : optional
        Runs the simulations on other machines (`hindmost.core.fleet.dask.compute.computing`).

    Raises
    ------
    UsageError
        The arguments contradict each other or cannot be parsed.
    """
    if find is None and (by or between):
        option = "--by" if by else "--between"
        raise UsageError(
            "missing-argument",
            f"{option} needs --find",
            hint="--find 'p99<500us' --by threads",
            option="--find",
            needed_by=option,
        )
    points = parse_loads(rate, utilisation)
    question = None if find is None else Question(_objective(find), by or "rate", _between(between))
    fixed = None
    if question is not None and question.by != "rate":
        if len(points) != 1:
            raise UsageError(
                "missing-argument" if rate is None and utilisation is None else "bad-value",
                f"--find with --by {question.by} needs exactly one load, not {len(points)}",
                hint="--rate 5k, or --utilisation 70%",
                option="--utilisation" if rate is None else "--rate",
                value=len(points),
                needed_by="--find",
            )
        fixed = points[0]
    count = count_designs(varied, together=together) * len(points)
    told = None if progress is None else lambda done: progress(done, count)
    document = sweep(
        clone, varied, points, together=together, design=design, progress=told, elsewhere=elsewhere
    )
    if question is None:
        return document
    designs = settings(varied, together=together)
    found = [answer(clone, question, fixed, setting=one, design=design) for one in designs]
    return msgspec.structs.replace(document, found=found)


def parse_loads(rate: str | None, utilisation: str | None) -> list[dict[str, float]]:
    """Read a grid of rates or of utilisations.

    >>> parse_loads("1k..3k:3", None)
    [{'rate_per_s': 1000.0}, {'rate_per_s': 2000.0}, {'rate_per_s': 3000.0}]
    """
    check_one_load(rate, utilisation)
    if rate is not None:
        return [{"rate_per_s": value} for value in _grid(rate, parse_rate, "--rate 1k..9k:5")]
    shares = _grid(
        utilisation or "10%..90%:9", lambda one: parse_percent(one, "utilisation"), "--utilisation 10%..90%:9"
    )
    return [{"utilisation": value} for value in shares]


def check_one_load(rate: str | None, utilisation: str | None) -> None:
    """Raise an error if both a rate and a utilisation are given."""
    if rate is not None and utilisation is not None:
        raise UsageError(
            "conflicting-options",
            "--rate and --utilisation both set the load",
            hint="leave out one of them",
            options=["--rate", "--utilisation"],
        )


def _grid(text: str, parse: Callable[[str], float], example: str) -> list[float]:
    """Read a grid written as ``A,B,C`` or ``A..B:N``."""
    values: list[float] = []
    for part in text.split(","):
        ends, _, count = part.partition(":")
        low, dots, high = ends.partition("..")
        if not dots and not count:
            values.append(parse(low))
            continue
        if not (dots and count.isdigit() and 2 <= int(count) <= MOST_LOADS):
            raise UsageError(
                "bad-value",
                f"{part!r} is not a grid of loads: write FIRST..LAST:COUNT",
                hint=example,
                option=example.partition(" ")[0],
                value=part,
            )
        first, last, n = parse(low), parse(high), int(count)
        if first >= last:
            raise UsageError(
                "bad-value",
                f"{part!r} does not rise",
                hint=example,
                option=example.partition(" ")[0],
                value=part,
            )
        values += [first + (last - first) * step / (n - 1) for step in range(n)]
    if len(values) > MOST_LOADS:
        raise UsageError(
            "too-many-points",
            f"{len(values):,} loads are too many",
            hint=f"at most {MOST_LOADS:,}",
            option=example.partition(" ")[0],
            value=len(values),
            most=MOST_LOADS,
        )
    return sorted(set(values))


def _objective(text: str) -> Term:
    """Read an objective of a clone: a latency below a limit."""
    term = parse_term(text, "--find", "'p99<500us' or 'mean<1ms'")
    if term.isolated or term.above or not term.is_latency:
        raise UsageError(
            "bad-value",
            f"--find {text!r} is not a latency below a limit",
            hint="'p99<500us'",
            option="--find",
            value=text,
        )
    return term


def _between(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = (float(end) for end in text.split(".."))
    except ValueError:
        raise UsageError(
            "bad-value",
            f"--between {text!r} is not LOW..HIGH",
            hint="--between 1..100",
            option="--between",
            value=text,
        ) from None
    return low, high
