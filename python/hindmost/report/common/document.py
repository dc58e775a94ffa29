"""Makes a document ready to be shown: every key present, nothing unprintable, infinite apart from unknown."""

import math
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, cast

from hindmost.report.common.numbers import label_order
from hindmost.store.measure import Estimates, Measure, Values

_COUNTS = {"due": 0, "done": 0, "misses": 0, "errors": 0, "timeouts": 0, "unsent": 0}

_EMPTY: dict[str, Any] = {
    "schema": "hindmost.measure/1",
    "version": "",
    "created": "",
    "verdict": "inconclusive",
    "headline": "",
    "reasons": [],
    "study": "",
    "seconds_total": None,
    "target": {
        "name": "target",
        "protocol": "",
        "address": "",
        "managed": False,
        "command": None,
        "cpus": None,
        "server_version": None,
    },
    "plan": {},
    "latency_us": {},
    "service_us": {},
    "slip_us": {},
    "wire_us": None,
    "merged_us": {},
    "by_kind": {},
    "throughput": {"asked": None, "achieved": None},
    "counts": _COUNTS,
    "runs": [],
    "variance": {},
    "hysteresis": {"visible": None, "text": ""},
    "clients": {
        "instances": 0,
        "pacing": "",
        "threshold_us": None,
        "share_of_slowest": [],
        "share_of_all": [],
        "owner": None,
        "by_quantile": [],
    },
    "stopping": {"rule": "", "precision": None, "reached": None, "quantile": "", "runs": 0, "path": {}},
    "distributions": {},
    "per_run_curves": [],
    "outstanding": {"values": [], "share": [], "per_instance": True, "connections": None},
    "instrument": {"figures": [], "neighbours": [], "interrupts": []},
    "series": [],
    "host": {"facts": {}, "findings": []},
}

_RUN: dict[str, Any] = {
    "run": 0,
    "seed": 0,
    "started": "",
    "seconds": None,
    "verdict": "inconclusive",
    "reasons": [],
    "latency_us": {},
    "service_us": {},
    "slip_us": {},
    "throughput": {"asked": None, "achieved": None},
    "counts": _COUNTS,
    "server_cpu_share": None,
    "instances": [],
}

_INSTANCE: dict[str, Any] = {
    "index": 0,
    "cpus": [],
    "latency_us": {},
    "service_us": {},
    "slip_us": {},
    "counts": _COUNTS,
    "busy_share": None,
    "run_delay_share": None,
    "involuntary_switches": None,
    "warmup_s": None,
    "steady": None,
}

_FINDING: dict[str, Any] = {
    "id": "",
    "title": "",
    "value": None,
    "mark": "mind",
    "why": None,
    "hint": None,
}

_BIDI = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f")


def plain(text: str) -> str:
    """Show control characters (a server may send any as its version) instead of obeying them."""
    if text.isprintable() and _BIDI.isdisjoint(text):
        return text
    return "".join(
        "\ufffd" if c in _BIDI or (unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t") else c
        for c in text
    )


def clean(value: Any) -> Any:  # noqa: ANN401 - JSON in, JSON out
    """Copy any document with strings that are safe to print, and null for what is not a number."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, Mapping):
        return {plain(str(key)): clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(item) for item in value]
    return value


def _filled(value: object, empty: Mapping[str, Any]) -> dict[str, Any]:
    """Give ``value`` the keys of ``empty`` that it lacks, or has as ``None`` where a container belongs."""
    out = dict(value) if isinstance(value, Mapping) else {}
    for key, default in empty.items():
        if isinstance(default, dict):
            out[key] = _filled(out.get(key), default)
        elif isinstance(default, list):
            out[key] = out.get(key) or []
        elif key not in out:
            out[key] = default
    return out


def complete(result: Mapping[str, Any]) -> Measure:
    """Copy a result document with every key of the contract present and every string safe to print.

    Parameters
    ----------
    result
        A document ``hindmost.measure/1``; one that an interrupted study left may lack any part.

    """
    out = _filled(clean(result), _EMPTY)
    out["runs"] = [_filled(run, _RUN) for run in out["runs"]]
    for run in out["runs"]:
        run["instances"] = [_filled(instance, _INSTANCE) for instance in run["instances"]]
    out["host"]["findings"] = [_filled(finding, _FINDING) for finding in out["host"]["findings"]]
    return cast(Measure, out)


def labels(*groups: Mapping[str, object]) -> list[str]:
    """All quantile labels of the groups, ``p50`` first and ``mean`` last."""
    return sorted({label for group in groups for label in group}, key=label_order)


def run_value(values: Values, label: str) -> float | None:
    """One quantile of one run: ``inf`` for infinitely late, ``None`` where it was not recorded."""
    if label not in values:
        return None
    value = values[label]
    return math.inf if value is None else value


def bounds(estimates: Estimates, label: str) -> tuple[float | None, float | None, float | None]:
    """Value, low and high of an estimate: ``inf`` for infinitely late, ``None`` where not known."""
    one = estimates.get(label)
    if one is None:
        return (None, None, None)
    unknown = math.inf if one.get("censored_runs") else None
    value = unknown if one["value"] is None else one["value"]
    low, high = one.get("low"), one.get("high")
    high = unknown if high is None and (low is not None or value == math.inf) else high
    return (value, low if low is not None or value != math.inf else unknown, high)


def finite(values: Iterable[float | None]) -> list[float]:
    """Only those values that can be drawn."""
    return [v for v in values if v is not None and math.isfinite(v)]
