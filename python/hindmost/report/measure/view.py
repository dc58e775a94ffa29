"""What the page and the terminal table both say, written out: taken from the document, not computed."""

from collections.abc import Callable, Mapping
from typing import Any

from hindmost.plan.batching import batching_text
from hindmost.report.common import numbers
from hindmost.report.common.document import finite
from hindmost.report.measure.values import bounds, labels, run_value
from hindmost.store.measure import Connections, Endpoint, Measure, Run
from hindmost.store.types import Cause, Counts

MEANINGS = {
    "latency": "completed − scheduled: what a user waits",
    "calm": "latency without interference: as with the CPUs to itself",
    "service": "completed − sent: time in server and network",
    "slip": "sent − scheduled: how late the client sent",
    "wire": "between the time stamps of kernel or network card",
}


COLUMNS = {"latency": "latency", "calm": "isolated", "service": "service", "slip": "send delay"}
"""Columns of the table, where a sentence names them."""


def stamps_text(doc: Measure) -> str:
    """Say whose stamps the wire latency is made of, of how many requests."""
    found = [one.get("stamps") for run in doc["runs"] for one in run["instances"]]
    seen = [one for one in found if one]
    if not seen:
        return "by kernel stamps on a sample"
    whose = "the network card's" if seen[0]["source"] == "hardware" else "the kernel's"
    asked, came = sum(one["asked"] for one in seen), sum(one["came"] for one in seen)
    return (
        f"by {whose} stamps of one request in {seen[0]['every']}"
        f" ({numbers.count(came)} of {numbers.count(asked)} came)"
    )


def accounting(counts: Counts) -> tuple[str, int]:
    """Write the identity that must hold between the counts, and how many requests it leaves unexplained."""
    ways = ("done", "errors", "timeouts", "unsent")
    text = " + ".join(f"{numbers.count(counts[way])} {way}" for way in ways)  # type: ignore[literal-required]
    missing = counts["due"] - counts["done"] - counts["errors"] - counts["timeouts"] - counts["unsent"]
    return f"{numbers.count(counts['due'])} due = {text}", missing


def codes(doc: Measure) -> str:
    """Write HTTP status codes by class, each class's codes with it, or gRPC's; nothing without."""
    found = doc.get("codes") or {}
    parts = [
        f"{code} × {numbers.count(one['count'])}" for code, one in found.items() if not code[0].isdigit()
    ]
    for kind in sorted({code[0] for code in found if code[0].isdigit()}):
        of = {code: one["count"] for code, one in found.items() if code[0] == kind}
        each = ", ".join(f"{code} × {numbers.count(count)}" for code, count in of.items())
        parts.append(f"{kind}xx {numbers.count(sum(of.values()))} ({each})" if len(of) > 1 else each)
    return "; ".join(parts)


def error_codes(doc: Measure) -> str:
    """Write which status codes the errors had, the most frequent first; nothing where none is known."""
    errors = {
        code: one["count"] for code, one in (doc.get("codes") or {}).items() if one["outcome"] == "error"
    }
    most = sorted(errors.items(), key=lambda one: -one[1])
    told = [f"{code} × {numbers.count(count)}" for code, count in most]
    lost = doc["counts"]["errors"] - sum(errors.values())
    return ", ".join([*told, *([f"{numbers.count(lost)} without a whole reply"] if told and lost else [])])


def by_turns(doc: Measure) -> bool:
    """Whether requests opened their connections: latency and service latency hold that time."""
    found = doc.get("connections")
    return bool(found and (found["by_turns"] or carried(doc)))


def carried(doc: Measure) -> int | None:
    """Requests that a connection carries before it is closed, where the plan says so."""
    one = 1 if doc["plan"].get("workload", {}).get("version") == "1.0" else None
    return doc["plan"].get("requests_per_connection") or one


