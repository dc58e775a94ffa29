//! Documents and designs that several tests use.
#![allow(dead_code, reason = "each test program uses a part")]
#![allow(clippy::needless_pass_by_value, reason = "documents are written inline")]

use std::sync::atomic::AtomicBool;

use hindmost_clone::{Document, Program};
use hindmost_simulate::{simulate, simulate_rows, Arrivals, Design, Load, Outcome, Row};
use serde_json::{json, Value};

pub fn program(document: &Value) -> Program {
    Program::new(&Document::from_json(&document.to_string()).unwrap()).unwrap()
}

/// Create a document of one law and this number of threads.
pub fn queue(law: Value, threads: u32) -> Value {
    json!({"schema": "hindmost.clone/1", "name": "queue", "threads": threads, "service": [{"law": law}]})
}

pub fn design(load: Option<Load>, arrivals: Arrivals, requests: u64) -> Design {
    let (warmup, sections) = (requests / 10, 20.min(requests as u32));
    let quantiles = vec![0.5, 0.9, 0.99, 0.999];
    Design {
        load,
        arrivals,
        requests,
        warmup,
        sections,
        seed: 1,
        quantiles,
        backlog: false,
        event_by_event: false,
    }
}

pub fn open(share: f64, requests: u64) -> Design {
    design(Some(Load::Utilisation(share)), Arrivals::default(), requests)
}

pub fn trace(times_us: &[f64]) -> Design {
    let arrivals = Arrivals::Times(times_us.to_vec());
    Design { warmup: 0, backlog: true, ..design(None, arrivals, times_us.len() as u64) }
}

pub fn run(document: &Value, design: &Design) -> Outcome {
    simulate(&program(document), design, &AtomicBool::new(false)).unwrap()
}

pub fn rows(document: &Value, design: &Design) -> Vec<Row> {
    let mut rows = Vec::new();
    simulate_rows(&program(document), design, &mut rows, &AtomicBool::new(false)).unwrap();
    rows
}
