"""The kind ``verification``: a clone against its original, in pairs of runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from hindmost.exits import Exit
from hindmost.run.readings import plan_of
from hindmost.store import Study
from hindmost.store.verification import Verification as Document
from hindmost.store.verification import VerifiedPoint
from hindmost.studies.kind import Kind, Shown, write_answer
from hindmost.studies.talk import Talk
from hindmost.studies.verification.answer import FILE, answer
from hindmost.studies.verification.asked import Asked
from hindmost.studies.verification.comparison import WHO
from hindmost.studies.verification.procedure import Verification
from hindmost.targets import Managed, parse_target

EXITS = {"equivalent": Exit.DONE, "different": Exit.CROSSED}
"""What a verdict says to scripts: unlike is a limit that is crossed; any other is that it stays open."""
SPOKEN = ("memcached", "http")
"""What the server of a clone speaks; originals that speak something else meet it in the first."""
BETWEEN_S = 1.5
"""What a run takes next to warm-up and measurement: starting a server, calibrating, writing files."""


def run(study: Study, talk: Talk) -> Document:
    """Make the pairs that are missing; returns the answer."""
    plan, asked = plan_of(study), Asked.of(study)
    pairs = plan.runs[0]
    servers = _servers(study, asked, plan.target)
    original, double = servers["original"], servers["clone"]
    seconds = len(asked.points) * pairs * len(WHO) * (plan.duration_s + float(plan.warmup) + BETWEEN_S)
    talk.say(
        f"{asked.clone.name} against {original.name}: {pairs} pairs at {len(asked.points)} load(s),"
        f" {plan.duration_s:g} s each, about {seconds / 60:.0f} min; study {study.folder}"
    )
    if original.protocol != double.protocol:
        talk.warn(
            f"clones do not speak {original.protocol}: this one is asked in {double.protocol}'s words, whose"
            " reading and writing takes a little more or less time"
        )

    def on_load(found: VerifiedPoint) -> None:
        ratios = ", ".join(
            f"{name} {one['clone']['ratio']:.3f}" if one["clone"] else f"{name} not known"
            for name, one in found["figures"].items()
        )
        talk.say(f"{found['load']:.0%} of capacity: clone / original {ratios}")

    return Verification(study, plan, asked, servers, on_load).run()


def _servers(study: Study, asked: Asked, original: str) -> dict[str, Managed]:
    """The original and the clone's server, with as many threads each."""
    first = parse_target(original)
    assert isinstance(first, Managed), "refused before the study was made"
    protocol = first.protocol if first.protocol in SPOKEN else SPOKEN[0]
    document = quote(str((study.folder / "clone.json").resolve()))
    double = parse_target(f"synth?clone={document}&protocol={protocol}&occupy={asked.occupy}")
    assert isinstance(double, Managed)
    threads = {"threads": asked.clone.threads}
    return {
        "original": replace(first, spec=first.spec.model_copy(update=threads)),
        "clone": replace(double, spec=double.spec.model_copy(update=threads)),
    }


def publish(study: Study, result: Document, page: Path | None = None) -> Shown:
    """Write ``verification.json`` and the page."""
    from hindmost.report.verification import render_verification, render_verification_page

    code = EXITS.get(result["verdict"], Exit.INCONCLUSIVE)
    where = page or study.folder / "verification.html"
    return write_answer(study, FILE, result, (render_verification_page, render_verification), code, where)


KIND = Kind("verification", run, answer, publish)
