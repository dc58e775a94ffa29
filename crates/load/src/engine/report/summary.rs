//! Merges the results of all workers into one result document.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use hindmost_clock::Nanos;
use hindmost_histogram::{Histogram, UniformSample};
use hindmost_host::counters::peak_memory;
use hindmost_host::Tree;
use hindmost_plan::{Plan, Workload};

use super::host::{HostReading, HostSummary};
use super::result::{
    Calibration, ClientResult, CodeCount, Datagrams, EndpointReport, Memory, ThreadReport, Unhandled,
    Unreadable, SCHEMA,
};
use super::stamps::StampReport;
use super::worker_totals::WorkerTotals;
use crate::protocol::{
    code_name, failed_check, outcome, outcome_of, reset_name, status_name, status_outcome, Grpc, NotFollowed,
    Outcome, Protocol,
};
use crate::record::{Counts, EndpointRecord, KindRecord, MessageCounts, Recorder, Window};
use crate::stop::Ended;

/// Times of the phases as the coordinator measured them.
pub struct PhaseTimes {
    pub started: SystemTime,
    /// Start of the measurement.
    pub measure: Nanos,
    pub warmup_s: f64,
    pub warmup_ended: Ended,
    /// Host counters before the measurement.
    pub before: HostReading,
}

/// Build the result document. Also return one recorder with the merged records of all threads.
pub fn summarise(
    plan: &Plan,
    times: &PhaseTimes,
    host: HostSummary,
    totals: Vec<WorkerTotals>,
    series: Vec<Vec<Window>>,
    bound_bytes: u64,
) -> (ClientResult, Recorder) {
    let mut threads = Vec::new();
    let mut whole: Option<Recorder> = None;
    let mut first_error = None;
    let (mut reconnects, mut resent, mut by_turns) = (0, 0, false);
    let mut stamps = Vec::new();
    let mut datagrams: Option<Datagrams> = None;
    let mut unhandled: Option<Unhandled> = None;
    let mut unreadable = Unreadable::default();
    for (thread, one) in plan.threads.iter().zip(totals) {
        let (span, scheduled_gaps) = (one.span, one.recorder.scheduled_gaps.as_ref());
        threads.push(ThreadReport {
            cpu: thread.cpu,
            busy_share: if span.wall_ns > 0 { one.busy_ns as f64 / span.wall_ns as f64 } else { 0.0 },
            cpu_share: span.busy_share(),
            run_delay_share: span.run_delay_share(),
            dispersion: one.recorder.gaps.dispersion().to_vec(),
            scheduled_dispersion: scheduled_gaps.map(|gaps| gaps.dispersion().to_vec()),
            shares: one.shares,
            span,
            late: one.late,
            away: one.away.report(times.measure),
            sockets: one.sockets,
        });
        reconnects += one.reconnects;
        resent += one.resent;
        unreadable.count += one.unreadable.count;
        unreadable.first = unreadable.first.or(one.unreadable.first);
        by_turns |= one.by_turns;
        if let Some(more) = one.datagrams {
            let sum = datagrams.get_or_insert_with(Datagrams::default);
            sum.late += more.late;
            sum.refused += more.refused;
            sum.oversized += more.oversized;
        }
        if let Some(more) = one.unhandled {
            let sum = unhandled.get_or_insert_with(Unhandled::default);
            sum.refused += more.refused;
            sum.left_alone += more.left_alone;
        }
        stamps.push(one.stamps);
        if first_error.is_none() && !one.first_error.is_empty() {
            first_error = Some(one.first_error);
        }
        match &mut whole {
            None => whole = Some(one.recorder),
            Some(whole) => whole.merge(&one.recorder),
        }
    }
    let mut recorder = whole.expect("a plan has at least one thread");
    let names = plan.workload.kinds();
    let by_kind: BTreeMap<String, Counts> =
        names.into_iter().zip(recorder.kinds.iter().map(|k| k.counts)).collect();
    let mut counts = Counts::default();
    for one in by_kind.values() {
        counts.add(one);
    }
    let codes = codes(plan, &recorder);
    let measure_s = plan.phases.measure_s;
    let share = f64::from(plan.client.of);
    let result = ClientResult {
        schema: SCHEMA,
        index: plan.client.index,
        of: plan.client.of,
        seed: plan.seed,
        started_s: times.started.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64(),
        warmup_s: times.warmup_s,
        warmup_ended: times.warmup_ended,
        calibration: calibration(plan, &recorder),
        measured_from_ns: times.measure.0,
        measure_s,
        requested_per_s: plan.load.rate().map(|rate| rate.get() / share),
        scheduled_per_s: counts.scheduled as f64 / measure_s,
        achieved_per_s: counts.completed as f64 / measure_s,
        counts,
        kinds: by_kind,
        first_error,
        codes: codes.values().fold(BTreeMap::new(), merge_codes),
        kind_codes: codes,
        messages: messages(plan, &recorder),
        sessions: recorder.sessions.as_ref().map(|sessions| sessions.counts),
        endpoints: endpoints(plan, &recorder),
        connects: recorder.connects,
        by_turns,
        reconnects,
        resent,
        unhandled,
        unreadable,
        datagrams,
        threads,
        steal_share: host.steal_share,
        memory: Memory { peak_bytes: peak_memory(&Tree::new("/")), bound_bytes },
        stamps: StampReport::new(plan.stamp_every, recorder.stamps, &stamps),
        tcp: host.tcp,
        tcp_before: host.tcp_before,
        host: host.host,
        raw_gaps_ns: std::mem::replace(&mut recorder.gaps.raw, UniformSample::new(0)).into_vec(),
        series,
    };
    (result, recorder)
}

