"""Texts that the page and the terminal share. They come from the document; nothing is computed here."""

from collections.abc import Callable

from msgspec import UNSET

from hindmost.commands.measure.view.values import labels
from hindmost.core.plan.batching import batching_text
from hindmost.core.store.measure import Client, Connections, Endpoint, Measure, Run
from hindmost.core.store.types import Cause, Counts, Target
from hindmost.present import numbers
from hindmost.present.numbers import finite

MEANINGS = {
    "latency": "completed − scheduled: what a user waits",
    "isolated": "latency without interference, as if the server had its CPUs to itself",
    "service": "completed − sent: time in server and network",
    "send_delay": "sent − scheduled: how late the client sent",
    "first_message": "first message completed − scheduled",
    "message_gap": "time between consecutive messages of a reply, 0 if they arrived together",
    "session": "last reply of a session − scheduled time of its first request, think times included",
}

COLUMNS = {
    "latency": "latency",
    "isolated": "isolated",
    "service": "service",
    "send_delay": "send delay",
    "first_message": "first message",
    "message_gap": "message gap",
    "session": "session",
}
"""Column names of the table, also used in sentences."""


def stamps_text(doc: Measure) -> str:
    """Describe the source of the wire latency's time stamps, and the share of requests that have them."""
    found = [one.stamps for run in doc.runs for one in run.clients]
    seen = [one for one in found if one]
    if not seen:
        return "by kernel time stamps of a sample"
    whose = "the network card's" if seen[0].source == "hardware" else "the kernel's"
    asked, came = sum(one.requested for one in seen), sum(one.received for one in seen)
    return (
        f"by {whose} time stamps of one request in {seen[0].every}"
        f" ({numbers.count(came)} of {numbers.count(asked)} received)"
    )


def accounting(counts: Counts) -> tuple[str, int]:
    """Format the identity between the counts, and return the number of unaccounted requests."""
    ways = {"completed": "completed", "errors": "errors", "timeouts": "timeouts", "unsent": "unsent"}
    text = " + ".join(f"{numbers.count(getattr(counts, way))} {word}" for way, word in ways.items())
    missing = counts.scheduled - counts.completed - counts.errors - counts.timeouts - counts.unsent
    return f"{numbers.count(counts.scheduled)} scheduled = {text}", missing


def codes(doc: Measure) -> str:
    """Format HTTP status codes by class, or gRPC's codes. Empty without codes."""
    found = doc.codes
    parts = [f"{code} × {numbers.count(one.count)}" for code, one in found.items() if not code[0].isdigit()]
    for kind in sorted({code[0] for code in found if code[0].isdigit()}):
        of = {code: one.count for code, one in found.items() if code[0] == kind}
        each = ", ".join(f"{code} × {numbers.count(count)}" for code, count in of.items())
        parts.append(f"{kind}xx {numbers.count(sum(of.values()))} ({each})" if len(of) > 1 else each)
    return "; ".join(parts)


def error_codes(doc: Measure) -> str:
    """Format the status codes of errors, the most frequent first. Empty if none is known."""
    errors = {code: one.count for code, one in doc.codes.items() if one.outcome == "error"}
    most = sorted(errors.items(), key=lambda one: -one[1])
    told = [f"{code} × {numbers.count(count)}" for code, count in most]
    lost = doc.counts.errors - sum(errors.values())
    return ", ".join([*told, *([f"{numbers.count(lost)} without a complete reply"] if told and lost else [])])


def connects_per_request(doc: Measure) -> bool:
    """Return whether requests opened their connections, so that latency includes connecting."""
    found = doc.connections
    return bool(found and (found.by_turns or requests_per_connection(doc)))


def requests_per_connection(doc: Measure) -> int | None:
    """Return the requests per connection before it is closed, if the plan limits them."""
    one = 1 if doc.plan.get("workload", {}).get("version") == "1.0" else None
    return doc.plan.get("requests_per_connection") or one


def connections(doc: Measure) -> str:
    """Describe how many connections were made, and why. Empty if the server kept connections open."""
    found = doc.connections
    if not found:
        return ""
    if not (found.made or found.failed):
        return handshakes(found)
    scheduled = doc.counts.scheduled
    text = f"{numbers.count(found.made)} made for {numbers.plural(scheduled, 'request')}"
    if found.failed:
        text += f", {numbers.plural(found.failed, 'attempt')} failed"
    if secured := handshakes(found):
        text += f" ({secured})"
    if found.by_turns:
        return f"{text}: the server closes them after (almost) every reply; latency includes connecting"
    if each := requests_per_connection(doc):
        return f"{text}: each carries {numbers.plural(each, 'request')}, as requested; included in latency"
    return f"{text}, replacing those that the server closed"


