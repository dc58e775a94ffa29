//! What the scheduler did, as `bpf/who.h` tells it.

pub const MOMENT_BYTES: usize = 56;
/// Where a thread sleeps in no system call: it faulted.
pub const NO_CALL: u16 = 0xffff;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Switch,
    Woken,
    Migrated,
    SoftIrq,
    HardIrq,
    Fault,
}

/// Times are of `CLOCK_MONOTONIC`, in ns. At a switch `thread` leaves, after it ran from `since` on, and `other` comes;
/// at a wake-up, which began at `since` and put it on the queue of `cpu`, `other` is who woke it, 0 for an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    pub at: u64,
    pub since: u64,
    pub thread: u32,
    pub process: u32,
    pub other: u32,
    pub cpu: u16,
    pub call: u16,
    pub what: What,
    pub left: bool,
    pub came: bool,
    pub kernel: bool,
    /// With which it leaves; 0: it would run on.
    pub state: u8,
    pub operation: u8,
    pub name: [u8; 16],
}

impl Moment {
    /// Of bytes as the ring has them; `None` of anything else.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; MOMENT_BYTES] = bytes.try_into().ok()?;
        let eight = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap_or_default());
        let four = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
        let two = |at: usize| u16::from_ne_bytes(bytes[at..at + 2].try_into().unwrap_or_default());
        let what = match bytes[32] {
            0 => What::Switch,
            1 => What::Woken,
            2 => What::Migrated,
            3 => What::SoftIrq,
            4 => What::HardIrq,
            5 => What::Fault,
            _ => return None,
        };
        let flags = bytes[33];
        Some(Self {
            at: eight(0),
            since: eight(8),
            thread: four(16),
            process: four(20),
            other: four(24),
            cpu: two(28),
            call: two(30),
            what,
            left: flags & 1 != 0,
            came: flags & 2 != 0,
            kernel: flags & 4 != 0,
            state: bytes[34],
            operation: bytes[35],
            name: bytes[40..56].try_into().unwrap_or_default(),
        })
    }
}
