use crate::smallest::Smallest;

/// A uniform sample without replacement of a stream of unknown length.
///
/// Each item has a random priority, and the items with the `capacity` lowest priorities are kept (bottom-k
/// sampling: Cohen and Kaplan, "Summarizing data using bottom-k sketches", PODC 2007). Unlike reservoir sampling,
/// samples of several threads merge into exactly the sample that one thread would have drawn, and the same
/// priorities give the same sample.
///
/// [`UniformSample::new`] allocates and touches all memory. Once the sample is full, an offer costs one comparison;
/// about `k ln(n / k)` of n offers cost more.
#[derive(Debug)]
pub struct UniformSample<T> {
    kept: Smallest<T>,
    offered: u64,
}

impl<T: Copy> UniformSample<T> {
    /// Create an empty sample of at most `capacity` items.
    pub fn new(capacity: usize) -> Self {
        Self { kept: Smallest::new(capacity), offered: 0 }
    }

    /// Offer `item`. The `priority` must be uniform over `u64` and independent of the item: draw it from a
    /// generator, never from a stamp.
    #[inline]
    pub fn offer(&mut self, priority: u64, item: T) {
        self.offered = self.offered.saturating_add(1);
        self.kept.offer(priority, item);
    }

    /// Merge the other sample; the result is a sample of both streams.
    pub fn merge(&mut self, other: &Self) {
        self.offered = self.offered.saturating_add(other.offered);
        self.kept.merge(&other.kept);
    }

    /// Remove all items and keep the memory.
    pub fn clear(&mut self) {
        self.offered = 0;
        self.kept.clear();
    }

    /// Return the number of items offered: each kept one stands for `offered / len` of them.
    pub fn offered(&self) -> u64 {
        self.offered
    }

    /// Return the number of items kept.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether no item is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Return the items, lowest priority first: a random order, but the same for the same priorities. Each
    /// prefix is therefore a uniform sample, too.
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
    fn clear_empties_the_sample() {
        let mut sample = UniformSample::new(1);
        sample.offer(0, 'a');
        sample.clear();
        sample.offer(7, 'b');
        assert_eq!((sample.offered(), sample.into_vec()), (1, vec!['b']));
    }
}
