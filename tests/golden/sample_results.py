"""Documents such as `hindmost measure` writes, made from a seed: realistic in shape, free of any machine."""

import math
import random
import statistics
from typing import Any

import msgspec

from hindmost.core.store.measure import Measure

LEVELS = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
T95 = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26, 20: 2.09, 30: 2.05}
GRID = [0.0] + [round(1 - 10 ** (-k / 30), 7) for k in range(1, 121)]


def t95(runs: int) -> float:
    return T95.get(runs, 2.2)


def lognormal(q: float, middle: float, spread: float) -> float:
    z = statistics.NormalDist().inv_cdf(min(max(q, 0.002), 0.9999999))
    knee = 1 + max(0.0, -math.log10(1 - min(q, 0.9999999)) - 1.4) ** 2.2 * 0.28
    return middle * math.exp(spread * z) * knee


def figure(values: list[float | None], verdict: str = "valid") -> dict[str, Any]:
    finite = [v for v in values if v is not None and v < math.inf]
    censored = len(values) - len(finite)
    out = {"runs": len(values), "censored_runs": censored, "verdict": verdict}
    if censored:
        low = round(min(finite), 2) if finite else None
        return {"value": math.inf, "low": low, "high": math.inf, **out, "verdict": "inconclusive"}
    mean = statistics.fmean(finite)
    if len(finite) < 2:
        return {"value": round(mean, 3), "low": None, "high": None, **out}
    half = t95(len(finite)) * statistics.stdev(finite) / math.sqrt(len(finite))
    return {"value": round(mean, 3), "low": round(mean - half, 3), "high": round(mean + half, 3), **out}


def counts(scheduled: int, *, timeouts: int = 0, unsent: int = 0, errors: int = 0) -> dict[str, int]:
    completed = scheduled - timeouts - unsent - errors
    misses = completed // 70
    return {
        "scheduled": scheduled,
        "completed": completed,
        "misses": misses,
        "errors": errors,
        "timeouts": timeouts,
        "unsent": unsent,
    }


def total(parts: list[dict[str, int]]) -> dict[str, int]:
    return {key: sum(part[key] for part in parts) for key in parts[0]}


def quantiles(middle: float, spread: float, shift: float) -> dict[str, float | None]:
    out: dict[str, float | None] = {
        label: round(lognormal(q, middle, spread) * (1 + shift * (0.3 + q**8)), 3)
        for label, q in LEVELS.items()
    }
    out["mean"] = round(middle * 1.18 * (1 + shift / 2), 3)
    return out


def curve(middle: float, spread: float, *, until: float = 1.0, points: int = 121) -> dict[str, list[Any]]:
    grid = GRID[:points]
    return {
        "q": grid,
        "us": [round(lognormal(q, middle, spread), 3) if q <= until else math.inf for q in grid],
    }


def one_run(rng: random.Random, number: int, clients: int, send_delay: float, rate: float) -> dict[str, Any]:
    shift = rng.gauss(0, 0.05)
    parts = []
    for index in range(clients):
        own = shift + rng.gauss(0, 0.006) + 0.02 * index
        parts.append(
            {
                "index": index,
                "cpus": [1 + index],
                "latency_us": quantiles(31.4 + send_delay, 0.31, own),
                "service_us": quantiles(31.0, 0.3, own),
                "send_delay_us": quantiles(send_delay, 0.5, own),
                "counts": counts(int(rate / clients * 8) + rng.randrange(300)),
                "busy_share": round(0.41 + rng.gauss(0, 0.01) + (0.5 if send_delay > 5 else 0), 3),
                "run_delay_share": round(abs(rng.gauss(0.001, 0.0005)), 5),
                "involuntary_switches": rng.randrange(4, 30),
                "warmup_s": 2.4,
                "steady": True,
            }
        )
    merge = {
        name: {
            label: round(statistics.fmean(part[name][label] for part in parts), 3)
            for label in (*LEVELS, "mean")
        }
        for name in ("latency_us", "service_us", "send_delay_us")
    }
    all_counts = total([part["counts"] for part in parts])
    return {
        "run": number,
        "seed": 7000 + number,
        "started": f"2026-11-20T10:{number:02d}:00Z",
        "seconds": round(10.6 + rng.random(), 1),
        "verdict": "valid" if send_delay < 5 else "invalid",
        "reasons": [],
        **merge,
        "throughput": {"requested": rate, "achieved": round(all_counts["completed"] / 8, 1)},
        "counts": all_counts,
        "server_cpu_share": round(0.62 + rng.gauss(0, 0.01), 3),
        "clients": parts,
    }


