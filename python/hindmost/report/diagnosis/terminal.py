"""A diagnosis in one screen."""

from __future__ import annotations

from hindmost.store.diagnosis import Company, Correction, Diagnosis, Evidence, Likeness, Twin

STATES = {
    "explains": "explains it",
    "part": "a small part of it",
    "struck out": "struck out",
    "open": "cannot be told",
    "as ever": "no more load than normally",
    "other signature": "what moved with it stays",
    "reproduces": "makes the twin as slow",
    "too much": "far slower than the host is",
}


def render_diagnosis(document: Diagnosis) -> str:
    """Write the answer, then the evidence."""
    normal = document["normal_us"]
    before = "" if normal is None else f", normally {normal:.0f} us"
    lines = [
        f"{document['application']}: p{document['percentile']:g} {document['now_us']:.0f} us{before}",
        f"{document['ruling']}: {document['why']}",
    ]
    lines += (
        _either(document["also"])
        + twin_lines(document["twin"])
        + _evidence(document["suspects"], document["sham"])
    )
    lines += [f"not tried: {name}: {why}" for name, why in document["not_tried"].items()]
    lines += _correction(document["correction"])
    if following := document["next"]:
        lines += [
            "",
            f"with that taken away it is {following['now_us']:.0f} us, and the next question is what is left",
        ]
        lines += [f"{following['ruling']}: {following['why']}", *_either(following["also"])]
        lines += _evidence(following["suspects"], following["sham"]) + _correction(following["correction"])
    lines += _moved(document["moved"], document["moved_wait"])
    lines.append(f"took {document['took_s']:.0f} s; everything else is as before")
    return "\n".join(lines) + "\n"


def twin_lines(twin: Twin | None) -> list[str]:
    """What was found on a twin, before the host was touched."""
    if twin is None:
        return []
    return [
        "",
        f"twin {twin['name']}: {twin['base_us']:.0f} us without any suspect,"
        f" {twin['rate_per_s']:.0f} requests a second, {twin['processors']:.2f} processors"
        f" ({twin['host_processors']:.2f} on the host)",
        f"{twin['ruling']}: {twin['why']}",
        *_either(twin["also"], "as well with"),
        *_evidence(twin["suspects"], twin["sham"]),
        *(f"not brought to it: {name}: {why}" for name, why in twin["not_tried"].items()),
        twin["removal"],
    ]


def _moved(moved: list[Company] | None, wait: str | None) -> list[str]:
    if wait is not None:
        return ["", f"which metrics moved with it cannot be told yet: {wait}"]
    if not moved:
        return []
    return [
        "",
        "what moved with it: correlation in the ring, not shown by any experiment",
        *(
            f"  {one['name']:24} {one['explained']:4.0%} {'+' if one['correlation'] > 0 else '-'}"
            f"  p {one['p']:.2f}  {one['suggests']}".rstrip()
            for one in moved
        ),
    ]


def _either(also: list[str], how: str = "as well without") -> list[str]:
    told = f"{how}: {', '.join(also)}; which of them was there before, no experiment tells"
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
    """Whether what moved at the anomaly moves with a suspect, in a sentence; empty where nobody looked."""
    if found is None:
        return ""
    if found["why"] or found["residual"] is None or found["low"] is None or found["high"] is None:
        return f"no signature: {found['why']}"
    word = {True: "goes along", False: "stays", None: "may go along"}[found["fits"]]
    stays = ", ".join(
        one["name"] if one["left"] is None else f"{one['name']} {one['left']:.0%}" for one in found["stays"]
    )
    most = f"; most of that: {stays}" if stays and found["fits"] is not True else ""
    return (
        f"what moved with the anomaly {word}: {found['residual']:.0%} of it is left"
        f" ({found['low']:.0%} to {found['high']:.0%}){most}"
    )


def _correction(correction: Correction | None) -> list[str]:
    if correction is None:
        return []
    state = "kept" if correction["kept"] else "not kept"
    figures = (
        f" ({correction['before_us']:.0f} us before, {correction['after_us']:.0f} us after)"
        if "after_us" in correction
        else ""
    )
    lines = [f"did not bring it back: {one}" for one in correction.get("refused", [])]
    lines.append(f"correction {state}: {correction.get('about', '')}{figures}: {correction['why']}")
    return [*lines, *([f"to put it back: {correction['undo']}"] if "undo" in correction else [])]


def _line(one: Evidence) -> str:
    low, high = one["low"], one["high"]
    interval = "" if low is None or high is None else f" [{low:.2f}, {high:.2f}]"
    share = "" if one["share"] is None else f"{one['share']:.0%}"
    state = "" if one["name"] == "sham" else STATES[one["state"]]
    figures = f"{one['ratio']:.2f}{interval}"
    return (
        f"{one['name'][:32]:32} {figures:>22} {one['p']:7.4f} {one['pairs']:5}  {share:>5} {state}".rstrip()
    )