def connections(doc: Measure) -> str:
    """Say how many connections were made, and why; nothing where the server kept what was open."""
    found = doc.get("connections")
    if not found:
        return ""
    if not (found["made"] or found["failed"]):
        return handshakes(found)
    due = doc["counts"]["due"]
    text = f"{numbers.count(found['made'])} made for {numbers.plural(due, 'request')}"
    if found["failed"]:
        text += f", {numbers.plural(found['failed'], 'attempt')} failed"
    if secured := handshakes(found):
        text += f" ({secured})"
    if found["by_turns"]:
        return f"{text}: the server closes them after each reply, or nearly; latency includes it"
    if each := carried(doc):
        return f"{text}: each carries {numbers.plural(each, 'request')}, as requested; latency includes it"
    return f"{text}, replacing those that the server closed"


def endpoint(one: Endpoint) -> str:
    """Say what became of the requests of one server of several."""
    text, _ = accounting(one["counts"])
    merged = [f"{name} {numbers.latency(one['merged_us'][name])}" for name in labels(one["merged_us"])]
    return f"{one['address']}: {text}; {', '.join(merged)} (all runs merged)"


def handshakes(found: Connections) -> str:
    """Say how connections were secured, those before the measurement included; nothing without TLS."""
    full, resumed = found.get("full_handshakes", 0), found.get("resumed_handshakes", 0)
    if not full + resumed:
        return ""
    return f"TLS: {numbers.plural(full, 'full handshake')} and {numbers.count(resumed)} resumed"


def ended(doc: Measure) -> str:
    """Say that runs ended with the trace of their arrivals, before what was asked for; else nothing."""
    asked_s = doc["plan"].get("asked_duration_s")
    if asked_s is None:
        return ""
    return f"each run ended with its trace, after {doc['plan']['duration_s']:.3g} s of {asked_s:.3g} s"


def datagrams(doc: Measure) -> str:
    """Say what became of datagrams that were not answered in time; nothing of connections."""
    found = doc.get("connections")
    if not found or "late" not in found:
        return ""
    counts = doc["counts"]
    text = f"{numbers.count(counts['timeouts'])} of {numbers.plural(counts['due'], 'request')} lost or late"
    text += f"; {numbers.count(found['late'])} late or duplicate replies"
    if refused := found.get("refused"):
        text += f"; refused by ICMP {numbers.plural(refused, 'time')}"
    if oversized := found.get("oversized"):
        text += f"; {numbers.count(oversized)} longer than 16382 bytes dropped"
    return text


def streams(doc: Measure) -> str:
    """Say what an HTTP/2 server had not worked on and was asked again; nothing where there is none."""
    found = doc.get("connections")
    if not found:
        return ""
    refused, left = found.get("refused_streams", 0), found.get("left_alone", 0)
    parts = [f"{numbers.count(refused)} refused (REFUSED_STREAM)"] if refused else []
    parts += [f"{numbers.count(left)} not processed before GOAWAY"] if left else []
    if not parts:
        return ""
    return f"{' and '.join(parts)}: sent again; latency counts from the scheduled time"


def batches(doc: Measure) -> str:
    """Say how requests were put together; nothing where each left by itself, as nobody asked otherwise."""
    found = doc.get("batches")
    if not found or found["asked"] == "none":
        return ""
    each = found["requests_per_write"]
    text = f"{batching_text(found['asked'])}: "
    if found["asked"] != "nagle":
        text += (
            f"{numbers.number(each['mean'])} requests a write"
            f" (p99 {numbers.number(each['p99'])}, most {numbers.number(each['most'])})"
        )
    if (segment := found["requests_per_segment"]) is not None:
        text += f"{'' if text.endswith(': ') else ', '}{numbers.number(segment)} requests a segment"
    elif found["asked"] == "nagle":
        text += "the kernel does not count segments here"
    return text


def throughput(doc: Measure) -> str:
    """Write the requested and the achieved rate."""
    asked, achieved = doc["throughput"]["asked"], doc["throughput"]["achieved"]
    if asked:
        share = numbers.percent(achieved / asked) if achieved is not None else numbers.MISSING
        return f"{numbers.rate(asked)} requested, {numbers.rate(achieved)} achieved ({share})"
    return f"{numbers.rate(achieved)} achieved (closed loop)"


