//! The server and the simulator agree: for the same document, seed and arrivals they give the same latency for every
//! request.
//!
//! On a shared host, the CPU is taken from the server sometimes, which also delays the requests that wait. Every test
//! run checks what such a host cannot change: the drawn services, and that no reply comes too early. That replies do
//! not come too late needs real time: those tests are ignored here, and `tests/accuracy/test_rust_claims.py` runs them
//! and checks for interference.
//!
//! Whenever both queues are empty, both systems start from the same state. The requests between two such times are
//! compared if each of them had the CPU for its whole service and started as soon as a thread was free.

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use crate::common::{document, serve, Line};
use hindmost_arrivals::Law;
use hindmost_clone::{Document, Program, Queue};
use hindmost_simulate::{capacity_per_s, simulate_rows, Arrivals as SimulatedArrivals, Design, Load, Row};
use hindmost_synth::{Arrivals, Idle, InProcess, Occupy, ServerConfig};
use serde_json::json;

const REQUESTS: u64 = 300;
const ROUNDS: u64 = 4;
/// Tests run in parallel; these would disturb each other.
static EXCLUSIVE: Mutex<()> = Mutex::new(());
/// Largest difference of equal latencies: a few clock readings and a wake-up by the kernel.
const CLOSE_NS: f64 = 25_000.0;
/// A request is disturbed if its CPU time is short by this much, or its start is late by this much.
const DISTURBED_NS: f64 = 25_000.0;
/// Least share of undisturbed requests; it is at least 87 % on a quiet host. A late start delays all waiting requests,
/// so the share is small if the server itself starts services late.
const LEAST_UNDISTURBED: f64 = 0.5;
/// Longest excess that a late service may take from the thread's next one (`server/spin.rs`).
const CARRY_NS: f64 = 50_000.0;
/// Tolerance of clock readings in the check that replies are not early.
const READ_NS: f64 = 5_000.0;

fn simulate(document: &Document, rate_per_s: f64, seed: u64) -> Vec<Row> {
    let design = Design {
        load: Some(Load::RatePerS(rate_per_s)),
        arrivals: SimulatedArrivals::default(),
        requests: REQUESTS,
        warmup: 0,
        sections: 1,
        seed,
        quantiles: vec![0.5],
        backlog: false,
        event_by_event: false,
    };
    let mut rows: Vec<Row> = Vec::new();
    let program = Program::new(document).unwrap();
    simulate_rows(&program, &design, &mut rows, &AtomicBool::new(false)).unwrap();
    rows.sort_by(|a, b| a.arrival_ns.total_cmp(&b.arrival_ns));
    rows
}

/// Run the server and the simulator once. Return their requests in order of arrival, on the simulator's clock, and the
/// host's interruptions in ns.
fn run_both(
    name: &str,
    document: &Document,
    rate_per_s: f64,
    seed: u64,
    occupy: Occupy,
) -> (Vec<(Line, Row)>, u64) {
    let run = InProcess { arrivals: Arrivals::Open { rate_per_s, law: Law::default() }, requests: REQUESTS };
    // Polling threads are never late because of a wake-up.
    let config = ServerConfig { seed, occupy, idle: Idle::Spin, ..ServerConfig::default() };
    let (summary, mut lines) = serve(name, document, &run, config);
    lines.sort_by(|a, b| a.arrival.total_cmp(&b.arrival));
    let rows = simulate(document, rate_per_s, seed);
    let origin = lines[0].arrival - rows[0].arrival_ns;
    for line in &mut lines {
        line.arrival -= origin;
        line.start -= origin;
        line.end -= origin;
    }
    let pairs: Vec<_> = lines.into_iter().zip(rows).collect();
    for (line, row) in &pairs {
        assert!((line.arrival - row.arrival_ns).abs() < 4.0, "{name}: {line:?} {row:?}");
    }
    (pairs, summary.gaps.total_ns)
}

