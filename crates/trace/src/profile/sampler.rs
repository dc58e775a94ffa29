//! Samples of what runs on each CPU: the stack of the current thread, about 1,000 times per second of CPU time.
//!
//! The events belong to the CPUs, not to the server's threads: an event per thread and CPU would need thousands of
//! descriptors, and threads come and go. The idle task is left out.

use std::io;

use hindmost_sys::perf::{self, Attributes, Ring};

/// CPU time between samples. It is not a multiple of a millisecond, so that timers are not met always or never.
pub const PERIOD_NS: u64 = 1_003_009;
/// Frames per sample, kernel and user together.
const MOST_FRAMES: u16 = 64;
/// Ring of a CPU: 256 KiB hold half a second of the largest samples; it is emptied every 20 ms.
const PAGES: usize = 64;

/// `PERF_TYPE_SOFTWARE` and `PERF_COUNT_SW_CPU_CLOCK`.
const SOFTWARE: u32 = 1;
const CPU_CLOCK: u64 = 0;
/// `PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN`.
const FIELDS: u64 = 1 << 1 | 1 << 2 | 1 << 5;
/// `disabled`, `exclude_idle` and `use_clockid`.
const FLAGS: u64 = 1 | 1 << 7 | 1 << 25;
const CLOCK_MONOTONIC: i32 = 1;
/// `PERF_RECORD_LOST` and `PERF_RECORD_SAMPLE`.
const LOST: u32 = 2;
const SAMPLE: u32 = 9;
/// Entries of a call chain from here on mark the context of the next ones (`PERF_CONTEXT_MAX`).
const FIRST_CONTEXT: u64 = 0_u64.wrapping_sub(4095);
const CONTEXT_USER: u64 = 0_u64.wrapping_sub(512);

/// A sampled stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    pub process: u32,
    pub thread: u32,
    /// Time by `CLOCK_MONOTONIC`.
    pub at: u64,
    /// Addresses, the executed instruction first.
    pub stack: Stack,
}

/// Addresses of a stack: in the kernel, then in the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stack {
    pub kernel: Vec<u64>,
    pub user: Vec<u64>,
}

impl Stack {
    /// Drop the callers.
    pub fn keep_executed(&mut self) {
        self.kernel.truncate(1);
        self.user.truncate(1 - self.kernel.len());
    }
}

/// One event and its ring per CPU.
pub struct Sampler {
    rings: Vec<Ring>,
    /// Samples for which a ring had no room.
    pub lost: u64,
}

impl Sampler {
    /// Open an event on each of these CPUs, without starting it.
    ///
    /// # Errors
    /// If perf events are not allowed, or there is none for a CPU.
    pub fn open(cpus: impl IntoIterator<Item = u32>) -> io::Result<Self> {
        let event = Attributes {
            kind: SOFTWARE,
            config: CPU_CLOCK,
            period: PERIOD_NS,
            sample_type: FIELDS,
            flags: FLAGS,
            clock: CLOCK_MONOTONIC,
            most_frames: MOST_FRAMES,
            ..Attributes::default()
        };
        let any_process = -1;
        let ring = |cpu: u32| Ring::map(perf::open(&event, any_process, cpu as i32)?, PAGES);
        Ok(Self { rings: cpus.into_iter().map(ring).collect::<Result<_, _>>()?, lost: 0 })
    }

    /// Start sampling.
    ///
    /// # Errors
    /// The error of ioctl(2).
    pub fn start(&self) -> io::Result<()> {
        self.rings.iter().try_for_each(|ring| perf::enable(ring.event()))
    }

    /// Stop sampling.
    ///
    /// # Errors
    /// The error of ioctl(2).
    pub fn stop(&self) -> io::Result<()> {
        self.rings.iter().try_for_each(|ring| perf::disable(ring.event()))
    }

    /// Pass all new samples to `take`.
    pub fn read(&mut self, mut take: impl FnMut(Sample)) {
        let mut lost = 0;
        for ring in &mut self.rings {
            ring.read(|kind, bytes| match kind {
                SAMPLE => Sample::from_bytes(bytes).into_iter().for_each(&mut take),
                LOST => lost += word(bytes, 1).unwrap_or(0),
                _ => (),
            });
        }
        self.lost += lost;
    }
}

impl Sample {
    /// Parse process, thread, time, number of frames, and frames.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (ids, at, frames) = (word(bytes, 0)?, word(bytes, 1)?, word(bytes, 2)?);
        let mut stack = Stack::default();
        let mut is_user = false;
        for place in 3..3 + frames as usize {
            match word(bytes, place)? {
                mark if mark >= FIRST_CONTEXT => is_user = mark == CONTEXT_USER,
                frame if is_user => stack.user.push(frame),
                frame => stack.kernel.push(frame),
            }
        }
        Some(Self { process: ids as u32, thread: (ids >> 32) as u32, at, stack })
    }
}

fn word(bytes: &[u8], place: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(place * 8..place * 8 + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executed_function_is_in_the_kernel_if_any_frame_is() {
        let executed = |kernel: &[u64], user: &[u64]| {
            let mut stack = Stack { kernel: kernel.to_vec(), user: user.to_vec() };
            stack.keep_executed();
            (stack.kernel, stack.user)
        };
        assert_eq!(executed(&[1, 2], &[3]), (vec![1], vec![]));
        assert_eq!(executed(&[], &[3, 4]), (vec![], vec![3]));
        assert_eq!(executed(&[], &[]), (vec![], vec![]));
    }

    #[test]
    fn frames_belong_to_the_context_before_them() {
        let kernel = 0_u64.wrapping_sub(128);
        let words: [u64; 8] = [7 | 9 << 32, 1000, 5, kernel, 0xffff_8000_0000_0010, CONTEXT_USER, 0x40, 0x50];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let stack = Stack { kernel: vec![0xffff_8000_0000_0010], user: vec![0x40, 0x50] };
        assert_eq!(Sample::from_bytes(&bytes), Some(Sample { process: 7, thread: 9, at: 1000, stack }));
        assert_eq!(Sample::from_bytes(&bytes[..60]), None, "a truncated record");
    }
}
