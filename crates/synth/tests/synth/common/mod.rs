//! A clone that serves its own requests without sockets, and its log.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use hindmost_clone::Document;
use hindmost_synth::{InProcess, ServerConfig, ServerSummary};
use serde_json::json;

/// The log file of a test, removed at its end.
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

/// A line of a log; times are in nanoseconds.
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

/// Return a document of one thread with exponential services of 200 µs, with changes.
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

/// Serve, and read the log.
pub fn serve(
    name: &str,
    document: &Document,
    run: &InProcess,
    changes: ServerConfig,
) -> (ServerSummary, Vec<Line>) {
    let log = LogFile::new(name);
    let config = ServerConfig { clone: Some(document.clone()), log: Some(log.0.clone()), ..changes };
    let summary = run.run(&config, &AtomicBool::new(false)).unwrap();
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
    assert_eq!((summary.total.served, lines.len() as u64), (run.requests, run.requests));
    (summary, lines)
}
