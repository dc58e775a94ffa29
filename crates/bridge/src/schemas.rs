//! Schemas of the documents that Rust writes, for Python's types and JSON Schemas.

use hindmost_host::doctor::Checkup;
use hindmost_host::sentinel::CpuObservations;
use hindmost_knobs::{ChangedSetting, Knob, RestoredSetting};
use hindmost_load::engine::ClientResult;
use hindmost_synth::{Certificate, ServerSummary};
use pyo3::prelude::*;
use schemars::generate::SchemaSettings;

use crate::fault::raise;

/// Return the JSON Schemas of everything that the engine passes as JSON and Python stores, as one JSON text: an
/// object `$defs` with one entry per type.
#[pyfunction]
pub fn written_schemas() -> PyResult<String> {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.subschema_for::<ClientResult>();
    generator.subschema_for::<Checkup>();
    generator.subschema_for::<Knob>();
    generator.subschema_for::<ChangedSetting>();
    generator.subschema_for::<RestoredSetting>();
    generator.subschema_for::<ServerSummary>();
    generator.subschema_for::<Certificate>();
    generator.subschema_for::<CpuObservations>();
    generator.subschema_for::<hindmost_trace::Counts>();
    generator.subschema_for::<hindmost_trace::Cost>();
    let all = serde_json::json!({ "$defs": generator.take_definitions(true) });
    serde_json::to_string(&all).map_err(|error| raise("schema", &error.to_string()))
}