def series_of(rng: random.Random, number: int, rate: float, windows: int = 50) -> dict[str, Any]:
    out: dict[str, Any] = {"run": number, "t_s": [], "rate": [], "p50_us": [], "p99_us": []}
    for window in range(windows):
        warm = 1 + 1.6 * math.exp(-window / 4)
        out["t_s"].append(round(window * 0.2, 1))
        out["rate"].append(round(rate * (1 + rng.gauss(0, 0.012)), 1))
        out["p50_us"].append(round(31.4 * warm * (1 + rng.gauss(0, 0.01)), 2))
        out["p99_us"].append(round(88 * warm * math.exp(abs(rng.gauss(0, 0.09))), 2))
    return {**out, "measure_from_s": 2.4}


def paths(runs: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    out: dict[str, list[dict[str, Any]]] = {}
    for label in (*LEVELS, "mean"):
        out[label] = []
        for n in range(2, len(runs) + 1):
            one = figure([run["latency_us"][label] for run in runs[:n]])
            out[label].append({"runs": n, "value": one["value"], "low": one["low"], "high": one["high"]})
    return out


FACTS = {
    "kernel": "6.8.0-45-generic",
    "cpu_model": "Example CPU 3.0 GHz",
    "cpus_online": 4,
    "memory_bytes": 8_321_499_136,
    "hypervisor": "kvm",
    "clocksource": "tsc",
    "governor": None,
    "turbo": None,
    "smt": True,
    "virtual": True,
    "timer_slack_ns": 50_000,
}

FINDINGS: list[dict[str, Any]] = [
    {
        "id": "cores",
        "title": "Cores",
        "value": "4 online",
        "mark": "fine",
        "why": "one for the server, two for clients, one for the rest",
        "hint": None,
    },
    {
        "id": "clocksource",
        "title": "Clock source",
        "value": "tsc",
        "mark": "fine",
        "why": "reading it costs 24 ns",
        "hint": None,
    },
    {
        "id": "timer_slack",
        "title": "Timer slack",
        "value": "50 µs",
        "mark": "note",
        "why": "a sleeping client wakes up to 50 µs late; spinning ones do not mind",
        "hint": "measure with `--pacing spin`",
    },
    {
        "id": "governor",
        "title": "CPU governor",
        "value": "not readable",
        "mark": "note",
        "why": "a virtual machine hides the governor; clock changes between runs show as variance",
        "hint": None,
    },
    {
        "id": "steal",
        "title": "Stolen CPU time",
        "value": "3.1 %",
        "mark": "unfit",
        "why": "the hypervisor took 31 ms of each second; p99.9 will show its scheduling, not the server's",
        "hint": "hindmost host doctor --watch 60",
    },
]


def instrument(waiting: float = 0.0003, mark: str = "fine") -> dict[str, Any]:
    """Return what the instrument recorded about itself."""
    rows = [
        ("working", "sending and receiving, the busiest client", 0.23, "share", 0.5, 0.8, "fine"),
        ("on_cpu", "on its processor, spinning included", 1 - waiting, "share", None, None, "fine"),
        ("waiting", "waiting for its processor, which others had", waiting, "share", 0.0001, 0.001, mark),
        ("switches", "taken off its processor", 24.0, "per_s", 100.0, None, "fine"),
        ("throttled", "periods of its CPU quota that ended in a stop", None, "share", 0.0, 0.01, "fine"),
        ("dropped", "connections dropped by a full accept queue", 0.0, "count", 0.0, None, "fine"),
    ]
    keys = ("id", "title", "value", "unit", "note_above", "grave_above", "mark")
    schedule = {"pid": 4711, "turns_per_s": 3.2, "bound": True}
    return {
        "figures": [dict(zip(keys, row, strict=True)) for row in rows],
        "neighbours": [
            {"name": "rustc", "share": waiting, "kernel": False, **schedule, "bound": False},
            {"name": "kworker/1:2", "share": 0.00025, "kernel": True, **schedule},
        ],
        "interrupts": [{"source": "Local timer interrupts", "per_s": 250.4}],
    }


def describe_over_runs(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the median over runs next to the mean; no run is off."""
    columns = {label: [run["latency_us"][label] for run in runs] for label in (*LEVELS, "mean")}
    none = f"none of {len(runs)} runs is off; up to 26 % of runs may be"
    return {
        "about": "mean",
        "beside_us": {
            label: figure(values) | {"value": round(statistics.median(values), 3)}
            for label, values in columns.items()
        },
        "off": {
            label: {"runs": [], "share": 0.0, "low": 0.0, "high": 0.26, "text": none} for label in columns
        },
        "claims": "the mean may miss a slow state that fewer than 26 % of runs enter; 59 runs would show one of 5 %",
    }


def valid(
    runs: int = 10, clients: int = 2, *, seed: int = 1, send_delay: float = 0.31, windows: int = 50
) -> dict[str, Any]:
    """Return ten runs of two clients with nothing wrong."""
    rng = random.Random(seed)
    rate = 50_000.0
    all_runs = [one_run(rng, n, clients, send_delay, rate) for n in range(1, runs + 1)]
    verdict = "valid" if send_delay < 5 else "invalid"
    table = {
        name: {label: figure([run[name][label] for run in all_runs], verdict) for label in (*LEVELS, "mean")}
        for name in ("latency_us", "service_us", "send_delay_us")
    }
    everything = total([run["counts"] for run in all_runs])
    gets = everything["scheduled"] * 9 // 10
    kinds = {"get": (gets, 1.0), "set": (everything["scheduled"] - gets, 1.09)}
    p99 = table["latency_us"]["p99"]
    share = [round(1 / clients, 4)] * clients
    arrivals = [0.38 * 0.62**n for n in range(24)]
    return {
        "schema": "hindmost.measure/2",
        "version": "0.1.0",
        "created": "2026-11-20T10:12:31Z",
        "verdict": "valid",
        "headline": (
            f"99 % of requests at 50,000/s were answered within {p99['value']:.1f} µs: "
            f"{runs} runs agree within ±5 % and the clients kept their schedule."
        ),
        "reasons": [],
        "study": "hindmost-memcached-20261120-100000",
        "seconds_total": 8.1 * runs,
        "target": {
            "name": "memcached",
            "protocol": "memcached",
            "address": "127.0.0.1:34567",
            "managed": True,
            "command": ["memcached", "-l", "127.0.0.1", "-p", "34567", "-t", "1", "-m", "256"],
            "cpus": [0],
            "server_version": "1.6.18",
        },
        "plan": {
            "rate_per_s": rate,
            "loop": "open",
            "arrivals": "exponential",
            "clients": clients,
            "connections": 8,
            "pacing": "spin",
            "runs": [10, 30],
            "precision": 0.05,
            "duration_s": 8.0,
            "warmup": "auto",
            "quantiles": list(LEVELS.values()),
            "aggregate": "mean",
            "seed": 7,
            "workload": {
                "keys": 10_000,
                "key_bytes": 32,
                "value_bytes": 200,
                "get_share": 0.9,
                "popularity": {"zipf": 0.99},
            },
        },
        **table,
        "wire_us": None,
        "merged_us": {label: round(v["value"] * 1.012, 2) for label, v in table["latency_us"].items()},
        "over_runs": describe_over_runs(all_runs),
        "by_kind": {
            kind: {
                "latency_us": {
                    label: figure([run["latency_us"][label] * factor for run in all_runs], verdict)
                    for label in (*LEVELS, "mean")
                },
                "counts": counts(scheduled),
            }
            for kind, (scheduled, factor) in kinds.items()
        },
        "throughput": {"requested": rate, "achieved": 49_987.2},
        "counts": everything,
        "runs": all_runs,
        "excluded": {
            "share": 0.5,
            "made": runs + 1,
            "counted": runs,
            "runs": [{"run": runs + 1, "why": "the hypervisor took 2.31% of a processor in use"}],
        },
        "variance": {
            label: {
                "between_runs_sd_us": round(
                    statistics.stdev([run["latency_us"][label] for run in all_runs]) if runs > 1 else 0.0, 3
                ),
                "within_run_sd_us": round(table["latency_us"][label]["value"] * 0.009, 3),
                "between_share": 0.92,
            }
            for label in LEVELS
        },
        "hysteresis": {
            "visible": True,
            "text": "Each run is steady, yet runs settle at different p99 values: "
            "92 % of the variance lies between restarts of the server.",
        },
        "clients": {
            "count": clients,
            "pacing": "spin",
            "threshold_us": round(p99["value"] * 1.01, 2),
            "share_of_slowest": share,
            "share_of_all": share,
            "owner": None,
            "by_quantile": [
                {"q": q, "shares": share_at(clients, q, 0.04)}
                for q in (0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995)
            ],
        },
        "stopping": {
            "rule": "from 10 runs on, stop when the 95 % t-interval is within ±5 % twice in a row",
            "precision": 0.05,
            "reached": True,
            "quantile": "p99",
            "runs": runs,
            "path": paths(all_runs),
        },
        "distributions": {
            "latency": curve(31.4 + send_delay, 0.31),
            "service": curve(31.2, 0.3),
            "send_delay": curve(send_delay, 0.5),
        },
        "per_run_curves": [
            {"run": run["run"], **curve(run["latency_us"]["p50"], 0.29 + 0.03 * rng.random())}
            for run in all_runs
        ],
        "instrument": instrument(),
        "outstanding": {
            "values": list(range(24)),
            "share": [round(a / sum(arrivals), 6) for a in arrivals],
            "per_client": True,
            "connections": 8,
        },
        "series": [series_of(rng, run["run"], rate, windows) for run in all_runs],
        "host": {"facts": dict(FACTS), "findings": [dict(f) for f in FINDINGS[:4]]},
    }


def share_at(clients: int, q: float, lean: float) -> list[float]:
    """Return shares that lean towards the first client as the quantile grows."""
    if clients == 1:
        return [1.0]
    first = min(0.97, 1 / clients + lean * -math.log10(1 - q))
    return [round(first, 4)] + [round((1 - first) / (clients - 1), 4)] * (clients - 1)


def with_late_sends() -> dict[str, Any]:
    """Return four clients that could not keep their schedule, one of which owns the tail."""
    out = valid(clients=4, seed=2, send_delay=18.0)
    out["verdict"] = "invalid"
    send_delay, p99 = out["send_delay_us"]["p99"]["value"], out["latency_us"]["p99"]["value"]
    out["headline"] = (
        f"The clients sent late: at p99 requests left {send_delay:.0f} µs after they were due, half of what was "
        "measured, so the latencies show the load generator rather than memcached. Lower the rate or give "
        "the clients more cores."
    )
    out["reasons"] = [
        {
            "code": "late-sends",
            "level": "invalid",
            "text": f"send delay p99 is {send_delay:.0f} µs; at most 10 % of latency p99 "
            f"({p99 / 10:.0f} µs) would leave the result unharmed",
            "hint": "hindmost measure memcached --rate 20k --clients 2",
        },
        {
            "code": "busy",
            "level": "invalid",
            "text": "instances 0 to 3 used 91 % of their CPUs",
            "hint": "give each instance a core of its own with `--client-cpus 1-4`, or lower `--rate`",
        },
        {
            "code": "dominant-client",
            "level": "note",
            "text": "instance 0 contributes 83 % of the slowest 1 % of samples",
            "hint": None,
        },
    ]
    out["instrument"] = instrument(0.155, "unfit")
    out["clients"].update(owner=0, share_of_slowest=[0.83, 0.06, 0.06, 0.05])
    for row in out["clients"]["by_quantile"]:
        row["shares"] = share_at(4, row["q"], 0.26)
    out["host"]["findings"] = [dict(f) for f in FINDINGS]
    return out


def wide() -> dict[str, Any]:
    """Return thirty runs whose interval stays wide."""
    out = valid(runs=30, seed=3)
    for run in out["runs"]:
        settled = 1.55 if run["run"] % 3 == 0 else 0.85
        for label in ("p95", "p99", "p99.9"):
            run["latency_us"][label] = round(run["latency_us"][label] * settled, 2)
    for label in LEVELS:
        estimate = figure([run["latency_us"][label] for run in out["runs"]], "inconclusive")
        out["latency_us"][label] = estimate
    out["stopping"].update(path=paths(out["runs"]), reached=False)
    out["verdict"] = "inconclusive"
    out["headline"] = (
        "After 30 runs p99 is known to ±13 % only (asked: ±5 %): runs settle at two different values. "
        "Allow more runs, or find what differs between restarts."
    )
    out["reasons"] = [
        {
            "code": "wide-intervals",
            "level": "inconclusive",
            "text": "the interval of p99 spans 67.9 to 88.4 µs",
            "hint": "hindmost measure memcached --runs 30..80 --resume",
        },
    ]
    return out


def with_timeouts() -> dict[str, Any]:
    """Return ten runs, three of which have timed-out requests at p99.9."""
    out = valid(seed=4)
    for run in out["runs"][2:9:3]:
        run["latency_us"]["p99.9"] = math.inf
        run["counts"] = counts(run["counts"]["scheduled"], timeouts=300, unsent=231, errors=4)
        run["clients"][0]["latency_us"]["p99.9"] = math.inf
    out["counts"] = total([run["counts"] for run in out["runs"]])
    out["latency_us"]["p99.9"] = figure([run["latency_us"]["p99.9"] for run in out["runs"]])
    out["merged_us"]["p99.9"] = math.inf
    out["stopping"]["path"] = paths(out["runs"])
    out["distributions"]["latency"] = curve(31.7, 0.31, until=0.9988)
    for one in out["per_run_curves"][2:9:3]:
        one["us"] = [us if q < 0.9985 else math.inf for q, us in zip(one["q"], one["us"], strict=True)]
    out["verdict"] = "inconclusive"
    out["headline"] = (
        "p99 is 70.7 µs, but p99.9 has no finite value: in 3 of 10 runs more than 0.1 % of the requests were "
        "never answered. Lower the rate or raise the timeout."
    )
    out["reasons"] = [
        {
            "code": "censored",
            "level": "inconclusive",
            "text": "p99.9 was reached by unsent or timed-out requests in 3 of 10 runs",
            "hint": "hindmost measure memcached --rate 40k --timeout 2s",
        },
    ]
    return out


def single() -> dict[str, Any]:
    """Return one run of one client against a server that was already running."""
    out = valid(runs=1, clients=1, seed=5)
    out["target"] = {
        "name": "memcached://cache.example:11211",
        "protocol": "memcached",
        "address": "cache.example:11211",
        "managed": False,
        "command": None,
        "cpus": None,
        "server_version": None,
    }
    out["verdict"] = "inconclusive"
    out["headline"] = "One run cannot say how much runs differ: repeat it at least ten times."
    out["reasons"] = [
        {
            "code": "runs",
            "level": "inconclusive",
            "text": "1 run carries no interval",
            "hint": "hindmost measure memcached://cache.example:11211 --runs 10..30",
        },
        {
            "code": "not-restarted",
            "level": "note",
            "text": "the server was not restarted between runs, so hysteresis cannot be seen",
            "hint": None,
        },
    ]
    out["variance"] = {
        label: {"between_runs_sd_us": None, "within_run_sd_us": v["within_run_sd_us"], "between_share": None}
        for label, v in out["variance"].items()
    }
    out["hysteresis"] = {"visible": None, "text": "Hysteresis cannot be seen: the server was not restarted."}
    out["stopping"].update(reached=False, path={})
    out["throughput"]["requested"] = None
    out["plan"].update(loop="closed", rate_per_s=None)
    return out


def with_capture() -> dict[str, Any]:
    """Return runs with a packet capture each; service latency drifts away from the capture."""
    out = valid(seed=7)

    def margin(value: float, half: float = 0.08) -> dict[str, Any]:
        return {"value": value, "low": round(value - half, 3), "high": round(value + half, 3), "runs": 10}

    def compare(requests: int, gaps: dict[str, float], **more: Any) -> dict[str, Any]:
        captured_us = {name: round(lognormal(LEVELS[name], 26.0, 0.3), 3) for name in gaps}
        return {
            "requests": requests,
            "ours_us": {name: margin(round(captured_us[name] + gap, 3), 0.4) for name, gap in gaps.items()},
            "capture_us": {name: margin(value, 0.4) for name, value in captured_us.items()},
            "gap_us": {name: margin(gap) for name, gap in gaps.items()},
            "request_us": {
                name: {"value": gap, "low": round(gap - 0.4, 3), "high": round(gap + 0.9, 3)}
                for name, gap in gaps.items()
            },
            **more,
        }

    wire = {"p50": 1.22, "p95": 1.31, "p99": 1.44, "p99.9": 0.96}
    service = {"p50": 5.02, "p95": 6.9, "p99": 9.4, "p99.9": -2.1}
    out["capture"] = {
        "runs": 9,
        "of": 10,
        "requests": 1_800_000,
        "answered": 1_800_000,
        "dropped": 0,
        "connections": 3,
        "fault": "tcpdump does not listen on lo: it says nothing",
        "hint": "try it: tcpdump -n -i lo -c 1",
        "wire": compare(350_000, wire, constancy_us=0.48, upto="p99.9", goal_us=1.0),
        "service": compare(1_800_000, service, constancy_us=4.38, upto="p99", goal_us=2.0),
        "curves": {"capture": curve(26.0, 0.3), "wire": curve(27.2, 0.3), "service": curve(31.0, 0.3)},
    }
    return out


HOSTILE = '</script><b onload="alert(1)">\'&amp; [red]{{7*7}} \x1b[31mESC\u202eRTL'


def hostile() -> dict[str, Any]:
    """Return a document in which every external text contains markup and control sequences."""
    out = valid(seed=6)
    out["headline"] = HOSTILE
    out["target"].update(name=HOSTILE, server_version=HOSTILE, command=[HOSTILE], address=HOSTILE)
    out["reasons"] = [{"code": HOSTILE, "level": "note", "text": HOSTILE, "hint": f"`{HOSTILE}`"}]
    out["by_kind"] = {HOSTILE: out["by_kind"]["get"]}
    out["plan"]["workload"] = {HOSTILE: HOSTILE}
    out["host"]["facts"][HOSTILE] = HOSTILE
    out["host"]["findings"] = [
        {"id": HOSTILE, "title": HOSTILE, "value": HOSTILE, "mark": "unfit", "why": HOSTILE, "hint": HOSTILE}
    ]
    out["hysteresis"]["text"] = HOSTILE
    out["instrument"]["neighbours"][0]["name"] = HOSTILE
    out["instrument"]["interrupts"][0]["source"] = HOSTILE
    out["stopping"]["rule"] = HOSTILE
    return out


def with_steal() -> dict[str, Any]:
    """Return runs with 5 % steal time: the measured latency and the isolated latency."""
    out = valid(seed=5)
    isolated = {label: dict(one) for label, one in out["latency_us"].items() if label != "mean"}
    for one in out["latency_us"].values():
        one.update(value=9.0 * one["value"], low=2.0 * one["low"], high=16.0 * one["high"])
        one["verdict"] = "inconclusive"
    out["isolated"] = {
        "latency_us": isolated,
        "verdict": "valid",
        "runs": 9,
        "of": 10,
        "interference_share": 0.0512,
        "counted_share": 0.783,
        "interruptions": 812,
        "seen_us": 1100.0,
        "sources": ["sentinel", "spin gaps"],
        "unsettled": ["p99.9"],
        "refused": None,
    }
    out["verdict"] = "inconclusive"
    steal = "the host took the processors: the hypervisor 5.1% of the time; 1 of 11 runs is set aside for it"
    late = "p99.9 tells of late sending: requests left late, which makes 310 us of p99.9, 1.34 ms (23%)"
    quieter = "repeat when the machine is quieter, or on hardware of your own"
    out["headline"] = (
        f"inconclusive: {steal}; so requests left late (23% of p99.9). The calm figures stand: p99 71.7 us"
        f" [68.3 us, 75.0 us], without the 5.1% of the time that others took. To do: {quieter}"
    )
    out["reasons"] = [
        {"code": "steal-time", "level": "inconclusive", "text": steal, "hint": quieter},
        {"code": "late-sends", "level": "inconclusive", "text": late, "hint": None},
    ]
    both = f"{steal}; so requests left late (23% of p99.9)"
    out["causes"] = [
        {"level": "inconclusive", "text": both, "hint": quieter, "codes": ["steal-time", "late-sends"]},
    ]
    return out


def with_messages() -> dict[str, Any]:
    """Return ten runs of a model server with streamed replies, some of them without a message."""
    out = valid(seed=6)
    for name, factor in (("first_message_us", 4.0), ("message_gap_us", 0.5)):
        for run in out["runs"]:
            run[name] = {label: factor * us for label, us in run["latency_us"].items()}
        out[name] = {label: figure([run[name][label] for run in out["runs"]]) for label in out["latency_us"]}
    replies = out["counts"]["completed"] - 12
    out["messages"] = {"replies": replies, "messages": 120 * replies, "empty": 12}
    return out


def with_sessions() -> dict[str, Any]:
    """Return ten runs of sessions with think times, some of which failed."""
    out = valid(seed=7)
    for run in out["runs"]:
        run["session_us"] = {label: 4e6 + 3.0 * us for label, us in run["latency_us"].items()}
    values = {label: [run["session_us"][label] for run in out["runs"]] for label in out["latency_us"]}
    out["session_us"] = {label: figure(each) for label, each in values.items()}
    out["sessions"] = {"begun": 5_000, "completed": 4_997, "failed": 2, "cut_off": 1}
    return out


def typed(document: dict[str, Any]) -> Measure:
    """Return a sample, which may be changed, as its type."""
    return msgspec.convert(document, Measure)


SAMPLES = {
    "valid": valid,
    "slipping": with_late_sends,
    "wide": wide,
    "censored": with_timeouts,
    "single": single,
    "captured": with_capture,
    "hostile": hostile,
    "stolen": with_steal,
    "streamed": with_messages,
    "sessions": with_sessions,
}
