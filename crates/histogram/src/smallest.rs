use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::mem::MaybeUninit;

/// The `capacity` offered items with the smallest keys. The heap has the largest kept key on top, so that almost
/// every offer of a long stream ends after one comparison. There is no `Clone`: a clone would have the capacity of
/// its current length and would allocate while recording.
#[derive(Debug)]
pub(crate) struct Smallest<T> {
    heap: BinaryHeap<KeyedItem<T>>,
    capacity: usize,
}

impl<T: Copy> Smallest<T> {
    /// Allocate memory for `capacity` items and touch it, so that offers neither allocate nor take a page
    /// fault.
    pub(crate) fn new(capacity: usize) -> Self {
        let mut room: Vec<KeyedItem<T>> = Vec::with_capacity(capacity);
        // The black boxes prevent the compiler from requesting zeroed memory, which would touch no page.
        let slots = black_box(room.spare_capacity_mut());
        slots.fill_with(MaybeUninit::zeroed);
        black_box(slots);
        Self { heap: BinaryHeap::from(room), capacity }
    }

    #[inline]
    pub(crate) fn offer(&mut self, key: u64, item: T) {
        if self.heap.len() < self.capacity {
            self.heap.push(KeyedItem { key, item });
        } else if self.heap.peek().is_some_and(|largest| key < largest.key) {
            self.replace_largest(key, item);
        }
    }

    #[cold]
    fn replace_largest(&mut self, key: u64, item: T) {
        if let Some(mut largest) = self.heap.peek_mut() {
            *largest = KeyedItem { key, item };
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for kept in &other.heap {
            self.offer(kept.key, kept.item);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.heap.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }

    /// Return the items, smallest key first.
    pub(crate) fn into_vec(self) -> Vec<T> {
        let sorted = self.heap.into_sorted_vec();
        sorted.into_iter().map(|kept| kept.item).collect()
    }
}

/// An item that is ordered by its key alone.
#[derive(Clone, Copy, Debug)]
struct KeyedItem<T> {
    key: u64,
    item: T,
}

impl<T> Ord for KeyedItem<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

impl<T> PartialOrd for KeyedItem<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for KeyedItem<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<T> Eq for KeyedItem<T> {}
