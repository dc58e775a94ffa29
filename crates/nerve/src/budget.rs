//! Budget of the collectors: the most expensive one is read half as often until the total fits.

use serde::Serialize;

/// Cost and period of one collector.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    pub(crate) name: &'static str,
    /// Requested period, in samples.
    requested: u32,
    /// Current period, in samples.
    period: u32,
    /// Smoothed cost of a reading, in nanoseconds.
    cost: f64,
    /// Whether it was read before: the first reading opens files and does not predict the others.
    has_started: bool,
}

/// Cost of a collector, as reported.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// The watched application; None: the collector reads the host, for all applications.
    pub service: Option<String>,
    /// Name of the collector.
    pub name: &'static str,
    /// CPU time of a reading, in microseconds.
    pub us: f64,
    /// Samples from one reading to the next.
    pub period: u32,
}

/// Longest period between the first reading and the second: the first opens files and says little about the cost.
const MAX_FIRST_PERIOD: u32 = 16;
/// Longest period. The collector is practically off, but still read, so that the budget notices when it becomes cheap.
const MAX_PERIOD: u32 = 640;
/// Weight of the last reading in the mean: a single preemption must not slow a collector down.
const SMOOTHING: f64 = 0.2;

/// Collectors with a common budget.
#[derive(Debug)]
pub(crate) struct Budget {
    /// Allowed nanoseconds per sample.
    allowed: f64,
    shares: Vec<Share>,
}

/// A change of a collector's period.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PeriodChange {
    pub(crate) name: &'static str,
    pub(crate) period: u32,
    pub(crate) cost_us: u64,
}

