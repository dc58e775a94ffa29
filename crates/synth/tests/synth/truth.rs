//! A clone's log and summary.

use std::sync::atomic::AtomicBool;

use crate::common::{document, serve, Line, LogFile};
use hindmost_arrivals::Law;
use hindmost_synth::{Arrivals, InProcess, Occupy, ServerConfig, SynthError};
use serde_json::json;

const REQUESTS: u64 = 1_500;

const BACK_TO_BACK: InProcess = InProcess { arrivals: Arrivals::BackToBack, requests: REQUESTS };

#[test]
fn threads_hold_a_lock_one_at_a_time() {
    for (spin_us, release) in [(None, "barging"), (Some(5.0), "barging"), (Some(5.0), "handoff")] {
        let lock = json!({"name": "all", "hold": {"kind": "deterministic", "us": 100.0},
            "spin_us": spin_us, "wake_us": 10.0, "release": release});
        let law = json!({"kind": "deterministic", "us": 50.0});
        let document = document(json!({"threads": 2, "locks": [lock], "service": [{"law": law}]}));
        // On a busy host, the threads may run alternately and never compete.
        let (summary, lines) = (0..20)
            .map(|_| serve("locks", &document, &BACK_TO_BACK, ServerConfig::default()))
            .find(|(_, lines)| lines.iter().any(|line| line.waited > 0.0))
            .expect("two threads met at the lock");
        assert!(summary.total.waited_ns > 0 && summary.lock_waits.count > 0);
        // Each request holds the lock for 100 µs, which bounds the total time.
        let first = lines.iter().map(|line| line.start).fold(f64::INFINITY, f64::min);
        let last = lines.iter().map(|line| line.end).fold(0.0, f64::max);
        assert!(last - first >= 100_000.0 * (REQUESTS - 1) as f64, "{release}: {}", last - first);
    }
}

#[test]
fn kinds_are_drawn_by_share_and_logged_by_name() {
    let law = |us: f64| json!([{"law": {"kind": "deterministic", "us": us}}]);
    let kinds = json!([{"name": "read", "share": 0.9, "service": law(10.0)},
                       {"name": "write, slow", "share": 0.1, "service": law(100.0)}]);
    let document = document(json!({"kinds": kinds}));
    let log = LogFile::new("kinds");
    let config = ServerConfig { clone: Some(document), log: Some(log.0.clone()), ..ServerConfig::default() };
    let run = InProcess { arrivals: Arrivals::BackToBack, requests: 2_000 };
    run.run(&config, &AtomicBool::new(false)).unwrap();
    let text = std::fs::read_to_string(&log.0).unwrap();
    let (reads, writes) =
        (text.matches(",read,10000,0").count(), text.matches(",\"write, slow\",100000,0").count());
    assert_eq!(reads + writes, 2_000);
    // Five standard deviations of a binomial with mean 200 and standard deviation 13.4.
    assert!((133..267).contains(&writes), "{writes}");
}

#[test]
fn services_of_cpu_time_use_that_much_cpu_time() {
    let law = json!([{"law": {"kind": "deterministic", "us": 300.0}}]);
    let document = document(json!({"service": law}));
    let config = ServerConfig { occupy: Occupy::Cpu, ..ServerConfig::default() };
    let (summary, lines) = serve("cpu", &document, &BACK_TO_BACK, config);
    assert_eq!(summary.occupy, Occupy::Cpu);
    for line in &lines {
        assert_eq!((line.drawn, line.kind.as_str()), (300_000.0, "request"));
        assert!(line.end - line.start >= 290_000.0, "{line:?}");
        // 10 µs for clock readings.
        assert!(line.cpu >= 290_000.0, "{line:?}");
    }
}

#[test]
fn the_summary_agrees_with_the_log() {
    let run = InProcess {
        arrivals: Arrivals::Open { rate_per_s: 2_500.0, law: Law::default() },
        requests: REQUESTS,
    };
    let (summary, lines) = serve("account", &document(json!({})), &run, ServerConfig::default());
    let mean = |value: fn(&Line) -> f64| lines.iter().map(value).sum::<f64>() / lines.len() as f64;
    let close = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-6;
    assert!(close(summary.service.mean_ns, mean(|line| line.end - line.start)));
    assert!(close(summary.sojourn.mean_ns, mean(|line| line.end - line.arrival)));
    assert!(close(summary.total.mean_drawn_ns(), mean(|line| line.drawn)));
    assert_eq!(summary.sojourn.bins.iter().map(|bin| bin.1).sum::<u64>(), REQUESTS);
    assert_eq!(summary.log.unwrap().requests, REQUESTS);
}

