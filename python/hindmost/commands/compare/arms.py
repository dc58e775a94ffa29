"""Arms of a comparison, their runs, and the rounds in which the runs are interleaved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hindmost.commands.compare.rounds import judge_run
from hindmost.core.fleet import HERE, Fleet, Setting
from hindmost.core.knobs import Knob
from hindmost.core.knobs.force import in_force, processors, start_spec
from hindmost.core.notes import Note
from hindmost.core.plan import MeasurePlan
from hindmost.core.run.making import make_run
from hindmost.core.run.status import RepeatBudget
from hindmost.core.store import Study
from hindmost.core.study.pairs import Step, interleave
from hindmost.core.study.talk import Talk
from hindmost.core.targets import Attached, Managed
from hindmost.present import numbers

BETWEEN_S = 1.5
"""Time to start a server, calibrate and write files, added to each run."""
WARM_S = 3.0
"""Usual duration of ``--warmup auto``."""
SERVERS_OWN = ("server", "connections", "silence")
"""Causes of a rate that was not reached that are findings about the server, not faults of the instrument."""


@dataclass(frozen=True, slots=True)
class Level:
    """A setting at one level; ``what`` is the setting's table in a study file."""

    what: Mapping[str, Any]
    knob: Knob
    level: str


class Arm:
    """One arm, which has one run in each round (a `hindmost.core.study.pairs.Arm`).

    Parameters
    ----------
    study : Study
        Stores the runs. The number of a run is `first` plus the number of its round.
    plan : MeasurePlan
        Plan of each run.
    target : Attached or Managed
        The server without `levels`.
    fleet : Fleet, optional
        Where the clients run; default: this machine.
    levels : sequence of Level, optional
        Settings that are in force during each run. Start options have no effect on a running server.
    first : int, optional
        Number of the round before this arm's first one.
    isolated : bool, optional
        Whether isolated latency decides, which leaves interference out.
    """

    def __init__(
        self,
        study: Study,
        plan: MeasurePlan,
        target: Attached | Managed,
        fleet: Fleet = HERE,
        levels: Sequence[Level] = (),
        first: int = 0,
        *,
        isolated: bool = False,
    ) -> None:
        self._knobs = [(one.knob, one.level) for one in levels]
        self._remote = [Setting(one.what, one.level) for one in levels] if fleet.serves else []
        if levels and isinstance(target, Managed):
            spec = start_spec(target.spec, self._knobs)
            plan = plan.model_copy(update={"server_cpus": processors(target.spec, spec, plan.server_cpus)})
            target = replace(target, spec=spec)
        self.study = study
        self.plan = plan
        self.target = target
        self.fleet = fleet
        self.first = first
        self.isolated = isolated
        self.made: set[int] = set()
        """Rounds whose run this process made."""

    def has(self, number: int) -> bool:
        """Whether the run of this round is stored."""
        return self.study.run(self.first + number) is not None

    def make(self, number: int) -> None:
        """Make the run with the levels in force on the server's host."""
        with self.study.lock(), in_force([] if self._remote else self._knobs) as context:
            make_run(
                self.study,
                self.first + number,
                self.plan,
                self.target,
                context=context,
                fleet=self.fleet,
                settings=self._remote,
            )
        self.made.add(number)

    def excluded(self, number: int) -> Note | None:
        """Return why the run of this round is excluded; None if it counts."""
        return why_excluded(self.study, self.first + number, isolated=self.isolated)


def why_excluded(study: Study, number: int, *, isolated: bool = False) -> Note | None:
    """Return why a run is excluded; None if it counts.

    A server that fails or falls behind is a finding, so its run counts. If `isolated` latency decides,
    interference excludes no run that has it.
    """
    found = judge_run(study, number, isolated=isolated)
    servers = found.kind == "errors" or (found.kind == "short" and found.by in SERVERS_OWN)
    return None if found.is_sound or servers else found.note


def make_rounds(
    arms: Mapping[str, Arm],
    seed: str,
    plan: MeasurePlan,
    talk: Talk,
    is_enough: Callable[[int], bool] = lambda _: False,
) -> None:
    """Make the runs that are missing, each round in a new random order, and report each run.

    Parameters
    ----------
    arms : mapping of str to Arm
        By label.
    seed : str
        Seed of the orders, the same when a study is resumed.
    plan : MeasurePlan
        ``runs`` is the number of rounds that must count, at most; ``remake`` the share that may be repeated.
    is_enough : callable, optional
        Called with the number of rounds that count after each of them. True ends the rounds.
    """

    def report(step: Step) -> None:
        if step.round in arms[step.arm].made:
            why = f": its round is excluded and repeated: {step.why}" if step.why else ""
            talk.say(f"run {step.done} of {step.of}: {step.arm}{why}")

    interleave(arms, seed, RepeatBudget(plan.runs[1], plan.remake), report, is_enough)


def announce(study: Study, plan: MeasurePlan, arms: str, runs: int, talk: Talk) -> None:
    """Say what is compared, how many rounds there are, and how long they take.

    Parameters
    ----------
    arms : str
        Description of the arms.
    runs : int
        Runs in each round.
    """
    least, most = plan.runs
    rounds = f"{most}" if least == most else f"{least} to {most}"
    seconds = [numbers.seconds(count * runs * run_seconds(plan)) for count in dict.fromkeys(plan.runs)]
    talk.say(
        f"{arms}: {rounds} rounds of {numbers.plural(runs, 'run')}, {plan.duration_s:g} s each,"
        f" about {' to '.join(seconds)}; study {study.folder}"
    )


def run_seconds(plan: MeasurePlan) -> float:
    """Return the expected duration of one run, with the start of its server."""
    return plan.duration_s + (WARM_S if plan.warmup == "auto" else plan.warmup) + BETWEEN_S
