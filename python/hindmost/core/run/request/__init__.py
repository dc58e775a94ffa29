"""The request for a measurement: every option with its default, and the plan that follows on this host.

The fields of `MeasureRequest` are the options of ``hindmost measure``: name, type, default and help are
declared here only. The command line builds its options from them; study files, verifications and Python users
set them directly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hindmost.core.laws import law_text
from hindmost.core.run.request.course import CourseOptions
from hindmost.core.run.request.load import LoadOptions
from hindmost.core.run.request.options import declare_fields

if TYPE_CHECKING:
    from hindmost.core.plan import MeasurePlan


@dataclass(frozen=True, kw_only=True)
class MeasureRequest(CourseOptions, LoadOptions):
    """The options of ``hindmost measure``, as users write them.

    Examples
    --------
    >>> import hindmost
    >>> request = hindmost.MeasureRequest(target="synth", rate="20k", runs="3..5")
    >>> plan = request.plan()
    >>> plan.rate_per_s, plan.runs, plan.duration_s
    (20000.0, (3, 5), 10.0)
    """

    @classmethod
    def from_options(cls, options: Mapping[str, object]) -> MeasureRequest:
        """Read options by name, as written in a file."""
        read: dict[str, Any] = {name: OPTIONS[name].read(value) for name, value in options.items()}
        if isinstance(arrivals := read.get("arrivals"), dict) and "kind" in arrivals:
            read["arrivals"] = law_text(arrivals)
        return cls(**read)

    def plan(self, *, rising: bool = False) -> MeasurePlan:
        """Check all options before anything starts, and return the plan for the CPUs of this host.

        Parameters
        ----------
        rising : bool
            Whether the rate will rise above the requested one, so that clients get all cores that are left.

        Raises
        ------
        UsageError
            If options are invalid or contradictory, or the engine refuses them.
        """
        from hindmost.core.plan.secrets import trust
        from hindmost.core.run.request.planning import make_plan

        plan = make_plan(self, rising=rising)
        trust(plan.model_dump(mode="json"))
        return plan

    def stopping_options(self) -> dict[str, Any]:
        """Return the given options of the stopping rule (runs, precision, repeats), which may change."""
        from hindmost.core.plan import parse_percent, parse_runs, parse_share

        options: dict[str, Any] = {}
        if self.runs is not None:
            options["runs"] = parse_runs(self.runs)
        if self.precision is not None:
            options["precision"] = parse_percent(self.precision)
        if self.remake is not None:
            options["remake"] = parse_share(self.remake, "--remake")
        return options

    def fixed_options(self) -> list[str]:
        """Return the given options that cannot change when a study is resumed."""
        return [
            field.flag
            for field in OPTIONS.values()
            if not field.option.may_change and getattr(self, field.name) != field.default
        ]


OPTIONS = declare_fields(MeasureRequest)
"""The fields by name."""