def endpoint(one: Endpoint) -> str:
    """Describe the requests of one server of several."""
    text, _ = accounting(one.counts)
    merged = [f"{name} {numbers.latency(one.merged_us[name])}" for name in labels(one.merged_us)]
    return f"{one.address}: {text}; {', '.join(merged)} (all runs merged)"


def handshakes(found: Connections) -> str:
    """Describe how connections were secured, including those before the measurement. Empty without TLS."""
    full, resumed = found.full_handshakes or 0, found.resumed_handshakes or 0
    if not full + resumed:
        return ""
    return f"TLS: {numbers.plural(full, 'full handshake')} and {numbers.count(resumed)} resumed"


def early_end_text(doc: Measure) -> str:
    """Describe runs that ended early because their arrival trace ended. Empty otherwise."""
    asked_s = doc.plan.get("asked_duration_s")
    if asked_s is None:
        return ""
    return f"each run ended with its trace, after {doc.plan['duration_s']:.3g} s of {asked_s:.3g} s"


def datagrams(doc: Measure) -> str:
    """Describe datagrams that were not answered in time. Empty for connections."""
    found = doc.connections
    if not found or found.late is UNSET:
        return ""
    counts = doc.counts
    text = f"{numbers.count(counts.timeouts)} of {numbers.plural(counts.scheduled, 'request')} lost or late"
    text += f"; {numbers.count(found.late)} late or duplicate replies"
    if refused := found.refused:
        text += f"; refused by ICMP {numbers.plural(refused, 'time')}"
    if oversized := found.oversized:
        text += f"; {numbers.count(oversized)} longer than 16382 bytes dropped"
    return text


def streams(doc: Measure) -> str:
    """Describe requests that an HTTP/2 server refused and the client sent again. Empty if there are none."""
    found = doc.connections
    if not found:
        return ""
    refused, left = found.refused_streams or 0, found.left_alone or 0
    parts = [f"{numbers.count(refused)} refused (REFUSED_STREAM)"] if refused else []
    parts += [f"{numbers.count(left)} not processed before GOAWAY"] if left else []
    if not parts:
        return ""
    return f"{' and '.join(parts)}: sent again; latency counts from the scheduled time"


def messages(doc: Measure) -> str:
    """Describe how many messages streamed replies had. Empty if they were not measured."""
    found = doc.messages
    if not found:
        return ""
    each = found.messages / found.replies if found.replies else 0.0
    text = f"{numbers.plural(found.messages, 'message')} in {numbers.plural(found.replies, 'stream')}"
    text += f" ({numbers.number(each)} each)" if found.replies else ""
    return f"{text}; {numbers.count(found.empty)} replies without a message" if found.empty else text


def sessions(doc: Measure) -> str:
    """Describe how the measured sessions ended. Empty if the requests form none."""
    found = doc.sessions
    if not found:
        return ""
    text = f"{numbers.count(found.completed)} of {numbers.plural(found.begun, 'session')} completed"
    text += f", {numbers.count(found.failed)} failed" if found.failed else ""
    return f"{text}, {numbers.count(found.cut_off)} cut off by the end" if found.cut_off else text


def batches(doc: Measure) -> str:
    """Describe how requests were batched. Empty without batching."""
    found = doc.batches
    if not found or found.requested == "none":
        return ""
    each = found.requests_per_write
    text = f"{batching_text(found.requested)}: "
    if found.requested != "nagle":
        text += (
            f"{numbers.number(each.mean)} requests per write"
            f" (p99 {numbers.number(each.p99)}, most {numbers.number(each.most)})"
        )
    if (segment := found.requests_per_segment) is not None:
        text += f"{'' if text.endswith(': ') else ', '}{numbers.number(segment)} requests per segment"
    elif found.requested == "nagle":
        text += "the kernel does not count segments here"
    return text


def throughput(doc: Measure) -> str:
    """Format the requested and the achieved rate."""
    asked, achieved = doc.throughput.requested, doc.throughput.achieved
    if asked:
        share = numbers.percent(achieved / asked) if achieved is not None else numbers.MISSING
        return f"{numbers.rate(asked)} requested, {numbers.rate(achieved)} achieved ({share})"
    return f"{numbers.rate(achieved)} achieved (closed loop)"


