//! The host: doctor, topology, counters.

use std::net::ToSocketAddrs;
use std::path::PathBuf;
use std::time::Duration;

use hindmost_clock::{Clock, MonotonicClock};
use hindmost_host::counters::{CpuTimes, ProcessCpu, ServerQueues, TcpCounters};
use hindmost_host::{doctor as examiner, HostFacts, Topology, Tree};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::fault::raise;

/// Return the checkup of this host as JSON text: `facts` and `findings`. `server`, an address, restricts the
/// network interfaces to the one that leads there.
#[pyfunction]
#[pyo3(signature = (root="/", spin_seconds=1.0, server=None))]
pub fn doctor(py: Python<'_>, root: &str, spin_seconds: f64, server: Option<&str>) -> PyResult<String> {
    let spin = Duration::try_from_secs_f64(spin_seconds).map_err(|e| PyValueError::new_err(e.to_string()))?;
    py.detach(|| {
        let server = server.and_then(|name| name.to_socket_addrs().ok()?.next());
        text(serde_json::to_string(&examiner::examine(&Tree::new(root), spin, server)))
    })
}

/// Return the `facts` of [`doctor`] as JSON text, without measuring noise.
#[pyfunction]
#[pyo3(signature = (root="/"))]
pub fn host_facts(root: &str) -> PyResult<String> {
    text(serde_json::to_string(&HostFacts::read(&Tree::new(root))))
}

/// Return the CPUs of this host as JSON text.
#[pyfunction]
#[pyo3(signature = (root="/"))]
pub fn topology(root: &str) -> PyResult<String> {
    text(serde_json::to_string(&Topology::read(&Tree::new(root))))
}

/// Confine this thread and its children: they can read files only below `readable` and `writable`, write only below
/// `writable`, and execute none. Return whether the kernel enforces all of it.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // what pyo3 makes
pub fn confine(readable: Vec<PathBuf>, writable: Vec<PathBuf>) -> PyResult<bool> {
    hindmost_sys::process::confine(&readable, &writable).map_err(|e| raise("host", &e.to_string()))
}

/// Return the times of each CPU since boot, in ticks, as JSON text.
#[pyfunction]
pub fn cpu_counters() -> PyResult<String> {
    text(serde_json::to_string(&CpuTimes::read(&Tree::new("/"))))
}

/// Return TCP fault counters as JSON text, in the network namespace of process `pid` or in this process's; `null`
/// if they cannot be read.
#[pyfunction]
#[pyo3(signature = (pid=None))]
pub fn tcp_counters(pid: Option<u32>) -> PyResult<String> {
    let tree = Tree::new("/");
    let read = pid.map_or_else(|| TcpCounters::read(&tree), |pid| TcpCounters::read_of(&tree, pid));
    text(serde_json::to_string(&read))
}

/// Return the present queues of the sockets at `port` as JSON text, in the namespace of process `pid` or in this
/// process's; `null` if they cannot be read.
#[pyfunction]
#[pyo3(signature = (port, pid=None))]
pub fn socket_queues(port: u16, pid: Option<u32>) -> PyResult<String> {
    text(serde_json::to_string(&ServerQueues::read(&Tree::new("/"), port, pid)))
}

/// Return the CPU time in nanoseconds of a process and its descendants; `None` if it has ended.
#[pyfunction]
pub fn process_cpu_ns(pid: u32) -> Option<u64> {
    ProcessCpu::read_family(&Tree::new("/"), pid).map(|cpu| cpu.cpu_time().0)
}

/// Return `CLOCK_MONOTONIC` in nanoseconds: the clock of scheduled times.
#[pyfunction]
pub fn monotonic_ns() -> u64 {
    MonotonicClock.now().0
}

fn text(result: serde_json::Result<String>) -> PyResult<String> {
    result.map_err(|e| raise("host", &e.to_string()))
}
