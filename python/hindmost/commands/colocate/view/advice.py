"""Advice about co-location, for the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from hindmost.commands.colocate.documents.profiles import Advice

_WORDS = {
    "beside": "may run next to it, on separate processors",
    "supervised": "the profiles do not decide: run it only under supervision",
    "elsewhere": "must run elsewhere",
}


def render_advice(advice: Advice, commands: Mapping[str, str | None]) -> str:
    """Render the placement of each job, with the deciding figure, and the command to start it."""
    own, left = (", ".join(map(str, advice[key])) for key in ("server_cpus", "job_cpus"))
    lines = [
        f"{advice['server']}: a percentile may grow by {advice['within']:.0%} at a load of"
        f" {advice['load']:.0%}."
        f" Processors {own} are reserved for it, {left} are for jobs."
    ]
    for one in advice["jobs"]:
        lines.append(
            f"{one['job']}: {_WORDS[one['place']]} (costs up to {one['worst']:.1%},"
            f" mostly by {one['stressor'] or 'no stressor'}; {one['allowed']:.1%} is acceptable)"
        )
        lines += [f"  note: {note['text']}" for note in one["notes"]]
        command = commands[one["job"]]
        if command is not None:
            lines.append(f"  {command}")
    return "\n".join(lines) + "\n"