impl Budget {
    pub(crate) fn new(allowed_ns: u64, collectors: impl Iterator<Item = (&'static str, u32)>) -> Self {
        let share =
            |(name, requested)| Share { name, requested, period: requested, cost: 0.0, has_started: false };
        Self { allowed: allowed_ns as f64, shares: collectors.map(share).collect() }
    }

    pub(crate) fn scheduled(&self, collector: usize, sample: u64) -> bool {
        // Spread expensive collectors over different samples.
        sample == 0 || (sample + collector as u64) % u64::from(self.shares[collector].period) == 0
    }

    /// Record the cost of a reading. An expensive first reading delays the second. The second gives the real cost, and
    /// the collector is then read as often as requested or as the budget allows.
    pub(crate) fn record_cost(&mut self, collector: usize, ns: u64) -> Option<PeriodChange> {
        let (allowed, fair) = (self.allowed, self.allowed / self.shares.len() as f64);
        let share = &mut self.shares[collector];
        if !std::mem::replace(&mut share.has_started, true) {
            while ns as f64 / f64::from(share.period) > fair && share.period < MAX_FIRST_PERIOD {
                share.period *= 2;
            }
            return None;
        }
        if share.cost > 0.0 {
            share.cost += SMOOTHING * (ns as f64 - share.cost);
            return None;
        }
        (share.cost, share.period) = (ns as f64, share.requested);
        let costly = |share: &Share| share.cost / f64::from(share.period) > fair && share.period < MAX_PERIOD;
        while self.total() > allowed && costly(&self.shares[collector]) {
            self.shares[collector].period *= 2;
        }
        let share = &self.shares[collector];
        (share.period > share.requested).then(|| share.period_change())
    }

    /// Return the cost of each collector, which reads `service` or the host.
    pub(crate) fn costs(&self, service: Option<&str>) -> Vec<Cost> {
        let service = service.map(str::to_owned);
        let cost = |share: &Share| Cost {
            service: service.clone(),
            name: share.name,
            us: share.cost / 1e3,
            period: share.period,
        };
        self.shares.iter().map(cost).collect()
    }

    /// Change the allowed nanoseconds per sample.
    pub(crate) fn allow(&mut self, ns: u64) {
        self.allowed = ns as f64;
    }

    /// Return the total cost per sample, in nanoseconds.
    pub(crate) fn total(&self) -> f64 {
        self.shares.iter().map(|share| share.cost / f64::from(share.period)).sum()
    }

    /// Change at most one period: halve the rate of the most expensive collector, or double that of the cheapest
    /// slowed one.
    pub(crate) fn adjust(&mut self) -> Option<PeriodChange> {
        let total = self.total();
        let per_sample = |share: &Share| share.cost / f64::from(share.period);
        let share = if total > self.allowed {
            let candidates = self.shares.iter_mut().filter(|share| share.period < MAX_PERIOD);
            let share = candidates.max_by(|a, b| per_sample(a).total_cmp(&per_sample(b)))?;
            share.period *= 2;
            share
        } else {
            // Leave a margin, or the period would oscillate.
            let margin = self.allowed * 0.8 - total;
            let candidates = self
                .shares
                .iter_mut()
                .filter(|share| share.period > share.requested && per_sample(share) < margin);
            let share = candidates.min_by(|a, b| per_sample(a).total_cmp(&per_sample(b)))?;
            share.period /= 2;
            share
        };
        Some(share.period_change())
    }
}

impl Share {
    fn period_change(&self) -> PeriodChange {
        PeriodChange { name: self.name, period: self.period, cost_us: (self.cost / 1e3) as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 3] = ["one", "two", "three"];

    fn started(count: usize, allowed: u64) -> Budget {
        let mut budget = Budget::new(allowed, NAMES[..count].iter().map(|&name| (name, 1)));
        for at in 0..count {
            assert_eq!(budget.record_cost(at, 1_000_000_000), None);
        }
        budget
    }

    /// Return a budget of collectors that were cheap and now have these costs.
    fn with_costs(costs: &[u64], allowed: u64) -> Budget {
        let mut budget = started(costs.len(), allowed);
        for (at, cost) in costs.iter().enumerate() {
            assert_eq!(budget.record_cost(at, 1), None);
            budget.shares[at].cost = *cost as f64;
        }
        budget
    }

    #[test]
    fn expensive_collectors_start_slowly_and_stay_within_the_budget() {
        let mut budget = started(3, 200_000);
        let periods = |budget: &Budget| budget.costs(None).iter().map(|one| one.period).collect::<Vec<_>>();
        assert_eq!(periods(&budget), [MAX_FIRST_PERIOD; 3]);
        assert_eq!(budget.record_cost(0, 10_000), None);
        assert_eq!(
            budget.record_cost(1, 900_000),
            Some(PeriodChange { name: "two", period: 8, cost_us: 900 })
        );
        assert_eq!(budget.record_cost(2, 50_000), None);
        assert_eq!(periods(&budget), [1, 8, 1]);
        assert!(budget.total() <= 200_000.0);
    }

    #[test]
    fn the_most_expensive_collector_is_slowed_until_it_is_cheap_again() {
        let mut budget = with_costs(&[10_000, 900_000, 50_000], 200_000);
        let mut changes = Vec::new();
        while let Some(change) = budget.adjust() {
            changes.push((change.name, change.period));
        }
        assert_eq!(changes, [("two", 2), ("two", 4), ("two", 8)]);
        assert!(budget.total() <= 200_000.0);
        for _ in 0..100 {
            budget.record_cost(1, 20_000);
        }
        assert_eq!(budget.adjust().map(|change| change.period), Some(4));
    }

    #[test]
    fn collectors_within_the_budget_keep_their_period() {
        assert_eq!(with_costs(&[100_000, 50_000], 200_000).adjust(), None);
    }

    #[test]
    fn a_collector_without_margin_stays_slowed() {
        let mut budget = with_costs(&[10_000, 900_000], 200_000);
        while budget.adjust().is_some() {}
        for _ in 0..200 {
            budget.record_cost(1, 170_000);
        }
        // At every sample it would cost 180 of 200 µs, and more at the next reading.
        let changes: Vec<u32> = std::iter::from_fn(|| budget.adjust()).map(|change| change.period).collect();
        assert_eq!(changes, [4, 2]);
    }

    #[test]
    fn a_collector_that_never_fits_is_still_read_rarely() {
        let mut budget = with_costs(&[u64::MAX], 1);
        let changes: Vec<u32> =
            std::iter::from_fn(|| budget.adjust()).take(40).map(|change| change.period).collect();
        assert_eq!(changes.last(), Some(&1024));
        assert_eq!(changes.len(), 10);
    }
}
