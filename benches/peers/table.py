"""The tables of all clients and Hindmost, as Markdown; medians over the rounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from benches.peers.compare import (
    ContestRows,
    Middle,
    Row,
    achieved_share,
    cost_us,
    error_share,
    error_us,
    of_right,
    per_core,
    size,
    spread,
)
from benches.peers.peer import Peer
from benches.peers.rounds import SHARES, Mode, modes

OURS = "hindmost"
_NONE = "–"
_FREEZE = ("p99", "p99.9", "mean", "max")


def _n(value: float, form: str) -> str:
    return _NONE if math.isnan(value) else format(value, form)


def _each(values: Iterable[float], form: str) -> str:
    """Return several figures in one cell; one dash if there is none."""
    found = [_n(value, form) for value in values]
    return " / ".join(found) if set(found) != {_NONE} else _NONE


def _with_range(found: Middle, form: str) -> str:
    if not found.n:
        return _NONE
    return f"{_n(found.value, form)} [{_n(found.low, form)}, {_n(found.high, form)}]"


def _markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table with right-aligned columns after the first two."""
    lines = ["| " + " | ".join(head) + " |"]
    lines.append("| --- | --- |" + " ---: |" * (len(head) - 2))
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def _kind(peer: Peer) -> str:
    """Return the kind of a peer's latency that is compared with the capture.

    For ours, latency from the send, like theirs; if the kernel stamped every request, the stamps.
    """
    if peer.source.kind != "here":
        return "latency"
    return "wire" if "stamped" in peer.name else "service"


def _captured_modes(peer: Peer) -> list[Mode]:
    return [mode for mode in modes(peer, 1, 0) if mode in (*SHARES, "heard")]


def _capacity(found: ContestRows, protocol: str) -> float:
    return found.middle(protocol, OURS, "flat", lambda row: row["report"]["per_s"]).value


def ratios(found: ContestRows, peers: Sequence[Peer]) -> list[str]:
    """Return one table with all clients and metrics."""
    loads: tuple[Mode, ...] = (*SHARES, "heard")
    head = [
        "server",
        "client",
        "requests/s per client core",
        "ours : its",
        "CPU time per request, us",
        "gaps' CV, 10 % / 50 % (right)",
        "error of p99, 10 % / 50 % / flat out, us",
        "its : ours",
        "freeze: p99 / p99.9, of right",
    ]
    rows = []
    for peer in peers:
        at = (peer.protocol, peer.name)
        errors = [found.middle(*at, mode, size(error_us(_kind(peer), "p99"))) for mode in loads]
        gaps = _each((found.middle(*at, mode, spread).value for mode in SHARES), ".2f")
        capacity = _capacity(found, peer.protocol)
        frozen = (found.middle(*at, "freeze", of_right(name, capacity)).value for name in ("p99", "p99.9"))
        rows.append(
            [
                peer.protocol,
                peer.name,
                _n(found.middle(*at, "flat", per_core).value, ",.0f"),
                _n(found.ratio(peer.protocol, OURS, peer.name, "flat", per_core).value, ".2f"),
                _n(found.middle(*at, "flat", cost_us).value, ".2f"),
                gaps if gaps == _NONE else f"{gaps} ({peer.spread:.0f})",
                _each((one.value for one in errors), ".1f"),
                _each(
                    (_times(found, peer, mode, one) for mode, one in zip(loads, errors, strict=True)), ".1f"
                ),
                _each(frozen, ".1%"),
            ]
        )
    return _markdown_table(head, rows)


def _times(found: ContestRows, peer: Peer, mode: Mode, theirs: Middle) -> float:
    """Return the ratio of their error to ours in the same mode; NaN if one of them is missing."""
    ours = found.middle(peer.protocol, OURS, mode, size(error_us("service", "p99")))
    return theirs.value / ours.value if theirs.n and ours.n and ours.value else math.nan


def flat_out(found: ContestRows, peers: Sequence[Peer]) -> list[str]:
    """Return the rate of each client flat out, and the use of its CPU."""
    head = [
        "server",
        "client",
        "requests/s [least, most]",
        "use of its core",
        "of that busy",
        "us a request",
        "errors",
    ]
    rows = []
    for peer in peers:
        at = (peer.protocol, peer.name, "flat")
        if not found.rounds(*at):
            continue
        busy = found.middle(*at, lambda row: _busy(row))
        rows.append(
            [
                peer.protocol,
                peer.name,
                _with_range(found.middle(*at, lambda row: row["report"]["per_s"]), ",.0f"),
                _n(found.middle(*at, lambda row: row["cpu_share"]).value, ".0%"),
                _n(busy.value, ".0%"),
                _with_range(found.middle(*at, cost_us), ".2f"),
                str(sum(row["report"]["errors"] for row in found.rounds(*at))),
            ]
        )
    return _markdown_table(head, rows)


def _busy(row: Row) -> float | None:
    busy, all_of_it = row["report"]["busy_s"], row["report"]["cpu_s"]
    return None if busy is None or not all_of_it else min(1.0, busy / all_of_it)


