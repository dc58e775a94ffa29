"""Predictors compared on the simulated core, and a cluster steered by them: what the terminal shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hindmost.present.blocks import Block, Section, Table, Text, View


def predictors_view(document: Mapping[str, Any]) -> View:
    """Return the view of a result of `reproduce.smite.core.compare`."""
    rows = [
        (
            one["name"],
            f"{one['error']:.2%}",
            f"[{one['low']:.2%}, {one['high']:.2%}]",
            "trivial" if one["trivial"] else f"{one['skill']:+.2f}",
        )
        for one in document["scores"]
    ]
    promise = document["promise"]
    more = ""
    if promise["least_rate"] > promise["rate"]:
        more = (
            f"no rate below {promise['least_rate']:.0%} can be promised with so few programs: one more could"
            " break its limit in all its pairs; hint: --programs, or a higher --violations"
        )
    blocks: list[Block] = [
        Table(("predictor", "error", "interval", "skill"), rows),
        Text(
            f"promise of at most {promise['rate']:.0%} violations: {promise['yes']} of {promise['asked']}"
            f" pairs of unknown programs admitted, {promise['violated']:.1%} of them break their limit"
            f" ({promise['violated_a_question']:.1%} on average over queries);"
            f" {promise['of_oracle']:.0%} of what an oracle admits; {promise['no']} certainly refused"
        ),
        Text(more),
        Text(f"in {document['took_s']:.1f} s"),
    ]
    headline = (
        f"{document['programs']} programs on a core with two threads, mean loss {document['mean_lost']:.1%};"
        f" {document['splits']} splits into halves for learning and prediction"
    )
    return View("Predictors", "", "", headline, blocks)


def steering_view(document: Mapping[str, Any]) -> View:
    """Return the view of a result of `reproduce.smite.core.steering`."""
    blocks = [*_levels(document)]
    blocks.append(Text("gained (servers that miss their target; by how much the worst misses it)"))
    blocks += [
        Text(
            f"cost saved at the paper's gain ({name}): {one['instances']:.2%} by instances,"
            f" {one['work']:.2%} by work done at {document['batch_speed']:.0%} of a batch job's speed alone"
        )
        for name, one in document["paper"].items()
    ]
    blocks.append(Text("the latter depends most on (30 % less, 30 % more):"))
    blocks += [
        Text(f"  {name}: {low:.2%} to {high:.2%}")
        for name, (low, high) in list(document["tornado"].items())[:5]
    ]
    blocks.append(Text(f"in {document['took_s']:.1f} s"))
    return View("Steering", "", "", f"arrivals: {document['arrivals'].text}", blocks)


def _levels(document: Mapping[str, Any]) -> Iterator[Block]:
    for what, by_model in document["levels"].items():
        for model, rows in by_model.items():
            by_target: dict[float, dict[str, Any]] = {}
            for row in rows:
                by_target.setdefault(row["target"], {})[row["policy"]] = row
            cells = [
                (
                    f"{target:.1%}",
                    _outcome(one["steered"]),
                    _outcome(one["random"]),
                    f"{one['oracle']['gained']:.1%}",
                )
                for target, one in by_target.items()
            ]
            heads = ("target", "steered", "random, as many", "oracle")
            title = f"{document['servers']} servers, target of the {what}, steered by {model}"
            yield Section(title, [Table(heads, cells, ">>>>")])


def _outcome(one: Mapping[str, Any]) -> str:
    return f"{one['gained']:.1%} ({one['violated']:>5.1%}; {one['magnitude']:>4.0%})"