def calm_text(doc: Measure) -> str:
    """Say what isolated latency rests on, or why there is none; nothing in studies that did not look."""
    calm = doc.get("calm")
    if not calm:
        return ""
    if why := calm["refused"]:
        share = calm["taken_share"]
        lost = "" if share is None else f" (others used {numbers.percent(share)} of CPU time)"
        return f"none: {why['text']}{lost}; needed: {why['need']}"
    smallest = numbers.latency(calm["seen_us"])
    who = " and ".join(calm["sources"])
    if not calm["thefts"]:
        return (
            f"same as latency: no interference was seen ({who}; interruptions below {smallest} may be missed)"
        )
    taken, counted = (numbers.percent(share) for share in (calm["taken_share"], calm["counted_share"]))
    text = (
        f"others used {taken} of CPU time, in {numbers.plural(calm['thefts'], 'interruption')} ({who};"
        f" those below {smallest} may be missed); {counted} of requests count"
    )
    if calm["runs"] < calm["of"]:
        text += f"; {calm['runs']} of {numbers.plural(calm['of'], 'run')} have it"
    if calm["unsettled"]:
        text += f"; {', '.join(calm['unsettled'])} still changes with a longer wait after each interruption"
    return text


def saturation(doc: Measure) -> str:
    """Say what was carried where the asked rate was not; nothing where it was."""
    full = doc.get("saturation")
    if not full:
        return ""
    one = full["answered_per_s"]
    text = f"answered {numbers.rate(one['value'])}"
    if one["low"] is not None and one["high"] is not None:
        low, high = (numbers.rate(end).removesuffix("/s") for end in (one["low"], one["high"]))
        text += f" [{low}, {high}]"
    meaning = {
        "server": ", the most that the server can do: rates that hold lie below",
        "client": ", the most that the client could do: the server may carry more",
        "connections": " on the connections that the server serves",
        "silence": "",
    }
    return text + meaning[full["by"]]


def title(doc: Measure) -> str:
    """The percentiles of the latency that decides, in one line."""
    calm = doc.get("calm")
    use_isolated = doc.get("decided_on") == "isolated" and calm is not None
    group = calm["latency_us"] if use_isolated and calm else doc["latency_us"]
    found = [f"{name} {numbers.latency(bounds(group, name)[0])}" for name in labels(group) if name != "mean"]
    return ", ".join(found) + (" isolated" if use_isolated else "") if found else "no latency"


def decided(doc: Measure) -> str:
    """Say that isolated latency decided the verdict, and what it excludes; else nothing."""
    calm = doc.get("calm")
    if doc.get("decided_on") != "isolated" or not calm:
        return ""
    share = numbers.percent(calm["taken_share"])
    return f"isolated latency decides: it excludes the {share} of CPU time that others used"


def subject(doc: Measure, cause: Cause) -> str:
    """What a cause speaks against: the study, or latency alone where isolated latency decided."""
    level = cause["level"]
    return f"latency {level}" if level != "note" and doc.get("decided_on") == "isolated" else level


def headline(doc: Measure) -> tuple[str, str]:
    """Split the headline in what is so and what to do; the verdict stands before it and is not said twice."""
    text = (doc["headline"] or "").removeprefix(f"{doc['verdict']}: ")
    why, found, todo = text.partition(". To do: ")
    return (f"{why}.", f"To do: {todo}") if found else (why, "")


def causes(doc: Measure) -> list[Cause]:
    """What is told, a line by cause; in documents before 0.6 a line by reason."""
    plain: list[Cause] = [
        {"level": one["level"], "text": one["text"], "hint": one["hint"], "codes": [one["code"]]}
        for one in doc["reasons"]
    ]
    return doc.get("causes", plain)


def about(doc: Measure) -> str:
    """What intervals over runs are about; in documents before 0.4 always the mean."""
    found = doc.get("over_runs")
    return found["about"] if found else "mean"


def run_word(run: Run) -> str:
    """The verdict on one run, or that it does not count."""
    return "excluded" if run.get("set_aside") else run["verdict"]


