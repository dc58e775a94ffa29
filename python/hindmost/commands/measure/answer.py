"""From stored runs to the answer, ``result.json`` (`hindmost.core.store.measure.Measure`)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

from msgspec import UNSET, structs

from hindmost import __version__
from hindmost._engine import Histogram
from hindmost.commands.measure import isolated, pictures
from hindmost.commands.measure.fleet import fleet_of
from hindmost.commands.measure.limits import collect_requests, judge_limits
from hindmost.commands.measure.text import format_figure
from hindmost.core.notes import Note
from hindmost.core.plan import MeasurePlan
from hindmost.core.plan.units import label
from hindmost.core.progress import iterate_parts
from hindmost.core.run import verdict
from hindmost.core.run.batches import batches
from hindmost.core.run.capacity import saturation
from hindmost.core.run.connections import codes, codes_by_kind, connections
from hindmost.core.run.endpoints import endpoints
from hindmost.core.run.exclusion import Partition, exhausted_budget, partition_runs
from hindmost.core.run.figure_cache import run_figures
from hindmost.core.run.figures import ClientFigures, RunFigures, Totals, Values, add_counts
from hindmost.core.run.messages import messages
from hindmost.core.run.proof import compare_captures
from hindmost.core.run.readings import (
    CONNECT,
    FIRST_MESSAGE,
    HANDSHAKE,
    HELD,
    IDEAL,
    MESSAGE_GAP,
    SESSION,
    WHATS,
    What,
    microseconds,
    plan_of,
)
from hindmost.core.run.self_diagnosis import self_diagnosis
from hindmost.core.run.sessions import sessions
from hindmost.core.run.verdict.single_run import NO_OWNERSHIP
from hindmost.core.store import StoredRun, Study, now_utc
from hindmost.core.store import measure as documents
from hindmost.core.store.estimates import number, numbers, without_nan
from hindmost.core.store.manifest import Plan
from hindmost.core.store.types import Target
from hindmost.core.study.kind import resume_command
from hindmost.stats import (
    Decision,
    Estimate,
    Middle,
    Ownership,
    PrecisionRule,
    find_owner,
    hysteresis,
    middle_interval,
    summarise_runs,
    variance_components,
)
from hindmost.stats.runs.hysteresis import LEAST_SECTIONS

NOISY = {"steal-time", "run-delay", "throttled", "noisy-host", "host-setting", "late-sends"}
"""Codes of reasons that make a host count as noisy."""
OWNED = 0.99
"""Quantile beyond which requests count as the slowest: the slowest 1 % (Figure 2 of the paper)."""


def rule_of(plan: MeasurePlan) -> PrecisionRule:
    """Return the stopping rule of a plan. Fewer than ten initial runs are used as requested."""
    least, most = plan.runs
    first = max(2, least) if least < 10 <= most or (least < most < 10) else None
    return PrecisionRule(
        plan.precision, least, most, first_look=first, quantiles=plan.labels, about=plan.middle
    )


def answer(study: Study) -> documents.Measure:
    """Compute the answer from a study's runs. Everything is read again, so old studies can be answered too.

    Parameters
    ----------
    study : Study
        A study with at least one finished run.

    Returns
    -------
    Measure
        Document ``hindmost.measure/2``; latencies in µs.
    """
    plan = plan_of(study)
    stored = study.runs()
    made, totals = _read(f"reading the runs of {study.folder.name}", stored, plan)
    partition = partition_runs(made, plan)
    runs = partition.counted
    target = runs[-1].record.target
    latencies = {name: [run.values["latency"][name] for run in runs] for name in plan.labels}
    rule = rule_of(plan)
    decision = rule.decide(latencies)
    if not decision.stop and (
        why := exhausted_budget(len(made) - len(partition.excluded), len(partition.excluded), plan)
    ):
        decision = replace(decision, stop=True, reason=why.text, next_look=None)
    threshold = totals.whole["latency"].quantile(OWNED)
    owner = _owner(runs, threshold)
    host = study.manifest["host"]
    proof = compare_captures(stored, plan)
    evidence = verdict.Evidence(
        plan, target, runs, decision, owner, host["findings"], resume_command(study), proof, partition, made
    )
    reasons = verdict.judge(evidence)
    causes = verdict.causes(evidence, reasons)
    full = saturation(plan, target, runs)
    estimates = {what: _estimates([run.values[what] for run in runs], reasons, plan.middle) for what in WHATS}
    isolated_part = isolated.over_runs(made, reasons, partial(_estimates, about=plan.middle), plan)
    raw = verdict.overall(reasons)
    use_isolated = raw != "valid" and isolated.decides(isolated_part, plan)
    outcome: verdict.Verdict = "valid" if use_isolated else raw
    stands = "" if raw == "valid" else isolated.describe_valid(isolated_part, plan)
    document = documents.Measure(
        schema="hindmost.measure/2",
        version=__version__,
        created=now_utc(),
        verdict=outcome,
        decided_on="isolated" if use_isolated else "latency",
        headline=verdict.headline(outcome, causes, _figures(estimates["latency"], plan), stands),
        reasons=[reason.document() for reason in reasons],
        causes=[cause.document() for cause in causes],
        study=study.folder.resolve().name,
        seconds_total=sum(run.record.seconds for run in made),
        target=target,
        plan=cast(Plan, plan.model_dump(mode="json")),
        latency_us=estimates["latency"],
        isolated=isolated_part,
        service_us=estimates["service"],
        send_delay_us=estimates["send_delay"],
        connect_us=_estimates_if_present(CONNECT, runs, reasons, plan.middle),
        handshake_us=_estimates_if_present(HANDSHAKE, runs, reasons, plan.middle),
        held_us=_estimates_if_present(HELD, runs, reasons, plan.middle),
        first_message_us=_estimates_if_present(FIRST_MESSAGE, runs, reasons, plan.middle),
        message_gap_us=_estimates_if_present(MESSAGE_GAP, runs, reasons, plan.middle),
        session_us=_estimates_if_present(SESSION, runs, reasons, plan.middle),
        ideal_send_delay_us=_estimates_if_present(IDEAL, runs, reasons, plan.middle),
        wire_us=_estimates_if_present("wire", runs, reasons, plan.middle),
        overhead_us=_estimates_if_present("overhead", runs, reasons, plan.middle),
        merged_us={label(q): number(microseconds(totals.whole["latency"], q)) for q in plan.quantiles},
        over_runs=_over_runs(runs, reasons, plan),
        by_kind=_by_kind(runs, reasons, plan.middle),
        throughput=_throughput(plan, runs),
        saturation=None if full is None else full.document(),
        counts=add_counts([run.counts for run in runs]),
        codes=codes(runs),
        connections=connections(runs),
        batches=batches(runs, plan, totals.writes),
        messages=messages(runs),
        sessions=sessions(runs),
        endpoints=endpoints(runs, totals.endpoints, plan.quantiles),
        runs=[_run(plan, run, partition.excluded.get(run.number)) for run in made],
        excluded=_excluded_runs(plan, made, partition),
        variance=_variance(runs, plan),
        hysteresis=_hysteresis(runs, plan, target, isolated=not _had_interference(reasons)),
        clients=_clients(runs, plan, threshold, owner, totals),
        stopping=_stopping(rule, decision, latencies, runs),
        distributions=documents.Distributions(
            latency=pictures.curve(totals.whole["latency"]),
            service=pictures.curve(totals.whole["service"]),
            send_delay=pictures.curve(totals.whole["send_delay"]),
        ),
        per_run_curves=pictures.run_curves(made),
        instrument=self_diagnosis(plan, runs, reasons),
        outstanding=pictures.outstanding(totals.outstanding, plan),
        series=pictures.all_series(made, plan),
        host=host,
        fleet=fleet_of(runs, made, plan, owner) or UNSET,
        capture=proof or UNSET,
    )
    document = without_nan(document)
    if texts := study.manifest.get("require"):
        limits = judge_limits(document, texts, resume_command(study), collect_requests(made))
        document = structs.replace(document, limits=limits)
    return document


def _read(step: str, stored: Sequence[StoredRun], plan: MeasurePlan) -> tuple[list[RunFigures], Totals]:
    """Read all runs, and merge the totals of the runs that count."""
    made = [run_figures(one, plan) for one in iterate_parts(step, stored)]
    totals = Totals()
    for run in partition_runs(made, plan).counted:
        totals.merge(run.totals)
    return made, totals


def _excluded_runs(
    plan: MeasurePlan, made: Sequence[RunFigures], partition: Partition
) -> documents.ExcludedRuns:
    return documents.ExcludedRuns(
        share=plan.remake,
        made=len(made),
        counted=len(made) - len(partition.excluded),
        runs=[
            documents.ExcludedRun(run=number, why=why.text, code=why.code, values=dict(why.values))
            for number, why in partition.excluded.items()
        ],
    )


def _estimates(
    values: Sequence[Values], reasons: Sequence[verdict.Reason], about: Middle
) -> documents.Estimates:
    names = dict.fromkeys(name for one in values for name in one)
    return {
        name: _estimate(middle_interval(column, about), column, verdict.of_label(reasons, name))
        for name in names
        if (column := [one[name] for one in values if name in one])
    }


def _estimate(estimate: Estimate, values: Sequence[float], outcome: verdict.Verdict) -> documents.Estimate:
    return documents.Estimate(
        value=number(estimate.value),
        low=number(estimate.low),
        high=number(estimate.high),
        runs=estimate.n,
        censored_runs=sum(math.isinf(v) for v in values),
        verdict=outcome,
    )


def _estimates_if_present(
    what: What, runs: Sequence[RunFigures], reasons: Sequence[verdict.Reason], about: Middle
) -> documents.Estimates | None:
    """Estimate a figure that runs may lack: time stamps, new connections, the calls' own send delay."""
    if not all(what in run.values for run in runs):
        return None
    return _estimates([run.values[what] for run in runs], reasons, about)