#[test]
fn logged_services_of_a_thread_never_overlap() {
    // Many short requests are waiting: almost every service starts late and takes time from the next.
    let law = json!([{"law": {"kind": "exponential", "mean_us": 3.0}}]);
    let document = document(json!({"threads": 2, "service": law}));
    let run = InProcess {
        arrivals: Arrivals::Open { rate_per_s: 600_000.0, law: Law::default() },
        requests: REQUESTS,
    };
    let (_, mut lines) = serve("arrears", &document, &run, ServerConfig::default());
    lines.sort_by(|a, b| (a.thread, a.start).partial_cmp(&(b.thread, b.start)).unwrap());
    for pair in lines.windows(2).filter(|pair| pair[0].thread == pair[1].thread) {
        assert!(pair[1].start >= pair[0].end, "{pair:?}");
    }
    assert!(lines.iter().all(|line| line.end > line.start));
}

#[test]
fn a_full_log_counts_the_requests_it_lost() {
    let log = LogFile::new("room");
    let config = ServerConfig {
        log: Some(log.0.clone()),
        log_requests: 10,
        service: hindmost_synth::ServiceTime::Deterministic { mean_us: 1.0 },
        ..ServerConfig::default()
    };
    let run = InProcess { arrivals: Arrivals::BackToBack, requests: 100 };
    let summary = run.run(&config, &AtomicBool::new(false)).unwrap().log.unwrap();
    assert_eq!((summary.requests, summary.beyond), (10, 90));
    let invalid_path = ServerConfig { log: Some("/nowhere/at/all.csv".into()), ..ServerConfig::default() };
    assert!(matches!(run.run(&invalid_path, &AtomicBool::new(false)), Err(SynthError::File { .. })));
}

#[test]
fn a_rate_above_capacity_is_refused_with_both_figures() {
    let config = ServerConfig { clone: Some(document(json!({}))), ..ServerConfig::default() };
    let serve_at = |rate_per_s| {
        let run = InProcess { arrivals: Arrivals::Open { rate_per_s, law: Law::default() }, requests: 10 };
        run.run(&config, &AtomicBool::new(false))
    };
    let Err(SynthError::AboveCapacity { rate_per_s, capacity_per_s }) = serve_at(6_000.0) else { panic!() };
    assert!(
        (rate_per_s - 6_000.0).abs() < 1e-9 && (capacity_per_s - 5_000.0).abs() < 1e-6,
        "{capacity_per_s}"
    );
    // Both threads need the same lock for most of a request; without it they would serve 10,000 requests/s.
    let lock = json!({"name": "all", "hold": {"kind": "deterministic", "us": 100.0}});
    let contended = document(json!({"threads": 2, "locks": [lock],
        "service": [{"law": {"kind": "exponential", "mean_us": 100.0}}]}));
    let config = ServerConfig { clone: Some(contended), ..ServerConfig::default() };
    let run =
        InProcess { arrivals: Arrivals::Open { rate_per_s: 9_000.0, law: Law::default() }, requests: 10 };
    let result = run.run(&config, &AtomicBool::new(false));
    assert!(matches!(result, Err(SynthError::AboveCapacity { .. })), "{result:?}");
}

#[test]
fn an_invalid_rate_is_refused() {
    let config = ServerConfig { clone: Some(document(json!({}))), ..ServerConfig::default() };
    let serve_at = |rate_per_s| {
        let run = InProcess { arrivals: Arrivals::Open { rate_per_s, law: Law::default() }, requests: 10 };
        run.run(&config, &AtomicBool::new(false))
    };
    let result = serve_at(-1.0);
    assert!(matches!(result, Err(SynthError::Config { field: "rate_per_s", .. })), "{result:?}");
}
