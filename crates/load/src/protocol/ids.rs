//! 16-bit ids for requests whose replies may be lost or late.
//!
//! An id becomes free when its reply arrives, however late, so a late reply never answers another request.
//! Ids of requests that were given up stay reserved until a quarter of all ids are. Then all of these become
//! free: a reply that still arrives has been delayed for the time it took to lose 16,384 datagrams.

/// The ids of one connection.
#[derive(Debug)]
pub struct Ids {
    /// One bit per id: in use, or reserved for a late reply.
    taken: Box<[u64]>,
    /// One bit per id: its request was given up.
    given_up: Box<[u64]>,
    /// Number of bits in `given_up`.
    lost: u32,
    /// The tag after the last assigned one.
    next: u32,
}

const WORDS: usize = (1 << 16) / 64;
/// Memory of one connection's ids, in bytes.
pub const BYTES: usize = 2 * 8 * WORDS;
/// Most requests in flight: half of all ids.
pub const IN_FLIGHT: usize = 1 << 15;
const MOST_LOST: u32 = 1 << 14;

impl Default for Ids {
    fn default() -> Self {
        let words = || vec![0; WORDS].into_boxed_slice();
        Self { taken: words(), given_up: words(), lost: 0, next: 0 }
    }
}

/// Return the position of an id's bit.
const fn bit(id: u16) -> (usize, u64) {
    (id as usize / 64, 1 << (id % 64))
}

impl Ids {
    /// Reset for a new connection.
    pub fn clear(&mut self) {
        self.taken.fill(0);
        self.given_up.fill(0);
        (self.lost, self.next) = (0, 0);
    }

    /// Whether the id of this tag, its lower 16 bits, is free.
    #[inline]
    pub fn is_free(&self, tag: u32) -> bool {
        let (word, mask) = bit(tag as u16);
        self.taken[word] & mask == 0
    }

    /// Assign the id of a tag, which must be the highest so far.
    #[inline]
    pub fn take(&mut self, tag: u32) -> u16 {
        let (word, mask) = bit(tag as u16);
        self.taken[word] |= mask;
        self.next = tag.wrapping_add(1);
        tag as u16
    }

    /// Release an id whose reply has arrived. Return the last tag it was assigned to.
    #[inline]
    pub fn release(&mut self, id: u16) -> u32 {
        let (word, mask) = bit(id);
        self.taken[word] &= !mask;
        if self.given_up[word] & mask != 0 {
            self.given_up[word] &= !mask;
            self.lost -= 1;
        }
        let last = self.next.wrapping_sub(1);
        last.wrapping_sub(u32::from((last as u16).wrapping_sub(id)))
    }

    /// Give up on the reply to this tag.
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
    fn the_id_of_a_given_up_request_is_reserved_until_its_late_reply() {
        let mut ids = Ids::default();
        for tag in [5, 6] {
            ids.take(tag);
        }
        assert_eq!(ids.release(6), 6);
        ids.give_up(5);
        let again = 5 + (1 << 16);
        assert!(!ids.is_free(again) && ids.is_free(again + 1));
        ids.take(again + 1);
        assert_eq!(ids.release(5), again, "no pending tag: the next one is not assigned yet");
        assert!(ids.is_free(again));
        ids.clear();
        assert!(ids.is_free(5));
    }

    #[test]
    fn tags_are_found_even_if_ids_wrap_around() {
        let mut ids = Ids::default();
        for first in [65_530, u32::MAX - 5] {
            let tags: Vec<u32> = (0..20).map(|n| first.wrapping_add(n)).collect();
            let assigned: Vec<u16> = tags.iter().map(|&tag| ids.take(tag)).collect();
            let found: Vec<u32> = assigned.iter().map(|&id| ids.release(id)).collect();
            assert_eq!(found, tags);
        }
    }

    #[test]
    fn ids_never_run_out() {
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
