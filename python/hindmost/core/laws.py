"""Arrival processes, as in the table of ``crates/arrivals``. Python code contains none of their names.

In a document, a law is a name, ``"exponential"``, or an object, ``{"kind": "gamma", "shape": 2.0}``. On the
command line, the latter is ``gamma:shape=2``, or ``gamma:2`` if only one parameter of the law is required.
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
from hindmost.core.names import nearest
from hindmost.errors import UsageError

LawDocument = str | dict[str, Any]
"""A law as documents contain it."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a law. One whose ``default`` is None is required."""

    name: str
    purpose: str
    default: Any


@dataclass(frozen=True, slots=True)
class Kind:
    """A row of the table of laws."""

    name: str
    purpose: str
    parameters: tuple[Parameter, ...]

    @property
    def required_names(self) -> list[str]:
        """Names of the parameters that are required."""
        return [one.name for one in self.parameters if one.default is None]


def _parse_kind(one: Mapping[str, Any]) -> Kind:
    return Kind(one["name"], one["purpose"], tuple(Parameter(**each) for each in one["parameters"]))


KINDS: dict[str, Kind] = {one["name"]: _parse_kind(one) for one in json.loads(_engine.arrival_laws())}
"""Every kind of law by its name, the default first."""

DEFAULT_LAW = next(iter(KINDS))


@dataclass(frozen=True, slots=True)
class Law:
    """An arrival process at a rate, and its known properties.

    Attributes
    ----------
    written
        The law, as JSON text.
    dispersion
        Index of dispersion of the arrivals at all workers together: variance over mean of their number in
        time spans much longer than a gap. It is 1 for a Poisson process. For independent gaps it is their
        squared coefficient of variation. For a trace or a schedule it is unknown.
    part_dispersion
        The index of dispersion of the arrivals at one worker, if it does not depend on the number of workers.
    cumulants
        First four cumulants of the gaps between all arrivals, in mean gaps; None if gaps are not independent.
    gaps
        Whether the gaps of one worker have a known distribution, with which send times can be compared.
    """

    written: str
    dispersion: float | None
    part_dispersion: float | None
    cumulants: tuple[float, float, float, float] | None
    gaps: bool

    def without_properties(self) -> Law:
        """Return the law without its properties, as at a rate that changes or for requests in sessions."""
        return replace(self, dispersion=None, part_dispersion=None, cumulants=None, gaps=False)

    def below(self, x: Iterable[float]) -> list[float]:
        """Return the share of gaps below `x` mean gaps."""
        return _engine.gap_law(self.written, list(x))[0]

    def log_above(self, x: Iterable[float]) -> list[float]:
        """Return the logarithm of the share of gaps above `x` mean gaps; it is finite for any share."""
        return _engine.gap_law(self.written, list(x))[1]


def law(written: LawDocument, rate_per_s: float = 1.0) -> Law:
    """Return a law with its properties at a rate.

    Raises
    ------
    ValueError
        There is no such law.

    Examples
    --------
    >>> law({"kind": "gamma", "shape": 4.0}).dispersion
    0.25
    """
    return _law(json.dumps(written), rate_per_s)


@cache
def _law(text: str, rate_per_s: float) -> Law:
    properties = json.loads(_engine.arrival_law(text, rate_per_s))
    cumulants = properties["cumulants"]
    return Law(
        written=json.dumps(properties["written"]),
        dispersion=properties["dispersion"],
        part_dispersion=properties["part_dispersion"],
        cumulants=None if cumulants is None else tuple(cumulants),
        gaps=properties["gaps"],
    )


LEAST_MEASURED_S = 0.1
"""The shortest measurement of a run that ends with its trace; ``--duration`` has the same minimum."""


