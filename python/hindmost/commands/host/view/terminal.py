"""The findings of ``hindmost host doctor``, for the terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from hindmost.core.escapes import plain
from hindmost.present.console import console_text, new_console, print_reason, print_text
from hindmost.present.writing import FINDING_MARKS, format_value

_MARK_STYLES = {"fine": "green", "note": "yellow", "unfit": "bold red"}


def render_findings(
    findings: Sequence[Mapping[str, Any]], *, width: int | None = None, color: bool | None = None
) -> str:
    """Render the findings of ``hindmost host doctor``, one per line, the worst first, with reasons and hints.

    Parameters
    ----------
    findings
        Dicts with ``id``, ``title``, ``value``, ``mark`` (fine, note, unfit), ``why``, ``hint``.
    width, color
        As for :func:`render_terminal`.
    """
    from rich.text import Text

    console = new_console(width, color)
    order = {"unfit": 0, "note": 1, "fine": 2}
    rows = sorted(findings, key=lambda f: order.get(str(f.get("mark")), 1))
    room = max((len(plain(str(f.get("title", "")))) for f in rows), default=0)
    for finding in rows:
        mark = str(finding.get("mark", "note"))
        line = Text(f"{FINDING_MARKS.get(mark, '!')} {mark:<6}", style=_MARK_STYLES.get(mark, "yellow"))
        line.append(f"{plain(str(finding.get('title', ''))):<{min(room, 28)}}  ", style="default not bold")
        line.append(
            plain(format_value("", finding.get("value"))), style="bold" if mark != "fine" else "default"
        )
        print_text(console, line, indent=8)
        if mark != "fine":
            print_reason(console, finding.get("why"), finding.get("hint"), indent=8)
    counts = [f"{sum(1 for f in rows if f.get('mark') == mark)} {mark}" for mark in ("unfit", "note", "fine")]
    console.print(Text(", ".join(counts)), style="dim")
    return console_text(console)


def render_privileges(needs: Sequence[Mapping[str, Any]]) -> str:
    """Render the rights that each command needs, and which of them are missing here.

    Examples
    --------
    >>> row = {"command": "a", "capabilities": ["CAP_BPF"], "owner": False, "met": False}
    >>> print(render_privileges([row]))
    Commands and the rights they need (missing here: x):
      x a  CAP_BPF
    """
    room = max(len(str(one["command"])) for one in needs)
    lines = ["Commands and the rights they need (missing here: x):"]
    for one in needs:
        rights = [*(["root's files"] if one["owner"] else []), *one["capabilities"]]
        text = f"  {' ' if one['met'] else 'x'} {one['command']:<{room}}  {', '.join(rights) or 'none'}"
        lines.append(text.rstrip())
    return "\n".join(lines)
