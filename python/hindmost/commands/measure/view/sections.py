"""The page of a measurement: each chart with its numbers, from the answer to the host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from hindmost.commands.measure.view import charts, fleet, instrument, proof, tables, wording
from hindmost.commands.measure.view.account import outcomes
from hindmost.commands.measure.view.limits import limit_section
from hindmost.commands.measure.view.values import labels
from hindmost.core.store.measure import Measure, Series
from hindmost.core.store.types import Cause, Reason
from hindmost.present import numbers, writing
from hindmost.present.blocks import (
    Block,
    Cell,
    Chart,
    Details,
    Facts,
    Item,
    Items,
    Section,
    Table,
    Text,
    Tone,
    tone_of,
)
from hindmost.present.curves import drawable_points, flattens_latency, on_grid, thin_series
from hindmost.present.numbers import finite

MARKS = {**writing.FINDING_MARKS, **writing.VERDICT_MARKS}
FINDING_TONES: dict[str, Tone] = {"fine": "valid", "note": "note", "unfit": "invalid"}
LEVELS = (0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999)
"""Levels at which the table below the first chart reads its curves."""
COUNTS = ("scheduled", "completed", "misses", "errors", "timeouts", "unsent")


def blocks(doc: Measure) -> list[Block]:
    """Return the blocks of the page."""
    why, todo = wording.headline(doc)
    is_open = doc.verdict != "valid" or doc.plan.get("quick")
    caption = "Percentiles with their 95 % intervals over runs, on a logarithmic scale."
    return [
        Chart(partial(charts.summary, doc), caption, name="summary"),
        Text(wording.sentence(wording.decided_text(doc))),
        *([Text(wording.sentence(why)), Text(todo)] if is_open else []),
        _quantiles(doc),
        _messages(doc),
        _sessions(doc),
        limit_section(doc),
        _reasons(doc),
        _distribution(doc),
        _runs(doc),
        _variance(doc),
        _outstanding(doc),
        _clients(doc),
        _send_delay(doc),
        *_instrument(doc),
        *_capture(doc),
        _time(doc),
        _counts(doc),
        _plan(doc),
        _host(doc),
    ]


def _quantiles(doc: Measure) -> Section:
    meanings = [f"{wording.COLUMNS[name]}: {wording.MEANINGS[name]}" for name in tables.latency_groups(doc)]
    basis = wording.isolated_text(doc)
    figures = tables.quantile_table(doc)
    return Section(
        "Quantiles over runs",
        [
            *(figures or [Text("No latency was recorded.")]),
            Text(wording.sentence("; ".join(meanings)), "muted"),
            Text(f"Isolated latency: {basis}." if basis else "", "muted"),
            Text(
                f"A run's figure is the {doc.plan.get('aggregate') or 'mean'} over its clients; the table"
                f" has the {wording.interval_subject(doc)} over runs. Merged figures pool all samples. They"
                " are shown for contrast: one client or one bad run can dominate their tail.",
                "muted",
            ),
        ],
        "result",
    )


def _messages(doc: Measure) -> Section:
    """Return the times of the messages of streamed replies. Empty if they were not measured."""
    if not doc.messages:
        return Section("Messages of streamed replies", [])
    groups = tables.other_groups(doc, "first_message", "message_gap")
    times = tables.estimate_table(groups, "Value [low, high], a 95 % interval over runs")
    meanings = [f"{wording.COLUMNS[name]}: {wording.MEANINGS[name]}" for name in groups]
    return Section(
        "Messages of streamed replies",
        [
            *(times or [Text("No message was received.")]),
            Text(wording.sentence("; ".join(meanings)), "muted"),
            Text(f"{wording.messages(doc)}."),
        ],
        "messages",
    )


def _sessions(doc: Measure) -> Section:
    """Return the durations of sessions. Empty if the requests form none."""
    if not doc.sessions:
        return Section("Sessions", [])
    groups = tables.other_groups(doc, "session")
    times = tables.estimate_table(groups, "Value [low, high], a 95 % interval over runs")
    return Section(
        "Sessions",
        [
            *(times or [Text("No session began in the first half of a measurement.")]),
            Text(wording.sentence(f"session: {wording.MEANINGS['session']}"), "muted"),
            Text(f"{wording.sessions(doc)}."),
        ],
        "sessions",
    )


def _reasons(doc: Measure) -> Section:
    causes, reasons = wording.causes(doc), doc.reasons
    every = [Items([_reason(one) for one in reasons])] if len(causes) < len(reasons) else []
    return Section(
        "Why, and what to do",
        [Items([_reason(one) for one in causes]), Details("Each finding separately", every)],
        "reasons",
    )


def _reason(one: Reason | Cause) -> Item:
    level = one.level
    return Item(one.text, f"{MARKS[level]} {level}", tone_of(level), one.hint)


def _distribution(doc: Measure) -> Section:
    found = doc.distributions
    apart = flattens_latency(found.latency, found.send_delay)
    legend = [("latency", "latency"), ("service", "service latency")]
    legend += [] if apart else [("send_delay", "send delay")]
    legend += [("run", "latency of each run")] if len(doc.per_run_curves) > 1 else []
    caption = (
        "Each further nine has the same width, so the tail stays readable. The curves merge all runs and"
        " clients; thin lines are single runs."
    )
    more = " Send delay is far lower and has its own chart." if apart else ""
    empty = "No distribution was stored with this result."
    chart = Chart(partial(charts.distribution, doc), caption + more, legend, "tail", empty)
    heads = ("percentile", "latency", "service latency", "send delay")
    return Section(
        "Latency distribution", [chart, Details("Numbers", [Table(heads, _readings(doc))])], "distribution"
    )


def _readings(doc: Measure) -> list[list[str]]:
    """Read the merged curves at round levels."""
    found = doc.distributions
    curves = [found.latency, found.service, found.send_delay]
    end = max((q for curve in curves for q in drawable_points(curve)[0]), default=0.0)
    levels = [q for q in LEVELS if q <= end]
    columns = [[f"p{numbers.level_label(q)}" for q in levels]]
    for curve in curves:
        missing = numbers.INFINITE if drawable_points(curve)[0] else numbers.MISSING
        columns.append([numbers.latency(us, missing=missing) for us in on_grid(curve, levels)])
    return [list(row) for row in zip(*columns, strict=True)]


def _runs(doc: Measure) -> Section:
    every = labels(*(run.latency_us for run in doc.runs))
    wanted = doc.stopping.quantile
    main = wanted if wanted in every else next((one for one in reversed(every) if one != "mean"), "p99")
    about = wording.interval_subject(doc)
    caption = (
        f"A dot is the latency of one run (hollow: not valid). The line is the running {about}, and the band"
        " is its interval, cut at the edge if it is very wide."
    )
    precision = doc.stopping.precision
    asked = f" Requested: ±{numbers.percent(precision)} of {wanted}." if precision else ""
    rule = wording.stopping_text(doc).rstrip(".")
    excluded = wording.excluded_text(doc)
    return Section(
        "Runs: one quantile, run by run",
        [
            Chart(partial(charts.runs, doc, label=main), caption, name="runs", empty="No run was finished."),
            Details(
                "The other figures, run by run",
                [
                    Chart(partial(charts.runs, doc, label=label), name=f"runs-{label}")
                    for label in every
                    if label != main
                ],
            ),
            Text(f"Precision {rule}.{asked}"),
            Details("Numbers of each run", [_run_table(doc, every)]),
            Text(
                f"Excluded and repeated: {excluded}. Excluded runs are stored and drawn hollow; only isolated"
                " latency uses them."
                if excluded
                else ""
            ),
            *_over_runs(doc),
            Details(
                f"Running interval of {main}",
                [
                    Table(
                        ("runs", about, "low", "high"),
                        [
                            (
                                str(look.runs),
                                *map(numbers.latency, (look.value, look.low, look.high)),
                            )
                            for look in doc.stopping.path.get(main, [])
                        ],
                    )
                ],
            ),
        ],
        "runs",
    )


def _run_table(doc: Measure, every: list[str]) -> Table:
    rows: list[Sequence[str | Cell]] = []
    for run in doc.runs:
        word = wording.run_word(run)
        reasons = [run.excluded or "", *(reason.text for reason in run.reasons)]
        rows.append(
            (
                str(run.run),
                Cell(f"{MARKS.get(word, '!')} {word}", tone_of(word)),
                *(numbers.latency(run.latency_us.get(label)) for label in every),
                numbers.rate(run.throughput.achieved),
                numbers.percent(run.server_cpu_share),
                numbers.seconds(run.seconds),
                "; ".join(one for one in reasons if one),
            )
        )
    heads = ("run", "verdict", *every, "achieved", "server CPU", "duration", "reasons")
    return Table(heads, rows, f"<<{'>' * len(every)}>>><")


def _over_runs(doc: Measure) -> Iterator[Section]:
    found = doc.over_runs
    if not found:
        return
    other = "mean" if found.about == "median" else "median"
    both = {f"{found.about} over runs": doc.latency_us, f"{other} over runs": found.beside_us}
    off = "".join(f" {wording.sentence(text)}" for text in wording.runs_off(doc))
    yield Section(
        "Median or mean over runs",
        [
            *tables.estimate_table(both, "Latency"),
            Text(
                "Quote the median for a typical run: its interval holds for any distribution of runs. Quote"
                " the mean for the total cost of all runs (capacity, a service level summed over runs);"
                f" {found.claims}.{off}"
            ),
        ],
    )


def _variance(doc: Measure) -> Section:
    rows = [
        (
            label,
            numbers.latency(one.between_runs_sd_us),
            numbers.latency(one.within_run_sd_us),
            numbers.percent(one.between_share),
        )
        for label, one in doc.variance.items()
    ]
    heads = ("latency", "between runs (sd)", "within a run (sd)", "share between runs")
    return Section(
        "Variance within and between runs",
        [Text(doc.hysteresis.text or "Hysteresis was not tested."), Table(heads, rows)],
        "variance",
    )


def _outstanding(doc: Measure) -> Section:
    rows = [(str(n), numbers.percent(share)) for n, share in charts.cumulative(doc) if share < 0.99999]
    return Section(
        "Outstanding requests",
        [
            Chart(
                partial(charts.outstanding, doc),
                wording.outstanding_text(doc),
                name="outstanding",
                empty="Outstanding requests were not recorded.",
            ),
            Details("Numbers", [Table(("outstanding, at most", "share of arrivals"), rows[:60])]),
        ],
        "outstanding",
    )


def _clients(doc: Measure) -> Section:
    clients = doc.clients
    title, anchor = "Clients' shares of the tail", "clients"
    if clients.count < 2:
        text = "With one client, its effect on the tail cannot be separated from the server's."
        return Section(title, [Text(f"{text} Use `--clients 2` or more.")], anchor)
    names = [f"client {index}" for index in range(clients.count)]
    owned = "The merged distribution describes that client, not the server."
    rows = [
        (f"p{numbers.level_label(row.q)}", *map(numbers.percent, row.shares)) for row in clients.by_quantile
    ]
    return Section(
        title,
        [
            Text(wording.sentence(wording.clients_text(doc))),
            Text("" if clients.owner is None else owned),
            *fleet.host_table(doc),
            Chart(
                partial(charts.clients, doc),
                "Share of the samples around each percentile by client (client 0 at the bottom). Dashed:"
                " equal shares.",
                [(f"side c{index % 8}", name) for index, name in enumerate(names)],
                "clients",
                "The decomposition was not stored.",
            ),
            Details("Numbers", [Table(("percentile", *names), rows)]),
        ],
        anchor,
    )


def _send_delay(doc: Measure) -> Section:
    include = " and includes the time to connect" if wording.connects_per_request(doc) else ""
    stamped = (
        "By the kernel's time stamps of a sample of requests: from the last byte out to the last byte in, and"
        f" the client's overhead, which completes service latency{include}"
    )
    single = [
        (
            str(run.run),
            str(one.index),
            numbers.percent(one.busy_share),
            wording.own_interval_text(one, "p99"),
            numbers.latency(one.send_delay_us.get("p99")),
            numbers.seconds(one.warmup_s),
        )
        for run in doc.runs
        for one in run.clients
    ]
    heads = ("run", "client", "busy", "latency p99", "send delay p99", "warm-up")
    return Section(
        "Send delay: did the client keep its schedule?",
        [
            Chart(
                partial(charts.distribution, doc, names=("send_delay",)),
                "Send delay is the time from a request's scheduled time until it is sent. It is part of"
                " latency. If it is not small compared with latency, the figures describe the client.",
                name="send_delay",
                empty="No distribution of send delay was stored.",
            ),
            _client_table(doc),
            *tables.estimate_table(
                {"wire latency": doc.wire_us, "client overhead": doc.overhead_us}, stamped
            ),
            Details("Each client in each run", [Table(heads, single)]),
        ],
        "send-delay",
    )


def _client_table(doc: Measure) -> Table:
    """Return for each client the range of its figures over the runs."""
    groups: dict[int, list[Any]] = {}
    for run in doc.runs:
        for one in run.clients:
            groups.setdefault(one.index, []).append(one)
    rows = [
        (
            str(index),
            ", ".join(sorted({str(cpu) for one in ones for cpu in one.cpus})) or numbers.MISSING,
            wording.span([one.busy_share for one in ones], numbers.percent),
            wording.span([one.run_delay_share for one in ones], numbers.percent),
            wording.span([one.involuntary_switches for one in ones], numbers.count),
            wording.span([one.send_delay_us.get("p50") for one in ones], numbers.latency),
            wording.span([one.send_delay_us.get("p99") for one in ones], numbers.latency),
            f"{sum(1 for one in ones if one.steady)} of {len(ones)}",
        )
        for index, ones in sorted(groups.items())
    ]
    heads = (
        "client",
        "CPUs",
        "busy",
        "waiting to run",
        "forced switches",
        "send delay p50",
        "send delay p99",
    )
    caption = f"By client: smallest to largest over {numbers.plural(len(doc.runs), 'run')}"
    return Table((*heads, "steady runs"), rows, caption=caption)


def _instrument(doc: Measure) -> Iterator[Section]:
    found = instrument.self_diagnosis(doc)
    if not found.figures:
        return
    figures = [
        (
            one.title,
            instrument.amount(one.value, one.unit),
            instrument.amount(one.note_above, one.unit),
            instrument.amount(one.grave_above, one.unit),
            "" if one.mark == "fine" else _mark(one.mark),
        )
        for one in found.figures
    ]
    threads = [
        (
            one.name,
            str(one.pid),
            f"{'' if one.bound else 'up to '}{numbers.percent(one.share)}",
            numbers.rate(one.turns_per_s),
        )
        for one in found.neighbours
    ]
    interrupts = [(one.source, numbers.rate(one.per_s)) for one in found.interrupts]
    yield Section(
        "The instrument's self-diagnosis",
        [
            Text(
                "Kernel counters of the clients, their CPUs and sockets during the measurement: the worst"
                " client, mean over runs.",
                "muted",
            ),
            Table(("figure", "value", "note above", "inconclusive above", ""), figures, "<>>><"),
            Details(
                "Threads on the clients' CPUs", [Table(("thread", "pid", "CPU", "times scheduled"), threads)]
            ),
            Details("Interrupts on the clients' CPUs", [Table(("source", "interrupts"), interrupts)]),
        ],
        "instrument",
    )


def _mark(mark: str) -> Cell:
    return Cell(f"{MARKS.get(mark, '!')} {mark}", FINDING_TONES.get(mark, "note"))


def _capture(doc: Measure) -> Iterator[Section]:
    extent = proof.proof_text(doc)
    if not extent:
        return
    proofs = proof.proofs(doc)
    constancy = [f" {_kind(one)} minus tcpdump's is {one.constancy}." for one in proofs]
    heads = ("", "client", "capture", "difference of the quantiles")
    near = "requests around that quantile: median (5 to 95 %)"
    yield Section(
        "Comparison with a packet capture",
        [
            Text(f"{extent}.{''.join(constancy)}"),
            Chart(
                partial(charts.capture, doc),
                "The same requests, matched in the capture by stream position (Treadmill, Figures 5 and 6). A"
                " client that adds a constant measures the server correctly. If the difference grows with the"
                " percentile, it measures its own queue. Wire latency is known for a sample of requests.",
                [
                    ("capture", "packet capture"),
                    ("wire", "wire latency, by kernel time stamps"),
                    ("service", "service latency"),
                ],
                "capture",
                "The packet capture contains no request.",
            ),
            *(
                Table((*heads, near), one.rows, caption=f"{_kind(one)} minus the capture's, in µs")
                for one in proofs
            ),
        ],
        "capture",
    )


def _kind(one: proof.Proof) -> str:
    return f"{one.what.capitalize()} latency"


def _time(doc: Measure) -> Section:
    """Return the windows of the first run, and of the run with the slowest one."""
    every = [thin_series(one) for one in doc.series]
    shown = [(one, "the first") for one in every[:1]]
    slowest = max(every, key=_slowest_window, default=None)
    if slowest is not None and slowest is not every[0]:
        shown.append((slowest, "with the slowest window"))
    dashed = "Dashed: the scheduled rate. " if every and every[0].requested else ""
    figures: list[Block] = [
        Chart(
            partial(charts.series, one),
            f"Run {one.run}, {which}. {dashed}Rate (above), p99 and p50 (below) in windows from the start"
            " of the run. The shaded warm-up is not counted. If there are too many windows, only the worst of"
            " each group is drawn.",
            name=f"series-{one.run}",
        )
        for one, which in shown
    ]
    return Section("Within a run", figures or [Text("No time series was stored.")], "time")


def _slowest_window(one: Series) -> float:
    return max(finite(one.p99_us), default=0.0)


def _counts(doc: Measure) -> Section:
    _, missing = wording.accounting(doc.counts)
    sums = (
        f"The counts do not add up: {numbers.count(missing)} requests are missing."
        if missing
        else "The counts add up."
    )
    batches = wording.batches(doc)
    times = {"connect": doc.connect_us, "TLS handshake": doc.handshake_us}
    kinds = doc.by_kind
    below = [
        (
            way,
            *(numbers.count(getattr(one.counts, way)) for one in kinds.values()),
        )
        for way in COUNTS
    ]
    return Section(
        "Outcome of every request",
        [
            Facts([*outcomes(doc), *([("batches", batches)] if batches else [])]),
            Text(f"{sums} Unsent and timed-out requests count as infinite latency.", "muted"),
            *tables.estimate_table(
                {"held": doc.held_us}, "Time that requests waited for their batch, as configured"
            ),
            *tables.estimate_table(times, "Time to connect, and then for the TLS handshake"),
            *tables.estimate_table(
                {kind: one.latency_us for kind, one in kinds.items()},
                "Latency by kind of request",
                below=below,
            ),
        ],
        "counts",
    )


def _plan(doc: Measure) -> Section:
    target = doc.target
    cpus, command = target.cpus, target.command
    protocol = f" ({target.protocol})" if target.protocol else ""
    facts = [
        ("target", f"{target.name}{protocol}"),
        ("address", target.address or numbers.MISSING),
        ("started by Hindmost", "yes, for each run" if target.managed else "no: it was already running"),
        ("command", " ".join(command or [])),
        ("server CPUs", ", ".join(map(str, cpus or []))),
        ("server version", target.server_version or ""),
        ("Hindmost", doc.version or numbers.MISSING),
    ]
    plan = writing.pairs(doc.plan, "not set")
    return Section("Target and plan", [Facts([fact for fact in facts if fact[1]]), Facts(plan)], "plan")


def _host(doc: Measure) -> Section:
    findings = [
        Item(
            "; ".join(text for text in (f"{one['title']}: {one['value']}", one["why"]) if text),
            f"{MARKS.get(one['mark'], '!')} {one['mark']}",
            FINDING_TONES.get(one["mark"], "note"),
            None if one["mark"] == "fine" else one["hint"],
        )
        for one in msgspec.to_builtins(doc.host["findings"])  # of a manifest, or of a document that was read
    ]
    facts = writing.pairs(doc.host["facts"])
    empty = "" if findings or facts else "No facts about the host were stored."
    return Section("Host", [Items(findings), Facts(facts), Text(empty)], "host")
