//! Shared parts of the tests with real sockets: plans, folders, servers.

mod during_measurement;
mod files;
mod servers;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use hindmost_load::engine::{self, Controller, ImmediateController};
use hindmost_load::LoadError;
use hindmost_plan::{Plan, PlanError};
use serde_json::{json, Value};

pub use during_measurement::DuringMeasurement;
pub use files::{intervals, requests, Request};
pub use servers::{synth, ServerProcess};

/// A temporary folder that is removed on drop.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("hindmost-load-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Request timeout in seconds: a busy host may stop client or server for seconds, which must lose no reply.
const PATIENCE_S: f64 = 10.0;

/// Length of the measurement in [`plan`], in seconds.
pub const MEASURE_S: f64 = 0.2;

/// Return a plan for a short run at a modest rate: 0.05 s of warm-up, 0.05 s of calibration, 0.2 s of
/// measurement.
pub fn plan(protocol: &str, address: &str, changes: &Value) -> Plan {
    try_plan(protocol, address, changes).unwrap()
}

pub fn try_plan(protocol: &str, address: &str, changes: &Value) -> Result<Plan, PlanError> {
    let kind = if protocol.starts_with("http") { "http" } else { "key-value" };
    let mut plan = json!({
        "schema": hindmost_plan::SCHEMA, "seed": 7,
        "target": {"protocol": protocol, "address": address},
        "load": {"loop": "open", "rate_per_s": 3000.0},
        "connections": 4,
        "pacing": "sleep",
        "io": "epoll",
        "workload": {"kind": kind},
        "preload": kind == "key-value",
        "phases": phases(MEASURE_S),
        "timeout_s": PATIENCE_S,
    });
    if kind == "key-value" {
        plan["workload"] = json!({"kind": kind, "keys": 500});
    }
    for (key, value) in changes.as_object().into_iter().flatten() {
        plan[key] = value.clone();
    }
    Plan::from_json(&plan.to_string())
}

/// Return phases with the given length of the measurement.
pub fn phases(measure_s: f64) -> Value {
    json!({"warmup": {"fixed": {"seconds": 0.05}}, "calibration_s": 0.05, "measure_s": measure_s})
}

/// Return the available I/O methods: old kernels lack `io_uring`, and administrators may disable it.
pub fn io_methods() -> &'static [&'static str] {
    let address = SocketAddr::from(([127, 0, 0, 1], 1));
    match hindmost_load::transport::Uring::new(address.into(), 1, false) {
        Ok(_) => &["epoll", "io_uring"],
        Err(_) => &["epoll"],
    }
}

/// The output of a run: its result document and its files.
pub struct Run {
    pub result: Value,
    pub folder: Folder,
}

impl Run {
    pub fn count(&self, name: &str) -> u64 {
        self.result["counts"][name].as_u64().unwrap()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Check that all scheduled requests completed in time.
    pub fn assert_clean(&self, what: &str) {
        let counts = &self.result["counts"];
        for trouble in ["errors", "timeouts", "unsent"] {
            assert_eq!(self.count(trouble), 0, "{what}: {counts} {}", self.result["first_error"]);
        }
        assert_eq!(self.count("scheduled"), self.count("completed"), "{what}: {counts}");
        assert!(self.count("scheduled") > 0, "{what}: {counts}");
    }

    /// The same for requests so large that a few fill the buffers: on a busy host some may be unsent.
    pub fn assert_served(&self, what: &str) {
        let counts = &self.result["counts"];
        for trouble in ["errors", "timeouts"] {
            assert_eq!(self.count(trouble), 0, "{what}: {counts} {}", self.result["first_error"]);
        }
        assert_eq!(
            self.count("scheduled"),
            self.count("completed") + self.count("unsent"),
            "{what}: {counts}"
        );
        assert!(self.count("completed") > 0, "{what}: {counts}");
    }
}

pub fn run(plan: &Plan) -> Result<Run, LoadError> {
    run_with(plan, &mut ImmediateController::default())
}

/// Run a client, and check its counts and its result file against each other.
pub fn run_with(plan: &Plan, link: &mut dyn Controller) -> Result<Run, LoadError> {
    let folder = Folder::new();
    let result = engine::run(plan, folder.path(), link)?;
    assert!(result.counts.is_balanced(), "{:?}", result.counts);
    let result = serde_json::to_value(&result).unwrap();
    let text = std::fs::read_to_string(folder.path().join("client-0.json")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&file["counts"], &file["kinds"]), (&result["counts"], &result["kinds"]));
    Ok(Run { result, folder })
}
