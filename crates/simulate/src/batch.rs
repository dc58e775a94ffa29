//! Many designs of one document, on all cores. The result of a point depends on the point alone, not on threads.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::OnceLock;

use hindmost_clone::{CloneError, Document, Program};
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::Value;

use crate::{capacity_per_s, simulate_with_capacity, Answer, Arrivals, Design, Load, SimulateError};

/// Designs that differ only in their points.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// The design points.
    pub points: Vec<Point>,
    /// See [`Design`].
    pub arrivals: Arrivals,
    /// See [`Design`].
    pub requests: u64,
    /// See [`Design`].
    pub warmup: u64,
    /// See [`Design`].
    pub sections: u32,
    /// See [`Design`].
    pub quantiles: Vec<f64>,
    /// See [`Design`].
    #[serde(default)]
    pub backlog: bool,
}

/// One design point.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Changes to the document: JSON pointer (RFC 6901) to value.
    #[serde(default)]
    pub set: BTreeMap<String, Value>,
    /// See [`Design`].
    #[serde(default)]
    pub load: Option<Load>,
    /// See [`Design`].
    pub seed: u64,
}

impl Batch {
    /// Read a batch from JSON.
    ///
    /// # Errors
    /// [`SimulateError::Unreadable`].
    pub fn from_json(text: &str) -> Result<Self, SimulateError> {
        serde_json::from_str(text).map_err(|e| SimulateError::Unreadable(e.to_string()))
    }

    /// Return the design of its only point.
    ///
    /// # Errors
    /// [`SimulateError::Field`] if there are more points, or the point changes the document.
    pub fn only(&self) -> Result<Design, SimulateError> {
        match self.points.as_slice() {
            [point] if point.set.is_empty() => Ok(self.design(point)),
            points => Err(SimulateError::Field {
                field: "points".to_owned(),
                value: points.len().to_string(),
                must: "one, without changes".to_owned(),
            }),
        }
    }

    /// Check all points with a clone document (JSON), without running them.
    ///
    /// # Errors
    /// The error of the first invalid point.
    pub fn check(&self, document: &Value) -> Result<(), SimulateError> {
        self.variants(document).map(drop)
    }

    /// Return all variants, and the index of each point's variant.
    fn variants(&self, document: &Value) -> Result<(Vec<Variant>, Vec<usize>), SimulateError> {
        let mut known: HashMap<(String, u64), usize> = HashMap::new();
        let mut variants = Vec::new();
        let mut variant_of = Vec::with_capacity(self.points.len());
        for point in &self.points {
            let changes =
                serde_json::to_string(&point.set).map_err(|e| SimulateError::Unreadable(e.to_string()))?;
            let place = match known.entry((changes, point.seed)) {
                Entry::Occupied(entry) => *entry.get(),
                Entry::Vacant(entry) => {
                    variants.push(Variant {
                        program: program(document, &point.set)?,
                        capacity_per_s: OnceLock::new(),
                    });
                    *entry.insert(variants.len() - 1)
                }
            };
            variant_of.push(place);
        }
        for point in &self.points {
            self.design(point).check()?;
        }
        Ok((variants, variant_of))
    }

    fn design(&self, point: &Point) -> Design {
        Design {
            load: point.load,
            arrivals: self.arrivals.clone(),
            requests: self.requests,
            warmup: self.warmup,
            sections: self.sections,
            seed: point.seed,
            quantiles: self.quantiles.clone(),
            backlog: self.backlog,
            event_by_event: false,
        }
    }
}

/// Run all points of a batch; `document` is a clone document (JSON). All points are checked before the first is
/// run. `done` counts completed points.
///
/// # Errors
/// The error of the first invalid point, or [`SimulateError::Interrupted`].
pub fn run_batch(
    document: &Value,
    batch: &Batch,
    stop: &AtomicBool,
    done: &AtomicUsize,
) -> Result<Vec<Answer>, SimulateError> {
    let (variants, variant_of) = batch.variants(document)?;
    let answers: Vec<Result<Answer, SimulateError>> = (&batch.points, &variant_of)
        .into_par_iter()
        // Each point is a separate task, because points take very different times.
        .with_max_len(1)
        .map(|(point, &variant)| {
            if stop.load(Ordering::Relaxed) {
                return Err(SimulateError::Interrupted);
            }
            let answer = variants[variant].answer(&batch.design(point), stop);
            done.fetch_add(1, Ordering::Relaxed);
            answer
        })
        .collect();
    // Collected here instead of by rayon, which would return the error that occurred first in time.
    answers.into_iter().collect()
}

/// A changed document; points that differ in their load alone share it.
struct Variant {
    program: Program,
    capacity_per_s: OnceLock<Result<f64, SimulateError>>,
}

impl Variant {
    fn answer(&self, design: &Design, stop: &AtomicBool) -> Result<Answer, SimulateError> {
        let found = self.capacity_per_s.get_or_init(|| capacity_per_s(&self.program, design.seed, stop));
        match simulate_with_capacity(&self.program, design, found.clone()?, stop) {
            Ok(outcome) => Ok(Answer::Done(Box::new(outcome))),
            Err(SimulateError::AboveCapacity { rate_per_s, capacity_per_s }) => {
                Ok(Answer::AboveCapacity { threads: self.program.threads, rate_per_s, capacity_per_s })
            }
            Err(error) => Err(error),
        }
    }
}

/// Return the changed document, compiled.
fn program(document: &Value, set: &BTreeMap<String, Value>) -> Result<Program, SimulateError> {
    let mut document = document.clone();
    for (pointer, value) in set {
        let (parent, key) = pointer.rsplit_once('/').unwrap_or(("", pointer));
        let field = || SimulateError::Field {
            field: pointer.clone(),
            value: "no field of this document".to_owned(),
            must: "a JSON pointer to one".to_owned(),
        };
        match document.pointer_mut(parent).ok_or_else(field)? {
            Value::Object(fields) => {
                fields.insert(key.replace("~1", "/").replace("~0", "~"), value.clone());
            }
            Value::Array(items) => {
                *key.parse().ok().and_then(|place: usize| items.get_mut(place)).ok_or_else(field)? =
                    value.clone();
            }
            _ => return Err(field()),
        }
    }
    let document: Document =
        serde_json::from_value(document).map_err(|e| CloneError::Unreadable(e.to_string()))?;
    Ok(Program::new(&document)?)
}
