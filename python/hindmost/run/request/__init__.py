"""What may be asked of a measurement: every option with its default, and the plan that follows on this host.

The fields of `MeasureRequest` are the options of ``hindmost measure``: name, type, default and help stand
here alone. The command line makes its options of them; study files, verifications and Python give them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hindmost.laws import law_text
from hindmost.run.request.course import CourseOptions
from hindmost.run.request.load import LoadOptions
from hindmost.run.request.options import declared

if TYPE_CHECKING:
    from hindmost.plan import MeasurePlan


@dataclass(frozen=True, kw_only=True)
class MeasureRequest(CourseOptions, LoadOptions):
    """What is asked of ``hindmost measure``, as people write it.

    Examples
    --------
    >>> import hindmost
    >>> asked = hindmost.MeasureRequest(target="synth", rate="20k", runs="3..5")
    >>> plan = asked.plan()
    >>> plan.rate_per_s, plan.runs, plan.duration_s
    (20000.0, (3, 5), 10.0)
    """

    @classmethod
    def of(cls, options: Mapping[str, object]) -> MeasureRequest:
        """Read options by their names, as a file has them."""
        read: dict[str, Any] = {name: OPTIONS[name].read(value) for name, value in options.items()}
        if isinstance(arrivals := read.get("arrivals"), dict) and "kind" in arrivals:
            read["arrivals"] = law_text(arrivals)
        return cls(**read)

    def plan(self) -> MeasurePlan:
        """Everything that was asked for, checked before anything starts, for the processors of this host.

        Raises
        ------
        UsageError
            If something of it cannot be meant, or the engine refuses it.
        """
        from hindmost.plan.secrets import trust
        from hindmost.run.request.planning import plan_of

        plan = plan_of(self)
        trust(plan.model_dump(mode="json"))
        return plan

    def stopping(self) -> dict[str, Any]:
        """How many runs, how precise, how many again, as far as it was said: what may change later."""
        from hindmost.plan import parse_percent, parse_runs, parse_share

        found: dict[str, Any] = {}
        if self.runs is not None:
            found["runs"] = parse_runs(self.runs)
        if self.precision is not None:
            found["precision"] = parse_percent(self.precision)
        if self.remake is not None:
            found["remake"] = parse_share(self.remake, "--remake")
        return found

    def fixed(self) -> list[str]:
        """Options that were given and that cannot change when a study goes on."""
        return [
            one.flag
            for one in OPTIONS.values()
            if not one.option.may_change and getattr(self, one.name) != one.default
        ]


OPTIONS = declared(MeasureRequest)
"""The fields by name."""
