//! When the last message of each streamed reply arrived, until the reply ends.

use hindmost_clock::Nanos;

/// The incomplete replies of one connection that have a message. It never grows beyond its initial capacity,
/// which is 0 unless the plan asks for messages.
#[derive(Debug, Default)]
pub struct LastMessages {
    /// Tags of the requests, sorted, and times in nanoseconds.
    all: Vec<(u32, u64)>,
}

impl LastMessages {
    /// Memory for one reply.
    pub const BYTES: usize = size_of::<(u32, u64)>();

    /// Create a table for this many incomplete replies.
    pub fn with_capacity(replies: usize) -> Self {
        Self { all: Vec::with_capacity(replies) }
    }

    /// Record that a message arrived at `now`. Return the time of the message before it in its reply.
    pub fn replace(&mut self, tag: u32, now: Nanos) -> Option<u64> {
        match self.position(tag) {
            Ok(at) => Some(std::mem::replace(&mut self.all[at].1, now.0)),
            Err(at) => {
                if self.all.len() < self.all.capacity() {
                    self.all.insert(at, (tag, now.0));
                }
                None
            }
        }
    }

    /// Forget a reply that has ended.
    #[inline]
    pub fn remove(&mut self, tag: u32) {
        if let Ok(at) = self.position(tag) {
            self.all.remove(at);
        }
    }

    /// Forget all replies.
    pub fn clear(&mut self) {
        self.all.clear();
    }

    #[inline]
    fn position(&self, tag: u32) -> Result<usize, usize> {
        self.all.binary_search_by_key(&tag, |one| one.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_kept_apart_until_they_end() {
        let mut last = LastMessages::with_capacity(2);
        assert_eq!((last.replace(7, Nanos(10)), last.replace(3, Nanos(20))), (None, None));
        assert_eq!((last.replace(7, Nanos(30)), last.replace(3, Nanos(40))), (Some(10), Some(20)));
        last.remove(7);
        last.remove(9);
        assert_eq!((last.replace(7, Nanos(50)), last.replace(3, Nanos(60))), (None, Some(40)));
        last.clear();
        assert_eq!(last.replace(3, Nanos(70)), None);
    }

    #[test]
    fn it_does_not_grow() {
        let mut last = LastMessages::default();
        assert_eq!([last.replace(1, Nanos(10)), last.replace(1, Nanos(20))], [None; 2]);
        assert_eq!(last.all.capacity(), 0);
    }
}
