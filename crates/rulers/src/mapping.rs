//! Memory from the kernel: for code that is made here, and for pages that fault anew.
#![allow(unsafe_code)]

use std::io;
use std::ptr::{self, NonNull};

use crate::RulerError;

/// Bytes of a page, the least there is.
pub const PAGE: usize = 4096;

/// What code made by [`crate::stream`] is called with: 4 KiB to load from and store to, and how often to go round.
type Entry = extern "C" fn(*mut u8, u64);

/// Private anonymous memory, unmapped when dropped.
pub struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping is owned, like a Box: whoever has it may use it, on any thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `length` bytes, readable, writable, zero, and not touched yet.
    pub fn new(length: usize, what: &'static str) -> Result<Self, RulerError> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice touches no memory of ours.
        let start = unsafe {
            libc::mmap(ptr::null_mut(), length, access, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
        };
        if start == libc::MAP_FAILED {
            return Err(RulerError::Memory { what, source: io::Error::last_os_error() });
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| RulerError::Memory {
            what,
            source: io::Error::from(io::ErrorKind::OutOfMemory),
        })?;
        Ok(Self { start, length })
    }

    /// Its bytes.
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: `length` bytes from `start` are mapped for writing as long as self lives (code() takes self away),
        // are initialised (anonymous memory is zero), and nobody else has them while self is borrowed.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }

    /// Its bytes as code, no longer writable.
    pub fn code(self) -> Result<Code, RulerError> {
        // SAFETY: the range is ours; what is taken is the right to write, and no reference to it is left.
        let done = unsafe {
            libc::mprotect(self.start.as_ptr().cast(), self.length, libc::PROT_READ | libc::PROT_EXEC)
        };
        if done != 0 {
            return Err(RulerError::Memory { what: "code", source: io::Error::last_os_error() });
        }
        crate::code::make_visible(self.start.as_ptr(), self.length);
        Ok(Code { memory: self })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this length, and nobody can reach it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// A function made of bytes.
pub struct Code {
    memory: Mapping,
}

impl Code {
    /// Runs it over `data`, `rounds` times.
    ///
    /// # Safety
    /// The bytes must be a whole function of the C calling convention which, given these arguments, reads and writes
    /// `data` only, and returns.
    pub unsafe fn run(&self, data: &mut Page, rounds: u64) {
        // SAFETY: a pointer to code is a function pointer on all targets of Linux; that the bytes are a function of
        // this type is the caller's promise.
        let entry: Entry = unsafe { std::mem::transmute(self.memory.start.as_ptr()) };
        entry(data.0.as_mut_ptr(), rounds);
    }
}

/// `count` words in pages of the least size, each with this value: where huge pages are given to all, a chase from page
/// to page would meet one translation for 512 of them.
pub fn in_small_pages(count: usize, value: u32) -> Vec<u32> {
    let mut words = Vec::<u32>::with_capacity(count);
    let start = words.as_mut_ptr().addr().next_multiple_of(PAGE);
    let end = (words.as_mut_ptr().addr() + 4 * count) / PAGE * PAGE;
    if start < end {
        // SAFETY: advice on whole pages of an allocation that is ours, before they are touched: no memory changes. A
        // kernel without huge pages refuses it, and needs none.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_NOHUGEPAGE) };
    }
    words.resize(count, value);
    words
}

/// What streams load from and store to: a page of its own, so that two streams share no line.
#[repr(align(4096))]
pub struct Page(pub(crate) [u8; 4096]);

impl Page {
    /// All zero.
    pub fn new() -> Box<Self> {
        Box::new(Self([0; 4096]))
    }
}