def isolated_text(doc: Measure) -> str:
    """Describe the basis of isolated latency, or why there is none. Empty in studies without it."""
    isolated = doc.isolated
    if not isolated:
        return ""
    if why := isolated.refused:
        share = isolated.interference_share
        lost = "" if share is None else f" (others used {numbers.percent(share)} of CPU time)"
        return f"none: {why.text}{lost}; needed: {why.need}"
    smallest = numbers.latency(isolated.seen_us)
    who = " and ".join(isolated.sources)
    if not isolated.interruptions:
        return f"same as latency: {who} saw no interference (interruptions below {smallest} may be missed)"
    taken, counted = (
        numbers.percent(share) for share in (isolated.interference_share, isolated.counted_share)
    )
    text = (
        f"others used {taken} of CPU time, in {numbers.plural(isolated.interruptions, 'interruption')}"
        " (seen by"
        f" {who};"
        f" shorter ones than {smallest} may be missed); {counted} of requests count"
    )
    if isolated.runs < isolated.of:
        text += f"; available in {isolated.runs} of {numbers.plural(isolated.of, 'run')}"
    if isolated.unsettled:
        text += (
            f"; {', '.join(isolated.unsettled)} still changes if more time after each interruption"
            " is excluded"
        )
    return text


def saturation(doc: Measure) -> str:
    """Describe the achieved rate if it is below the requested rate. Empty otherwise."""
    full = doc.saturation
    if not full:
        return ""
    one = full.answered_per_s
    text = f"answered {numbers.rate(one.value)}"
    if one.low is not None and one.high is not None:
        low, high = (numbers.rate(end).removesuffix("/s") for end in (one.low, one.high))
        text += f" [{low}, {high}]"
    meaning = {
        "server": ", the server's maximum: sustainable rates are lower",
        "client": ", the client's maximum: the server may achieve more",
        "connections": " on the connections that the server answers",
        "silence": "",
    }
    return text + meaning[full.by]


def title(doc: Measure) -> str:
    """Return the percentiles of the deciding latency in one line."""
    isolated = doc.isolated
    use_isolated = doc.decided_on == "isolated" and isolated is not None
    group = isolated.latency_us if use_isolated and isolated else doc.latency_us
    found = [f"{name} {numbers.latency(group[name].value)}" for name in labels(group) if name != "mean"]
    return ", ".join(found) + (" isolated" if use_isolated else "") if found else "no latency"


def decided_text(doc: Measure) -> str:
    """State that isolated latency decided the verdict, and what it excludes. Empty otherwise."""
    isolated = doc.isolated
    if doc.decided_on != "isolated" or not isolated:
        return ""
    share = numbers.percent(isolated.interference_share)
    return f"isolated latency decides: it excludes the {share} of CPU time that others used"


def subject(doc: Measure, cause: Cause) -> str:
    """Return what a cause concerns: the study, or only latency if isolated latency decided."""
    level = cause.level
    return f"latency {level}" if level != "note" and doc.decided_on == "isolated" else level


def headline(doc: Measure) -> tuple[str, str]:
    """Split the headline into finding and advice, without the verdict, which is printed before it."""
    text = (doc.headline or "").removeprefix(f"{doc.verdict}: ")
    why, found, todo = text.partition(". To do: ")
    return (f"{why}.", f"To do: {todo}") if found else (why, "")


def causes(doc: Measure) -> list[Cause]:
    """Return the reasons to show, grouped by cause. Documents before 0.6 have one per reason."""
    plain = [Cause(level=one.level, text=one.text, hint=one.hint, codes=[one.code]) for one in doc.reasons]
    return doc.causes or plain


def interval_subject(doc: Measure) -> str:
    """Return what intervals over runs are about. In documents before 0.4 it is always the mean."""
    found = doc.over_runs
    return found.about if found else "mean"


def run_word(run: Run) -> str:
    """Return the verdict on one run, or ``excluded``."""
    return "excluded" if run.excluded else run.verdict


def excluded_text(doc: Measure) -> str:
    """Describe how many runs are excluded, with the first reasons."""
    found = doc.excluded
    if not found or not found.runs:
        return ""
    runs = found.runs
    why = "; ".join(f"run {one.run}: {one.why}" for one in runs[:2])
    more = f"; and {len(runs) - 2} more" if len(runs) > 2 else ""
    return f"{len(runs)} of {numbers.plural(found.made, 'run')}, from clocks and counters: {why}{more}"