def _over_runs(
    runs: Sequence[RunFigures], reasons: Sequence[verdict.Reason], plan: MeasurePlan
) -> documents.OverRuns:
    """Return the median and the mean over runs, and the runs that deviate."""
    latency = [run.values["latency"] for run in runs]
    found = {name: summarise_runs([one[name] for one in latency]) for name in latency[0]}
    other: Middle = "mean" if plan.middle == "median" else "median"
    return documents.OverRuns(
        about=plan.middle,
        beside_us=_estimates(latency, reasons, other),
        off={
            name: documents.Off(
                runs=[runs[place].number for place in one.off.places],
                share=one.off.share.value,
                low=one.off.share.low,
                high=one.off.share.high,
                text=one.off.text,
            )
            for name, one in found.items()
        },
        claims=next(iter(found.values())).claims,
    )


def _figures(latency: documents.Estimates, plan: MeasurePlan) -> str:
    """Format the valid figures for the headline."""
    good = [name for name in plan.labels if latency[name].verdict == "valid"]
    parts = [format_figure(name, latency[name]) for name in good]
    return f"{', '.join(parts)}, {plan.middle} over {latency[good[0]].runs} runs" if parts else ""


def _by_kind(
    runs: Sequence[RunFigures], reasons: Sequence[verdict.Reason], about: Middle
) -> dict[str, documents.Kind]:
    kinds = [kind for kind in runs[0].kind_values if all(kind in run.kind_values for run in runs)]
    codes = codes_by_kind(runs)
    found: dict[str, documents.Kind] = {}
    for kind in kinds:
        found[kind] = documents.Kind(
            latency_us=_estimates([run.kind_values[kind] for run in runs], reasons, about),
            counts=add_counts([run.kind_counts[kind] for run in runs]),
            codes=codes.get(kind, UNSET),
        )
    return found


