//! The items: a sharded hash map with a memory limit and memcached's expiry rules.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use hindmost_clock::Nanos;

/// Longest key, as in memcached.
pub(crate) const MAX_KEY: usize = 250;
/// Longest value.
pub(crate) const MAX_VALUE: usize = 1 << 20;
/// Bytes charged per item in addition to key and value: map slot, boxes, allocator.
const ITEM_OVERHEAD: usize = 112;
/// Longer expiry times are seconds since 1970, as in memcached.
const RELATIVE_LIMIT_S: i64 = 30 * 24 * 3600;
/// Enough to make collisions of threads in a shard rare.
const SHARDS: usize = 64;

/// All items of a server, shared by its threads.
pub(crate) struct Store {
    shards: Box<[Mutex<Shard>]>,
    hasher: RandomState,
    used: AtomicUsize,
    limit: usize,
    next_cas: AtomicU64,
    start: Nanos,
    start_unix_s: i64,
}

type Shard = HashMap<Box<[u8]>, Item>;

/// An item.
pub(crate) struct Item {
    pub(crate) flags: u32,
    pub(crate) cas: u64,
    pub(crate) value: Vec<u8>,
    expires: Nanos,
}

/// Condition of a store command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Set,
    Add,
    Replace,
}

/// Result of a store command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Stored,
    Refused,
    OutOfMemory,
}

impl Store {
    pub(crate) fn new(limit_bytes: usize, now: Nanos) -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: RandomState::new(),
            used: AtomicUsize::new(0),
            limit: limit_bytes,
            next_cas: AtomicU64::new(1),
            start: now,
            start_unix_s: unix.as_secs() as i64,
        }
    }

    /// Return the bytes charged against the limit.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Return the limit in bytes.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Return the number of items; expired ones count until they are accessed.
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).len()).sum()
    }

    /// Call `read` with the item under `key`; return `None` without an item.
    pub(crate) fn get<T>(&self, key: &[u8], now: Nanos, read: impl FnOnce(&Item) -> T) -> Option<T> {
        let mut shard = lock(self.shard(key));
        self.get_unexpired(&mut shard, key, now).map(|item| read(item))
    }

    /// Store `value` under `key` if `mode` and memory allow it.
    pub(crate) fn put(
        &self,
        mode: Mode,
        key: &[u8],
        value: &[u8],
        flags: u32,
        exptime: i64,
        now: Nanos,
    ) -> Outcome {
        let mut shard = lock(self.shard(key));
        let old = self.get_unexpired(&mut shard, key, now);
        match (mode, old.is_some()) {
            (Mode::Add, true) | (Mode::Replace, false) => return Outcome::Refused,
            _ => {}
        }
        let before = old.as_ref().map_or(0, |item| charge(key, item.value.len()));
        let after = charge(key, value.len());
        if !self.reserve(after, before) {
            return Outcome::OutOfMemory;
        }
        let cas = self.next_cas.fetch_add(1, Ordering::Relaxed);
        let expires = self.expiry(exptime, now);
        if let Some(item) = old {
            item.value.clear();
            item.value.extend_from_slice(value);
            // The length is charged, so a short value must not keep a long buffer.
            if item.value.capacity() > 2 * value.len() + 64 {
                item.value.shrink_to_fit();
            }
            (item.flags, item.cas, item.expires) = (flags, cas, expires);
        } else {
            shard.insert(key.into(), Item { flags, cas, value: value.to_vec(), expires });
        }
        Outcome::Stored
    }

    /// Remove the item under `key`; return false without an item.
    pub(crate) fn delete(&self, key: &[u8], now: Nanos) -> bool {
        let mut shard = lock(self.shard(key));
        let is_present = self.get_unexpired(&mut shard, key, now).is_some();
        if is_present {
            self.remove(&mut shard, key);
        }
        is_present
    }

    /// Remove all items.
    pub(crate) fn clear(&self) {
        for shard in &self.shards {
            let mut shard = lock(shard);
            let freed = shard.iter().map(|(key, item)| charge(key, item.value.len())).sum();
            self.used.fetch_sub(freed, Ordering::Relaxed);
            *shard = Shard::new();
        }
    }

    /// Return the current time in seconds since 1970.
    pub(crate) fn unix_s(&self, now: Nanos) -> i64 {
        self.start_unix_s + (now.saturating_sub(self.start).0 / 1_000_000_000) as i64
    }

    fn shard(&self, key: &[u8]) -> &Mutex<Shard> {
        &self.shards[self.hasher.hash_one(key) as usize % SHARDS]
    }

    /// Return the item under `key`; drop it if it has expired.
    fn get_unexpired<'a>(&self, shard: &'a mut Shard, key: &[u8], now: Nanos) -> Option<&'a mut Item> {
        if shard.get(key)?.expires <= now {
            self.remove(shard, key);
            return None;
        }
        shard.get_mut(key)
    }

    fn remove(&self, shard: &mut Shard, key: &[u8]) {
        if let Some(item) = shard.remove(key) {
            self.used.fetch_sub(charge(key, item.value.len()), Ordering::Relaxed);
        }
    }

    /// Replace a charge of `before` bytes by `after`, unless that exceeds the limit.
    fn reserve(&self, after: usize, before: usize) -> bool {
        let swap =
            |used: usize| Some(used - before + after).filter(|&total| total <= self.limit || after <= before);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, swap).is_ok()
    }

    fn expiry(&self, exptime: i64, now: Nanos) -> Nanos {
        let seconds = match exptime {
            0 => return Nanos::MAX,
            ..0 => return Nanos::ZERO,
            1..=RELATIVE_LIMIT_S => exptime,
            _ => exptime - self.unix_s(now),
        };
        now.saturating_add(Nanos((seconds.max(0) as u64).saturating_mul(1_000_000_000)))
    }
}

