"""The reproduction card as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from hindmost.store.harvest import CardEntry


def render_card(entries: Sequence[CardEntry]) -> str:
    """Write a row a figure."""
    rows = [f"| {one['figure']} | {one['paper']} | {one['ours']} | {one['verdict']} |" for one in entries]
    head = [
        "# Chapter IV, reproduced",
        "",
        "Synthetic data centers, made to the bands that the chapter publishes.",
        "",
        "| figure | paper | here | verdict |",
        "| --- | --- | --- | --- |",
    ]
    return "\n".join([*head, *rows]) + "\n"
