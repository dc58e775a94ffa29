"""The value of co-location: total cost of ownership over the life of servers.

The model of Barroso, Clidaras and Hölzle (2013, chapter 6): servers, the facility that powers them, energy
and upkeep. Half of the servers are latency-sensitive, half do batch work. Co-location lets each of the former
do a part of a batch server's work, so that fewer of the latter are needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from hindmost.core.documents import read_toml

CONSTANTS = Path(__file__).with_name("tco.toml")


@dataclass(frozen=True, slots=True)
class Constants:
    """Prices and lifetimes; the file ``tco.toml`` has their sources."""

    server_dollars: float
    server_years: float
    peak_watts: float
    average_load: float
    colocated_load: float
    facility_dollars_per_watt: float
    facility_years: float
    interest: float
    dollars_per_kwh: float
    pue: float
    upkeep: float

    @classmethod
    def read(cls, path: Path = CONSTANTS) -> Constants:
        """Read the constants from a file."""
        found = read_toml(path)
        return cls(**{name: float(value) for name, value in found.items()})


@dataclass(frozen=True, slots=True)
class Saving:
    """The saving as a fraction of the cost without co-location."""

    instances: float
    work: float
    """With the work that slower batch jobs complete next to a server."""


def _paid(amount: float, years: float, life: float, interest: float) -> float:
    """Return the cost, over some years, of a loan over the life of an asset."""
    month, months = interest / 12, 12 * life
    return float(amount * month / (1 - (1 + month) ** -months) * 12 * years)


def cost(constants: Constants, *, batch_here: float = 0.0) -> float:
    """Return the lifetime cost in dollars of a server that also does a fraction of another's batch work."""
    c = constants
    load = c.average_load + batch_here * c.colocated_load
    servers = _paid(c.server_dollars, c.server_years, c.server_years, c.interest)
    facility = _paid(c.peak_watts * c.facility_dollars_per_watt, c.server_years, c.facility_years, c.interest)
    energy = c.peak_watts * load / 1000 * c.pue * 8766 * c.server_years * c.dollars_per_kwh
    return servers + facility + energy + c.upkeep * c.server_dollars * c.server_years


def saving(gain: float, constants: Constants | None = None, *, speed: float = 1.0) -> Saving:
    """Return the saving from a gain in utilisation.

    Parameters
    ----------
    gain : float
        Batch instances on latency-sensitive servers, as a fraction of a batch server's.
    constants : Constants, optional
    speed : float
        Speed of a batch job there relative to its speed alone: instances differ from work.

    Examples
    --------
    >>> round(saving(0.4297).instances, 3)
    0.211
    """
    c = Constants.read() if constants is None else constants
    alone = cost(c)

    def fraction_saved(replaced: float) -> float:
        together = cost(c, batch_here=gain) + (1 - replaced) * alone
        return 1 - together / (2 * alone)

    return Saving(fraction_saved(gain), fraction_saved(gain * speed))


def tornado(
    gain: float, *, speed: float = 1.0, span: float = 0.3, constants: Constants | None = None
) -> dict[str, tuple[float, float]]:
    """Return the saving in work with each constant lowered and raised; the most influential ones first."""
    c = Constants.read() if constants is None else constants
    values: Mapping[str, float] = asdict(c)

    def saving_with(name: str, factor: float) -> float:
        return saving(gain, replace(c, **{name: values[name] * factor}), speed=speed).work

    found = {name: (saving_with(name, 1 - span), saving_with(name, 1 + span)) for name in values}
    found["speed"] = (
        saving(gain, c, speed=speed * (1 - span)).work,
        saving(gain, c, speed=min(1.0, speed * (1 + span))).work,
    )
    return dict(sorted(found.items(), key=lambda one: -abs(one[1][1] - one[1][0])))