def set_aside(doc: Measure) -> str:
    """Say how many runs do not count, and why the first ones do not."""
    found = doc.get("set_aside")
    if not found or not found["runs"]:
        return ""
    runs = found["runs"]
    why = "; ".join(f"run {one['run']}: {one['why']}" for one in runs[:2])
    more = f"; and {len(runs) - 2} more" if len(runs) > 2 else ""
    return f"{len(runs)} of {numbers.plural(found['made'], 'run')}, by clocks and counters: {why}{more}"


def counted_runs(doc: Measure) -> str:
    """Say how many runs count, how long they took, and how many were excluded."""
    found = doc.get("set_aside")
    text = numbers.plural(found["counted"] if found else doc["stopping"]["runs"], "run")
    if total := doc["seconds_total"]:
        text += f" in {numbers.seconds(total)}"
    if found and found["runs"]:
        text += f", {len(found['runs'])} more excluded"
    return text


def runs_off(doc: Measure) -> list[str]:
    """Say at which quantiles runs are off, and which; else that none was seen."""
    found = doc.get("over_runs")
    if not found:
        return []
    told = [
        f"{label}: {one['text']} ({'run' if len(one['runs']) == 1 else 'runs'}"
        f" {', '.join(str(run) for run in one['runs'])})"
        for label, one in found["off"].items()
        if one["runs"]
    ]
    return told or [one["text"] for one in list(found["off"].values())[:1]]


def runs_text(doc: Measure) -> str:
    """Say how many runs were made, and how long they took."""
    text = numbers.plural(doc["stopping"]["runs"], "run")
    total = doc["seconds_total"]
    return f"{text} in {numbers.seconds(total)}" if total else text


def outstanding_text(doc: Measure) -> str:
    """Say what the chart of outstanding requests shows, and what bounds a closed loop."""
    found = doc["outstanding"]
    within = ", counted within its own worker" if found and found["per_instance"] else ""
    bound = (
        f"its {numbers.plural(found['connections'], 'connection')}"
        if found and found["connections"]
        else "its connections"
    )
    return (
        f"How many requests each arrival found still unanswered{within}. A closed loop cannot go beyond"
        f" {bound}; an open loop shows the queue that users meet."
    )


def verdict_word(doc: Measure) -> str:
    """The verdict, and that it rests on a quick look."""
    return f"{doc['verdict']} (quick look)" if doc["plan"].get("quick") else doc["verdict"]


def target_line(doc: Measure) -> str:
    """Name the target and where it is, once."""
    target = doc["target"]
    name, address = target["name"], target["address"]
    return f"{name} at {address}" if address and address not in name else name


def variance_text(label: str, doc: Measure) -> str:
    """Write the spread of one quantile between and within runs."""
    one = doc["variance"][label]
    between, within = one["between_runs_sd_us"], one["within_run_sd_us"]
    known = [
        f"{where} ±{numbers.latency(sd)}"
        for where, sd in (("between runs", between), ("within a run", within))
        if sd is not None
    ]
    text = ", ".join(known) or "not known"
    share = one["between_share"]
    return text if share is None else f"{text}; {numbers.percent(share)} of the variance is between runs"


def span(values: list[float | None], write: Callable[[float], str]) -> str:
    """Write the least and the greatest of what the runs gave."""
    known = finite(values)
    if not known:
        return numbers.MISSING
    low, high = write(min(known)), write(max(known))
    if low == high:
        return low
    (first, _, unit), (_, _, other) = low.rpartition(numbers.THIN), high.rpartition(numbers.THIN)
    return f"{first if unit == other and first else low}–{high}"


def alone(instance: Mapping[str, Any], label: str) -> str:
    """Write a quantile of one instance in one run, with the interval that this run by itself can give it."""
    value = numbers.latency(run_value(instance["latency_us"], label))
    one = (instance.get("alone_us") or {}).get(label)
    if not one or one["value"] is None:
        return value
    if one["low"] is None:
        return f"{value} (too short for an interval)" if one["too_short"] else value
    low, high = numbers.latency(one["low"]), numbers.latency(one["high"])
    return f"{value} [{low}, {high}]"
