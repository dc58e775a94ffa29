//! The server and the simulator are doubles: of the same document, seed and arrivals they make the same latencies, request
//! by request.
//!
//! A host takes CPUs away, and who waits behind a request that was stopped is late as well. What such a host cannot do is
//! seen in every test run: it draws no other service, and makes no reply come sooner. That replies come no later needs
//! real time: those tests are ignored here and run by the ring of precision (`tests/accuracy/test_rust_claims.py`), which
//! looks whether the host was calm. Whenever both doubles stand empty they begin anew, alike; so the requests between two
//! such moments are compared if each of them had, once it began, the CPU for as long as it should, and none began later
//! than a thread was free.

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use crate::common::{document, serve, Line};
use hindmost_arrivals::Law;
use hindmost_clone::{Document, Program, Queue};
use hindmost_simulate::{capacity_per_s, simulate_rows, Arrivals as Simulated, Design, Load, Row};
use hindmost_synth::{Arrivals, Idle, InProcess, Occupy, ServerConfig};
use serde_json::json;

const REQUESTS: u64 = 300;
const ROUNDS: u64 = 4;
/// Tests run beside each other; these would disturb one another.
static ALONE: Mutex<()> = Mutex::new(());
/// A request is as simulated if its latency is this close: some readings of the clock, and a wake-up of the kernel's.
const CLOSE_NS: f64 = 25_000.0;
/// So much less CPU than it should have had, or so late a begin, are a disturbance.
const DISTURBED_NS: f64 = 25_000.0;
/// At least this share of the requests is left alone: 87 % or more are on a calm host. One late begin puts off all who
/// wait, so few are where the server itself begins late.
const LEFT_ALONE: f64 = 0.5;
/// What a service that ends late takes out of the thread's next one, at most (`server/spin.rs`).
const CARRY_NS: f64 = 50_000.0;
/// Readings of the clock, where a reply must not come sooner.
const READ_NS: f64 = 5_000.0;