/// Return the comparable requests of one run, and the host's interruptions in ns.
fn round(name: &str, document: &Document, rate_per_s: f64, seed: u64) -> (Vec<(Line, Row)>, u64) {
    let (pairs, paused_ns) = run_both(name, document, rate_per_s, seed, Occupy::Wall);
    let mut free_at = vec![0.0; document.threads as usize];
    let (mut undisturbed, mut cycle, mut is_undisturbed, mut empty_at) =
        (Vec::new(), Vec::new(), true, 0.0_f64);
    for (line, row) in pairs {
        if line.arrival >= empty_at {
            undisturbed.extend(std::mem::take(&mut cycle).into_iter().filter(|_| is_undisturbed));
            is_undisturbed = true;
        }
        let free = match document.queue {
            Queue::Shared => free_at.iter().copied().fold(f64::INFINITY, f64::min),
            Queue::PerThread => free_at[line.thread],
        };
        let earliest = line.arrival.max(free).max(row.start_ns);
        free_at[line.thread] = line.end;
        let excess = line.end - line.start - line.drawn - line.waited;
        let expected_excess = row.finish_ns - row.start_ns - row.demand_ns - row.lock_wait_ns;
        is_undisturbed &=
            (excess - expected_excess).abs() < DISTURBED_NS && line.start - earliest < DISTURBED_NS;
        empty_at = empty_at.max(line.end).max(row.finish_ns);
        cycle.push((line, row));
    }
    (undisturbed, paused_ns)
}

fn quantiles(mut times: Vec<f64>) -> [f64; 2] {
    times.sort_by(f64::total_cmp);
    [0.5, 0.9].map(|q| times[(q * times.len() as f64) as usize])
}

fn mean(times: impl Iterator<Item = f64>) -> f64 {
    let all: Vec<f64> = times.collect();
    all.iter().sum::<f64>() / all.len() as f64
}

#[derive(Clone)]
struct Case {
    name: String,
    load: f64,
    changes: serde_json::Value,
}

fn case(name: impl Into<String>, load: f64, changes: serde_json::Value) -> Case {
    Case { name: name.into(), load, changes }
}

impl Case {
    fn rate_per_s(&self, document: &Document) -> f64 {
        let program = Program::new(document).unwrap();
        self.load * capacity_per_s(&program, 1, &AtomicBool::new(false)).unwrap()
    }
}

/// Bounds that hold under any interference.
#[derive(Clone, Copy)]
struct Bounds {
    /// Draws depend only on the request, not on the serving thread or on the load.
    same_draws: bool,
    /// First come, first served, without other state: a delay can only delay others. A late thread starts its next
    /// service by the clock up to `CARRY_NS` before it takes the request. With one thread, no request ends early
    /// because of that: the service starts no earlier than the scheduled end of the last one. With several threads,
    /// the late one may start the second request before the first request's thread was free. Services are therefore of
    /// CPU time if there are several threads; those start when they are taken.
    delays_only: bool,
}

fn check_bounds(case: &Case, bounds: Bounds) {
    let _guard = EXCLUSIVE.lock().unwrap_or_else(PoisonError::into_inner);
    let (name, document) = (&case.name, document(case.changes.clone()));
    let occupy = if bounds.delays_only && document.threads > 1 { Occupy::Cpu } else { Occupy::Wall };
    let (pairs, _) = run_both(name, &document, case.rate_per_s(&document), 1, occupy);
    let mut served: Vec<&Line> = pairs.iter().map(|(line, _)| line).collect();
    served.sort_by(|a, b| a.start.total_cmp(&b.start));
    let mut late = vec![0.0_f64; document.threads as usize];
    for line in served {
        // A service is shorter than drawn only by the lateness of the thread's last one.
        let late = &mut late[line.thread];
        *late += line.end - line.start - line.drawn - line.waited;
        assert!(*late > -READ_NS, "{name}: service too short: {line:?}");
        *late = late.clamp(0.0, CARRY_NS);
    }
    for (line, row) in &pairs {
        assert!(!bounds.same_draws || (line.drawn - row.demand_ns).abs() < 2.0, "{name}: {line:?} {row:?}");
        assert!(
            !bounds.delays_only || line.end > row.finish_ns - READ_NS,
            "{name}: reply too early: {line:?} {row:?}"
        );
    }
}

