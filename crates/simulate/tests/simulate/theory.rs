//! Compares with closed forms, to 1 %: at least two standard errors of each figure. The seed is fixed.
#![allow(clippy::manual_midpoint, reason = "formulas are written as in the literature")]

use crate::common::{design, open, queue, run};
use hindmost_arrivals::{Deterministic, Gamma, Hyperexponential, Law, Uniform};
use hindmost_simulate::{Arrivals, Figures, Load, Outcome};
use serde_json::{json, Value};

const MANY: u64 = 2_000_000;

fn exponential() -> Value {
    json!({"kind": "exponential", "mean_us": 100})
}

fn close(what: &str, found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.01, "{what}: {found} instead of {expected}");
}

/// Return where a falling tail function reaches 1 - p.
fn quantile(p: f64, tail: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while tail(high) > 1.0 - p {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if tail(middle) > 1.0 - p {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

fn quantiles_are(what: &str, figures: &Figures, tail: impl Fn(f64) -> f64) {
    for (name, p) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] {
        close(&format!("{what} {name}"), figures.get(name), quantile(p, &tail));
    }
}

fn run_at(document: &Value, share: f64, check: impl Fn(&Outcome)) {
    check(&run(document, &open(share, MANY)));
}

#[test]
fn one_exponential_server() {
    run_at(&queue(exponential(), 1), 0.6, |found| {
        close("mean", found.latency_us.get("mean"), 100.0 / 0.4);
        close("queueing", found.queueing_us.get("mean"), 60.0 / 0.4);
        quantiles_are("latency", &found.latency_us, |t| (-0.004 * t).exp());
        close("busy", found.busy_share, 0.6);
        close("capacity", found.capacity_per_s.unwrap(), 10_000.0);
    });
}

#[test]
fn one_server_that_always_takes_the_same_time() {
    let rate = 0.7 / 100.0;
    // Crommelin (1932), Erlang (1909): the distribution of the waiting time in M/D/1.
    let tail = |t: f64| {
        let terms = (0..=(t / 100.0) as i32).map(|k| {
            let x = rate * (f64::from(k) * 100.0 - t);
            (1..=k).fold(1.0, |product, j| product * x / f64::from(j)) * (-x).exp()
        });
        1.0 - 0.3 * terms.sum::<f64>()
    };
    run_at(&queue(json!({"kind": "deterministic", "us": 100}), 1), 0.7, |found| {
        close("queueing", found.queueing_us.get("mean"), 0.7 / (2.0 * 0.3) * 100.0);
        for (name, p) in [("p90", 0.9), ("p99", 0.99)] {
            close(name, found.queueing_us.get(name), quantile(p, tail));
        }
    });
}

#[test]
fn several_exponential_servers() {
    for (threads, share) in [(2_u32, 0.6), (4, 0.7), (16, 0.8)] {
        let (k, offered) = (f64::from(threads), f64::from(threads) * share);
        let term = |n: u32| (1..=n).fold(1.0, |product, j| product * offered / f64::from(j));
        let waiting = term(threads) / (1.0 - share);
        // Erlang C.
        let c = waiting / ((0..threads).map(term).sum::<f64>() + waiting);
        let (mu, theta) = (0.01, k * 0.01 * (1.0 - share));
        run_at(&queue(exponential(), threads), share, |found| {
            close("queueing", found.queueing_us.get("mean"), c / theta);
            quantiles_are("latency", &found.latency_us, |t| {
                let both = (theta * (-mu * t).exp() - mu * (-theta * t).exp()) / (theta - mu);
                (1.0 - c) * (-mu * t).exp() + c * both
            });
        });
    }
}

#[test]
fn one_server_of_two_kinds_of_work() {
    // Hyperexponential: the Pollaczek-Khinchine transform has two poles besides 0.
    let (p, m1, m2): (f64, f64, f64) = (0.9, 1.0 / 50.0, 1.0 / 300.0);
    let mean = p / m1 + (1.0 - p) / m2;
    let second = 2.0 * (p / (m1 * m1) + (1.0 - p) / (m2 * m2));
    let rate = 0.6 / mean;
    let (b, c) = (m1 + m2 - rate, m1 * m2 - rate * (m1 + m2) + rate * (p * m1 + (1.0 - p) * m2));
    let root = (b * b - 4.0 * c).sqrt();
    let (r1, r2) = ((-b + root) / 2.0, (-b - root) / 2.0);
    let share = |r: f64, other: f64| -0.4 * (r + m1) * (r + m2) / (r - other) / r;
    let document = json!({"schema": "hindmost.clone/1", "name": "two", "service": [
        {"weight": p, "law": {"kind": "exponential", "mean_us": 50}},
        {"weight": 1.0 - p, "law": {"kind": "exponential", "mean_us": 300}}]});
    run_at(&document, 0.6, |found| {
        close("queueing", found.queueing_us.get("mean"), rate * second / (2.0 * 0.4));
        for (name, level) in [("p90", 0.9), ("p99", 0.99)] {
            let expected =
                quantile(level, |t| share(r1, r2) * (r1 * t).exp() + share(r2, r1) * (r2 * t).exp());
            close(name, found.queueing_us.get(name), expected);
        }
    });
}

#[test]
fn one_lognormal_server() {
    let sigma: f64 = 0.8;
    let law = json!({"kind": "lognormal", "mean_us": 100, "sigma_log": sigma});
    run_at(&queue(law, 1), 0.5, |found| {
        let second = 1e4 * (sigma * sigma).exp();
        close("queueing", found.queueing_us.get("mean"), 0.005 * second / (2.0 * 0.5));
        close("service", found.service_us.get("p99"), 100.0 * (-0.32 + sigma * 2.326_347_874).exp());
    });
}

#[test]
fn a_server_that_breaks_down_also_when_idle() {
    // Stops are preemptive work of a higher priority: M/G/1 with two classes (Cobham 1954; Jaiswal 1968).
    let (per_us, length, rate) = (1e-3, 150.0, 0.004);
    let mut document = queue(json!({"kind": "exponential", "mean_us": 100}), 1);
    for scope in ["thread", "server"] {
        document["disturbances"] = json!([{"name": "stop", "scope": scope, "when": {"kind": "poisson",
            "per_second": 1000}, "length": {"kind": "deterministic", "us": length}}]);
        let found = run(&document, &design(Some(Load::RatePerS(4000.0)), Arrivals::default(), 1_000_000));
        let (stopped, busy) = (per_us * length, rate * 100.0);
        let work = (per_us * length * length + rate * 2e4) / 2.0;
        let expected = 100.0 / (1.0 - stopped) + work / ((1.0 - stopped) * (1.0 - stopped - busy));
        close(scope, found.latency_us.get("mean"), expected);
        close("capacity", found.capacity_per_s.unwrap(), 10_000.0 * (1.0 - stopped));
    }
}

#[test]
fn a_closed_loop_of_exponential_clients() {
    // The machine-repair model: 8 clients with a think time of 400 us, one server of 100 us.
    let weight = |n: i32| (0..n).fold(1.0, |product, j| product * f64::from(8 - j) * 100.0 / 400.0);
    let all: f64 = (0..=8).map(weight).sum();
    let throughput = (1.0 - 1.0 / all) / 100.0;
    let arrivals = Arrivals::Closed { clients: 8, think_us: 400.0 };
    let found = run(&queue(exponential(), 1), &design(None, arrivals, 500_000));
    close("throughput", found.throughput_per_s.unwrap(), throughput * 1e6);
    close("latency", found.latency_us.get("mean"), 8.0 / throughput - 400.0);
}

/// Return the root in (0, 1) of s = A(1 - s), where A is the Laplace transform of the gaps at multiples of the
/// service rate: the probability that an arrival finds the server of GI/M/1 busy (Kleinrock, Queueing Systems I,
/// 1975, section 6.3).
fn probability_of_busy_server(transform: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0 - 1e-9);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        // Below the root, the transform is above the diagonal.
        if transform(1.0 - middle) > middle {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[test]
fn any_law_of_gaps_before_one_exponential_server() {
    let share = 0.6;
    // Gaps have a mean of 1 / 0.6 service times; z counts service rates.
    let mean = 1.0 / share;
    let gamma = |k: f64| move |z: f64| (1.0 + z * mean / k).powf(-k);
    // Balanced means: each of the two exponential gaps accounts for half of the time.
    let scv = 4.0;
    let p = (1.0 + f64::sqrt((scv - 1.0) / (scv + 1.0))) / 2.0;
    let phase = move |p: f64, z: f64| p / (1.0 + z * mean / (2.0 * p));
    let uniform = |z: f64| {
        let (a, b) = (mean * 0.5, mean * 1.5);
        ((-z * a).exp() - (-z * b).exp()) / (z * (b - a))
    };
    for (law, busy) in [
        (Law::Gamma(Gamma { shape: 0.5 }), probability_of_busy_server(gamma(0.5))),
        (Law::Deterministic(Deterministic {}), probability_of_busy_server(|z| (-z * mean).exp())),
        (Law::Uniform(Uniform { spread: 0.5 }), probability_of_busy_server(uniform)),
        (
            Law::Hyperexponential(Hyperexponential { c2: scv }),
            probability_of_busy_server(|z| phase(p, z) + phase(1.0 - p, z)),
        ),
    ] {
        let design = design(Some(Load::Utilisation(share)), Arrivals::Law(law.clone()), MANY);
        let found = run(&queue(exponential(), 1), &design);
        let what = format!("{law:?}");
        // Latency is exponential for any law of gaps.
        close(&format!("{what} mean"), found.latency_us.get("mean"), 100.0 / (1.0 - busy));
        close(&format!("{what} queueing"), found.queueing_us.get("mean"), 100.0 * busy / (1.0 - busy));
        quantiles_are(&what, &found.latency_us, |t| (-(1.0 - busy) * t / 100.0).exp());
    }
}
