//! Requests drawn from a document: their mixtures, and their reproducibility.
#![allow(clippy::float_cmp, reason = "draws from equal numbers are equal to the bit")]

use hindmost_clone::{Document, Program, Request};
use hindmost_random::Draws;
use serde_json::{json, Value};

fn program(document: &Value) -> Program {
    Program::new(&Document::from_json(&document.to_string()).unwrap()).unwrap()
}

fn requests(program: &Program, seed: u64, count: u64, load: f64) -> Vec<Request> {
    let mut sequence = program.sequence();
    (0..count).map(|i| program.request(&mut sequence, Draws::new(seed, i), load, 0.0)).collect()
}

fn two_kinds() -> Value {
    json!({
        "schema": "hindmost.clone/1", "name": "two kinds",
        "kinds": [
            {"name": "get", "share": 0.9, "service": [{"law": {"kind": "deterministic", "us": 10}}]},
            {"name": "scan", "share": 0.1, "service": [
                {"weight": 0.01, "law": {"kind": "deterministic", "us": 5000}},
                {"weight": 0.99, "law": {"kind": "exponential", "mean_us": 300}},
            ]},
        ],
        "disturbances": [{"name": "irq", "scope": "request", "length": {"kind": "deterministic", "us": 40},
                          "when": {"kind": "chance", "probability": 0.05}}],
        "load": {"time": 0.5, "chance": 1.0},
    })
}

#[test]
fn shares_weights_and_probabilities_follow_the_document() {
    let program = program(&two_kinds());
    let n = 400_000;
    let all = requests(&program, 1, n, 0.0);
    let share =
        |is: &dyn Fn(&Request) -> bool| all.iter().filter(|request| is(request)).count() as f64 / n as f64;
    // Five standard errors of a share p are 5 sqrt(p / n).
    for (what, found, p) in [
        ("scans", share(&|r| r.kind == 1), 0.1),
        ("rare", share(&|r| r.service_ns == 5e6), 0.001),
        ("irq", share(&|r| r.noise_ns == 4e4), 0.05),
    ] {
        assert!((found - p).abs() < 5.0 * (p / n as f64).sqrt(), "{what}: {found}, not {p}");
    }
    let mean = all.iter().map(|r| r.service_ns + r.noise_ns).sum::<f64>() / n as f64;
    assert!((mean / program.mean_busy_ns() - 1.0).abs() < 0.02, "{mean} {}", program.mean_busy_ns());
}

#[test]
fn load_slows_the_same_requests() {
    let program = program(&two_kinds());
    let (idle, loaded) = (requests(&program, 1, 20_000, 0.0), requests(&program, 1, 20_000, 0.8));
    for (a, b) in idle.iter().zip(&loaded) {
        assert!((b.service_ns / a.service_ns - 1.4).abs() < 1e-9);
        assert!(b.noise_ns >= a.noise_ns);
    }
}

#[test]
fn a_changed_parameter_changes_nothing_else() {
    let mut slower = two_kinds();
    slower["kinds"][0]["service"][0]["law"]["us"] = json!(20);
    let (before, after) =
        (requests(&program(&two_kinds()), 3, 5_000, 0.0), requests(&program(&slower), 3, 5_000, 0.0));
    for (a, b) in before.iter().zip(&after) {
        assert_eq!((a.kind, a.noise_ns), (b.kind, b.noise_ns));
        assert_eq!(b.service_ns, if a.kind == 0 { 2.0 * a.service_ns } else { a.service_ns });
    }
}

#[test]
fn locks_of_an_array_are_taken_as_the_document_says() {
    let mut document = two_kinds();
    document["locks"] = json!([{"name": "shard", "hold": {"kind": "deterministic", "us": 2}, "share": 0.5,
                                "instances": 5, "first": 0.6}]);
    let program = program(&document);
    let n = 100_000;
    let mut counts = [0_u32; 5];
    for i in 0..n {
        if let Some(hold) = program.locks[0].hold(Draws::new(2, i)) {
            assert_eq!(hold.hold_ns, 2e3);
            counts[hold.instance as usize] += 1;
        }
    }
    for (instance, expected) in [0.3, 0.05, 0.05, 0.05, 0.05].into_iter().enumerate() {
        let found = f64::from(counts[instance]) / n as f64;
        assert!((found - expected).abs() < 5.0 * (expected / n as f64).sqrt(), "{instance}: {found}");
    }
}