#[expect(clippy::print_stderr, reason = "the figures are the point")]
fn check(case: &Case) {
    let name = &case.name;
    let _guard = EXCLUSIVE.lock().unwrap_or_else(PoisonError::into_inner);
    let document = document(case.changes.clone());
    let rate_per_s = case.rate_per_s(&document);
    let (mut pairs, mut paused_ns) = (Vec::new(), 0);
    for seed in 1..=ROUNDS {
        let (undisturbed, paused) = round(name, &document, rate_per_s, seed);
        pairs.extend(undisturbed);
        paused_ns += paused;
    }
    let share = pairs.len() as f64 / (ROUNDS * REQUESTS) as f64;
    let paused_ns = paused_ns as f64 / (ROUNDS * REQUESTS) as f64;
    assert!(
        share >= LEAST_UNDISTURBED,
        "{name}: {:.0} % undisturbed, {:.1} µs of interruptions per request",
        100.0 * share,
        paused_ns / 1e3
    );
    let found = quantiles(pairs.iter().map(|(line, _)| line.end - line.arrival).collect());
    let expected = quantiles(pairs.iter().map(|(_, row)| row.finish_ns - row.arrival_ns).collect());
    let difference = |(line, row): &(Line, Row)| line.end - line.arrival - (row.finish_ns - row.arrival_ns);
    let close_of = |which: &dyn Fn(&Row) -> bool| {
        let these: Vec<_> = pairs.iter().filter(|(_, row)| which(row)).collect();
        let close = these.iter().filter(|pair| difference(pair).abs() < CLOSE_NS).count();
        (close as f64 / these.len().max(1) as f64, these.len())
    };
    let (close, _) = close_of(&|_| true);
    let (close_at_locks, lock_requests) = close_of(&|row| row.lock_wait_ns > 0.0);
    let waited = mean(pairs.iter().map(|(line, _)| line.waited));
    let waits = mean(pairs.iter().map(|(_, row)| row.lock_wait_ns));
    let us = |times: [f64; 2]| times.map(|ns| (ns / 100.0).round() / 10.0);
    let report = format!(
        "{name}: {:.0} % undisturbed, of them {:.1} % within {} µs, {:.1} % of {lock_requests} that waited for locks; \
         p50, p90 {:?} µs, simulated {:?}; lock waits {:.1} µs, simulated {:.1}; {:.1} µs of interruptions per request",
        100.0 * share,
        100.0 * close,
        CLOSE_NS / 1e3,
        100.0 * close_at_locks,
        us(found),
        us(expected),
        waited / 1e3,
        waits / 1e3,
        paused_ns / 1e3,
    );
    eprintln!("{report}");
    assert!(close > 0.85 && (lock_requests < 60 || close_at_locks > 0.7), "{report}");
    assert!(
        found.iter().zip(&expected).all(|(found, expected)| (found / expected - 1.0).abs() < 0.05),
        "{report}"
    );
}

fn exponential(mean_us: f64) -> serde_json::Value {
    json!([{"law": {"kind": "exponential", "mean_us": mean_us}}])
}

fn lock(name: &str, us: f64, changes: serde_json::Value) -> serde_json::Value {
    let mut lock = json!({"name": name, "hold": {"kind": "deterministic", "us": us}});
    let changes: serde_json::Map<_, _> = serde_json::from_value(changes).unwrap();
    lock.as_object_mut().unwrap().extend(changes);
    lock
}

fn one_thread() -> Vec<Case> {
    let chance = json!({"name": "irq", "scope": "request", "length": {"kind": "uniform", "low_us": 10.0, "high_us": 90.0},
        "when": {"kind": "chance", "probability": 0.1}});
    vec![
        case("plain", 0.6, json!({})),
        case("order", 0.6, json!({"order": {"autocorrelation": 0.5}})),
        case("chance", 0.6, json!({"disturbances": [chance]})),
        case("lock", 0.6, json!({"locks": [lock("send", 20.0, json!({"at": "after"}))]})),
    ]
}

fn two_threads() -> Vec<Case> {
    vec![
        case("shared", 0.4, json!({"threads": 2})),
        case("per thread", 0.4, json!({"threads": 2, "queue": "per_thread"})),
    ]
}

fn contended_cases() -> Vec<Case> {
    let contended = |name: &str, lock: serde_json::Value| {
        case(name, 0.45, json!({"threads": 2, "service": exponential(100.0), "locks": [lock]}))
    };
    let sleeping =
        |release: &str, spin_us: f64| json!({"spin_us": spin_us, "wake_us": 150.0, "release": release});
    let noise = json!([{"name": "irq", "scope": "request", "while_holding": "all",
        "length": {"kind": "deterministic", "us": 200.0}, "when": {"kind": "chance", "probability": 0.2}}]);
    vec![
        contended("spinning", lock("all", 100.0, json!({}))),
        contended("after", lock("all", 100.0, json!({"at": "after"}))),
        contended("barging, sleeping", lock("all", 100.0, sleeping("barging", 0.0))),
        contended("barging, hybrid", lock("all", 100.0, sleeping("barging", 40.0))),
        contended("hand-off, hybrid", lock("all", 100.0, sleeping("handoff", 40.0))),
        case(
            "interrupted",
            0.45,
            json!({"threads": 2, "service": exponential(100.0), "locks": [lock("all", 60.0, json!({}))],
                   "disturbances": noise}),
        ),
    ]
}

