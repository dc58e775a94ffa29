//! What a server did so far.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::counters::RequestCounters;
use super::totals::ServedTotals;

/// What a server did since it started, in sums, while it goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LiveTotals {
    /// Sum over all threads.
    pub total: ServedTotals,
    /// Those of each thread.
    pub threads: Vec<ServedTotals>,
}

impl LiveTotals {
    pub(crate) fn of(counters: &[RequestCounters]) -> Self {
        let threads: Vec<ServedTotals> = counters.iter().map(RequestCounters::read).collect();
        let mut total = ServedTotals::default();
        for thread in &threads {
            total.add(thread);
        }
        Self { total, threads }
    }
}