fn charge(key: &[u8], value: usize) -> usize {
    key.len() + value + ITEM_OVERHEAD
}

/// A poisoned shard is still valid: no operation leaves it half done.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Nanos = Nanos::from_millis(5_000);

    fn value(store: &Store, key: &[u8], now: Nanos) -> Option<Vec<u8>> {
        store.get(key, now, |item| item.value.clone())
    }

    #[test]
    fn add_needs_a_free_key_and_replace_a_used_one() {
        let store = Store::new(1 << 20, NOW);
        let put = |mode, text: &[u8]| store.put(mode, b"k", text, 0, 0, NOW);
        assert_eq!(put(Mode::Replace, b"a"), Outcome::Refused);
        assert_eq!(put(Mode::Add, b"b"), Outcome::Stored);
        assert_eq!(put(Mode::Add, b"c"), Outcome::Refused);
        assert_eq!(put(Mode::Replace, b"d"), Outcome::Stored);
        assert_eq!(value(&store, b"k", NOW).unwrap(), b"d");
    }

    #[test]
    fn memory_is_limited_and_released() {
        let store = Store::new(10 * (ITEM_OVERHEAD + 101), NOW);
        let outcomes: Vec<_> = (0..12_u8).map(|n| store.put(Mode::Set, &[n], &[0; 100], 0, 0, NOW)).collect();
        assert_eq!(outcomes[..10], [Outcome::Stored; 10]);
        assert_eq!(outcomes[10..], [Outcome::OutOfMemory; 2]);
        assert_eq!(store.put(Mode::Set, &[0], &[0; 50], 0, 0, NOW), Outcome::Stored, "smaller than before");
        assert!(store.delete(&[1], NOW));
        assert_eq!(store.put(Mode::Set, &[99], &[0; 100], 0, 0, NOW), Outcome::Stored);
        store.clear();
        assert_eq!((store.used(), store.len()), (0, 0));
    }

    #[test]
    fn items_expire_after_relative_and_absolute_times() {
        let store = Store::new(1 << 20, NOW);
        let later = |seconds: u64| NOW + Nanos::from_millis(seconds * 1_000);
        store.put(Mode::Set, b"relative", b"x", 0, 10, NOW);
        store.put(Mode::Set, b"absolute", b"x", 0, store.unix_s(NOW) + 10, NOW);
        store.put(Mode::Set, b"past", b"x", 0, -1, NOW);
        store.put(Mode::Set, b"never", b"x", 0, 0, NOW);
        let present = |now| {
            [&b"relative"[..], b"absolute", b"past", b"never"].map(|key| value(&store, key, now).is_some())
        };
        assert_eq!(present(later(9)), [true, true, false, true]);
        assert_eq!(present(later(11)), [false, false, false, true]);
        assert_eq!(store.len(), 1);
    }

    #[test]
    fn every_store_changes_the_cas() {
        let store = Store::new(1 << 20, NOW);
        store.put(Mode::Set, b"a", b"x", 7, 0, NOW);
        let first = store.get(b"a", NOW, |item| item.cas).unwrap();
        store.put(Mode::Set, b"a", b"x", 7, 0, NOW);
        assert!(store.get(b"a", NOW, |item| item.cas).unwrap() > first);
    }
}
