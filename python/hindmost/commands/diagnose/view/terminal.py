"""A diagnosis, for the terminal."""

from __future__ import annotations

from hindmost.commands.diagnose.document import Company, Correction, Diagnosis, Evidence, Likeness, Replica

STATES = {
    "explains": "explains the slowdown",
    "part": "explains a small part",
    "struck out": "ruled out",
    "open": "undecided",
    "as ever": "load is not higher than normal",
    "load": "sends the load; whether it is higher than normal is unknown",
    "beyond": "removes more than the slowdown, because it removes load",
    "other signature": "other metrics do not recover",
    "reproduces": "makes the replica equally slow",
    "too much": "makes the replica far slower than the host",
}


def render_diagnosis(document: Diagnosis) -> str:
    """Render the answer, then the evidence."""
    normal = document["normal_us"]
    before = "" if normal is None else f", normally {normal:.0f} µs"
    lines = [
        f"{document['application']}: p{document['percentile']:g} {document['now_us']:.0f} µs{before}",
        f"{document['ruling']}: {document['why']}",
    ]
    lines += (
        _either(document["also"])
        + replica_lines(document["replica"])
        + _evidence(document["suspects"], document["sham"])
    )
    lines += [f"not tried: {name}: {why}" for name, why in document["not_tried"].items()]
    lines += _correction(document["correction"])
    if following := document["next"]:
        lines += [
            "",
            f"Without this cause latency is still {following['now_us']:.0f} µs. The next cause:",
        ]
        lines += [f"{following['ruling']}: {following['why']}", *_either(following["also"])]
        lines += _evidence(following["suspects"], following["sham"]) + _correction(following["correction"])
    lines += _moved_lines(document["moved"], document["moved_wait"])
    lines.append(f"The diagnosis took {document['took_s']:.0f} s. All other changes are undone.")
    return "\n".join(lines) + "\n"


def replica_lines(replica: Replica | None) -> list[str]:
    """Render the result of a replica, before the host was changed."""
    if replica is None:
        return []
    return [
        "",
        f"replica {replica['name']}: {replica['base_us']:.0f} µs without any suspect,"
        f" {replica['rate_per_s']:.0f} requests/s, {replica['processors']:.2f} CPUs"
        f" ({replica['host_processors']:.2f} on the host)",
        f"{replica['ruling']}: {replica['why']}",
        *_either(replica["also"], "equally likely"),
        *_evidence(replica["suspects"], replica["sham"]),
        *(f"not tried on the replica: {name}: {why}" for name, why in replica["not_tried"].items()),
        replica["removal"],
    ]


def _moved_lines(moved: list[Company] | None, wait: str | None) -> list[str]:
    if wait is not None:
        return ["", f"metrics that moved with latency are not ranked yet: {wait}"]
    if not moved:
        return []
    return [
        "",
        "metrics that moved with latency in the ring (correlation, not shown by an experiment):",
        *(
            f"  {one['name']:24} {one['explained']:4.0%} {'+' if one['correlation'] > 0 else '-'}"
            f"  p {one['p']:.2f}  {one['suggests']}".rstrip()
            for one in moved
        ),
    ]


def _either(also: list[str], how: str = "removing these helps as much") -> list[str]:
    told = f"{how}: {', '.join(also)}; no experiment can tell which was there first"
    return [told] if also else []


def _evidence(suspects: list[Evidence], sham: Evidence | None) -> list[str]:
    if not suspects:
        return []
    head = f"{'suspect':32} {'with / without':>22} {'p':>7} {'pairs':>5}  {'share':>5}"
    lines = ["", head, *(_line(one) for one in (*suspects, *([sham] if sham else [])))]
    return [
        *lines,
        *(f"  {one['name'][:32]}: {told}" for one in suspects if (told := likeness(one["signature"]))),
    ]


def likeness(found: Likeness | None) -> str:
    """Format whether metrics that moved with the slowdown recover without a suspect. Empty if unknown."""
    if found is None:
        return ""
    if found["why"] or found["residual"] is None or found["low"] is None or found["high"] is None:
        return f"other metrics are not compared: {found['why']}"
    word = {True: "recover", False: "do not recover", None: "may recover"}[found["fits"]]
    stays = ", ".join(
        one["name"] if one["left"] is None else f"{one['name']} {one['left']:.0%}" for one in found["stays"]
    )
    most = f"; mostly {stays}" if stays and found["fits"] is not True else ""
    return (
        f"other metrics {word}: {found['residual']:.0%} of their shift remains"
        f" ({found['low']:.0%} to {found['high']:.0%}){most}"
    )


def _correction(correction: Correction | None) -> list[str]:
    if correction is None:
        return []
    state = "kept" if correction["kept"] else "not kept"
    figures = (
        f" ({correction['before_us']:.0f} µs before, {correction['after_us']:.0f} µs after)"
        if "after_us" in correction
        else ""
    )
    lines = [f"did not help, and was undone: {one}" for one in correction.get("refused", [])]
    lines.append(f"correction {state}: {correction.get('about', '')}{figures}: {correction['why']}")
    return [*lines, *([f"undo: {correction['undo']}"] if "undo" in correction else [])]


def _line(one: Evidence) -> str:
    low, high = one["low"], one["high"]
    interval = "" if low is None or high is None else f" [{low:.2f}, {high:.2f}]"
    share = "" if one["share"] is None else f"{one['share']:.0%}"
    state = "" if one["name"] == "sham" else STATES[one["state"]]
    figures = f"{one['ratio']:.2f}{interval}"
    return (
        f"{one['name'][:32]:32} {figures:>22} {one['p']:7.4f} {one['pairs']:5}  {share:>5} {state}".rstrip()
    )
