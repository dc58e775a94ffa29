use crate::bounded::Smallest;

/// A uniform sample, without replacement, of a stream whose length is not known beforehand.
///
/// Each item comes with a random priority, and the items of the `capacity` lowest priorities are
/// kept (bottom-k sampling: Cohen and Kaplan, "Summarizing data using bottom-k sketches", PODC
/// 2007). Unlike with a reservoir that draws slots, samples of several threads merge into exactly
/// the sample that one thread would have drawn, and the same priorities give the same sample.
///
/// All memory is allocated and touched by [`UniformSample::new`]. An offer costs one comparison
/// once the sample is full: of n offers, about `k ln(n / k)` go further.
#[derive(Debug)]
pub struct UniformSample<T> {
    kept: Smallest<T>,
    offered: u64,
}

impl<T: Copy> UniformSample<T> {
    /// An empty sample of at most `capacity` items.
    pub fn new(capacity: usize) -> Self {
        Self { kept: Smallest::new(capacity), offered: 0 }
    }

    /// Offers `item`. The `priority` must be uniform over `u64` and independent of the item: draw
    /// it from a generator, never from a stamp.
    #[inline]
    pub fn offer(&mut self, priority: u64, item: T) {
        self.offered = self.offered.saturating_add(1);
        self.kept.offer(priority, item);
    }

    /// Makes this the sample of both streams.
    pub fn merge(&mut self, other: &Self) {
        self.offered = self.offered.saturating_add(other.offered);
        self.kept.merge(&other.kept);
    }

    /// Forgets all items, keeps the memory.
    pub fn clear(&mut self) {
        self.offered = 0;
        self.kept.clear();
    }

    /// How many items were offered: each kept one stands for `offered / len` of them.
    pub fn offered(&self) -> u64 {
        self.offered
    }

    /// How many items are kept.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether no item is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The items, lowest priority first: in random order, but the same one whenever the same
    /// priorities were offered. So each prefix is a uniform sample too.
    pub fn into_vec(self) -> Vec<T> {
        self.kept.into_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_stream_is_kept_whole() {
        let mut sample = UniformSample::new(5);
        for (priority, item) in [(9, 'a'), (u64::MAX, 'b'), (3, 'c')] {
            sample.offer(priority, item);
        }
        assert_eq!((sample.len(), sample.offered()), (3, 3));
        assert_eq!(sample.into_vec(), ['c', 'a', 'b']);
    }

    #[test]
    fn a_sample_of_nothing_keeps_nothing() {
        let mut sample = UniformSample::new(0);
        sample.offer(1, ());
        assert!(sample.is_empty());
        assert_eq!(sample.offered(), 1);
    }

    #[test]
    fn clear_starts_the_sample_anew() {
        let mut sample = UniformSample::new(1);
        sample.offer(0, 'a');
        sample.clear();
        sample.offer(7, 'b');
        assert_eq!((sample.offered(), sample.into_vec()), (1, vec!['b']));
    }
}
