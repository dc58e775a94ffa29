//! A clone that serves requests of its own, without sockets, and what its log says.

#![allow(dead_code, reason = "each test file takes of it what it needs")]

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use hindmost_clone::Document;
use hindmost_synth::{InProcess, ServerConfig, ServerSummary};
use serde_json::json;

/// A log of one test, gone with it.
pub struct LogFile(pub PathBuf);

impl LogFile {
    pub fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("hindmost-{name}-{}.csv", std::process::id())))
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// One line of a log; nanoseconds.
#[derive(Clone, Debug)]
pub struct Line {
    pub arrival: f64,
    pub start: f64,
    pub end: f64,
    pub cpu: f64,
    pub thread: usize,
    pub kind: String,
    pub drawn: f64,
    pub waited: f64,
}

/// Exponential services of 200 us on one thread, with changes.
pub fn document(changes: serde_json::Value) -> Document {
    let mut all = json!({
        "schema": "hindmost.clone/1", "name": "test",
        "service": [{"law": {"kind": "exponential", "mean_us": 200.0}}],
    });
    let changes: serde_json::Map<_, _> = serde_json::from_value(changes).unwrap();
    all.as_object_mut().unwrap().extend(changes);
    if all["kinds"].is_array() {
        all.as_object_mut().unwrap().remove("service");
    }
    Document::from_json(&all.to_string()).unwrap()
}

/// Serves, and reads the log.
pub fn serve(
    name: &str,
    document: &Document,
    inside: &InProcess,
    changes: ServerConfig,
) -> (ServerSummary, Vec<Line>) {
    let log = LogFile::new(name);
    let config = ServerConfig { clone: Some(document.clone()), log: Some(log.0.clone()), ..changes };
    let account = inside.run(&config, &AtomicBool::new(false)).unwrap();
    let text = std::fs::read_to_string(&log.0).unwrap();
    let mut lines = text.lines();
    let header = "arrival_ns,start_ns,end_ns,cpu_ns,thread,kind,drawn_ns,waited_ns";
    assert_eq!(lines.next(), Some(header));
    let parse = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |at: usize| fields[at].parse::<f64>().unwrap();
        Line {
            arrival: number(0),
            start: number(1),
            end: number(2),
            cpu: number(3),
            thread: number(4) as usize,
            kind: fields[5].to_owned(),
            drawn: number(6),
            waited: number(7),
        }
    };
    let lines: Vec<Line> = lines.map(parse).collect();
    assert_eq!((account.total.served, lines.len() as u64), (inside.requests, inside.requests));
    (account, lines)
}
