"""The laws of arrivals, as the engine's table (``crates/arrivals``) has them; Python knows none by name.

A law is written as its name, ``"exponential"``, or as an object, ``{"kind": "gamma", "shape": 2.0}``. On the
command line that is ``gamma:shape=2``, and ``gamma:2`` where a law asks for one parameter only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from hindmost import _engine
from hindmost.errors import UsageError
from hindmost.names import nearest

Written = str | dict[str, Any]
"""A law as documents have it."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a law; one without ``default`` has to be given."""

    name: str
    purpose: str
    default: Any


@dataclass(frozen=True, slots=True)
class Kind:
    """A row of the table."""

    name: str
    purpose: str
    parameters: tuple[Parameter, ...]

    @property
    def required(self) -> list[str]:
        """Parameters that have to be given."""
        return [one.name for one in self.parameters if one.default is None]


def _row(one: Mapping[str, Any]) -> Kind:
    return Kind(one["name"], one["purpose"], tuple(Parameter(**each) for each in one["parameters"]))


KINDS: dict[str, Kind] = {one["name"]: _row(one) for one in json.loads(_engine.arrival_laws())}
"""Every kind of law by its name, the usual one first."""

USUAL = next(iter(KINDS))


@dataclass(frozen=True, slots=True)
class Law:
    """A law of arrivals at a rate, and what it says of itself.

    Attributes
    ----------
    written
        As JSON text.
    dispersion
        Index of dispersion of the counts of all workers together, variance over mean, in spans much longer
        than a gap: 1 for a Poisson process. Of independent gaps it is their squared coefficient of variation;
        of a trace or a schedule it is unknown.
    part_dispersion
        The same of one worker's part, where it is the same for any number of workers.
    cumulants
        First four cumulants of the gaps of the whole, in mean gaps; None where gaps are not independent.
    gaps
        Whether the gaps of one worker have a distribution that sends can be compared with.
    """

    written: str
    dispersion: float | None
    part_dispersion: float | None
    cumulants: tuple[float, float, float, float] | None
    gaps: bool

    def with_schedule(self) -> Law:
        """The same at a rate that changes: nothing of the above is known then."""
        return replace(self, dispersion=None, part_dispersion=None, cumulants=None, gaps=False)

    def below(self, x: Iterable[float]) -> list[float]:
        """Share of gaps below `x` mean gaps."""
        return _engine.gap_law(self.written, list(x))[0]

    def log_above(self, x: Iterable[float]) -> list[float]:
        """Logarithm of the share of gaps above `x` mean gaps, finite however small that share is."""
        return _engine.gap_law(self.written, list(x))[1]


def law(written: Written, rate_per_s: float = 1.0) -> Law:
    """What a law says of itself at a rate.

    Raises
    ------
    ValueError
        If there is no such law.

    Examples
    --------
    >>> law({"kind": "gamma", "shape": 4.0}).dispersion
    0.25
    """
    return _law(json.dumps(written), rate_per_s)


@cache
def _law(text: str, rate_per_s: float) -> Law:
    told = json.loads(_engine.arrival_law(text, rate_per_s))
    cumulants = told["cumulants"]
    return Law(
        written=json.dumps(told["written"]),
        dispersion=told["dispersion"],
        part_dispersion=told["part_dispersion"],
        cumulants=None if cumulants is None else tuple(cumulants),
        gaps=told["gaps"],
    )


LEAST_MEASURED_S = 0.1
"""A run that ends with its trace measures so long, or is refused; ``--duration`` takes no less, too."""


HANDOVER_S = 0.5
"""From the end of a warm-up to the calibration, at most: instances look up every 100 ms, and are told ahead.
So much of a trace's end is left out where runs end with it, so that it is not over before they are."""


@dataclass(frozen=True, slots=True)
class Replay:
    """What a trace holds: how many moments, at which rate a second; what becomes of a run that is longer."""

    file: str
    count: int
    rate_per_s: float
    end: Literal["again", "refuse", "stop"]

    def refuse_shorter_than(self, run_s: float, rate_per_s: float) -> None:
        """Refuse a run that outlasts the trace at a rate, if it must not begin again.

        Parameters
        ----------
        run_s
            Seconds of warm-up, calibration and measurement; what lies between them (`HANDOVER_S`) is added.
        rate_per_s
            Requests a second, to which the trace is scaled.

        Raises
        ------
        UsageError
            Says how long both are.
        """
        lasts_s, run_s = self.count / rate_per_s, run_s + HANDOVER_S
        if self.end != "refuse" or run_s <= lasts_s:
            return
        raise UsageError(
            "short-trace",
            f"the trace {self.file} has {self.count:,} arrivals and lasts {lasts_s:.1f} s at {rate_per_s:g}"
            f" requests/s, but a run takes {run_s:.1f} s with warm-up and calibration. With end=refuse the"
            " trace must not repeat",
            hint="use end=again or end=stop, shorten --duration and --warmup, or lower --rate",
            path=self.file,
            count=self.count,
            rate_per_s=rate_per_s,
            have=lasts_s,
            need=run_s,
            unit="s",
        )

    def refuse_other_rates(self, whose: str) -> None:
        """Refuse measurements at several rates, unless the trace begins again when it is over.

        Parameters
        ----------
        whose
            The rates: `--find-rate`, say.

        Raises
        ------
        UsageError
            Says that runs would measure different lengths, or nothing at all.
        """
        if self.end == "again":
            return
        raise UsageError(
            "conflicting-options",
            f"{whose} does not work with end={self.end}: the trace {self.file} ({self.count:,} arrivals)"
            " ends sooner at higher rates, so runs would have different lengths",
            hint="end=again",
            options=[whose.split()[0], "--arrivals"],
            path=self.file,
            value=f"end={self.end}",
        )

    def measured_s(self, asked_s: float, before_s: float | None, rate_per_s: float) -> float:
        """How long a run measures that ends with the trace, if it must: what was asked for, or less.

        Parameters
        ----------
        asked_s
            Seconds of measurement that were asked for.
        before_s
            Seconds of warm-up and calibration, which the trace covers, too; None if that is not known yet.
        rate_per_s
            Requests a second, to which the trace is scaled.

        Raises
        ------
        UsageError
            If that is not known, or the trace is over by then.
        """
        if self.end != "stop":
            return asked_s
        if before_s is None:
            raise UsageError(
                "missing-argument",
                f"with end=stop the trace {self.file} ends each run, so runs need a warm-up of fixed length",
                hint="--warmup 2s",
                option="--warmup",
                path=self.file,
            )
        lasts_s, before_s = self.count / rate_per_s, before_s + HANDOVER_S
        if lasts_s - before_s < LEAST_MEASURED_S:
            raise UsageError(
                "short-trace",
                f"the trace {self.file} has {self.count:,} arrivals and lasts {lasts_s:.1f} s at"
                f" {rate_per_s:g} requests/s, but warm-up and calibration alone take {before_s:.1f} s",
                hint="shorten --warmup, or lower --rate, which stretches the trace",
                path=self.file,
                count=self.count,
                rate_per_s=rate_per_s,
                have=lasts_s,
                need=before_s,
                unit="s",
            )
        return min(asked_s, lasts_s - before_s)


