"""Answers from supervised windows: what was observed outranks what profiles or a model predict.

A promise such as p99 < 1 ms holds in a window or not, and the windows bound the share that breaks it
(`hindmost.stats.series.violations`). Yes needs windows in which the server was at least as busy as in the
question; no rests on windows in which it was at most as busy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec.structs import replace

from hindmost.commands.colocate.documents.pairs import Answer
from hindmost.commands.colocate.documents.profiles import Profile, SupervisedEvidence
from hindmost.commands.colocate.documents.stored import SupervisedBlocks
from hindmost.commands.colocate.documents.supervision import SupervisedBlock
from hindmost.core.notes import Note
from hindmost.stats.series.violations import bound_share, count_effective

_Fits = Callable[[SupervisedBlock], bool]


class Promise(NamedTuple):
    """A limit on a percentile of every window."""

    percentile: float
    limit_us: float


@dataclass(frozen=True, slots=True)
class Observations:
    """The supervised windows of a server, and how they are used.

    Attributes
    ----------
    found : SupervisedBlocks
    promise : Promise or None
        The promise in question; by default that of the last windows with a job.
    everything : bool
        Whether windows on other processors and of other versions of the programs count.
    """

    found: SupervisedBlocks
    promise: Promise | None = None
    everything: bool = False


def judge_observed(
    answer: Answer, job: Profile, server: Profile, observations: Observations, violations: float
) -> Answer:
    """Let supervised windows decide; if they cannot, the answer stays.

    Parameters
    ----------
    answer : Answer
        From pairs or profiles.
    job, server : Profile
    observations : Observations
    violations : float
        Largest share of windows that may break the promise.
    """
    notes: list[Note] = []
    if unreadable := observations.found.unreadable:
        notes.append(_unused("unreadable", unreadable, f"{unreadable} lines cannot be read"))
    blocks = sorted((one for one in observations.found.blocks if one.job == job.name), key=_began)
    usable = _select(blocks, job, server, observations, notes) if blocks else []
    if usable:
        busy = [one for one in usable if one.load is not None and one.load >= answer.load]
        calm = [one for one in usable if one.load is None or one.load <= answer.load]
        found = describe_observations(usable, busy, calm)
        _note_unused(found, usable, busy, answer.load, notes)
        answer = replace(answer, violations=violations, evidence=replace(answer.evidence, supervised=found))
        answer = _decide(answer, found, _share(calm), violations, notes)
    return replace(answer, notes=[*answer.notes, *(one.document() for one in notes)])


def _decide(
    answer: Answer, found: SupervisedEvidence, share: float, violations: float, notes: list[Note]
) -> Answer:
    """Decide by the bounds; `share` of the windows at no more than the load in question broke the promise."""
    if found.windows and max(found.bound, found.least) <= violations:
        return replace(answer, answer="yes", by="supervised")
    if share <= violations:
        return answer
    if found.alone is not None and found.alone >= max(found.least, violations):
        text = (
            f"the server exceeded the limit in {found.alone:.0%} of the windows in which the job was paused"
        )
        notes.append(Note("broken-without-job", text, {"share": found.alone, "most": violations}))
        return answer
    if found.least > violations:
        return replace(answer, answer="no", by="supervised")
    # More violations than allowed were seen, if not enough for a no: a predicted yes does not hold.
    return replace(answer, answer="unknown", by="supervised") if answer.answer == "yes" else answer


def _select(
    blocks: Sequence[SupervisedBlock],
    job: Profile,
    server: Profile,
    observations: Observations,
    notes: list[Note],
) -> list[SupervisedBlock]:
    """Return the blocks that fit the question, and note how many windows do not, and why."""
    asked = observations.promise
    last = next((one for one in reversed(blocks) if asked in (None, _promise(one))), blocks[-1])
    promise = asked or _promise(last)
    programs = (server.program or last.server_program, job.program or last.job_program)
    tests: list[tuple[str, str, _Fits]] = [
        (
            "other-promise",
            "had another promise or another length",
            lambda one: _promise(one) == promise and one.window_s == last.window_s,
        )
    ]
    if not observations.everything:
        tests += [
            (
                "other-processor",
                f"ran on another processor than {server.processor.name}",
                lambda one: one.processor == server.processor,
            ),
            (
                "other-version",
                f"had another version of {server.name} or {job.name}",
                lambda one: (one.server_program, one.job_program) == programs,
            ),
        ]
    left = list(blocks)
    for reason, text, fits in tests:
        fitting = [one for one in left if fits(one)]
        if windows := _windows(left) - _windows(fitting):
            notes.append(_unused(reason, windows, f"{windows} supervised windows {text}"))
        left = fitting
    return left


def describe_observations(
    usable: Sequence[SupervisedBlock], busy: Sequence[SupervisedBlock], calm: Sequence[SupervisedBlock]
) -> SupervisedEvidence:
    """Return what the blocks show: `busy` ones for a yes, `calm` ones for a no."""
    last, alone = usable[-1], sum(one.alone for one in usable)
    # It is not known whether prevented windows would have kept the limit. For a yes, assume the worst.
    worst = [_assume_broken(one) for one in busy]
    windows, effective, broken = sum(one.judged for one in worst), _effective(worst), _share(worst)
    return SupervisedEvidence(
        percentile=last.percentile,
        limit_us=last.limit_us,
        window_s=last.window_s,
        windows=windows,
        hours=windows * last.window_s / 3600,
        effective=effective,
        broken=broken,
        bound=bound_share(broken, effective)[1],
        least=bound_share(_share(calm), _effective(calm))[0],
        alone=sum(one.alone_broken for one in usable) / alone if alone else None,
        load=max((one.load for one in usable if one.load is not None), default=None),
        processors=min(one.processors for one in usable),
        first=usable[0].began,
        last=last.began,
        hosts=sorted({one.host for one in usable}),
        kernels=sorted({one.kernel for one in usable}),
    )


def _assume_broken(block: SupervisedBlock) -> SupervisedBlock:
    more = block.prevented
    return replace(block, judged=block.judged + more, broken=block.broken + more)


def _note_unused(
    found: SupervisedEvidence,
    usable: Sequence[SupervisedBlock],
    busy: Sequence[SupervisedBlock],
    load: float,
    notes: list[Note],
) -> None:
    """Note which windows of the blocks that fit cannot support a yes."""
    if lighter := _windows(usable) - _windows(busy):
        at = "an unknown load" if found.load is None else f"a load of at most {found.load:.1%}"
        text = f"{lighter} supervised windows had {at}, and the question is about {load:.1%}"
        notes.append(_unused("lighter-load", lighter, text, load=found.load))
    if busy and not found.windows:
        text = f"in {_windows(busy)} supervised windows the job lacked processors or CPU time"
        notes.append(_unused("throttled", _windows(busy), text))


def _share(blocks: Sequence[SupervisedBlock]) -> float:
    return sum(one.broken for one in blocks) / max(1, sum(one.judged for one in blocks))


def _effective(blocks: Sequence[SupervisedBlock]) -> float:
    """Return the number of independent windows that the judged ones are worth."""
    by_session = sorted((one for one in blocks if one.judged), key=lambda one: (one.session, one.began))
    shares = [one.broken / one.judged for one in by_session]
    levels = [math.log(one.latency.percentile_us) for one in by_session if one.latency is not None]
    window_s = blocks[-1].window_s if blocks else 0.0
    return count_effective(sum(one.judged for one in blocks), window_s, shares, levels)


def _windows(blocks: Sequence[SupervisedBlock]) -> int:
    return sum(one.windows for one in blocks)


def _promise(block: SupervisedBlock) -> Promise:
    return Promise(block.percentile, block.limit_us)


def _began(block: SupervisedBlock) -> str:
    return block.began


def _unused(reason: str, count: int, text: str, **values: float | None) -> Note:
    return Note("unused-evidence", f"{text}; they were not used", {"reason": reason, "count": count} | values)
