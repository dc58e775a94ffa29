//! What collectors may cost together: whoever costs most is read half as often, until all fit again.

use serde::Serialize;

/// One collector's cost and period.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    pub(crate) name: &'static str,
    /// Samples from one reading to the next, as it was asked for.
    asked: u32,
    /// As it is now.
    period: u32,
    /// Nanoseconds a reading, smoothed.
    cost: f64,
    /// The first reading opens files, and is no measure of the others.
    has_begun: bool,
}

/// What a collector costs, as it is told.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// Its name.
    pub name: &'static str,
    /// Processor time of a reading, microseconds.
    pub us: f64,
    /// Samples from one reading to the next.
    pub period: u32,
}

/// Samples from the first reading to the second at most: the first opens files, and says little of what others cost.
const LONGEST_AT_FIRST: u32 = 16;
/// Beyond this a collector is as good as off; it is still read, so that the budget learns when it became cheap.
const LONGEST: u32 = 640;
/// How much of the last reading goes into the mean: several readings, so that one preemption sheds nothing.
const SMOOTHING: f64 = 0.2;

/// Collectors under a common budget.
#[derive(Debug)]
pub(crate) struct Budget {
    /// Nanoseconds a sample.
    allowed: f64,
    shares: Vec<Share>,
}

/// A collector whose period has changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shed {
    pub(crate) name: &'static str,
    pub(crate) period: u32,
    pub(crate) cost_us: u64,
}

impl Budget {
    pub(crate) fn new(allowed_ns: u64, collectors: impl Iterator<Item = (&'static str, u32)>) -> Self {
        let share = |(name, asked)| Share { name, asked, period: asked, cost: 0.0, has_begun: false };
        Self { allowed: allowed_ns as f64, shares: collectors.map(share).collect() }
    }

    pub(crate) fn due(&self, which: usize, sample: u64) -> bool {
        // Not all costly ones in the same sample.
        sample == 0 || (sample + which as u64) % u64::from(self.shares[which].period) == 0
    }

    /// Takes note of a reading. A costly first one puts off the second; once that has told the cost, the collector is
    /// read as often as it was asked for, or as often as the budget has room for.
    pub(crate) fn spent(&mut self, which: usize, ns: u64) -> Option<Shed> {
        let (allowed, fair) = (self.allowed, self.allowed / self.shares.len() as f64);
        let share = &mut self.shares[which];
        if !std::mem::replace(&mut share.has_begun, true) {
            while ns as f64 / f64::from(share.period) > fair && share.period < LONGEST_AT_FIRST {
                share.period *= 2;
            }
            return None;
        }
        if share.cost > 0.0 {
            share.cost += SMOOTHING * (ns as f64 - share.cost);
            return None;
        }
        (share.cost, share.period) = (ns as f64, share.asked);
        let costly = |share: &Share| share.cost / f64::from(share.period) > fair && share.period < LONGEST;
        while self.total() > allowed && costly(&self.shares[which]) {
            self.shares[which].period *= 2;
        }
        let share = &self.shares[which];
        (share.period > share.asked).then(|| share.shed())
    }

    /// What each costs.
    pub(crate) fn costs(&self) -> Vec<Cost> {
        let cost = |share: &Share| Cost { name: share.name, us: share.cost / 1e3, period: share.period };
        self.shares.iter().map(cost).collect()
    }

    /// What all collectors cost a sample, in nanoseconds.
    pub(crate) fn total(&self) -> f64 {
        self.shares.iter().map(|share| share.cost / f64::from(share.period)).sum()
    }

    /// At most one change: the costliest is read half as often, or the cheapest shed one as often as before.
    pub(crate) fn adjust(&mut self) -> Option<Shed> {
        let total = self.total();
        let per_sample = |share: &Share| share.cost / f64::from(share.period);
        let changed = if total > self.allowed {
            let fit = self.shares.iter_mut().filter(|share| share.period < LONGEST);
            let share = fit.max_by(|a, b| per_sample(a).total_cmp(&per_sample(b)))?;
            share.period *= 2;
            share
        } else {
            // Only where it then still fits with room, or it would go to and fro.
            let room = self.allowed * 0.8 - total;
            let fit =
                self.shares.iter_mut().filter(|share| share.period > share.asked && per_sample(share) < room);
            let share = fit.min_by(|a, b| per_sample(a).total_cmp(&per_sample(b)))?;
            share.period /= 2;
            share
        };
        Some(changed.shed())
    }
}

impl Share {
    fn shed(&self) -> Shed {
        Shed { name: self.name, period: self.period, cost_us: (self.cost / 1e3) as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 3] = ["one", "two", "three"];

    fn begun(count: usize, allowed: u64) -> Budget {
        let mut budget = Budget::new(allowed, NAMES[..count].iter().map(|&name| (name, 1)));
        for at in 0..count {
            assert_eq!(budget.spent(at, 1_000_000_000), None);
        }
        budget
    }

    /// Collectors that were cheap, and then cost this much.
    fn of(costs: &[u64], allowed: u64) -> Budget {
        let mut budget = begun(costs.len(), allowed);
        for (at, cost) in costs.iter().enumerate() {
            assert_eq!(budget.spent(at, 1), None);
            budget.shares[at].cost = *cost as f64;
        }
        budget
    }

    #[test]
    fn costly_collectors_begin_slowly_and_never_exceed_the_budget_once_their_cost_is_known() {
        let mut budget = begun(3, 200_000);
        let periods = |budget: &Budget| budget.costs().iter().map(|one| one.period).collect::<Vec<_>>();
        assert_eq!(periods(&budget), [LONGEST_AT_FIRST; 3]);
        assert_eq!(budget.spent(0, 10_000), None);
        assert_eq!(budget.spent(1, 900_000), Some(Shed { name: "two", period: 8, cost_us: 900 }));
        assert_eq!(budget.spent(2, 50_000), None);
        assert_eq!(periods(&budget), [1, 8, 1]);
        assert!(budget.total() <= 200_000.0);
    }

    #[test]
    fn the_costliest_is_shed_until_all_fit_and_comes_back_when_it_is_cheap() {
        let mut budget = of(&[10_000, 900_000, 50_000], 200_000);
        let mut told = Vec::new();
        while let Some(shed) = budget.adjust() {
            told.push((shed.name, shed.period));
        }
        assert_eq!(told, [("two", 2), ("two", 4), ("two", 8)]);
        assert!(budget.total() <= 200_000.0);
        for _ in 0..100 {
            budget.spent(1, 20_000);
        }
        assert_eq!(budget.adjust().map(|shed| shed.period), Some(4));
    }

    #[test]
    fn what_fits_is_left_alone() {
        assert_eq!(of(&[100_000, 50_000], 200_000).adjust(), None);
    }

    #[test]
    fn what_would_fit_only_just_is_not_read_as_often_as_before() {
        let mut budget = of(&[10_000, 900_000], 200_000);
        while budget.adjust().is_some() {}
        for _ in 0..200 {
            budget.spent(1, 170_000);
        }
        // Every time would be 180 of 200 us, and more than that at the next reading.
        let told: Vec<u32> = std::iter::from_fn(|| budget.adjust()).map(|shed| shed.period).collect();
        assert_eq!(told, [4, 2]);
    }

    #[test]
    fn a_collector_that_never_fits_is_still_read_now_and_then() {
        let mut budget = of(&[u64::MAX], 1);
        let told: Vec<u32> =
            std::iter::from_fn(|| budget.adjust()).take(40).map(|shed| shed.period).collect();
        assert_eq!(told.last(), Some(&1024));
        assert_eq!(told.len(), 10);
    }
}
