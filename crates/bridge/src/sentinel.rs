//! Sentinels on CPUs, one thread each.

use hindmost_clock::Nanos;
use hindmost_host::sentinel::{self, CpuObservations};
use pyo3::prelude::*;

use crate::fault::raise;

/// Observes CPUs from its creation until `end`.
#[pyclass]
pub struct Sentinel {
    sentinels: Vec<sentinel::Sentinel>,
}

#[pymethods]
impl Sentinel {
    #[new]
    #[pyo3(signature = (cpus, period_ns, real_time = true))]
    fn new(cpus: Vec<u32>, period_ns: u64, real_time: bool) -> PyResult<Self> {
        let start = |cpu: &u32| {
            let told = |e| raise("sentinel", &format!("CPU {cpu}: {e}"));
            sentinel::Sentinel::start(*cpu, Nanos(period_ns), real_time).map_err(told)
        };
        Ok(Self { sentinels: cpus.iter().map(start).collect::<PyResult<_>>()? })
    }

    /// Return the observations of each as JSON text; an empty list at the second call.
    fn end(&mut self, py: Python<'_>) -> PyResult<String> {
        let sentinels = std::mem::take(&mut self.sentinels);
        let seen = py.detach(|| {
            sentinels.into_iter().map(sentinel::Sentinel::end).collect::<Result<Vec<CpuObservations>, _>>()
        });
        let seen = seen.map_err(|e| raise("sentinel", &e.to_string()))?;
        serde_json::to_string(&seen).map_err(|e| raise("sentinel", &e.to_string()))
    }
}
