//! Both methods give the same result, and the invariants of queues hold.
#![allow(clippy::float_cmp, reason = "the results must be identical to the last bit")]

use crate::common::{design, open, program, queue, rows, run};
use hindmost_arrivals::{Deterministic, Gamma, Law};
use hindmost_clone::Program;
use hindmost_simulate::{Arrivals, Design, Load, Row};
use proptest::prelude::*;
use serde_json::{json, Value};

fn law() -> impl Strategy<Value = Value> {
    prop_oneof![
        (1.0..1e4).prop_map(|us| json!({"kind": "deterministic", "us": us})),
        (1.0..1e4).prop_map(|us| json!({"kind": "exponential", "mean_us": us})),
        ((1.0..1e4), (0.0..2.0))
            .prop_map(|(us, sigma)| json!({"kind": "lognormal", "median_us": us, "sigma_log": sigma})),
    ]
}

fn arrivals() -> impl Strategy<Value = Arrivals> {
    prop_oneof![
        Just(Arrivals::default()),
        Just(Arrivals::Law(Law::Deterministic(Deterministic {}))),
        Just(Arrivals::Law(Law::Gamma(Gamma { shape: 0.5 })))
    ]
}

/// Generate locks before and after the service, with random properties.
fn locks() -> impl Strategy<Value = Value> {
    let one = (0.1..40.0, 0.2..1.0, 1..4_u32, prop::option::of(0.0..30.0), 0.0..60.0, any::<(bool, bool)>());
    prop::collection::vec(one, 0..3).prop_map(|locks| {
        let lock = |(place, (hold, share, instances, spin_us, wake, (before, handoff)))| {
            let (place, hold, share, wake): (usize, f64, f64, f64) = (place, hold, share, wake);
            let spin_us: Option<f64> = spin_us;
            json!({"name": format!("lock {place}"), "hold": {"kind": "exponential", "mean_us": hold},
                   "at": if before { "before" } else { "after" }, "share": share, "instances": instances,
                   "spin_us": spin_us, "wake_us": wake, "release": if handoff { "handoff" } else { "barging" }})
        };
        locks.into_iter().enumerate().map(lock).collect()
    })
}

fn stops(scope: &str) -> Value {
    json!({"name": scope, "scope": scope, "when": {"kind": "poisson", "per_second": 2_000},
           "length": {"kind": "exponential", "mean_us": 60}})
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_recursion_equals_the_event_by_event_method_bit_for_bit(
        law in law(), threads in 1..6_u32, share in 0.05..0.98, seed in any::<u32>(), arrivals in arrivals(),
        locks in locks(),
    ) {
        let mut document = queue(law, threads);
        if threads == 1 {
            document["locks"] = locks;
        }
        document["order"] = json!({"autocorrelation": 0.3, "regimes": [{"factor": 1.0, "mean_requests": 90.0},
                                                                      {"factor": 1.5, "mean_requests": 30.0}]});
        document["outside_us"] = json!(12.5);
        let fast = Design {
            seed: seed.into(),
            backlog: true,
            ..design(Some(Load::Utilisation(share)), arrivals, 3_000)
        };
        let slow = Design { event_by_event: true, ..fast.clone() };
        prop_assert_eq!(rows(&document, &fast), rows(&document, &slow));
        prop_assert_eq!(run(&document, &fast), run(&document, &slow));
    }

    #[test]
    fn no_thread_idles_while_a_request_waits_and_the_oldest_is_next(
        law in law(), threads in 1..5_u32, locks in locks(), busy in 0.0..1.0, seed in any::<u32>(),
    ) {
        let mut document = queue(law, threads);
        document["locks"] = locks;
        document["load"] = json!({"busy": busy, "time": 0.2});
        let found = rows(&document, &Design { seed: seed.into(), ..open(0.8, 2_000) });
        let mut free = vec![0.0; threads as usize];
        for (number, row) in found.iter().enumerate() {
            free.sort_by(f64::total_cmp);
            prop_assert_eq!(row.start_ns, row.arrival_ns.max(free[0]), "row {}", number);
            prop_assert!(number == 0 || found[number - 1].arrival_ns <= row.arrival_ns);
            let taken = row.finish_ns - row.start_ns;
            prop_assert!((taken - row.demand_ns - row.lock_wait_ns).abs() < 1e-3, "{taken} {row:?}");
            free[0] = row.finish_ns;
        }
    }

    #[test]
    fn a_thread_works_exactly_while_it_runs(law in law(), seed in any::<u32>()) {
        let mut document = queue(law, 1);
        document["disturbances"] = json!([stops("thread"), stops("server")]);
        let found = rows(&document, &Design { seed: seed.into(), ..open(0.6, 1_000) });
        let standing = standing(&program(&document), seed.into(), found[found.len() - 1].finish_ns);
        for row in &found {
            let first = standing.partition_point(|window| window.1 <= row.start_ns);
            let stood: f64 = standing[first..]
                .iter()
                .take_while(|window| window.0 < row.finish_ns)
                .map(|&(begin, end)| (end.min(row.finish_ns) - begin.max(row.start_ns)).max(0.0))
                .sum();
            prop_assert!((row.finish_ns - row.start_ns - row.demand_ns - stood).abs() < 1e-2, "{row:?} {stood}");
        }
    }

    #[test]
    fn every_request_is_served_exactly_once(
        law in law(), threads in 1..5_u32, locks in locks(), shared in any::<bool>(), seed in any::<u32>(),
        closed in any::<bool>(),
    ) {
        let mut document = queue(law, threads);
        document["locks"] = locks;
        document["queue"] = json!(if shared { "shared" } else { "per_thread" });
        document["disturbances"] = json!([stops("thread"), stops("server")]);
        let arrivals = Arrivals::Closed { clients: 7, think_us: 50.0 };
        let way = if closed { design(None, arrivals, 1_000) } else { open(0.5, 1_000) };
        let found = rows(&document, &Design { seed: seed.into(), ..way });
        prop_assert_eq!(found.len(), 1_100);
        let in_order = |pair: &[Row]| pair[0].start_ns <= pair[1].start_ns;
        prop_assert!(found.windows(2).all(in_order));
        prop_assert!(found.iter().all(|row| row.arrival_ns <= row.start_ns && row.start_ns <= row.finish_ns));
    }
}

