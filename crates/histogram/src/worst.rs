use crate::smallest::Smallest;

/// The `capacity` offered items with the largest keys, exactly: the slowest requests, each with its stamps. Of
/// items with equal keys at the border, the first offered are kept.
///
/// [`Worst::new`] allocates and touches all memory. An offer that is not among the worst so far costs one
/// comparison.
#[derive(Debug)]
pub struct Worst<T> {
    kept: Smallest<T>,
}

impl<T: Copy> Worst<T> {
    /// Create a container of at most `capacity` items.
    pub fn new(capacity: usize) -> Self {
        Self { kept: Smallest::new(capacity) }
    }

    /// Offer `item`, ranked by its `key` (a latency).
    #[inline]
    pub fn offer(&mut self, key: u64, item: T) {
        // Complementing reverses the order: the largest key is the smallest complement.
        self.kept.offer(!key, item);
    }

    /// Keep the worst items of both.
    pub fn merge(&mut self, other: &Self) {
        self.kept.merge(&other.kept);
    }

    /// Remove all items and keep the memory.
    pub fn clear(&mut self) {
        self.kept.clear();
    }

    /// Return the number of items kept.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether no item is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Return the items, worst first.
    pub fn into_vec(self) -> Vec<T> {
        self.kept.into_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_keys_come_out_worst_first() {
        let mut worst = Worst::new(3);
        for key in [5, u64::MAX, 1, 9, 0, 7] {
            worst.offer(key, key);
        }
        assert_eq!(worst.into_vec(), [u64::MAX, 9, 7]);
    }

    #[test]
    fn the_first_offered_of_equal_keys_is_kept() {
        let mut worst = Worst::new(1);
        worst.offer(4, "first");
        worst.offer(4, "second");
        assert_eq!(worst.into_vec(), ["first"]);
    }

    #[test]
    fn a_capacity_of_zero_keeps_nothing() {
        let mut worst = Worst::new(0);
        worst.offer(1, ());
        assert!(worst.is_empty());
    }
}
