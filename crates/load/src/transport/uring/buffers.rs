//! Memory for received bytes: a ring of provided buffers (`io_uring_register_buf_ring(3)`).
#![allow(unsafe_code)]

use std::alloc::{alloc_zeroed, dealloc, handle_alloc_error, Layout};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::BufRingEntry;
use io_uring::IoUring;

/// Number of buffers in the ring; a power of two.
const COUNT: u16 = 256;
/// Size of a buffer, which takes the bytes of one kernel read: many small replies, or a part of a large one.
const BYTES: usize = 16 * 1024;
/// The only buffer group of this ring.
pub const GROUP: u16 = 0;

/// Return the number of buffers.
pub const fn count() -> usize {
    COUNT as usize
}

const PAGE: usize = 4096;

/// The buffers. The kernel writes into them until the ring is closed, so they must outlive it.
pub struct Buffers {
    entries: NonNull<BufRingEntry>,
    memory: NonNull<u8>,
    tail: u16,
}

// SAFETY: the pointers refer to memory that this value owns alone.
unsafe impl Send for Buffers {}

impl Buffers {
    /// Allocate all buffers and give them to `ring`.
    pub fn new(ring: &IoUring) -> io::Result<Self> {
        let take = |layout: Layout| {
            // SAFETY: no layout here has size zero.
            NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap_or_else(|| handle_alloc_error(layout))
        };
        let mut buffers = Self { entries: take(entries()).cast(), memory: take(memory()), tail: 0 };
        // SAFETY: the memory is ours and has COUNT * BYTES bytes. Writing to it maps its pages beforehand.
        unsafe { buffers.memory.as_ptr().write_bytes(1, memory().size()) };
        // SAFETY: there are COUNT page-aligned entries, and they outlive the ring.
        unsafe {
            ring.submitter().register_buf_ring_with_flags(
                buffers.entries.as_ptr() as u64,
                COUNT,
                GROUP,
                0,
            )?;
        }
        (0..COUNT).for_each(|id| buffers.push(id));
        buffers.publish();
        Ok(buffers)
    }

    /// Return the first `length` bytes of buffer `id`.
    pub fn bytes(&self, id: u16, length: usize) -> &[u8] {
        assert!(id < COUNT && length <= BYTES, "the kernel names one of our buffers");
        // SAFETY: within the memory; the kernel does not write to a buffer before it is returned.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().add(usize::from(id) * BYTES), length) }
    }

    /// Return buffer `id` to the kernel.
    #[inline]
    pub fn give_back(&mut self, id: u16) {
        self.push(id);
        self.publish();
    }

    fn push(&mut self, id: u16) {
        let at = usize::from(self.tail & (COUNT - 1));
        // SAFETY: `at` and `id` are below COUNT, so both pointers stay within their memory. The kernel reads
        // an entry only after the tail has passed it.
        unsafe {
            let entry = &mut *self.entries.as_ptr().add(at);
            entry.set_addr(self.memory.as_ptr().add(usize::from(id) * BYTES) as u64);
            entry.set_len(BYTES as u32);
            entry.set_bid(id);
        }
        self.tail = self.tail.wrapping_add(1);
    }

    fn publish(&mut self) {
        // SAFETY: the tail lies in the first entry (`BufRingEntry::tail`), and only the kernel reads it.
        unsafe {
            let tail = BufRingEntry::tail(self.entries.as_ptr()).cast::<AtomicU16>();
            (*tail).store(self.tail, Ordering::Release);
        }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: allocated with these layouts in `new`.
        unsafe {
            dealloc(self.entries.as_ptr().cast(), entries());
            dealloc(self.memory.as_ptr(), memory());
        }
    }
}

fn entries() -> Layout {
    layout(usize::from(COUNT) * size_of::<BufRingEntry>())
}

fn memory() -> Layout {
    layout(usize::from(COUNT) * BYTES)
}

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, PAGE).expect("both are small multiples of powers of two")
}
