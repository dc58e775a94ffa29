"""The kind ``batching``: none, Nagle's algorithm and each interval, one run of each in every round."""

from __future__ import annotations

from pathlib import Path

from hindmost.exits import Exit
from hindmost.fleet.opening import fleet_of
from hindmost.plan.batching import batching_text
from hindmost.report.common import numbers
from hindmost.run.readings import plan_of
from hindmost.run.soundness import RepeatBudget
from hindmost.store import Study
from hindmost.store.batching import Batching
from hindmost.studies.batching.answer import answer
from hindmost.studies.batching.asked import Asked, name_of_side
from hindmost.studies.comparison.kind import BETWEEN_S, WARM_S
from hindmost.studies.comparison.runs import SideRuns
from hindmost.studies.kind import Kind, Shown, write_answer
from hindmost.studies.pairs import Step, interleave
from hindmost.studies.part import open_part
from hindmost.studies.talk import Talk
from hindmost.targets import parse_target

FILE = "batching.json"


def run(study: Study, talk: Talk) -> Batching:
    """Make the runs that are missing; returns the answer."""
    plan = plan_of(study)
    asked = Asked.of(study, plan)
    rounds = plan.runs[0]
    each = plan.duration_s + (WARM_S if plan.warmup == "auto" else plan.warmup) + BETWEEN_S
    ways = ", ".join(dict.fromkeys(batching_text(way) for _, way in asked.sides))
    talk.say(
        f"{plan.target} at {', '.join(numbers.rate(rate) for rate in asked.rates)}, batched {ways}:"
        f" {rounds} rounds, about {numbers.seconds(rounds * len(asked.sides) * each)}; study {study.folder}"
    )
    target = parse_target(plan.target)
    sides: dict[str, SideRuns] = {}

    def on_step(step: Step) -> None:
        if step.round in sides[step.side].made:
            why = f": its round is excluded and repeated: {step.why}" if step.why else ""
            talk.say(f"run {step.done} of {step.of}: {step.side}{why}")

    with fleet_of(plan, talk.say) as fleet:
        for side in asked.sides:
            name, one = name_of_side(*side), asked.plan_of(*side)
            sides[name] = SideRuns(open_part(study, study.folder / name, one), one, target, fleet)
        interleave(sides, f"{plan.seed} batching", RepeatBudget(rounds, plan.remake), on_step)
    return answer(study)


def publish(study: Study, result: Batching, page: Path | None = None) -> Shown:
    """Write ``batching.json`` and the page."""
    from hindmost.report.batching import render_batching, render_batching_page

    told = all(rate["best"] is not None for rate in result["rates"]) and not _all_aside(result)
    code = Exit.DONE if told else Exit.INCONCLUSIVE
    return write_answer(study, FILE, result, (render_batching_page, render_batching), code, page)


def _all_aside(result: Batching) -> bool:
    return bool(result["aside"]) and result["rounds"] == 0


KIND = Kind("batching", run, answer, publish)