HANDOVER_S = 0.5
"""The longest time from the end of a warm-up to the calibration. Instances check every 100 ms, and are told
ahead. A run that must end with its trace leaves this much of the trace unused, so that it ends in time."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A trace: how many arrivals it has, its rate per second, and what happens in a run that is longer."""

    file: str
    count: int
    rate_per_s: float
    end: Literal["again", "refuse", "stop"]

    def refuse_shorter_than(self, run_s: float, rate_per_s: float) -> None:
        """Refuse a run that is longer than the trace at a rate, if the trace must not repeat.

        Parameters
        ----------
        run_s
            Seconds of warm-up, calibration and measurement; the time between them (`HANDOVER_S`) is added.
        rate_per_s
            Requests per second, to which the trace is scaled.

        Raises
        ------
        UsageError
            The trace is too short. The message states both times.
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
        """Refuse measurements at several rates, unless the trace repeats when it ends.

        Parameters
        ----------
        whose
            The option that sets the rates: `--find-rate`, say.

        Raises
        ------
        UsageError
            Runs would measure for different times, or not at all.
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
        """Return the measurement time of a run that must end with its trace: the requested time or less.

        Parameters
        ----------
        asked_s
            Seconds of measurement that were requested.
        before_s
            Seconds of warm-up and calibration, which are part of the trace; None if that is not known yet.
        rate_per_s
            Requests per second, to which the trace is scaled.

        Raises
        ------
        UsageError
            The time of warm-up is not known, or the trace ends before the measurement.
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


def replay_of(written: LawDocument) -> Replay | None:
    """Read the trace that a law replays; None if it replays none.

    Raises
    ------
    UsageError
        The file cannot be replayed. The error names the file and the line.
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


def parse_law(text: str) -> LawDocument:
    """Parse a law as it is written on the command line.

    Raises
    ------
    UsageError
        The text does not have that form, or no law has such a name or parameter.

    Examples
    --------
    >>> parse_law("exponential")
    'exponential'
    >>> parse_law("gamma:2") == parse_law("gamma:shape=2") == {"kind": "gamma", "shape": 2}
    True
    """
    name, _, rest = text.partition(":")
    if name not in KINDS:
        message = f"--arrivals {name!r} is not an arrival process{nearest(name, KINDS)}"
        raise UsageError(
            "unknown-name",
            message,
            hint=_usage(DEFAULT_LAW),
            option="--arrivals",
            name=name,
            known=list(KINDS),
        )
    known = [one.name for one in KINDS[name].parameters]
    required = KINDS[name].required_names
    values: dict[str, Any] = {}
    for part in rest.split(",") if rest else []:
        key, sign, value = part.partition("=")
        if not sign and len(required) == 1 and required[0] not in values:
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
        if key in values:
            raise UsageError(
                "duplicate-name",
                f"{key!r} is given twice in --arrivals {text}",
                hint=_usage(name),
                option="--arrivals",
                key=key,
            )
        values[key] = _parse_value(value)
    if missing := [key for key in required if key not in values]:
        raise UsageError(
            "missing-argument",
            f"{name} arrivals need {' and '.join(missing)}",
            hint=_usage(name),
            option="--arrivals",
            key=missing[0],
        )
    return {"kind": name, **values} if values else name


def law_text(written: LawDocument) -> str:
    """Return a law as it is written on the command line.

    Examples
    --------
    >>> law_text({"kind": "gamma", "shape": 2.0})
    'gamma:shape=2'
    """
    if isinstance(written, str):
        return written
    parameters = [f"{key}={_format_value(value)}" for key, value in written.items() if key != "kind"]
    return f"{written['kind']}:{','.join(parameters)}" if parameters else str(written["kind"])


def _parse_value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _format_value(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _usage(name: str) -> str:
    parameters = ",".join(
        f"{one.name}={_EXAMPLES.get(one.name, 2) if one.default is None else _format_value(one.default)}"
        for one in KINDS[name].parameters
    )
    return f"--arrivals {name}{':' if parameters else ''}{parameters}"


_EXAMPLES = {"ratio": 10, "c2": 20, "file": "times.csv"}
"""Example values for hints."""
