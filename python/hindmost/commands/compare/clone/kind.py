"""The kind ``verification``: a clone and its original, in pairs of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from hindmost.commands.clone.documents.predictions import Prediction
from hindmost.commands.compare.arms import announce, make_rounds
from hindmost.commands.compare.clone.answer import FILE, answer, describe_load, document_of, predict
from hindmost.commands.compare.clone.ratios import SERIES, LoadPoint
from hindmost.commands.compare.clone.request import CloneRequest
from hindmost.commands.compare.clone.series import Series
from hindmost.commands.compare.documents.clone import Verification, VerifiedPoint
from hindmost.commands.compare.view.clone import view
from hindmost.core.exits import Exit
from hindmost.core.run.readings import plan_of
from hindmost.core.store import Study
from hindmost.core.study.kind import Kind, PublishedAnswer, publish_view
from hindmost.core.study.part import open_part
from hindmost.core.study.talk import Talk
from hindmost.core.targets import Managed, parse_target

EXITS = {"equivalent": Exit.DONE, "different": Exit.CROSSED}
"""Exit codes by verdict; any other verdict is inconclusive."""
SPOKEN = ("memcached", "http")
"""Protocols of a clone's server; it speaks the first one if the original speaks none of them."""


def run(study: Study, talk: Talk) -> Verification:
    """Make the pairs that are missing; return the answer."""
    plan, request = plan_of(study), CloneRequest.read(study)
    servers = _servers(study, request, plan.target)
    original, copy = servers["original"], servers["clone"]
    loads = ", ".join(f"{point.load:.0%}" for point in request.points)
    text = f"{request.clone.name} against {original.name} at {loads} of capacity"
    announce(study, plan, text, len(SERIES) * len(request.points), talk)
    if original.protocol != copy.protocol:
        talk.warn(
            f"clones do not speak {original.protocol}, so the clone speaks {copy.protocol}, which takes a"
            " different time to parse and write"
        )
    predicted = predict(request, plan)
    points = []
    for point in request.points:
        arms = _arms(study, request, point, servers, predicted[point.load])
        make_rounds(arms, f"{plan.seed} {point.folder}", plan, talk)
        points.append(describe_load(study, request, point, predicted))
        talk.say(_summary(points[-1]))
    return document_of(study, request, predicted, points)


def _arms(
    study: Study,
    request: CloneRequest,
    point: LoadPoint,
    servers: Mapping[str, Managed],
    predicted: Prediction,
) -> dict[str, Series]:
    plan = plan_of(study).model_copy(update={"rate_per_s": point.rate_per_s})
    arms = {}
    for name in SERIES:
        target = servers["clone" if name == "clone" else "original"]
        named = plan.model_copy(update={"target": target.name})
        part = open_part(study, study.folder / point.folder / name, named)
        arms[name] = Series(part, name, plan, target, request.clone, predicted)
    return arms


def _servers(study: Study, request: CloneRequest, original: str) -> dict[str, Managed]:
    """Return the original and the clone's server, both with the clone's number of threads."""
    first = parse_target(original)
    assert isinstance(first, Managed), "refused before the study was made"
    protocol = first.protocol if first.protocol in SPOKEN else SPOKEN[0]
    document = quote(str((study.folder / "clone.json").resolve()))
    second = parse_target(f"synth?clone={document}&protocol={protocol}&occupy={request.occupy}")
    assert isinstance(second, Managed)
    threads = {"threads": request.clone.threads}
    return {
        "original": replace(first, spec=first.spec.model_copy(update=threads)),
        "clone": replace(second, spec=second.spec.model_copy(update=threads)),
    }


def _summary(point: VerifiedPoint) -> str:
    ratios = ", ".join(
        f"{name} {one.clone.ratio:.3f}" if one.clone else f"{name} not known"
        for name, one in point.figures.items()
    )
    return f"{point.load:.0%} of capacity: clone / original {ratios}"


def publish(study: Study, result: Verification, page: Path | None = None) -> PublishedAnswer:
    """Write ``verification.json`` and the page."""
    code = EXITS.get(result.verdict, Exit.INCONCLUSIVE)
    return publish_view(study, FILE, result, view(result), code, page or study.folder / "verification.html")


KIND = Kind("verification", run, answer, publish, "hindmost.commands.compare.result:VerificationResult")
