"""Advice in one screen."""

from __future__ import annotations

from collections.abc import Mapping

from hindmost.store.colocation import Advice

_WORDS = {
    "beside": "may run next to it, on processors of its own",
    "supervised": "profiles cannot tell: only under supervision",
    "elsewhere": "must run elsewhere",
}


def render_advice(advice: Advice, commands: Mapping[str, str | None]) -> str:
    """Write who goes where, with the figure that decides, and how to start it."""
    own, left = (", ".join(map(str, advice[key])) for key in ("server_cpus", "job_cpus"))
    lines = [
        f"{advice['server']}: a percentile may grow {advice['within']:.0%} at load {advice['load']:.0%}."
        f" Processors {own} are its own, {left} are for jobs."
    ]
    for one in advice["jobs"]:
        lines.append(
            f"{one['job']}: {_WORDS[one['place']]} (costs up to {one['worst']:.1%},"
            f" {one['ruler'] or 'no ruler'} being the worst; {one['allowed']:.1%} may be lost)"
        )
        lines += [f"  note: {note['text']}" for note in one["notes"]]
        command = commands[one["job"]]
        if command is not None:
            lines.append(f"  {command}")
    return "\n".join(lines) + "\n"
