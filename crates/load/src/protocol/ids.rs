//! Ids of 16 bits for requests whose replies may get lost, or come late.
//!
//! An id is free again once its reply has come, however late: so a late reply never answers another request. The ids of
//! requests that were given up wait for that, until a quarter of all do; then all of them are free, and what still
//! comes for them has been on its way for as long as it took to lose 16,384 datagrams.

/// Ids of one connection.
#[derive(Debug)]
pub struct Ids {
    /// A bit an id that is in use, or was when its request was given up.
    taken: Box<[u64]>,
    /// A bit an id of a request that was given up.
    given_up: Box<[u64]>,
    /// How many were.
    lost: u32,
    /// The tag behind the last one given.
    next: u32,
}

const WORDS: usize = (1 << 16) / 64;
/// Memory of one connection's.
pub const BYTES: usize = 2 * 8 * WORDS;
/// So many requests may wait for replies at once: half of all ids.
pub const IN_FLIGHT: usize = 1 << 15;
const MOST_LOST: u32 = 1 << 14;

impl Default for Ids {
    fn default() -> Self {
        let words = || vec![0; WORDS].into_boxed_slice();
        Self { taken: words(), given_up: words(), lost: 0, next: 0 }
    }
}

/// The place of an id's bit.
const fn bit(id: u16) -> (usize, u64) {
    (id as usize / 64, 1 << (id % 64))
}

impl Ids {
    /// A fresh connection.
    pub fn clear(&mut self) {
        self.taken.fill(0);
        self.given_up.fill(0);
        (self.lost, self.next) = (0, 0);
    }

    /// Whether the id of this tag, its lower half, can be used.
    #[inline]
    pub fn is_free(&self, tag: u32) -> bool {
        let (word, mask) = bit(tag as u16);
        self.taken[word] & mask == 0
    }

    /// The id of a tag, which is the highest so far.
    #[inline]
    pub fn take(&mut self, tag: u32) -> u16 {
        let (word, mask) = bit(tag as u16);
        self.taken[word] |= mask;
        self.next = tag.wrapping_add(1);
        tag as u16
    }

    /// A reply with this id has come: the tag that it was given for last.
    #[inline]
    pub fn answered(&mut self, id: u16) -> u32 {
        let (word, mask) = bit(id);
        self.taken[word] &= !mask;
        if self.given_up[word] & mask != 0 {
            self.given_up[word] &= !mask;
            self.lost -= 1;
        }
        let last = self.next.wrapping_sub(1);
        last.wrapping_sub(u32::from((last as u16).wrapping_sub(id)))
    }

    /// Nobody waits for the reply to this tag any more.
    #[cold]
    pub fn give_up(&mut self, tag: u32) {
        let (word, mask) = bit(tag as u16);
        self.given_up[word] |= mask;
        self.lost += 1;
        if self.lost >= MOST_LOST {
            for (taken, given_up) in self.taken.iter_mut().zip(&mut self.given_up) {
                *taken &= !std::mem::take(given_up);
            }
            self.lost = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_request_that_was_given_up_is_not_used_until_its_late_reply_has_come() {
        let mut ids = Ids::default();
        for tag in [5, 6] {
            ids.take(tag);
        }
        assert_eq!(ids.answered(6), 6);
        ids.give_up(5);
        let again = 5 + (1 << 16);
        assert!(!ids.is_free(again) && ids.is_free(again + 1));
        ids.take(again + 1);
        assert_eq!(ids.answered(5), again, "no tag that anybody waits for: the next has not been given");
        assert!(ids.is_free(again));
        ids.clear();
        assert!(ids.is_free(5));
    }

    #[test]
    fn tags_are_found_where_ids_wrap_around() {
        let mut ids = Ids::default();
        for first in [65_530, u32::MAX - 5] {
            let tags: Vec<u32> = (0..20).map(|n| first.wrapping_add(n)).collect();
            let given: Vec<u16> = tags.iter().map(|&tag| ids.take(tag)).collect();
            let found: Vec<u32> = given.iter().map(|&id| ids.answered(id)).collect();
            assert_eq!(found, tags);
        }
    }

    #[test]
    fn however_many_are_lost_ids_never_run_out() {
        let mut ids = Ids::default();
        let mut tag = 0_u32;
        for _ in 0..300_000 {
            while !ids.is_free(tag) {
                tag += 1;
            }
            ids.take(tag);
            ids.give_up(tag);
            tag += 1;
        }
        assert!(tag < 450_000, "{tag}");
    }
}
