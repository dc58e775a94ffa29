"""Stressors on this core: their rates, which share ports, the cache sizes, and the nearness of other CPUs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from hindmost import _engine
from hindmost.commands.colocate.documents.profiles import (
    STRESSORS_SCHEMA,
    Caches,
    Cell,
    KnownStressor,
    Neighbour,
    PortGroup,
    Processor,
    StressorRate,
    Stressors,
)
from hindmost.commands.colocate.processor import allowed_cpus, choose_cpu, choose_pair, read_processor
from hindmost.core.notes import Note
from hindmost.errors import HostUnfit, Inconclusive, UsageError

MOST_NEIGHBOURS = 8
SIBLING = "sibling"
ATTEMPTS = 6
AGREE = 0.02
"""Largest relative difference between rates before and after a certificate, and from the best rate. Another
thread of the same core (a hypervisor's other guest) lowers the rates, and the instruction chain that measures
the clock does not notice it."""
ITSELF = 0.2
"""Largest shortfall below 1 of a class's overlap with itself: two streams of one class add their times. It
was within 0.11 undisturbed (bursts of 0.2 ms on a virtual machine), and 0.41 when disturbed."""
SAME = 0.1
"""Largest difference between the overlaps of a class with itself in two attempts that a core has by itself: a
class whose latency is longer than its chains leaves ports idle, by the same share each time."""
SEVERAL = 3
"""Classes that are slower together if another thread uses the core. It slows most of the fourteen."""


def known_stressors() -> list[KnownStressor]:
    """Return all stressors."""
    return msgspec.json.decode(_engine.stressors(), type=list[KnownStressor])


def certify(
    cpu: int | None = None, *, bursts: int = 5, say: Callable[[str], None] = lambda _: None
) -> Stressors:
    """Measure the stressors on a CPU, and return the certificate.

    Parameters
    ----------
    cpu : int, optional
        The CPU to measure; by default the last usable one.
    bursts : int
        Clean bursts for each figure, about 0.2 ms each.
    say : callable
        Receives progress messages.

    Raises
    ------
    HostUnfit
        Other programs leave no burst undisturbed, or the kernel grants no memory for code.
    Inconclusive
        Rates differed each time, because something shares this core.
    """
    start = time.monotonic()
    mine, kind = choose_cpu(cpu), read_processor()
    core = _measure_undisturbed(mine, kind, bursts, say)
    say("measuring cache sizes and the nearness of other CPUs")
    others = [one for one in allowed_cpus() if one != mine][:MOST_NEIGHBOURS]
    return Stressors(
        schema=STRESSORS_SCHEMA,
        processor=kind,
        cpu=mine,
        ghz=core.certificate["ghz"],
        rates=[_rate(one, core.left_out) for one in core.rates],
        overlaps=msgspec.convert(core.certificate["overlaps"], list[Cell]),
        groups=msgspec.convert(core.certificate["groups"], list[PortGroup]),
        caches=cache_sizes(call_engine(_engine.cache_knees, mine, 1)),
        neighbours=[measure_neighbour(mine, other) for other in others],
        took_s=time.monotonic() - start,
        certificate_s=core.certificate_s,
    )


@dataclass(frozen=True, slots=True)
class Measured:
    """Rates and port sharing of a core, and the classes that its certificate leaves out, with the reasons."""

    rates: list[dict[str, Any]]
    certificate: dict[str, Any]
    certificate_s: float
    left_out: dict[str, Note]


def _measure_undisturbed(mine: int, kind: Processor, bursts: int, say: Callable[[str], None]) -> Measured:
    """Measure rates and the overlap matrix until the rates before and after the matrix agree.

    Something else used the core if several classes were slower together. A class that is slow alone has
    several steady states, and one whose streams never add up leaves its port idle: both are left out.
    """

    def rates() -> list[dict[str, Any]]:
        say(f"measuring instruction rates on CPU {mine}")
        found: list[dict[str, Any]] = call_engine(
            _engine.validate_stressors, mine, kind.vendor, kind.family, kind.model, max(bursts, 5)
        )
        return found

    passes, left_out, suspects = [rates()], dict[str, Note](), dict[str, list[float]]()
    slow: list[Slowed] = []
    cells: list[Mapping[str, Any]] = []
    for _ in range(ATTEMPTS):
        say("measuring which instructions share ports")
        started = time.monotonic()
        certificate = call_engine(_engine.core_certificate, mine, bursts, sorted(left_out))
        certificate_s = time.monotonic() - started
        passes.append(rates())
        slow = [one for one in find_slowed(passes) if one.name not in left_out]
        cells = find_unsaturated(certificate["overlaps"])
        if not slow and not cells:
            return Measured(passes[-1], certificate, certificate_s, left_out)
        if len(slow) >= min(SEVERAL, len(passes[0])):
            say(f"{len(slow)} classes of instructions were slower together; repeating")
            continue
        for one in slow:
            suspects.setdefault(one.name, []).append(one.low / one.high)
            if len(suspects[one.name]) > 1:
                left_out[one.name] = one.note()
        for cell in cells:
            values = suspects.setdefault(cell["a"], [])
            values.append(cell["value"])
            if len(values) > 1 and max(values) - min(values) < SAME:
                left_out[cell["a"]] = _unsaturated_note(cell["a"], values)
        say("repeating")
    if slow:
        worst = min(slow, key=lambda one: one.low / one.high)
        raise Inconclusive(
            "core-shared",
            f"CPU {mine} was shared in all {ATTEMPTS} attempts: {worst.name} reached {worst.low:.2f} to"
            f" {worst.high:.2f} per cycle, as it does next to another thread of the same core (another guest"
            " of this host)",
            hint="repeat later, or measure another CPU (--cpu N)",
            cpu=mine,
            attempts=ATTEMPTS,
            name=worst.name,
            least=worst.low,
            most=worst.high,
            slower=[one.name for one in slow],
        )
    cell = cells[0]
    raise Inconclusive(
        "core-disturbed",
        f"CPU {mine} was disturbed in all {ATTEMPTS} attempts: in the last, two streams of {cell['a']} took"
        f" only {cell['value']:.2f} of the time that they need one after the other, and another share each"
        " time",
        hint="stop other programs (top -H -o %CPU) and repeat, or use more bursts (--bursts 9)",
        cpu=mine,
        attempts=ATTEMPTS,
        name=cell["a"],
        value=cell["value"],
    )


@dataclass(frozen=True, slots=True)
class Slowed:
    """A class that fell below its best rate: its lowest of the last two passes, and its best."""

    name: str
    low: float
    high: float

    def note(self) -> Note:
        """Return the reason to leave it out."""
        values = {"name": self.name, "low": self.low, "high": self.high}
        return Note("unsteady-class", f"its rate changes between {self.low:.2f} and {self.high:.2f}", values)


def find_slowed(passes: Sequence[Sequence[Mapping[str, Any]]]) -> list[Slowed]:
    """Find the classes that fell below their best rate in the last two passes."""
    found = []
    for column in zip(*passes, strict=True):
        reached = [one["rate"] for one in column if one["rate"]]
        last = [one["rate"] for one in column[-2:] if one["rate"]]
        if last and min(last) / max(reached) < 1.0 - AGREE:
            found.append(Slowed(column[0]["class"], min(last), max(reached)))
    return found


def find_unsaturated(overlaps: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Find the classes of which two streams take less time than one after the other."""
    return [one for one in overlaps if one["a"] == one["b"] and one["value"] < 1 - ITSELF]


def _unsaturated_note(name: str, values: Sequence[float]) -> Note:
    text = f"two of its streams take {1.0 + min(values):.2f} of the time of one, so one leaves ports idle"
    return Note("unsaturated-class", text, {"name": name, "low": min(values), "high": max(values)})


def call_engine(what: Callable[..., str], *arguments: object, **named: object) -> Any:  # noqa: ANN401 (JSON)
    """Call the engine, and raise `HostUnfit` for what this host cannot do."""
    try:
        return json.loads(what(*arguments, **named))
    except _engine.EngineError as error:
        code, message = error.args
        if code == "stressor-busy":
            raise HostUnfit(code, message, hint="stop other programs (top -H -o %CPU) and repeat") from None
        raise HostUnfit(code, message) from None


def make_stressors(names: Iterable[str], knees: str, folder: str, seed: int) -> dict[str, Any]:
    """Build stressors by name, for the cache sizes of `cache_knees`.

    Raises
    ------
    HostUnfit
        The processor lacks an instruction, or the kernel refuses what a stressor needs.
    """
    names, stressors = list(names), {}
    for name in names:
        try:
            stressors[name] = _engine.Stressor(name, knees, folder, seed)
        except _engine.EngineError as error:
            code, message = error.args
            others = ",".join(one for one in names if one not in (name, "null"))
            unsupported = code == "stressor-unsupported"
            hint = f"leave it out: --stressors {others}" if unsupported and others else None
            raise HostUnfit(code, message, hint=hint, name=name) from None
    return stressors


def measure_neighbour(mine: int, other: int, *, ports: bool = True) -> Neighbour:
    """Measure how another CPU is placed relative to `mine`."""
    reading = call_engine(_engine.look_at_placement, mine, other, ports=ports)
    return Neighbour(
        cpu=other,
        placement=reading["placement"],
        one_way_ns=reading["one_way_ns"],
        same_port=reading["same_port"],
    )


def choose_cpus(cpu: int | None, other: str | None) -> tuple[int, int]:
    """Choose the CPU of a program, and of what runs next to it.

    Parameters
    ----------
    cpu : int, optional
        CPU of the program; by default the last usable one.
    other : str, optional
        A number, or ``sibling`` for the other thread of the program's core, found by measurement; by default
        the nearest by number.

    Raises
    ------
    HostUnfit
        There is only one CPU, or none is a sibling.
    UsageError
        This process may not use `other`.
    """
    mine, nearest = choose_pair(cpu)
    if other is None:
        return mine, nearest
    if other != SIBLING:
        if not other.isdecimal() or int(other) == mine:
            raise UsageError(
                "bad-value",
                f"--other {other}: use the number of another CPU, or {SIBLING}",
                hint=f"--other {nearest}",
                option="--other",
                value=other,
            )
        return mine, choose_cpu(int(other), "--other")
    neighbours = [measure_neighbour(mine, one) for one in allowed_cpus() if one != mine][:MOST_NEIGHBOURS]
    found = next((one.cpu for one in neighbours if one.placement == "siblings"), None)
    if found is None:
        near = min(neighbours, key=lambda one: one.one_way_ns)
        raise HostUnfit(
            "no-sibling",
            f"CPU {mine} has no sibling thread that this process may use: the nearest, {near.cpu},"
            f" is {near.placement} ({near.one_way_ns:.0f} ns one way; a stressor keeps"
            f" {near.same_port or 1.0:.2f} of its rate next to itself there, and 0.5 on a sibling)",
            hint="leave out --other to measure programs on separate cores",
            cpu=mine,
            nearest=near.cpu,
            placement=near.placement,
            one_way_ns=near.one_way_ns,
        )
    return mine, found


def cache_sizes(knees: Mapping[str, Any]) -> Caches:
    """Return the cache sizes, without the steps from which they were derived."""
    return Caches(l1_bytes=knees["l1"], l2_bytes=knees["l2"], l3_bytes=knees["l3"])


def _rate(one: Mapping[str, Any], left_out: Mapping[str, Note]) -> StressorRate:
    bursts, rate, documented = one["bursts"], one["rate"], one["documented"]
    reason = left_out.get(one["class"])
    return StressorRate(
        name=one["class"],
        rate=rate,
        low=None if bursts is None else 1 / bursts["quartiles"][1],
        high=None if bursts is None else 1 / bursts["quartiles"][0],
        documented=documented,
        share=rate / documented if rate and documented else None,
        clean=0 if bursts is None else bursts["clean"],
        tried=0 if bursts is None else bursts["tried"],
        missing=one["missing"],
        left_out=None if reason is None else reason.document(),
    )
