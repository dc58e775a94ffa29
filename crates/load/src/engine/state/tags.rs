//! Matches replies to a connection's requests, if replies may arrive in any order.

use std::collections::VecDeque;

/// The tags of the pending requests, oldest first, in the same order as the requests. A tag is the number of
/// a request on its connection, starting at 0, so tags stay sorted when requests are answered out of order.
#[derive(Debug, Default)]
pub struct Tags {
    next: u32,
    open: VecDeque<u32>,
}

impl Tags {
    /// Create a queue that never grows beyond `capacity`.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { next: 0, open: VecDeque::with_capacity(capacity) }
    }

    /// Return the tag of the next request.
    #[inline]
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Add a request and return its tag.
    #[inline]
    pub fn push(&mut self) -> u32 {
        let tag = self.next;
        self.next = tag.wrapping_add(1);
        self.open.push_back(tag);
        tag
    }

    /// Skip the next tag.
    pub fn skip(&mut self) {
        self.next = self.next.wrapping_add(1);
    }

    /// Remove `tag`. Return its position among the pending requests.
    #[inline]
    pub fn take(&mut self, tag: u32) -> Option<usize> {
        let at = self.position(tag)?;
        self.open.remove(at);
        Some(at)
    }

    /// Return the position of `tag` among the pending requests.
    #[inline]
    pub fn position(&self, tag: u32) -> Option<usize> {
        let oldest = *self.open.front()?;
        if tag == oldest {
            return Some(0);
        }
        self.open.binary_search_by_key(&tag.wrapping_sub(oldest), |one| one.wrapping_sub(oldest)).ok()
    }

    /// Whether a request on this connection had this tag, even if it is answered already.
    pub fn was_issued(&self, tag: u32) -> bool {
        let behind = self.next.wrapping_sub(tag);
        behind != 0 && behind < 1 << 31
    }

    /// Return the tag of the oldest request.
    pub fn oldest(&self) -> Option<u32> {
        self.open.front().copied()
    }

    /// Return how many pending requests have `tag` or a later one.
    pub fn count_from(&self, tag: u32) -> usize {
        self.open.iter().rev().take_while(|&&one| one >= tag).count()
    }

    /// Start again for a new connection.
    pub fn clear(&mut self) {
        self.next = 0;
        self.open.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(next: u32, requests: usize) -> Tags {
        let mut tags = Tags { next, ..Tags::with_capacity(requests) };
        (0..requests).for_each(|_| {
            tags.push();
        });
        tags
    }

    #[test]
    fn replies_in_any_order_are_matched_even_if_tags_wrap_around() {
        for first in [0, u32::MAX - 2] {
            let mut tags = tags(first, 6);
            let tag = |n| first.wrapping_add(n);
            assert_eq!(tags.take(tag(4)), Some(4));
            assert_eq!(tags.take(tag(4)), None, "answered already");
            assert_eq!(tags.take(tag(0)), Some(0));
            assert_eq!(
                (tags.take(tag(5)), tags.take(tag(1)), tags.oldest()),
                (Some(3), Some(0), Some(tag(2)))
            );
        }
    }

    #[test]
    fn an_unknown_tag_differs_from_an_answered_one() {
        let mut tags = tags(0, 3);
        tags.take(1);
        assert!(tags.was_issued(1) && tags.was_issued(2) && !tags.was_issued(3));
        assert_eq!([0, 1, 2, 3].map(|tag| tags.count_from(tag)), [2, 1, 1, 0]);
        tags.clear();
        assert!(!tags.was_issued(0));
    }
}
