//! Samples keep the right items, however the stream is split.

use hindmost_histogram::{UniformSample, Worst};
use proptest::collection::vec;
use proptest::prelude::*;

/// Splitmix64 (Steele, Lea and Flood, OOPSLA 2014), seeded, so that the checks below are deterministic.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

fn sample_of(stream: &[(u64, usize)], capacity: usize) -> UniformSample<usize> {
    let mut sample = UniformSample::new(capacity);
    for &(priority, item) in stream {
        sample.offer(priority, item);
    }
    sample
}

fn worst_of(keys: &[u64], capacity: usize) -> Worst<u64> {
    let mut worst = Worst::new(capacity);
    for &key in keys {
        worst.offer(key, key);
    }
    worst
}

proptest! {
    #[test]
    fn samples_of_two_threads_merge_into_the_sample_of_one(
        seed in any::<u64>(),
        length in 0_usize..300,
        split in 0.0..=1.0_f64,
        capacity in 0_usize..50,
    ) {
        let mut random = Random(seed);
        let stream: Vec<_> = (0..length).map(|item| (random.next(), item)).collect();
        let (first, second) = stream.split_at((length as f64 * split) as usize);
        let mut merged = sample_of(first, capacity);
        merged.merge(&sample_of(second, capacity));
        let whole = sample_of(&stream, capacity);
        prop_assert_eq!(merged.offered(), whole.offered());
        prop_assert_eq!(merged.into_vec(), whole.into_vec());
    }

    #[test]
    fn the_worst_are_the_tail_of_the_sorted_keys(
        keys in vec(0_u64..1_000, 0..300),
        capacity in 0_usize..50,
    ) {
        let mut sorted = keys.clone();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        sorted.truncate(capacity);
        prop_assert_eq!(worst_of(&keys, capacity).into_vec(), sorted);
    }

    #[test]
    fn the_worst_of_two_threads_are_the_worst_of_one(
        a in vec(any::<u64>(), 0..200),
        b in vec(any::<u64>(), 0..200),
        capacity in 0_usize..50,
    ) {
        let mut merged = worst_of(&a, capacity);
        merged.merge(&worst_of(&b, capacity));
        let whole = worst_of(&[a, b].concat(), capacity);
        prop_assert_eq!(merged.into_vec(), whole.into_vec());
    }
}

#[test]
fn each_item_is_as_likely_to_be_kept_as_any_other() {
    // Binomial counts: 4,000 streams, each item kept with probability 10/50. Their standard deviation is 25.3; a
    // limit of 5.5 of them gives a false alarm rate of 2e-6 over all 50 items.
    const STREAMS: usize = 4_000;
    let mut random = Random(1);
    let mut kept = [0_u32; 50];
    for _ in 0..STREAMS {
        let stream: Vec<_> = (0..50).map(|item| (random.next(), item)).collect();
        let mut sample = sample_of(&stream[..35], 10);
        sample.merge(&sample_of(&stream[35..], 10));
        sample.into_vec().into_iter().for_each(|item| kept[item] += 1);
    }
    for (item, &times) in kept.iter().enumerate() {
        assert!((661..=939).contains(&times), "item {item}: {times} times");
    }
}

#[test]
fn offers_do_not_allocate_beyond_the_capacity() {
    let mut random = Random(2);
    let mut sample = UniformSample::new(100);
    for item in 0..10_000 {
        sample.offer(random.next(), item);
        assert!(sample.len() <= 100);
    }
    assert_eq!((sample.len(), sample.offered()), (100, 10_000));
}
