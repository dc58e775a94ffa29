"""A profile, and a prediction from two profiles, for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hindmost.core.escapes import plain
from hindmost.present.console import console_text, new_console, print_text
from hindmost.present.numbers import number

if TYPE_CHECKING:
    from rich.console import Console

    from hindmost.commands.colocate.documents.pairs import Answer, Neighbours


def render_profile(card: Mapping[str, Any], *, width: int | None = None, color: bool | None = None) -> str:
    """Render a profile ``hindmost.profile/2`` for the terminal.

    Parameters
    ----------
    card : dict
    width, color
        As for `hindmost.commands.measure.view.render_terminal`.
    """
    console = new_console(width, color)
    method = card["method"]
    print_text(
        console,
        f"{plain(card['name'])} on {plain(card['processor']['name'])}, processors"
        f" {card['placement']}: {number(card['rate_per_s'])} {method['unit']} per CPU second"
        f" (middle half ±{card['spread'] / 2:.1%})",
    )
    console.print()
    console.print(f"{'stressor':<14} {'program loses':<26} {'stressor loses':<26}")
    if card["presence"] is not None:
        console.print(f"{'(inert)':<14} {share_text(card['presence']):<26}")
    for axis in card["axes"]:
        lost, taken = share_text(axis["sensitivity"]), share_text(axis["contentiousness"])
        console.print(f"{axis['stressor']:<14} {lost:<26} {taken:<26}", soft_wrap=True)
    if "loaded" in card:
        _latency(console, card)
    console.print()
    if any(one["sensitivity"] is not None for one in card["axes"]):
        print_text(console, f"losses below {card['noise']:.1%} are within the noise")
    for note in card["notes"]:
        print_text(console, f"note: {note['text']}", indent=2)
    print_text(
        console,
        f"{method['windows']} windows of {method['window_ms']:g} ms, {method['dropped']} dropped, in"
        f" {method['took_s']:.1f} s",
    )
    return console_text(console)


def _latency(console: Console, card: Mapping[str, Any]) -> None:
    loaded = card["loaded"]
    console.print()
    print_text(
        console,
        f"{number(loaded['requested_per_s'])} requests/s: {loaded['busy']:.0%} of its processor, p50"
        f" {number(loaded['p50_us'])} µs, p99 {number(loaded['p99_us'])} µs next to the inert stressor;"
        f" {loaded['failed']} of {loaded['requests']} requests failed",
    )
    console.print()
    console.print(f"{'stressor':<14} {'p50 grows by':<26} {'p99 grows by':<26}")
    for name, grown in [
        ("(inert)", loaded["presence"]),
        *((one["stressor"], one["latency"]) for one in card["axes"]),
    ]:
        console.print(
            f"{name:<14} {share_text(grown['p50']):<26} {share_text(grown['p99']):<26}", soft_wrap=True
        )


def share_text(share: Mapping[str, Any] | None) -> str:
    """Format a share with its interval."""
    if share is None:
        return "windows were lost"
    return f"{share['value']:>6.1%} [{share['low']:.1%}, {share['high']:.1%}]"


def render_answer(found: Answer, *, width: int | None = None, color: bool | None = None) -> str:
    """Render the answer of `hindmost.commands.colocate.prediction.decision.decide`.

    Parameters
    ----------
    found : Answer
    width, color
        As for `hindmost.commands.measure.view.render_terminal`.
    """
    console = new_console(width, color)
    print_text(
        console,
        f"{found['answer']}: {plain(found['job'])} next to {plain(found['server'])}. A percentile may grow"
        f" by {found['within']:.0%} at a load of {found['load']:.0%}, so {found['allowed']:.1%} of the rate"
        " may be"
        f" lost{_why(found)}.",
    )
    for note in found["notes"]:
        print_text(console, f"note: {note['text']}", indent=2)
    if found["answer"] == "unknown":
        print_text(console, "hint: measure the pair: hindmost colocate predict SERVER JOB --measure")
    return console_text(console)


def _why(found: Answer) -> str:
    if found["by"] == "measured":
        return f"; the measured loss of the pair is {found['expected']:.1%}"
    if found["by"] == "model":
        return (
            f"; the predicted loss is {found['expected']:.1%}, with a margin for {found['violations']:.0%} of"
            " violations"
        )
    return (
        f", and next to the job it loses up to {found['worst']:.1%} by {found['measure']}"
        f" (mostly by {found['stressor'] or 'no stressor'})"
    )


def render_neighbours(document: Neighbours, *, width: int | None = None, color: bool | None = None) -> str:
    """Render a document ``hindmost.neighbours/2`` for the terminal, the best neighbour first.

    Parameters
    ----------
    document : Neighbours
    width, color
        As for `hindmost.commands.measure.view.render_terminal`.
    """
    console = new_console(width, color)
    first = document["jobs"][0]
    print_text(
        console,
        f"the best neighbour of {plain(document['server'])} is {plain(first['job'])}. A percentile may grow"
        f" by {first['within']:.0%} at a load of {first['load']:.0%}: {first['allowed']:.1%} of the rate may"
        " be lost",
    )
    console.print()
    console.print(f"{'job':<20} {'allowed':<8} {'by':<9} {'expected':>8} {'at most':>8}  mostly by")
    for one in document["jobs"]:
        expected = "unknown" if one["expected"] is None else f"{one['expected']:.1%}"
        cells = f"{one['answer']:<8} {one['by']:<9} {expected:>8} {one['worst']:>8.1%}"
        console.print(f"{plain(one['job']):<20} {cells}  {one['stressor'] or '-'}", soft_wrap=True)
    for note in dict.fromkeys(note["text"] for one in document["jobs"] for note in one["notes"]):
        print_text(console, f"note: {note}", indent=2)
    return console_text(console)


def prometheus_text(found: Mapping[str, Any]) -> str:
    """Format an answer in the text format of Prometheus.

    Examples
    --------
    >>> print(prometheus_text({"job": "zstd", "server": "kv", "answer": "yes", "worst": 0.02}))
    # HELP hindmost_colocation_allowed Whether a job may run next to a server: 1 yes, 0 no, -1 unknown.
    # TYPE hindmost_colocation_allowed gauge
    hindmost_colocation_allowed{job="zstd",server="kv"} 1
    # HELP hindmost_colocation_loss_bound Upper bound of the share of its rate that the server loses.
    # TYPE hindmost_colocation_loss_bound gauge
    hindmost_colocation_loss_bound{job="zstd",server="kv"} 0.02
    <BLANKLINE>
    """
    labels = ",".join(f'{key}="{_escape(str(found[key]))}"' for key in ("job", "server"))
    value = {"yes": 1, "no": 0, "unknown": -1}[found["answer"]]
    rows = (
        ("allowed", "Whether a job may run next to a server: 1 yes, 0 no, -1 unknown.", value),
        ("loss_bound", "Upper bound of the share of its rate that the server loses.", found["worst"]),
    )
    return "".join(
        f"# HELP hindmost_colocation_{name} {what}\n# TYPE hindmost_colocation_{name} gauge\n"
        f"hindmost_colocation_{name}{{{labels}}} {figure:g}\n"
        for name, what, figure in rows
    )


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