fn array_of_locks() -> Vec<Case> {
    let buckets = lock("bucket", 150.0, json!({"instances": 3, "first": 0.7, "share": 0.8}));
    let send = lock("send", 30.0, json!({"at": "after"}));
    let changes = json!({"threads": 2, "service": exponential(80.0), "locks": [buckets, send]});
    vec![case("array", 0.5, changes)]
}

fn slowed_by_load() -> Vec<Case> {
    vec![
        case("load", 0.4, json!({"threads": 2, "load": {"time": 0.5, "busy": 0.3, "over_us": 300.0}})),
        case("spread", 0.5, json!({"load": {"spread": 0.6, "over_us": 300.0}})),
    ]
}

fn paused() -> Vec<Case> {
    let stop = |scope: &str| {
        json!({"name": "gc", "scope": scope, "length": {"kind": "deterministic", "us": 700.0},
               "when": {"kind": "periodic", "every_us": 6_000.0, "first_us": 2_000.0}})
    };
    let mut cases = vec![case("pauses", 0.5, json!({"disturbances": [stop("server")]}))];
    cases.extend(["server", "thread"].map(|scope| {
        let locks = [lock("all", 100.0, json!({}))];
        let changes =
            json!({"threads": 2, "service": exponential(100.0), "locks": locks, "disturbances": [stop(scope)]});
        case(format!("pauses of a {scope}"), 0.5, changes)
    }));
    cases
}

fn interrupted() -> Vec<Case> {
    let stop = |scope: &str| {
        json!([{"name": "irq", "scope": scope, "length": {"kind": "uniform", "low_us": 50.0, "high_us": 150.0},
                "when": {"kind": "poisson", "per_second": 2_500.0}}])
    };
    // A request of 300 µs meets an interruption with probability 1/2: lost or extra work is visible.
    let service = json!([{"law": {"kind": "uniform", "low_us": 200.0, "high_us": 400.0}}]);
    ["server", "thread"]
        .map(|scope| {
            let changes = json!({"service": service, "disturbances": stop(scope)});
            case(format!("interruptions of a {scope}"), 0.4, changes)
        })
        .into()
}

#[test]
fn services_are_as_drawn_and_no_reply_is_early_on_a_busy_host() {
    let plain = Bounds { same_draws: true, delays_only: true };
    let competing = Bounds { delays_only: false, ..plain };
    let stateful = Bounds { same_draws: false, delays_only: false };
    let [shared, per_thread] = two_threads().try_into().ok().unwrap();
    let [pauses, pauses_at_locks @ ..] = &paused()[..] else { unreachable!() };
    for (cases, bounds) in [
        (&one_thread()[..], plain),
        (&[shared, pauses.clone()], plain),
        (&interrupted(), plain),
        (&contended_cases(), competing),
        (&array_of_locks(), competing),
        (pauses_at_locks, competing),
        (&slowed_by_load(), stateful),
        (&[per_thread], stateful),
    ] {
        for case in cases {
            check_bounds(case, bounds);
        }
    }
}

#[test]
#[ignore = "precision"]
fn one_thread_agrees_with_the_simulator() {
    for case in &one_thread() {
        check(case);
    }
}

#[test]
#[ignore = "precision"]
fn two_threads_agree_with_the_simulator() {
    for case in &two_threads() {
        check(case);
    }
}

#[test]
#[ignore = "precision"]
fn lock_waits_agree_with_the_simulator() {
    for case in &contended_cases() {
        check(case);
    }
}

#[test]
#[ignore = "precision"]
fn arrays_of_locks_agree_with_the_simulator() {
    for case in &array_of_locks() {
        check(case);
    }
}

#[test]
#[ignore = "precision"]
fn load_dependence_agrees_with_the_simulator() {
    for case in &slowed_by_load() {
        check(case);
    }
}

#[test]
#[ignore = "precision"]
fn pauses_agree_with_the_simulator() {
    for case in &paused() {
        check(case);
    }
}

#[test]
#[ignore = "precision"]
fn random_interruptions_agree_with_the_simulator() {
    for case in &interrupted() {
        check(case);
    }
}
