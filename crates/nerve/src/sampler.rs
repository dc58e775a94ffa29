//! Collectors that share a budget, and the values that they read.

use hindmost_sys::this_thread;
use serde_json::{json, Value};

use crate::budget::{Budget, Cost, PeriodChange};
use crate::collect::Collector;
use crate::counters::Values;

pub(crate) struct Sampler {
    collectors: Vec<Box<dyn Collector>>,
    budget: Budget,
    pub(crate) values: Values,
}

impl Sampler {
    /// Create a sampler whose collectors may use `allowed_ns` of CPU time per sample.
    pub(crate) fn new(collectors: Vec<Box<dyn Collector>>, allowed_ns: u64) -> Self {
        let budget = Budget::new(allowed_ns, collectors.iter().map(|one| (one.name(), one.period())));
        Self { collectors, budget, values: Values::new() }
    }

    /// Continue with other collectors: the files of ended processes are useless.
    pub(crate) fn replace(&mut self, collectors: Vec<Box<dyn Collector>>, allowed_ns: u64) {
        let values = std::mem::replace(&mut self.values, Values::new());
        *self = Self { values, ..Self::new(collectors, allowed_ns) };
    }

    /// Read the collectors that are due. Return their reports, and changes of their periods.
    pub(crate) fn read(&mut self, sample: u64) -> Vec<Value> {
        let mut events = Vec::new();
        let mut started = this_thread::cpu_time_ns();
        for (at, collector) in self.collectors.iter_mut().enumerate() {
            if self.budget.scheduled(at, sample) {
                events.extend(collector.read(&mut self.values));
                let done = this_thread::cpu_time_ns();
                events.extend(self.budget.record_cost(at, done - started).map(|change| describe(&change)));
                started = done;
            }
        }
        events
    }

    /// Fit the periods to what the collectors may use now.
    pub(crate) fn adjust(&mut self, allowed_ns: u64) -> Option<Value> {
        self.budget.allow(allowed_ns);
        self.budget.adjust().map(|change| describe(&change))
    }

    /// Return the cost of a sample in nanoseconds of CPU time.
    pub(crate) fn cost_ns(&self) -> u64 {
        self.budget.total() as u64
    }

    pub(crate) fn costs(&self, service: Option<&str>) -> Vec<Cost> {
        self.budget.costs(service)
    }
}

fn describe(change: &PeriodChange) -> Value {
    let text = format!(
        "to stay within the budget, {} is read every {} samples: a reading costs {} µs",
        change.name, change.period, change.cost_us
    );
    json!({"budget": text, "collector": change.name, "period": change.period})
}