def wire(found: ContestRows, peers: Sequence[Peer]) -> list[str]:
    """Return the latencies that each client reported compared with the capture of the same run."""
    names = ("p50", "p99", "p99.9")
    head = ["server", "client, load", "sent of asked", "gaps' CV [least, most]"]
    head += [f"captured {name} us" for name in names]
    head += [f"reported - captured {name}: us (%)" for name in names]
    rows = []
    for peer in peers:
        kinds = ["service", "wire"] if peer.name == OURS else [_kind(peer)]
        for mode in _captured_modes(peer):
            at = (peer.protocol, peer.name, mode)
            for kind in kinds if found.rounds(*at) else []:
                who = peer.name if kind == "latency" else f"{peer.name} ({kind})"
                row = [
                    peer.protocol,
                    f"{who}, {'flat out' if mode == 'heard' else mode}",
                    _n(found.middle(*at, achieved_share).value, ".1%"),
                    _with_range(found.middle(*at, spread), ".2f"),
                ]
                row += [_n(found.middle(*at, _captured_us(name)).value, ".1f") for name in names]
                row += [_error(found, at, kind, name) for name in names]
                rows.append(row)
    return _markdown_table(head, rows)


def _captured_us(name: str) -> Callable[[Row], float]:
    return lambda row: row["wire"]["latency_us"][name]


def _error(found: ContestRows, at: tuple[str, str, str], kind: str, name: str) -> str:
    us = found.middle(*at, error_us(kind, name))
    if not us.n:
        return _NONE
    return f"{us.value:+.1f} ({found.middle(*at, error_share(kind, name)).value:+.1%})"


def freeze(found: ContestRows, peers: Sequence[Peer]) -> list[str]:
    """Return the latencies that each client reported for a frozen server, as fractions of the right
    answer."""
    head = ["server", "client", "requests/s"]
    head += [f"{name}: ms (of right)" for name in _FREEZE]
    rows = []
    for peer in peers:
        at = (peer.protocol, peer.name, "freeze")
        if not found.rounds(*at):
            continue
        capacity = _capacity(found, peer.protocol)
        row = [
            peer.protocol,
            peer.name,
            _n(found.middle(*at, lambda row: row["report"]["per_s"]).value, ",.0f"),
        ]
        for name in _FREEZE:
            said = found.middle(*at, _reported_in_freeze(name))
            share = found.middle(*at, of_right(name, capacity))
            row.append(_NONE if not said.n else f"{said.value / 1e3:.2f} ({share.value:.1%})")
        rows.append(row)
    return _markdown_table(head, rows)


def _reported_in_freeze(name: str) -> Callable[[Row], float | None]:
    return lambda row: row["report"]["latency_us"].get(name)


def send_delays(found: ContestRows) -> list[str]:
    """Return our send delays at 50,000 requests/s, next to the delay that the host alone causes."""
    rows = found.rounds("memcached", OURS, "send_delay")
    if not rows:
        return ["Not measured."]
    at = ("memcached", OURS, "send_delay")
    parts = [
        f"{name} {_with_range(found.middle(*at, _send_delay(name)), '.2f')}"
        for name in ("p50", "p99", "p99.9")
    ]
    noise = found.middle(*at, lambda row: sum(row["noise_p99_ns"]) / 2e3)
    return [
        f"Send delay of Hindmost at {rows[0]['requested_per_s']:,.0f} requests/s against memcached, us: "
        + f"{', '.join(parts)}.",
        f"The host alone delays a randomly scheduled request by {_with_range(noise, '.2f')} us at p99",
        "(idle, just before and after each run).",
    ]


def _send_delay(name: str) -> Callable[[Row], float]:
    return lambda row: row["report"]["others_us"]["send_delay"][name]


def lengths(found: ContestRows, peers: Sequence[Peer]) -> list[str]:
    """Return whether all clients of a server got replies of the same length."""
    lines = []
    for protocol in dict.fromkeys(peer.protocol for peer in peers):
        seen: dict[str, set[str]] = {}
        for peer in peers:
            modes = [*SHARES, "heard"] if peer.protocol == protocol else []
            for row in (row for mode in modes for row in found.rounds(protocol, peer.name, mode)):
                for length in row["wire"]["replies"]:
                    seen.setdefault(length, set()).add(peer.name)
        said = "; ".join(f"{length} bytes: {', '.join(sorted(who))}" for length, who in sorted(seen.items()))
        lines.append(f"- {protocol}: {said or 'no capture'}")
    return lines


def page(
    first: Mapping[str, Any], rows: Sequence[Row], peers: Sequence[Peer], absent: Mapping[str, str]
) -> str:
    """Return all tables, and the missing peers."""
    found = ContestRows(rows)
    count = min(
        (len(whole) for one in peers if (whole := found.rounds(one.protocol, one.name, "flat"))), default=0
    )
    who = ", ".join(f"{name} {version}" for name, version in first["about"]["versions"].items())
    lines = [
        f"Medians of {count} rounds or more, in which all clients alternate; {first['about']['host']}.",
        f"Clients: {who}.",
        "",
        *ratios(found, peers),
        "",
        "### Flat out, closed loop",
        "",
        *flat_out(found, peers),
        "",
        "### Reported latency compared with the capture of the same run",
        "",
        *wire(found, peers),
        "",
        "### The server is frozen for 100 ms",
        "",
        *freeze(found, peers),
        "",
        "### Slip at 50,000 requests/s",
        "",
        *send_delays(found),
        "",
        "### Captured lengths of replies",
        "",
        *lengths(found, peers),
        "",
        "### Missing load testers",
        "",
        *(f"- {name}: {why}" for name, why in absent.items()),
    ]
    if found.failures:
        lines += ["", "### Failed", ""]
        lines += [
            f"- round {row['round']}, {row['peer']}, {row['mode']}: {row['failure']}"
            for row in found.failures
        ]
    return "\n".join(lines)
