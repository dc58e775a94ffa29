//! Capabilities of the engine, from its tables.

use hindmost_arrivals::Law;
use hindmost_clock::Rate;
use hindmost_wire::{Entry, Protocol};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::{json, Value};

use crate::fault::raise;

/// A protocol: its entry, and whether it has a login.
#[derive(Serialize)]
struct ProtocolRow {
    #[serde(flatten)]
    entry: &'static Entry,
    logs_in: bool,
}

/// Return the table of protocols as JSON text: a list of entries (`hindmost_wire::Entry`), each with `logs_in`.
#[pyfunction]
pub fn protocols() -> PyResult<String> {
    let told = |one: &Protocol| ProtocolRow { entry: one.entry(), logs_in: one.logs_in() };
    let table: Vec<ProtocolRow> = Protocol::ALL.iter().map(told).collect();
    serde_json::to_string(&table).map_err(|e| raise("protocols", &e.to_string()))
}

/// Return the table of arrival laws as JSON text: a list of `name`, `purpose`, and `parameters` (`name`, `purpose`,
/// and `default` if there is one), from the schema of the plan.
#[pyfunction]
pub fn arrival_laws() -> PyResult<String> {
    let schema = schemars::schema_for!(Law).to_value();
    let objects = schema["oneOf"].as_array().into_iter().flatten().filter(|one| one["type"] == "object");
    let row = |law: &Value| {
        let given = law["properties"].as_object().into_iter().flatten();
        let parameters: Vec<_> = given
            .filter(|(name, _)| *name != "kind")
            .map(|(name, is)| json!({"name": name, "purpose": is["description"], "default": is["default"]}))
            .collect();
        json!({
            "name": law["properties"]["kind"]["const"],
            "purpose": law["description"],
            "parameters": parameters,
        })
    };
    text("arrival_laws", &objects.map(row).collect::<Vec<_>>())
}

/// Return properties of a law at a rate as JSON text: `dispersion` of the counts of all workers together and, if it
/// is the same for any number of workers, `part_dispersion` of one; `cumulants` of the gaps, if they are
/// independent; and whether the `gaps` of one worker have a known distribution.
#[pyfunction]
pub fn arrival_law(law: &str, rate_per_s: f64) -> PyResult<String> {
    let found = read(law)?;
    let rate = Rate::per_second(rate_per_s)
        .ok_or_else(|| PyValueError::new_err(format!("{rate_per_s} requests/s is not a valid rate")))?;
    let told = json!({
        "written": found,
        "dispersion": found.dispersion(rate),
        "part_dispersion": found.part_dispersion(),
        "cumulants": found.cumulants().map(|c| c.0),
        "gaps": found.gaps().is_some(),
    });
    text("arrival_law", &told)
}

/// Return the number of arrivals in the file of a trace law, and their rate per second.
#[pyfunction]
pub fn read_trace(law: &str) -> PyResult<(usize, f64)> {
    match read(law)? {
        Law::Trace(trace) => {
            let found = trace.read().map_err(|e| raise("trace", &e.to_string()))?;
            Ok((found.count(), found.rate_per_s))
        }
        _ => Err(PyValueError::new_err(format!("{law} does not replay a trace"))),
    }
}

/// Return, for gaps of a law, the probabilities below each `x` (in mean gaps) and the logarithms of the
/// probabilities above.
#[pyfunction]
pub fn gap_law(law: &str, x: Vec<f64>) -> PyResult<(Vec<f64>, Vec<f64>)> {
    let gaps = read(law)?
        .gaps()
        .ok_or_else(|| PyValueError::new_err(format!("the gaps of {law} arrivals have no distribution")))?;
    Ok((x.iter().map(|&x| (gaps.below)(x)).collect(), x.iter().map(|&x| (gaps.log_above)(x)).collect()))
}

fn read(law: &str) -> PyResult<Law> {
    let law: Law = serde_json::from_str(law).map_err(|e| PyValueError::new_err(e.to_string()))?;
    law.check().map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(law)
}

fn text(what: &'static str, found: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(found).map_err(|e| raise(what, &e.to_string()))
}
