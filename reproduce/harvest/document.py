"""The card: one row for each figure of chapter IV, and our curves."""

from __future__ import annotations

from typing import TypedDict


class CardEntry(TypedDict):
    """One figure of the reproduction card."""

    figure: str
    paper: str
    ours: str
    verdict: str


class CurvePoint(TypedDict):
    """Mean, lowest and highest over seeds."""

    x: float
    mean: float
    low: float
    high: float


class Series(TypedDict):
    """One line of a figure."""

    name: str
    points: list[CurvePoint]


class Curve(TypedDict):
    """One figure as reproduced here."""

    figure: str
    title: str
    x: str
    y: str
    log: bool
    series: list[Series]


class Card(TypedDict):
    """All figures: means of `seeds` data centers with `servers` servers each."""

    seeds: int
    servers: int
    curves: list[Curve]
    entries: list[CardEntry]
