//! Scheduler events, as reported by `bpf/who.h`.

pub const EVENT_BYTES: usize = 64;
/// System call number of a thread that sleeps outside a system call: it faulted.
pub const NO_CALL: u16 = 0xffff;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    Switch,
    Woken,
    Migrated,
    SoftIrq,
    HardIrq,
    Fault,
}

/// A scheduler event. Times are of `CLOCK_MONOTONIC`, in ns. In a switch, `thread` leaves after running from `since`,
/// and `other` comes. A wake-up started at `since` and put the thread into the queue of `cpu`; `other` is the waker, 0
/// for an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedEvent {
    pub at: u64,
    pub since: u64,
    pub thread: u32,
    pub process: u32,
    pub other: u32,
    pub cpu: u16,
    pub call: u16,
    pub kind: EventKind,
    pub thread_is_server: bool,
    pub other_is_server: bool,
    pub kernel: bool,
    /// State in which it leaves; 0: still runnable.
    pub state: u8,
    pub operation: u8,
    /// Numbers of the stacks with which it leaves, if it sleeps and they are known.
    pub kernel_stack: Option<u32>,
    pub user_stack: Option<u32>,
    pub name: [u8; 16],
}

/// Return the number of a stack; `None` for an error, which is negative.
fn number(stack: u32) -> Option<u32> {
    i32::try_from(stack).is_ok().then_some(stack)
}

impl SchedEvent {
    /// Parse the bytes of a ring entry; return `None` for another kind of entry.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; EVENT_BYTES] = bytes.try_into().ok()?;
        let eight = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap_or_default());
        let four = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
        let two = |at: usize| u16::from_ne_bytes(bytes[at..at + 2].try_into().unwrap_or_default());
        let kind = match bytes[32] {
            0 => EventKind::Switch,
            1 => EventKind::Woken,
            2 => EventKind::Migrated,
            3 => EventKind::SoftIrq,
            4 => EventKind::HardIrq,
            5 => EventKind::Fault,
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
            kind,
            thread_is_server: flags & 1 != 0,
            other_is_server: flags & 2 != 0,
            kernel: flags & 4 != 0,
            state: bytes[34],
            operation: bytes[35],
            kernel_stack: number(four(36)),
            user_stack: number(four(40)),
            name: bytes[48..].try_into().unwrap_or_default(),
        })
    }
}