def _throughput(plan: MeasurePlan, runs: Sequence[RunFigures]) -> documents.Throughput:
    done = sum(run.counts.completed for run in runs)
    return documents.Throughput(requested=plan.rate_per_s, achieved=done / (plan.duration_s * len(runs)))


def _run(plan: MeasurePlan, run: RunFigures, aside: Note | None) -> documents.Run:
    return documents.Run(
        run=run.number,
        seed=run.record.seed,
        started=run.record.started,
        seconds=run.record.seconds,
        excluded=None if aside is None else aside.text,
        verdict=verdict.of_levels(reason.level for reason in run.reasons),
        reasons=run.reasons,
        latency_us=numbers(run.values["latency"]),
        service_us=numbers(run.values["service"]),
        send_delay_us=numbers(run.values["send_delay"]),
        connect_us=_values_if_present(CONNECT, run),
        handshake_us=_values_if_present(HANDSHAKE, run),
        first_message_us=_values_if_present(FIRST_MESSAGE, run),
        message_gap_us=_values_if_present(MESSAGE_GAP, run),
        session_us=_values_if_present(SESSION, run),
        throughput=_throughput(plan, [run]),
        counts=run.counts,
        codes=codes([run]),
        connections=connections([run]),
        server_cpu_share=run.record.server_cpu_share,
        isolated=isolated.describe_run(run),
        clients=[_client(plan, one) for one in run.clients],
    )


def _values_if_present(what: What, run: RunFigures) -> documents.Values | None:
    return numbers(run.values[what]) if what in run.values else None


