//! Memory limits as findings. libFuzzer's own `-malloc_limit_mb` needs a sanitizer, which needs nightly Rust; an
//! allocator that refuses works with any toolchain.

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Most bytes that a target may hold at once. Inputs have a few kilobytes. The largest legitimate need is another
/// tool's histogram with five digits over all of `u64`: 48 MiB.
const MOST_BYTES: usize = 128 << 20;

struct LimitedAllocator(AtomicUsize);

#[global_allocator]
static LIMITED: LimitedAllocator = LimitedAllocator(AtomicUsize::new(0));

// SAFETY: every call is passed on to the system's allocator; only counting is added.
unsafe impl GlobalAlloc for LimitedAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.take(layout.size());
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.take(layout.size());
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        self.0.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: guaranteed by the caller.
        unsafe { System.dealloc(place, layout) }
    }
}

impl LimitedAllocator {
    fn take(&self, bytes: usize) {
        let held = self.0.fetch_add(bytes, Ordering::Relaxed);
        if held.saturating_add(bytes) > MOST_BYTES {
            // Reset the count to leave room for the report. An allocator must not unwind.
            self.0.store(0, Ordering::Relaxed);
            let place = Backtrace::force_capture();
            eprintln!(
                "{bytes} bytes requested while {held} are allocated; the limit is {MOST_BYTES}\n{place}"
            );
            std::process::abort();
        }
    }
}
