use hindmost_plan::{Plan, Workload};

use crate::random::{mix, unit};
use crate::workload::{KeySpace, SizeLaw};

/// The keys and values of a key-value workload, as every key-value codec writes them.
pub struct Items {
    keys: KeySpace,
    ttls: Option<SizeLaw>,
    filler: Vec<u8>,
}

impl Items {
    /// Build the items of the plan, which has checked that this protocol gets a key-value workload.
    pub fn new(plan: &Plan) -> Self {
        let Workload::KeyValue(of) = &plan.workload else {
            unreachable!("the plan has checked that {:?} gets a key-value workload", plan.target.protocol)
        };
        Self {
            keys: KeySpace::new(of),
            ttls: of.ttl_s.as_ref().map(SizeLaw::new),
            filler: filler(of.value_bytes.largest() as usize),
        }
    }

    /// Return the length of a key in bytes.
    #[inline]
    pub fn key_length(&self, item: u32) -> usize {
        self.keys.length(item)
    }

    /// Append a key.
    #[inline]
    pub fn write_key(&self, item: u32, out: &mut Vec<u8>) {
        self.keys.write(item, out);
    }

    /// Return the time to live of key `item` in seconds, the same for every store; 0 for no expiry.
    #[inline]
    pub fn ttl_s(&self, item: u32) -> u32 {
        // A different hash of the key than the one that determines its length.
        self.ttls.as_ref().map_or(0, |ttls| ttls.quantile(unit(mix(u64::from(item) | 1 << 40))))
    }

    /// Return a value of `bytes` bytes.
    #[inline]
    pub fn value(&self, bytes: u32) -> &[u8] {
        &self.filler[..bytes as usize]
    }
}

/// Return the bytes that all values are cut from: printable, varied and the same in every run.
pub fn filler(bytes: usize) -> Vec<u8> {
    (0..bytes as u64).map(|i| b'a' + (crate::random::mix(i) % 26) as u8).collect()
}