def _client(plan: MeasurePlan, one: ClientFigures) -> documents.Client:
    return documents.Client(
        index=one.result.index,
        cpus=[thread.cpu for thread in one.result.threads if thread.cpu is not None],
        latency_us=numbers(one.values["latency"]),
        service_us=numbers(one.values["service"]),
        send_delay_us=numbers(one.values["send_delay"]),
        alone_us={
            name: documents.Alone(
                value=number(alone.estimate.value),
                low=number(alone.estimate.low),
                high=number(alone.estimate.high),
                too_short=alone.too_short,
                need=alone.need,
            )
            for name, alone in one.alone.items()
        },
        counts=add_counts([one.result.counts]),
        arrivals=one.arrivals,
        stamps=one.result.stamps or None,
        busy_share=one.busy_share,
        cpu_share=one.cpu_share,
        run_delay_share=one.run_delay_share,
        involuntary_switches=one.involuntary_switches,
        warmup_s=one.result.warmup_s,
        steady=one.result.warmup_ended == "steady" if plan.warmup == "auto" else None,
    )


def _variance(runs: Sequence[RunFigures], plan: MeasurePlan) -> dict[str, documents.Variance]:
    table: dict[str, documents.Variance] = {}
    for name in (*plan.labels, "mean"):
        parts = variance_components(
            [run.values["latency"][name] for run in runs], [run.within[name] for run in runs]
        )
        table[name] = documents.Variance(
            between_runs_sd_us=parts.between_sd,
            within_run_sd_us=parts.within_sd,
            between_share=parts.between_share,
        )
    return table


def _had_interference(reasons: Sequence[verdict.Reason]) -> bool:
    """Whether there was interference, which looks like a server that settles in another state."""
    grave = {reason.code for reason in reasons if reason.level != "note"}
    return bool(grave & NOISY) or any(reason.code == "excluded-runs" for reason in reasons)


def _hysteresis(
    runs: Sequence[RunFigures], plan: MeasurePlan, target: Target, *, isolated: bool
) -> documents.Hysteresis:
    """Test whether runs keep the level at which they begin, at the highest quantile with enough sections."""
    sections = {name: _equal_lengths([run.sections.get(name, []) for run in runs]) for name in plan.labels}
    name = max(plan.labels, key=lambda one: (len(sections[one][0]) >= LEAST_SECTIONS, plan.labels.index(one)))
    result = hysteresis(sections[name], restarted=target.managed, isolated=isolated)
    visible, note, text = result.visible, result.note, f"{name}: {result.text}"
    if not target.managed and math.isnan(result.sd):
        text = "the server was not restarted between runs, so hysteresis cannot be seen"
        visible, note = None, Note("hysteresis-not-restarted", text)
    return documents.Hysteresis(
        visible=visible,
        code=note.code,
        text=f"{text}.",
        values=dict(note.values),
        quantile=name,
        p=number(result.p),
    )


def _equal_lengths(sections: Sequence[Sequence[float]]) -> list[Sequence[float]]:
    """Shorten all runs to the same number of sections."""
    fewest = min(map(len, sections))
    return [one[:fewest] for one in sections]


def _owner(runs: Sequence[RunFigures], threshold_ns: float | None) -> Ownership:
    answered = [run for run in runs if all(one.latency.count for one in run.clients)]
    if not answered:
        return NO_OWNERSHIP
    above = [[_above(one.latency, threshold_ns) for one in run.clients] for run in answered]
    total = [[one.latency.count for one in run.clients] for run in answered]
    return find_owner(above, total)


def _above(latency: Histogram, threshold_ns: float | None) -> int:
    if threshold_ns is None or math.isinf(threshold_ns):
        return latency.censored
    return latency.count_above(int(threshold_ns))


def _clients(
    runs: Sequence[RunFigures],
    plan: MeasurePlan,
    threshold_ns: float | None,
    owner: Ownership,
    totals: Totals,
) -> documents.Clients:
    return documents.Clients(
        count=plan.clients,
        pacing=plan.pacing,
        threshold_us=None if threshold_ns is None else threshold_ns / 1e3,
        share_of_slowest=list(owner.shares),
        share_of_all=list(owner.fair),
        owner=owner.owner,
        by_quantile=pictures.shares_by_quantile(runs, totals) if plan.clients > 1 else [],
    )


def _stopping(
    rule: PrecisionRule,
    decision: Decision,
    latencies: Mapping[str, Sequence[float]],
    runs: Sequence[RunFigures],
) -> documents.Stopping:
    claims = rule.claims(decision.runs)
    return documents.Stopping(
        rule=f"{rule.text}. {claims[0].upper()}{claims[1:]}.",
        precision=rule.precision,
        reached=decision.reached,
        quantile=decision.widest,
        runs=decision.runs,
        path={
            name: [
                documents.IntervalStep(
                    runs=look.n,
                    run=run.number,
                    value=number(look.value),
                    low=number(look.low),
                    high=number(look.high),
                )
                for run, look in zip(runs, rule.path(values), strict=True)
            ]
            for name, values in latencies.items()
        },
    )