/// Collect DNS response codes by kind and name.
fn response_codes(plan: &Plan, recorder: &Recorder) -> BTreeMap<String, BTreeMap<String, CodeCount>> {
    let of_kind = |(name, record): (String, &KindRecord)| {
        let seen = (0..).zip(record.codes.iter().copied()).filter(|&(_, count)| count > 0);
        let named =
            seen.map(|(code, count)| (code_name(code), CodeCount { count, outcome: outcome_of(code) }));
        (name, named.collect::<BTreeMap<_, _>>())
    };
    let kinds = plan.workload.kinds().into_iter().zip(&recorder.kinds).map(of_kind);
    kinds.filter(|(_, codes)| !codes.is_empty()).collect()
}

/// Collect replies by kind and status code, with the outcome of each code.
fn codes(plan: &Plan, recorder: &Recorder) -> BTreeMap<String, BTreeMap<String, CodeCount>> {
    let http = match &plan.workload {
        Workload::Http(http) => http,
        Workload::Dns(_) => return response_codes(plan, recorder),
        _ => return BTreeMap::new(),
    };
    let all = http.all();
    let of_kind = |(name, record): (String, &KindRecord)| {
        let accept = all.iter().find(|one| one.result_name() == name).and_then(|one| one.accept.as_ref());
        let checks = http.checks_of(&name);
        let seen = (0..).zip(record.codes.iter().copied()).filter(|&(_, count)| count > 0);
        let count = |(code, count): (u16, u64)| {
            if plan.target.protocol == Grpc::PROTOCOL {
                return (status_name(code).to_owned(), CodeCount { count, outcome: status_outcome(code) });
            }
            if let Some(name) = reset_name(code).or_else(|| NotFollowed::name(code)) {
                return (name.to_owned(), CodeCount { count, outcome: Outcome::Error });
            }
            if let Some(check) = failed_check(code).and_then(|failed| checks.get(failed)) {
                return (format!("check failed: {check}"), CodeCount { count, outcome: Outcome::Error });
            }
            (code.to_string(), CodeCount { count, outcome: outcome(accept.unwrap_or(&http.accept), code) })
        };
        (name, seen.map(count).collect::<BTreeMap<_, _>>())
    };
    let kinds = plan.workload.kinds().into_iter().zip(&recorder.kinds).map(of_kind);
    kinds.filter(|(_, codes)| !codes.is_empty()).collect()
}

fn merge_codes(
    mut all: BTreeMap<String, CodeCount>,
    kind: &BTreeMap<String, CodeCount>,
) -> BTreeMap<String, CodeCount> {
    for (code, one) in kind {
        let sum = all.entry(code.clone()).or_insert(CodeCount { count: 0, outcome: Outcome::Hit });
        sum.count += one.count;
        sum.outcome = sum.outcome.max(one.outcome);
    }
    all
}

/// Add up the messages of all kinds, if they were recorded.
fn messages(plan: &Plan, recorder: &Recorder) -> Option<MessageCounts> {
    let mut all = MessageCounts::default();
    let kinds = recorder.kinds.iter().filter_map(|kind| kind.messages.as_ref());
    kinds.for_each(|one| all.add(&one.counts));
    plan.stream.then_some(all)
}

fn endpoints(plan: &Plan, recorder: &Recorder) -> Vec<EndpointReport> {
    let report = |(address, one): (&String, &EndpointRecord)| EndpointReport {
        address: address.clone(),
        counts: one.counts,
    };
    plan.target.endpoints.iter().zip(&recorder.endpoints).map(report).collect()
}

fn calibration(plan: &Plan, recorder: &Recorder) -> Calibration {
    let range = &recorder.calibration;
    let all = || recorder.kinds.iter().flat_map(|kind| &kind.latency);
    let above = |value: u64| all().map(|section| section.count_above(value)).sum::<u64>();
    let (low_ns, high_ns) = (range.min(), range.max());
    let seen = all().map(|section| section.count() - section.censored()).sum::<u64>();
    let censored = all().map(Histogram::censored).sum::<u64>();
    Calibration {
        seconds: plan.phases.calibration_s,
        count: range.count(),
        low_ns,
        high_ns,
        above: high_ns.map_or(0, above),
        below: low_ns.map_or(0, |low| seen + censored - above(low.saturating_sub(1))),
    }
}
