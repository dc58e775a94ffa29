"""Profiles for `hindmost colocate`, with figures that a test chooses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import UNSET, UnsetType

from hindmost.commands.colocate.documents.profiles import (
    PROFILE_SCHEMA,
    Axis,
    Growth,
    LoadedServer,
    Method,
    Processor,
    Profile,
    Share,
)
from hindmost.core.store.estimates import encode

PROCESSOR = Processor(vendor="AuthenticAMD", family=25, model=17, name="AMD EPYC")
OTHER_PROCESSOR = Processor(vendor="AuthenticAMD", family=25, model=1, name="AMD EPYC 7003")
METHOD = Method(unit="lines", window_ms=40.0, windows=100, dropped=1, real_time=True, seed=1, took_s=8.0)


def share(value: float, half: float = 0.01) -> Share:
    """Return a share with an interval of this half-width."""
    return interval(value, value - half, value + half)


def interval(value: float, low: float, high: float) -> Share:
    """Return a share with its interval."""
    return Share(value=float(value), low=float(low), high=float(high), windows=5)


def axis(stressor: str, lost: Share | None, inflicted: Share, latency: Growth | UnsetType = UNSET) -> Axis:
    """Return what a program loses to a stressor, and inflicts on it."""
    return Axis(stressor=stressor, sensitivity=lost, contentiousness=inflicted, latency=latency)


def under_load(busy: float, p50: Share | None = None, p99: Share | None = None) -> LoadedServer:
    """Return a server under load, and what the presence of an inert stressor costs it."""
    return LoadedServer(
        address="memcached://127.0.0.1:1",
        requested_per_s=2000.0,
        requests=1000,
        failed=0,
        busy=busy,
        p50_us=50.0,
        p99_us=100.0,
        presence=Growth(p50=p50, p99=p99),
    )


def card(
    name: str,
    lost: Mapping[str, float] | None = None,
    inflicted: Mapping[str, float] | None = None,
    *,
    half: float = 0.01,
    **more: Any,
) -> Profile:
    """Return a profile from losses by stressor, and any other fields."""
    axes = [axis(one, share(lost[one], half), share((inflicted or {})[one], half)) for one in lost or {}]
    fields = {
        "schema": PROFILE_SCHEMA,
        "name": name,
        "command": [name],
        "processor": PROCESSOR,
        "placement": "near",
        "rate_per_s": 1000.0,
        "spread": 0.01,
        "presence": share(0.0, half),
        "axes": axes,
        "noise": half,
        "method": METHOD,
        "notes": [],
    }
    return Profile(**fields | more)


def write_card(folder: Path, profile: Profile) -> str:
    """Write a profile into a folder; return its path."""
    path = folder / f"{profile.name}.json"
    path.write_text(encode(profile), encoding="utf-8")
    return str(path)