def counted_runs(doc: Measure) -> str:
    """Return the number of counted runs, their duration, and the number of excluded runs."""
    found = doc.excluded
    text = numbers.plural(found.counted if found else doc.stopping.runs, "run")
    if total := doc.seconds_total:
        text += f" in {numbers.seconds(total)}"
    if found and found.runs:
        text += f", {len(found.runs)} more excluded"
    return text


def runs_off(doc: Measure) -> list[str]:
    """Describe runs with outlying quantiles, or state that there are none."""
    found = doc.over_runs
    if not found:
        return []
    told = [
        f"{label}: {one.text} ({'run' if len(one.runs) == 1 else 'runs'}"
        f" {', '.join(str(run) for run in one.runs)})"
        for label, one in found.off.items()
        if one.runs
    ]
    return told or [one.text for one in list(found.off.values())[:1]]


def runs_text(doc: Measure) -> str:
    """Return the number of runs and their duration."""
    text = numbers.plural(doc.stopping.runs, "run")
    total = doc.seconds_total
    return f"{text} in {numbers.seconds(total)}" if total else text


def outstanding_text(doc: Measure) -> str:
    """Describe the chart of outstanding requests, and the bound of a closed loop."""
    found = doc.outstanding
    within = ", counted within its own worker" if found and found.per_client else ""
    bound = (
        f"its {numbers.plural(found.connections, 'connection')}"
        if found and found.connections
        else "its connections"
    )
    return (
        f"Number of unanswered requests at each arrival{within}. A closed loop cannot exceed"
        f" {bound}; an open loop shows the queue that users meet."
    )


def target_line(target: Target) -> str:
    """Return the target's name and address, without repetition."""
    name, address = target.name, target.address
    return f"{name} at {address}" if address and address not in name else name


def variance_text(label: str, doc: Measure) -> str:
    """Format the spread of one quantile between and within runs."""
    one = doc.variance[label]
    between, within = one.between_runs_sd_us, one.within_run_sd_us
    known = [
        f"{where} ±{numbers.latency(sd)}"
        for where, sd in (("between runs", between), ("within a run", within))
        if sd is not None
    ]
    text = ", ".join(known) or "unknown"
    share = one.between_share
    return text if share is None else f"{text}; {numbers.percent(share)} of the variance is between runs"


def span(values: list[float | None], write: Callable[[float], str]) -> str:
    """Format the smallest and the largest value over the runs."""
    known = finite(values)
    if not known:
        return numbers.MISSING
    low, high = write(min(known)), write(max(known))
    if low == high:
        return low
    (first, _, unit), (_, _, other) = low.rpartition(numbers.THIN), high.rpartition(numbers.THIN)
    return f"{first if unit == other and first else low}–{high}"


def own_interval_text(client: Client, label: str) -> str:
    """Format a client's quantile in one run, with the interval from this run alone."""
    value = numbers.latency(client.latency_us.get(label))
    one = client.alone_us.get(label)
    if not one or one.value is None:
        return value
    if one.low is None:
        return f"{value} (too short for an interval)" if one.too_short else value
    low, high = numbers.latency(one.low), numbers.latency(one.high)
    return f"{value} [{low}, {high}]"


def clients_text(doc: Measure) -> str:
    """Describe the number of clients, and their shares of the slowest requests."""
    clients = doc.clients
    if clients.count < 2:
        return "one client"
    shares = " + ".join(numbers.percent(share) for share in clients.share_of_slowest)
    text = f"{clients.count} clients"
    if clients.pacing == "sleep":
        text += " that sleep between scheduled times"
    if shares:
        where = f" (above {numbers.latency(clients.threshold_us)})" if clients.threshold_us else ""
        text += f"; of the slowest 1 %{where} their shares are {shares}"
    return text if clients.owner is None else f"{text}: client {clients.owner} dominates the tail"


def stopping_text(doc: Measure) -> str:
    """Return whether the precision was reached, after how many runs, and the rule."""
    found = doc.stopping
    how = {True: "reached", False: "not reached", None: "not requested"}[found.reached]
    rule = f": {found.rule}" if found.rule else ""
    return f"{how} after {runs_text(doc)}{rule}"


def clause(text: str) -> str:
    """Return the first part of a reason. The rest is on the page."""
    return text.partition("; ")[0]


def sentence(text: str) -> str:
    """Return a text as a sentence."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""
