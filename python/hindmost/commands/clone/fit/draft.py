"""A clone document under construction, and what the data could not show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hindmost.commands.clone.document import SCHEMA
from hindmost.commands.clone.fit.bins import Floats, Ints
from hindmost.commands.clone.fit.intervals import Intervals, intervals, shares
from hindmost.commands.clone.fit.laws.families import round_digits
from hindmost.commands.clone.fit.laws.kinds import Part
from hindmost.commands.clone.fit.load import Load
from hindmost.commands.clone.fit.order.copula import score_autocorrelation
from hindmost.commands.clone.fit.order.successive import Order
from hindmost.commands.clone.fit.pauses.detection import Pauses
from hindmost.commands.clone.fit.reading import Log, combine_digests
from hindmost.commands.clone.fit.turnaround import Turnaround
from hindmost.core.notes import Note


class Draft:
    """The document under construction.

    Parameters
    ----------
    unknown : list of Note
        What the logs alone cannot show; each step adds to it.
    """

    def __init__(self, unknown: list[Note]) -> None:
        self.body: dict[str, Any] = {}
        self.found: Intervals = {}
        self.unknown = unknown

    def laws(self, whole: Part, kinds: tuple[Part, ...], kind: Ints | None) -> None:
        """Add the law of each kind, or of all requests; `kind` has the kind of each request."""
        if not kinds or kind is None:
            self.body["service"] = whole.choice.taken.model.document()
            self.found |= intervals(whole.sample, whole.choice.taken.model, "service")
            return
        self.body["kinds"] = [
            {"name": part.name, "share": part.share, "service": part.choice.taken.model.document()}
            for part in kinds
        ]
        for place, part in enumerate(kinds):
            self.found |= intervals(part.sample, part.choice.taken.model, f"kinds[{place}].service")
        self.found |= shares(kind, [part.share for part in kinds])

    def turnaround(self, beside: Turnaround | Note) -> None:
        """Add how long an arrival interrupts a busy thread, or why that is unknown."""
        if isinstance(beside, Note):
            self.unknown.append(beside)
        elif beside.arrival is not None:
            self.body["arrival_us"] = round_digits(beside.arrival.value)
            self.found["arrival_us"] = (round_digits(beside.arrival.low), round_digits(beside.arrival.high))

    def load(self, load: Load | Note) -> None:
        """Add how service times change with the load."""
        if isinstance(load, Note):
            self.unknown.append(load)
        elif load.seen:
            self.body["load"] = {"time": round_digits(load.time)}
            self.found["load.time"] = (round_digits(load.low), round_digits(load.high))
        else:
            self.unknown.append(
                Note(
                    "no-load-dependence",
                    f"times that depend on the load: not beyond chance; {load}",
                    {"time": load.time, "low": load.low, "high": load.high, "at": list(load.at)},
                )
            )

    def disturbance(self, pauses: Pauses | Note | None, *, taken: bool) -> None:
        """Add pauses; without `taken`, those of the host are left out (for a clone on the same host)."""
        if isinstance(pauses, Note):
            self.unknown.append(pauses)
        if not isinstance(pauses, Pauses):
            return
        if (why := pauses.scope.why) is not None:
            self.unknown.append(
                Note(
                    "unknown-pause-origin",
                    f"whether pauses in services come from the host or are waits inside requests ({why});"
                    " in the clone they come from the host, by the clock",
                    {"reason": why.code, **why.values},
                )
            )
        parts = pauses.parts if taken else pauses.own
        if parts:
            self.body["disturbances"] = [one.document() for one in parts]
        for place, one in enumerate(parts):
            self.found |= one.intervals(f"disturbances[{place}]")
        left = 0.0 if taken else sum(one.hits for one in pauses.parts if one.requests is None)
        if left:
            self.unknown.append(
                Note(
                    "excluded-pauses",
                    f"{left:,.0f} gaps off the CPU are left out: the clone will run on the same host",
                    {"pauses": left},
                )
            )

    def order(self, order: Order, us: Floats, whole: Part, kinds: tuple[Part, ...]) -> float:
        """Return the document's autocorrelation; `us` are the times in which regimes were found."""
        said = order.autocorrelation
        if order.regimes is not None:
            self.found |= order.regimes.intervals(us)
        if said and kinds:
            self.unknown.append(
                Note(
                    "unknown-kind-order",
                    f"how kinds of request follow each other: the autocorrelation is {said:.2f}, but the"
                    " clone draws kinds independently",
                    {"autocorrelation": said},
                )
            )
        elif said:
            said = score_autocorrelation(whole.choice.taken.model, said)
            reach = (order.interval[1] - order.interval[0]) / 2.0 * said / order.autocorrelation
            self.found["order.autocorrelation"] = (round_digits(said - reach), round_digits(said + reach))
        return said

    def document(self, name: str, alike: tuple[Log, ...], logs: tuple[Log, ...]) -> dict[str, Any]:
        """Return the document with its origin; `alike` are the logs joined into the first of `logs`."""
        log = logs[0]
        most = max(one.utilisation or 0.0 for one in (*alike, *logs))
        return {
            "schema": SCHEMA,
            "name": name,
            **self.body,
            "wake_us": round_digits(log.wake_us),
            "outside_us": round_digits(log.outside_us),
            "origin": {
                "source": ", ".join(Path(one.source).name for one in (*alike, *logs[1:])),
                "sha256": log.sha256 if len(logs) == 1 else combine_digests(one.sha256 for one in logs),
                "samples": sum(one.n for one in logs),
                "utilisation_at_most": min(1.0, round_digits(most)),
                "intervals": self.found,
                "unknown": [str(note) for note in self.unknown],
            },
        }
