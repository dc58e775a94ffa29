//! What the rings with real sockets share: plans, folders, servers.

mod files;
mod meanwhile;
mod servers;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use hindmost_load::engine::{self, Controller, Unattended};
use hindmost_load::LoadError;
use hindmost_plan::{Plan, PlanError};
use serde_json::{json, Value};

pub use files::{intervals, requests, Request};
pub use meanwhile::Meanwhile;
pub use servers::{synth, Managed};

/// A folder that is gone when the test is over.
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

/// A busy host keeps client or server from running for seconds: that makes a reply late, and must lose none.
const PATIENCE_S: f64 = 10.0;

/// Of the measurement in [`plan`].
pub const MEASURE_S: f64 = 0.2;

/// A short run at a modest rate: 0.05 s of warm-up, 0.05 s of calibration, 0.2 s of measurement.
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

/// Phases of so many seconds of measurement.
pub fn phases(measure_s: f64) -> Value {
    json!({"warmup": {"fixed": {"seconds": 0.05}}, "calibration_s": 0.05, "measure_s": measure_s})
}

/// What instances can send and receive with here: old kernels have no `io_uring`, and administrators turn it off.
pub fn ways() -> &'static [&'static str] {
    let address = SocketAddr::from(([127, 0, 0, 1], 1));
    match hindmost_load::transport::Uring::new(address.into(), 1, false) {
        Ok(_) => &["epoll", "io_uring"],
        Err(_) => &["epoll"],
    }
}

/// What a run left: its result as programs see it, and its files.
pub struct Ran {
    pub result: Value,
    pub folder: Folder,
}

impl Ran {
    pub fn count(&self, name: &str) -> u64 {
        self.result["counts"][name].as_u64().unwrap()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Nothing lost, nothing late, and as many requests as were asked for.
    pub fn assert_clean(&self, what: &str) {
        let counts = &self.result["counts"];
        for trouble in ["errors", "timeouts", "unsent"] {
            assert_eq!(self.count(trouble), 0, "{what}: {counts} {}", self.result["first_error"]);
        }
        assert_eq!(self.count("due"), self.count("done"), "{what}: {counts}");
        assert!(self.count("due") > 0, "{what}: {counts}");
    }

    /// The same where requests are so large that a few fill the buffers: where a busy host lets them wait there is no
    /// room for all.
    pub fn assert_served(&self, what: &str) {
        let counts = &self.result["counts"];
        for trouble in ["errors", "timeouts"] {
            assert_eq!(self.count(trouble), 0, "{what}: {counts} {}", self.result["first_error"]);
        }
        assert_eq!(self.count("due"), self.count("done") + self.count("unsent"), "{what}: {counts}");
        assert!(self.count("done") > 0, "{what}: {counts}");
    }
}

pub fn run(plan: &Plan) -> Result<Ran, LoadError> {
    run_with(plan, &mut Unattended::default())
}

/// Runs an instance and holds its account and its files against each other.
pub fn run_with(plan: &Plan, link: &mut dyn Controller) -> Result<Ran, LoadError> {
    let folder = Folder::new();
    let result = engine::run(plan, folder.path(), link)?;
    assert!(result.counts.closes(), "{:?}", result.counts);
    let result = serde_json::to_value(&result).unwrap();
    let text = std::fs::read_to_string(folder.path().join("instance-0.json")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&file["counts"], &file["kinds"]), (&result["counts"], &result["kinds"]));
    Ok(Ran { result, folder })
}
