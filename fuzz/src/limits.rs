//! Memory as a finding. libFuzzer's own `-malloc_limit_mb` needs a sanitizer, which needs nightly Rust;
//! an allocator that refuses does the same with any.

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::sync::atomic::{AtomicUsize, Ordering};

/// All that a target may hold at once. Inputs have some kilobytes. The largest honest need is a histogram
/// of another tool with five digits over all of `u64`: 48 MiB.
const MOST_BYTES: usize = 128 << 20;

struct Limited(AtomicUsize);

#[global_allocator]
static LIMITED: Limited = Limited(AtomicUsize::new(0));

// SAFETY: every call is passed on to the system's allocator; only counting is added.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.take(layout.size());
        // SAFETY: as our caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.take(layout.size());
        // SAFETY: as our caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        self.0.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as our caller promises.
        unsafe { System.dealloc(place, layout) }
    }
}

impl Limited {
    fn take(&self, bytes: usize) {
        let held = self.0.fetch_add(bytes, Ordering::Relaxed);
        if held.saturating_add(bytes) > MOST_BYTES {
            // Room for what is said about it. An allocator must not unwind.
            self.0.store(0, Ordering::Relaxed);
            let place = Backtrace::force_capture();
            eprintln!(
                "{bytes} bytes asked for while {held} are held, and {MOST_BYTES} are the limit\n{place}"
            );
            std::process::abort();
        }
    }
}