def replay_of(written: Written) -> Replay | None:
    """Read the trace that a law replays; None of a law that replays none.

    Raises
    ------
    UsageError
        If its file cannot be replayed; names file and line.
    """
    if isinstance(written, str) or written["kind"] != "trace":
        return None
    try:
        count, rate_per_s = _engine.read_trace(json.dumps(written))
    except _engine.EngineError as error:
        message = str(error.args[1])
        line = re.search(r", line (\d+)", message)
        hint = "write one time per line, in rising order; for a CSV file name the column: trace:FILE,column=2"
        raise UsageError(
            "bad-file" if Path(written["file"]).exists() else "no-such-file",
            message,
            hint=hint,
            option="--arrivals",
            path=written["file"],
            line=int(line[1]) if line else None,
        ) from None
    except ValueError as error:
        raise UsageError(
            "bad-value",
            f"--arrivals {law_text(written)}: {error}",
            hint=_usage("trace"),
            option="--arrivals",
            value=law_text(written),
        ) from None
    return Replay(written["file"], count, rate_per_s, written.get("end", "again"))


def parse_law(text: str) -> Written:
    """Read a law as the command line has it.

    Raises
    ------
    UsageError
        If it is not written like that, or no law has such a name or parameter.

    Examples
    --------
    >>> parse_law("exponential")
    'exponential'
    >>> parse_law("gamma:2") == parse_law("gamma:shape=2") == {"kind": "gamma", "shape": 2}
    True
    """
    name, _, rest = text.partition(":")
    if name not in KINDS:
        told = f"--arrivals {name!r} is not an arrival process{nearest(name, KINDS)}"
        raise UsageError(
            "unknown-name", told, hint=_usage(USUAL), option="--arrivals", name=name, known=list(KINDS)
        )
    known = [one.name for one in KINDS[name].parameters]
    required = KINDS[name].required
    found: dict[str, Any] = {}
    for part in rest.split(",") if rest else []:
        key, sign, value = part.partition("=")
        if not sign and len(required) == 1 and required[0] not in found:
            key, value = required[0], part
        elif not sign:
            raise UsageError(
                "bad-value",
                f"{part!r} in --arrivals {text} is not KEY=VALUE",
                hint=_usage(name),
                option="--arrivals",
                value=part,
            )
        if key not in known:
            raise UsageError(
                "unknown-key",
                f"{name} arrivals have no {key!r}{nearest(key, known)}"
                if known
                else f"{name} arrivals have no parameters, so no {key!r}",
                hint=_usage(name),
                option="--arrivals",
                key=key,
                known=known,
            )
        if key in found:
            raise UsageError(
                "duplicate-name",
                f"{key!r} is given twice in --arrivals {text}",
                hint=_usage(name),
                option="--arrivals",
                key=key,
            )
        found[key] = _value(value)
    if missing := [key for key in required if key not in found]:
        raise UsageError(
            "missing-argument",
            f"{name} arrivals need {' and '.join(missing)}",
            hint=_usage(name),
            option="--arrivals",
            key=missing[0],
        )
    return {"kind": name, **found} if found else name


def law_text(written: Written) -> str:
    """A law as the command line has it.

    Examples
    --------
    >>> law_text({"kind": "gamma", "shape": 2.0})
    'gamma:shape=2'
    """
    if isinstance(written, str):
        return written
    given = [f"{key}={_shown(value)}" for key, value in written.items() if key != "kind"]
    return f"{written['kind']}:{','.join(given)}" if given else str(written["kind"])


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _shown(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _usage(name: str) -> str:
    given = ",".join(
        f"{one.name}={_EXAMPLES.get(one.name, 2) if one.default is None else _shown(one.default)}"
        for one in KINDS[name].parameters
    )
    return f"--arrivals {name}{':' if given else ''}{given}"


_EXAMPLES = {"ratio": 10, "c2": 20, "file": "times.csv"}
"""Values for hints."""
