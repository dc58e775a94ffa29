//! Recording takes no page fault after preparation.
#![cfg(target_os = "linux")]

use hindmost_histogram::{Histogram, UniformSample, Worst};

/// Return the number of page faults of this thread: the tenth field of `/proc/thread-self/stat` (proc(5)).
fn page_faults() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    let after_the_name = stat.rsplit(") ").next().unwrap();
    after_the_name.split(' ').nth(7).unwrap().parse().unwrap()
}

#[test]
fn recording_after_start_up_takes_no_page_fault() {
    let mut histogram = Histogram::new();
    histogram.prefault();
    let mut sample = UniformSample::new(20_000);
    let mut worst = Worst::new(20_000);
    page_faults(); // the first call causes page faults of its own

    let before = page_faults();
    for i in 0..100_000_u64 {
        let value = u64::MAX >> (i % 64);
        histogram.record(value);
        sample.offer(value.wrapping_mul(i), [i; 4]);
        worst.offer(value, [i; 4]);
    }
    let faults = page_faults() - before;
    // Untouched, the three would take more than 500; a few belong to the test itself.
    assert!(faults < 20, "{faults} page faults");
    assert_eq!((histogram.count(), sample.len(), worst.len()), (100_000, 20_000, 20_000));
}
