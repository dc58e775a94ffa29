//! Live totals of a running server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::counters::RequestCounters;
use super::totals::ServedTotals;

/// Sums since the server started.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LiveTotals {
    /// Sum over all threads.
    pub total: ServedTotals,
    /// Sums of each thread.
    pub threads: Vec<ServedTotals>,
}

impl LiveTotals {
    pub(crate) fn new(counters: &[RequestCounters]) -> Self {
        let threads: Vec<ServedTotals> = counters.iter().map(RequestCounters::read).collect();
        let mut total = ServedTotals::default();
        for thread in &threads {
            total.add(thread);
        }
        Self { total, threads }
    }
}
