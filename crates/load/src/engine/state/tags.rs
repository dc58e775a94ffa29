//! Which of a connection's requests a reply answers, where replies come in any order.

use std::collections::VecDeque;

/// The tags of the requests that wait for a reply, oldest first, in step with them. A tag counts the requests of a
/// connection, from 0, so the tags are in order however many are answered in between.
#[derive(Debug, Default)]
pub struct Tags {
    next: u32,
    open: VecDeque<u32>,
}

impl Tags {
    /// Never grows beyond `capacity`.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { next: 0, open: VecDeque::with_capacity(capacity) }
    }

    /// That of the request that is pushed next.
    #[inline]
    pub fn next(&self) -> u32 {
        self.next
    }

    /// The tag of one more request.
    #[inline]
    pub fn push(&mut self) -> u32 {
        let tag = self.next;
        self.next = tag.wrapping_add(1);
        self.open.push_back(tag);
        tag
    }

    /// The next tag is given to nobody.
    pub fn skip(&mut self) {
        self.next = self.next.wrapping_add(1);
    }

    /// Takes `tag`; returns its place among those that waited.
    #[inline]
    pub fn take(&mut self, tag: u32) -> Option<usize> {
        let at = self.place(tag)?;
        self.open.remove(at);
        Some(at)
    }

    /// The place of `tag` among those that wait.
    #[inline]
    pub fn place(&self, tag: u32) -> Option<usize> {
        let oldest = *self.open.front()?;
        if tag == oldest {
            return Some(0);
        }
        self.open.binary_search_by_key(&tag.wrapping_sub(oldest), |one| one.wrapping_sub(oldest)).ok()
    }

    /// Whether a request on this connection had that tag, answered since or not.
    pub fn was_given(&self, tag: u32) -> bool {
        let behind = self.next.wrapping_sub(tag);
        behind != 0 && behind < 1 << 31
    }

    /// That of the oldest request.
    pub fn oldest(&self) -> Option<u32> {
        self.open.front().copied()
    }

    /// How many of those that wait have `tag` or a later one.
    pub fn at_or_above(&self, tag: u32) -> usize {
        self.open.iter().rev().take_while(|&&one| one >= tag).count()
    }

    /// A fresh connection.
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
    fn replies_in_any_order_are_found_also_where_tags_wrap_around() {
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
    fn a_tag_that_was_never_given_is_told_from_one_that_is_answered() {
        let mut tags = tags(0, 3);
        tags.take(1);
        assert!(tags.was_given(1) && tags.was_given(2) && !tags.was_given(3));
        assert_eq!([0, 1, 2, 3].map(|tag| tags.at_or_above(tag)), [2, 1, 1, 0]);
        tags.clear();
        assert!(!tags.was_given(0));
    }
}
