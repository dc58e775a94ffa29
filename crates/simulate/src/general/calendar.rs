use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A scheduled event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A client of a closed loop sends its next request.
    Arrival,
    /// A thread completes its step: a service, or the use of a lock.
    Done { thread: u32 },
    /// A thread that was stopped while idle runs again.
    Resume { thread: u32 },
    /// A waiter tries its lock. Void if its state number is no longer `state`.
    Try { thread: u32, state: u32 },
    /// A waiter has spun long enough. Void as above.
    SpinEnd { thread: u32, state: u32 },
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at_ns: f64,
    number: u64,
    event: Event,
}

/// Scheduled events by time; events of the same time keep the order in which they were entered.
#[derive(Debug, Default)]
pub(crate) struct Calendar {
    heap: BinaryHeap<Entry>,
    entered: u64,
}

impl Calendar {
    pub(crate) fn enter(&mut self, at_ns: f64, event: Event) {
        self.entered += 1;
        self.heap.push(Entry { at_ns, number: self.entered, event });
    }

    /// Return the time of the next event.
    pub(crate) fn next_ns(&self) -> Option<f64> {
        self.heap.peek().map(|entry| entry.at_ns)
    }

    pub(crate) fn take(&mut self) -> Option<(f64, Event)> {
        self.heap.pop().map(|entry| (entry.at_ns, entry.event))
    }
}

impl Ord for Entry {
    /// Reverse order: the earliest entry is the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.at_ns.total_cmp(&self.at_ns).then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}
