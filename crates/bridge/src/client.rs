//! Clients and their plans.

use std::path::PathBuf;

use hindmost_load::engine::{self, Controller, ImmediateController, Needs};
use hindmost_plan::{HttpRequest, Plan, PlanError, Workload};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{json, Value};

use crate::fault::{load_error, raise};
use crate::pipe::Pipe;

/// Run one client and return its result as JSON text; it writes its files to `place`. A controlled client counts in
/// the file `live` (`LiveCounters`) while it runs, if there is one.
#[pyfunction]
#[pyo3(signature = (plan, place, *, controlled=false, live=None))]
pub fn run_client(
    py: Python<'_>,
    plan: &str,
    place: PathBuf,
    controlled: bool,
    live: Option<PathBuf>,
) -> PyResult<String> {
    py.detach(|| {
        let plan = Plan::from_json(plan).map_err(|e| load_error(e.into()))?;
        let mut link: Box<dyn Controller> = Box::new(ImmediateController::default());
        if controlled {
            link = Box::new(Pipe::new(live.as_deref()).map_err(|e| raise("host", &e.to_string()))?);
            hindmost_sys::process::give_up_rights(&place).map_err(|e| raise("host", &e.to_string()))?;
        }
        let result = engine::run(&plan, &place, link.as_mut()).map_err(load_error)?;
        serde_json::to_string(&result).map_err(|e| raise("write", &e.to_string()))
    })
}

/// Remove the keys that a plan's clients stored on their server; return the number of keys.
#[pyfunction]
pub fn clean_up(py: Python<'_>, plan: &str) -> PyResult<u32> {
    py.detach(|| {
        let plan = Plan::from_json(plan).map_err(|e| load_error(e.into()))?;
        engine::clean_up(&plan).map_err(load_error)
    })
}

/// Raise `EngineError` with code `plan` if the plan or one of its files is invalid; return the plan with all
/// defaults.
#[pyfunction]
pub fn check_plan(plan: &str) -> PyResult<String> {
    let plan = Plan::from_json(plan).map_err(|e| load_error(e.into()))?;
    let opened = plan.workload.clone().load_files().map_err(|e| load_error(e.into()))?;
    engine::check_protocol(&Plan { workload: opened, ..plan.clone() }).map_err(load_error)?;
    serde_json::to_string(&plan).map_err(|e| raise("plan", &e.to_string()))
}

/// Return the invalid ones of a JSON list of HTTP requests: JSON text with a list of pairs, the index and an object
/// with `field` and `must`.
#[pyfunction]
pub fn refused_requests(requests: &str) -> PyResult<String> {
    let fail = |e: serde_json::Error| raise("plan", &e.to_string());
    let requests: Vec<Value> = serde_json::from_str(requests).map_err(fail)?;
    let refused = |(at, one)| match HttpRequest::from_value(one) {
        Err(PlanError::Field { field, must, .. }) => Some(json!([at, {"field": field, "must": must}])),
        _ => None,
    };
    let refused: Vec<Value> = requests.into_iter().enumerate().filter_map(refused).collect();
    serde_json::to_string(&refused).map_err(fail)
}

/// Return what a client of a plan needs of its host as JSON text: `files`, `ports`, `memory_bytes`,
/// `connection_bytes`.
#[pyfunction]
pub fn plan_needs(plan: &str) -> PyResult<String> {
    let mut plan = Plan::from_json(plan).map_err(|e| load_error(e.into()))?;
    plan.workload = plan.workload.load_files().map_err(|e| load_error(e.into()))?;
    serde_json::to_string(&Needs::for_plan(&plan)).map_err(|e| raise("plan", &e.to_string()))
}

/// Return the names of the requests of a workload in results.
#[pyfunction]
pub fn request_names(workload: &str) -> PyResult<Vec<String>> {
    let workload: Workload = serde_json::from_str(workload).map_err(|e| raise("plan", &e.to_string()))?;
    Ok(workload.load_files().map_err(|e| load_error(e.into()))?.kinds())
}

/// Return the name and the bytes of a plan's first request, for a probe of the server before the load.
#[pyfunction]
pub fn first_request<'py>(py: Python<'py>, plan: &str) -> PyResult<(String, Bound<'py, PyBytes>)> {
    let plan = Plan::from_json(plan).map_err(|e| load_error(e.into()))?;
    let (name, bytes) = engine::first_request(&plan).map_err(load_error)?;
    Ok((name, PyBytes::new(py, &bytes)))
}

/// Return the JSON schema of plans as text.
#[pyfunction]
pub fn plan_schema() -> String {
    Plan::json_schema()
}