/// Return when the only thread is stopped, with overlapping stops joined.
fn standing(program: &Program, seed: u64, until: f64) -> Vec<(f64, f64)> {
    let mut all: Vec<(f64, f64)> = program
        .windows(seed, None)
        .into_iter()
        .chain(program.windows(seed, Some(0)))
        .flat_map(|windows| windows.take_while(|window| window.0 < until))
        .map(|(begin, length)| (begin, begin + length))
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut joined: Vec<(f64, f64)> = Vec::new();
    for (begin, end) in all {
        match joined.last_mut() {
            Some(last) if begin <= last.1 => last.1 = last.1.max(end),
            _ => joined.push((begin, end)),
        }
    }
    joined
}

#[test]
fn arrivals_see_the_number_in_system_of_littles_law() {
    // Poisson arrivals see time averages (Wolff 1982), which are rate times latency (Little 1961).
    let mut document = queue(json!({"kind": "exponential", "mean_us": 100}), 3);
    document["locks"] = json!([{"name": "log", "hold": {"kind": "deterministic", "us": 10}, "spin_us": 5,
                                "wake_us": 20}]);
    let design = open(0.7, 200_000);
    let found = rows(&document, &design);
    let mut ends: Vec<f64> = found.iter().map(|row| row.finish_ns).collect();
    ends.sort_by(f64::total_cmp);
    let mut gone = 0;
    let mut seen = 0;
    for (number, row) in found.iter().enumerate() {
        while ends[gone] <= row.arrival_ns {
            gone += 1;
        }
        seen += number - gone;
    }
    let rate = (found.len() - 1) as f64 / found[found.len() - 1].arrival_ns;
    let latency = found.iter().map(|row| row.finish_ns - row.arrival_ns).sum::<f64>() / found.len() as f64;
    let there = seen as f64 / found.len() as f64;
    assert!((there / (rate * latency) - 1.0).abs() < 0.01, "{there} {}", rate * latency);
}

#[test]
fn a_faster_server_is_faster_for_every_request() {
    // Common random numbers: the comparison of two designs has no noise from arrivals or draws.
    let law = |us: f64| json!({"kind": "lognormal", "median_us": us, "sigma_log": 0.7});
    let at = |us: f64| {
        rows(&queue(law(us), 2), &design(Some(Load::RatePerS(9_000.0)), Arrivals::default(), 20_000))
    };
    for (slow, fast) in at(140.0).iter().zip(&at(120.0)) {
        assert!(slow.arrival_ns == fast.arrival_ns && slow.finish_ns > fast.finish_ns);
    }
}