fn simulated(document: &Document, rate_per_s: f64, seed: u64) -> Vec<Row> {
    let design = Design {
        load: Some(Load::RatePerS(rate_per_s)),
        arrivals: Simulated::default(),
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

/// One round of both doubles, in the order of arrival and by the clock of the simulator; and how long the host paused.
fn aligned(
    name: &str,
    document: &Document,
    rate_per_s: f64,
    seed: u64,
    occupy: Occupy,
) -> (Vec<(Line, Row)>, u64) {
    let inside =
        InProcess { arrivals: Arrivals::Open { rate_per_s, law: Law::default() }, requests: REQUESTS };
    // Threads that poll are not late for want of a wake-up.
    let config = ServerConfig { seed, occupy, idle: Idle::Spin, ..ServerConfig::default() };
    let (account, mut lines) = serve(name, document, &inside, config);
    lines.sort_by(|a, b| a.arrival.total_cmp(&b.arrival));
    let rows = simulated(document, rate_per_s, seed);
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
    (pairs, account.gaps.total_ns)
}

/// The requests of one round that can be compared; and how long the host paused.
fn round(name: &str, document: &Document, rate_per_s: f64, seed: u64) -> (Vec<(Line, Row)>, u64) {
    let (pairs, paused_ns) = aligned(name, document, rate_per_s, seed, Occupy::Wall);
    let mut free_at = vec![0.0; document.threads as usize];
    let (mut left_alone, mut cycle, mut calm, mut empty_at) = (Vec::new(), Vec::new(), true, 0.0_f64);
    for (line, row) in pairs {
        if line.arrival >= empty_at {
            left_alone.extend(std::mem::take(&mut cycle).into_iter().filter(|_| calm));
            calm = true;
        }
        let free = match document.queue {
            Queue::Shared => free_at.iter().copied().fold(f64::INFINITY, f64::min),
            Queue::PerThread => free_at[line.thread],
        };
        let could = line.arrival.max(free).max(row.start_ns);
        free_at[line.thread] = line.end;
        let longer = line.end - line.start - line.drawn - line.waited;
        let should = row.finish_ns - row.start_ns - row.demand_ns - row.lock_wait_ns;
        calm &= (longer - should).abs() < DISTURBED_NS && line.start - could < DISTURBED_NS;
        empty_at = empty_at.max(line.end).max(row.finish_ns);
        cycle.push((line, row));
    }
    (left_alone, paused_ns)
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

/// What holds whatever the host does.
#[derive(Clone, Copy)]
struct Bounds {
    /// Draws depend on the request alone: not on which thread serves it, nor on how many others are there.
    drawn_alike: bool,
    /// First come first served, and no state but who is free: a delay can only delay others. A service by the clock
    /// begins up to `CARRY_NS` before its thread took it, where that thread was late. One thread serves no request sooner
    /// by that: not before its last one should have ended. Of two threads the one that was late takes the request that
    /// came second, and would begin it before the first one's thread was free; so where there are more, services are of
    /// CPU time, and begin when they are taken.
    delays_only: bool,
}

fn check_bounds(case: &Case, bounds: Bounds) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (name, document) = (&case.name, document(case.changes.clone()));
    let occupy = if bounds.delays_only && document.threads > 1 { Occupy::Cpu } else { Occupy::Wall };
    let (pairs, _) = aligned(name, &document, case.rate_per_s(&document), 1, occupy);
    let mut served: Vec<&Line> = pairs.iter().map(|(line, _)| line).collect();
    served.sort_by(|a, b| a.start.total_cmp(&b.start));
    let mut late = vec![0.0_f64; document.threads as usize];
    for line in served {
        // A service is shorter than drawn only by what the thread's last one was late.
        let late = &mut late[line.thread];
        *late += line.end - line.start - line.drawn - line.waited;
        assert!(*late > -READ_NS, "{name}: served too short: {line:?}");
        *late = late.clamp(0.0, CARRY_NS);
    }
    for (line, row) in &pairs {
        assert!(!bounds.drawn_alike || (line.drawn - row.demand_ns).abs() < 2.0, "{name}: {line:?} {row:?}");
        assert!(
            !bounds.delays_only || line.end > row.finish_ns - READ_NS,
            "{name}: too soon: {line:?} {row:?}"
        );
    }
}

#[expect(clippy::print_stderr, reason = "the figures are the point")]
fn check(case: &Case) {
    let name = &case.name;
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let document = document(case.changes.clone());
    let rate_per_s = case.rate_per_s(&document);
    let (mut pairs, mut paused_ns) = (Vec::new(), 0);
    for seed in 1..=ROUNDS {
        let (left_alone, paused) = round(name, &document, rate_per_s, seed);
        pairs.extend(left_alone);
        paused_ns += paused;
    }
    let share = pairs.len() as f64 / (ROUNDS * REQUESTS) as f64;
    let paused_ns = paused_ns as f64 / (ROUNDS * REQUESTS) as f64;
    assert!(
        share >= LEFT_ALONE,
        "{name}: {:.0} % left alone, {:.1} us of pauses a request",
        100.0 * share,
        paused_ns / 1e3
    );
    let found = quantiles(pairs.iter().map(|(line, _)| line.end - line.arrival).collect());
    let expected = quantiles(pairs.iter().map(|(_, row)| row.finish_ns - row.arrival_ns).collect());
    let apart = |(line, row): &(Line, Row)| line.end - line.arrival - (row.finish_ns - row.arrival_ns);
    let close_of = |which: &dyn Fn(&Row) -> bool| {
        let these: Vec<_> = pairs.iter().filter(|(_, row)| which(row)).collect();
        let close = these.iter().filter(|pair| apart(pair).abs() < CLOSE_NS).count();
        (close as f64 / these.len().max(1) as f64, these.len())
    };
    let (close, _) = close_of(&|_| true);
    let (close_at_locks, met) = close_of(&|row| row.lock_wait_ns > 0.0);
    let waited = mean(pairs.iter().map(|(line, _)| line.waited));
    let waits = mean(pairs.iter().map(|(_, row)| row.lock_wait_ns));
    let us = |times: [f64; 2]| times.map(|ns| (ns / 100.0).round() / 10.0);
    let told = format!(
        "{name}: {:.0} % left alone, of them {:.1} % within {} us, {:.1} % of {met} that met at locks; p50, p90 {:?} us, simulated {:?}; waited for locks \
         {:.1} us, simulated {:.1}; {:.1} us of pauses a request",
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
    eprintln!("{told}");
    assert!(close > 0.85 && (met < 60 || close_at_locks > 0.7), "{told}");
    assert!(
        found.iter().zip(&expected).all(|(found, expected)| (found / expected - 1.0).abs() < 0.05),
        "{told}"
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

fn contended() -> Vec<Case> {
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
        contended("handed over, hybrid", lock("all", 100.0, sleeping("handoff", 40.0))),
        case(
            "interrupted",
            0.45,
            json!({"threads": 2, "service": exponential(100.0), "locks": [lock("all", 60.0, json!({}))],
                   "disturbances": noise}),
        ),
    ]
}

fn array() -> Vec<Case> {
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

fn standing_still() -> Vec<Case> {
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

fn interrupted_at_random() -> Vec<Case> {
    let stop = |scope: &str| {
        json!([{"name": "irq", "scope": scope, "length": {"kind": "uniform", "low_us": 50.0, "high_us": 150.0},
                "when": {"kind": "poisson", "per_second": 2_500.0}}])
    };
    // A request of 300 us meets one with a chance of one half: what is lost or found of its work is seen.
    let service = json!([{"law": {"kind": "uniform", "low_us": 200.0, "high_us": 400.0}}]);
    ["server", "thread"]
        .map(|scope| {
            let changes = json!({"service": service, "disturbances": stop(scope)});
            case(format!("interruptions of a {scope}"), 0.4, changes)
        })
        .into()
}

#[test]
fn services_are_those_drawn_and_no_reply_comes_sooner_however_busy_the_host() {
    let plain = Bounds { drawn_alike: true, delays_only: true };
    let meeting = Bounds { delays_only: false, ..plain };
    let of_the_moment = Bounds { drawn_alike: false, delays_only: false };
    let [shared, per_thread] = two_threads().try_into().ok().unwrap();
    let [pauses, pauses_at_locks @ ..] = &standing_still()[..] else { unreachable!() };
    for (cases, bounds) in [
        (&one_thread()[..], plain),
        (&[shared, pauses.clone()], plain),
        (&interrupted_at_random(), plain),
        (&contended(), meeting),
        (&array(), meeting),
        (pauses_at_locks, meeting),
        (&slowed_by_load(), of_the_moment),
        (&[per_thread], of_the_moment),
    ] {
        for case in cases {
            check_bounds(case, bounds);
        }
    }
}

#[test]
#[ignore = "precision"]
fn one_thread_serves_what_the_simulator_says() {
    for case in &one_thread() {
        check(case);
    }
}

#[test]
#[ignore = "precision"]
fn two_threads_serve_what_the_simulator_says() {
    for case in &two_threads() {
        check(case);
    }
}

#[test]
#[ignore = "precision"]
fn threads_wait_for_locks_as_the_simulator_says() {
    for case in &contended() {
        check(case);
    }
}

#[test]
#[ignore = "precision"]
fn threads_meet_at_an_array_of_locks_as_the_simulator_says() {
    for case in &array() {
        check(case);
    }
}

#[test]
#[ignore = "precision"]
fn threads_slow_down_with_the_load_as_the_simulator_says() {
    for case in &slowed_by_load() {
        check(case);
    }
}

#[test]
#[ignore = "precision"]
fn threads_stand_still_when_the_simulator_says() {
    for case in &standing_still() {
        check(case);
    }
}

#[test]
#[ignore = "precision"]
fn threads_are_interrupted_at_random_when_the_simulator_says() {
    for case in &interrupted_at_random() {
        check(case);
    }
}
