"""The kind ``batching``: no batching, Nagle's algorithm and each interval, one run of each in every round."""

from __future__ import annotations

from pathlib import Path

from hindmost.commands.compare.arms import Arm, announce, make_rounds
from hindmost.commands.compare.batching.answer import answer
from hindmost.commands.compare.batching.request import BatchingRequest, arm_name
from hindmost.commands.compare.documents.batching import Batching
from hindmost.commands.compare.figures import decides_isolated
from hindmost.commands.compare.view.batching import view
from hindmost.core.exits import Exit
from hindmost.core.fleet.opening import fleet_of
from hindmost.core.plan.batching import batching_text
from hindmost.core.run.readings import plan_of
from hindmost.core.store import Study
from hindmost.core.study.kind import Kind, PublishedAnswer, publish_view
from hindmost.core.study.part import open_part
from hindmost.core.study.talk import Talk
from hindmost.core.targets import parse_target
from hindmost.present import numbers

FILE = "batching.json"


def run(study: Study, talk: Talk) -> Batching:
    """Make the runs that are missing; return the answer."""
    plan, request = plan_of(study), BatchingRequest.read(study)
    rates, modes = map(numbers.rate, request.rates), map(batching_text, request.modes)
    text = f"{plan.target} at {', '.join(rates)}, batching {', '.join(modes)}"
    announce(study, plan, text, len(request.arms), talk)
    target = parse_target(plan.target)
    with fleet_of(plan, talk.say) as fleet:
        arms: dict[str, Arm] = {}
        for arm in request.arms:
            name, own = arm_name(*arm), request.plan_of(*arm)
            part = open_part(study, study.folder / name, own)
            arms[name] = Arm(part, own, target, fleet, isolated=decides_isolated(own, request.by))
        make_rounds(arms, f"{plan.seed} batching", plan, talk)
    return answer(study)


def publish(study: Study, result: Batching, page: Path | None = None) -> PublishedAnswer:
    """Write ``batching.json`` and the page."""
    all_excluded = bool(result.aside) and result.rounds == 0
    decided = all(rate.best is not None for rate in result.rates) and not all_excluded
    code = Exit.DONE if decided else Exit.INCONCLUSIVE
    return publish_view(study, FILE, result, view(result), code, page)


KIND = Kind("batching", run, answer, publish, "hindmost.commands.compare.result:BatchingResult")
