//! Properties of histograms over any values, and agreement with the `hdrhistogram` crate.

use hindmost_histogram::{Histogram, Quantile, Value};
use proptest::collection::vec;
use proptest::prelude::*;

/// Half the width of a bin relative to its values: the error of a quantile.
const RELATIVE_ERROR: f64 = 1.0 / 2048.0;

fn histogram_of(values: &[u64]) -> Histogram {
    values.iter().copied().collect()
}

fn censored_histogram_of(values: &[u64], censored: u64) -> Histogram {
    let mut histogram = histogram_of(values);
    histogram.add_censored(censored);
    histogram
}

fn merge_all<'a>(parts: impl IntoIterator<Item = &'a Histogram>) -> Histogram {
    let mut whole = Histogram::new();
    parts.into_iter().for_each(|part| whole.merge(part));
    whole
}

/// Generate values of every magnitude, including both ends of the range.
fn values() -> impl Strategy<Value = u64> {
    prop_oneof![
        8 => (0_u32..64, any::<u64>()).prop_map(|(shift, bits)| bits >> shift),
        1 => (0_u32..64).prop_map(|shift| 1 << shift),
        1 => Just(u64::MAX),
    ]
}

/// Generate latencies of an ordinary server: 10 us to 10 ms.
fn latencies() -> impl Strategy<Value = u64> {
    10_000_u64..10_000_000
}

fn quantiles() -> impl Strategy<Value = Quantile> {
    prop_oneof![
        (0.0..=1.0_f64).prop_map(|q| Quantile::new(q).unwrap()),
        Just(Quantile::P99),
        Just(Quantile::P999),
    ]
}

/// Return the order statistic at `q` by sorting, in integer arithmetic: the smallest rank r with r >= q n. `q` is a
/// decimal with nine places.
fn by_sorting(sorted: &[u64], q_billionths: u64, censored: u64) -> Value {
    let n = (sorted.len() as u64 + censored) * q_billionths;
    let rank = n.div_ceil(1_000_000_000).max(1);
    let value = sorted.get(rank as usize - 1).copied();
    value.map_or(Value::Infinite, Value::Finite)
}

fn is_near(result: u64, exact: u64) -> bool {
    result.abs_diff(exact) as f64 <= RELATIVE_ERROR * exact as f64
}

proptest! {
    #[test]
    fn every_quantile_is_within_the_bound_of_the_order_statistic(
        mut all in vec(values(), 1..300),
        censored in 0_u64..20,
        q in 0_u64..=1_000_000_000,
    ) {
        let quantile = Quantile::new(q as f64 / 1e9).unwrap();
        let result = censored_histogram_of(&all, censored).quantile(quantile).unwrap();
        all.sort_unstable();
        match (result, by_sorting(&all, q, censored)) {
            (Value::Finite(result), Value::Finite(exact)) => prop_assert!(is_near(result, exact)),
            (result, exact) => prop_assert_eq!(result, exact),
        }
    }

    #[test]
    fn a_bin_holds_its_value_and_is_no_wider_than_a_thousandth(value in values()) {
        let histogram = histogram_of(&[value]);
        let bin = histogram.bins().next().unwrap();
        prop_assert!(bin.low <= value && value <= bin.high);
        prop_assert!((bin.high - bin.low) as f64 <= value as f64 / 1024.0);
    }

    #[test]
    fn quantiles_never_fall_as_q_rises(
        all in vec(values(), 1..200),
        censored in 0_u64..5,
        mut qs in vec(quantiles(), 2..20),
    ) {
        let histogram = censored_histogram_of(&all, censored);
        qs.sort();
        let result: Vec<_> = qs.iter().map(|&q| histogram.quantile(q)).collect();
        prop_assert!(result.is_sorted(), "{:?} of {:?}", result, qs);
    }

    #[test]
    fn finite_quantiles_lie_between_minimum_and_maximum(
        all in vec(values(), 1..50),
        q in quantiles(),
    ) {
        let result = histogram_of(&all).quantile(q).unwrap().finite().unwrap();
        prop_assert!(all.iter().min().unwrap() <= &result);
        prop_assert!(&result <= all.iter().max().unwrap());
    }

    #[test]
    fn merging_parts_is_recording_all_in_one(
        a in vec(values(), 0..100),
        b in vec(values(), 0..100),
        lost in (0_u64..9, 0_u64..9),
    ) {
        let whole = censored_histogram_of(&[a.clone(), b.clone()].concat(), lost.0 + lost.1);
        prop_assert_eq!(merge_all([&censored_histogram_of(&a, lost.0), &censored_histogram_of(&b, lost.1)]), whole);
    }

    #[test]
    fn the_order_and_grouping_of_merges_do_not_matter(
        a in vec(values(), 0..50),
        b in vec(values(), 0..50),
        c in vec(values(), 0..50),
    ) {
        let (a, b, c) = (censored_histogram_of(&a, 1), histogram_of(&b), censored_histogram_of(&c, u64::MAX));
        let left = merge_all([&merge_all([&a, &b]), &c]);
        let right = merge_all([&a, &merge_all([&b, &c])]);
        prop_assert_eq!(&left, &right);
        prop_assert_eq!(&left, &merge_all([&c, &b, &a]));
    }

    #[test]
    fn the_counts_of_the_bins_add_up(all in vec(values(), 0..200), censored in 0_u64..9) {
        let histogram = censored_histogram_of(&all, censored);
        let finite: u64 = histogram.bins().map(|bin| bin.count).sum();
        prop_assert_eq!(finite, all.len() as u64);
        prop_assert_eq!(histogram.count(), finite + censored);
        prop_assert_eq!(histogram.sum(), all.iter().map(|&v| u128::from(v)).sum::<u128>());
    }

    #[test]
    fn counts_above_agree_with_counting(all in vec(latencies(), 0..200), value in values()) {
        let histogram = histogram_of(&all);
        let same_bin = histogram_of(&[value]).bins().next().unwrap();
        let above = all.iter().filter(|&&v| v > same_bin.high).count() as u64;
        prop_assert_eq!(histogram.count_above(value), above);
    }

    #[test]
    fn clearing_resets_everything(all in vec(values(), 0..100)) {
        let mut histogram = censored_histogram_of(&all, 1);
        histogram.clear();
        prop_assert_eq!(histogram, Histogram::new());
    }

    #[test]
    fn the_bins_equal_those_of_hdrhistogram(all in vec(values(), 0..200)) {
        let mut oracle = hdrhistogram::Histogram::<u64>::new_with_bounds(1, u64::MAX, 3).unwrap();
        for &value in &all {
            oracle.record(value).unwrap();
        }
        let theirs: Vec<_> = oracle
            .iter_recorded()
            .map(|bin| (oracle.lowest_equivalent(bin.value_iterated_to()), bin.count_at_value()))
            .collect();
        let ours: Vec<_> = histogram_of(&all).bins().map(|bin| (bin.low, bin.count)).collect();
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn the_quantiles_fall_in_the_bins_that_hdrhistogram_finds(
        all in vec(latencies(), 1..300),
        q in quantiles(),
    ) {
        let mut oracle = hdrhistogram::Histogram::<u64>::new(3).unwrap();
        for &value in &all {
            oracle.record(value).unwrap();
        }
        let result = histogram_of(&all).quantile(q).unwrap().finite().unwrap();
        prop_assert!(oracle.equivalent(result, oracle.value_at_quantile(q.get())));
    }
}
