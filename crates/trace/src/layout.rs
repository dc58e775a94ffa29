//! Layout of the probes' maps and records (`bpf/account.h`).

/// Number of variables: five stages and the size of the batch.
pub const VARIABLES: usize = 6;
pub const PRODUCTS: usize = VARIABLES * (VARIABLES + 1) / 2;
/// Kinds of requests with their own sums, in each of two banks.
pub const KINDS: usize = 8;
pub const SUMS: usize = 1 + VARIABLES + 3 + 2 * PRODUCTS;

/// `struct sums` as words.
pub type RawSums = [u64; SUMS];

pub const RECORD_BYTES: usize = 8 * 7 + 4 * 4 + 2 * 6 + 4;

/// A request in full. Times are of `CLOCK_MONOTONIC`, in nanoseconds; `rx_end` and `tx_end` are the sequence numbers
/// after the last byte of the request and of the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    pub cookie: u64,
    pub e: [u64; 6],
    pub rx_end: u32,
    pub tx_end: u32,
    pub reader: u32,
    pub sender: u32,
    pub cpus: [u16; 4],
    pub port: u16,
    pub batch: u16,
    pub kind: u8,
}

impl Record {
    /// Parse the bytes of a ring entry; return `None` if they are too few.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..RECORD_BYTES)?;
        let eight = |at: usize| u64::from_ne_bytes(bytes[at * 8..at * 8 + 8].try_into().unwrap_or_default());
        let four =
            |at: usize| u32::from_ne_bytes(bytes[56 + at * 4..60 + at * 4].try_into().unwrap_or_default());
        let two =
            |at: usize| u16::from_ne_bytes(bytes[72 + at * 2..74 + at * 2].try_into().unwrap_or_default());
        Some(Self {
            cookie: eight(0),
            e: [1, 2, 3, 4, 5, 6].map(eight),
            rx_end: four(0),
            tx_end: four(1),
            reader: four(2),
            sender: four(3),
            cpus: [0, 1, 2, 3].map(two),
            port: two(4),
            batch: two(5),
            kind: bytes[84],
        })
    }
}
