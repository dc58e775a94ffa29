//! SIGTERM and SIGINT as a flag that a loop checks.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

extern "C" fn raise_flag(_: libc::c_int) {
    STOP.store(true, Ordering::Relaxed);
}

/// Replace the effect of SIGTERM and SIGINT: from now on, they only set the returned flag, which is cleared here.
pub fn stop_flag() -> &'static AtomicBool {
    STOP.store(false, Ordering::Relaxed);
    for signal in [libc::SIGTERM, libc::SIGINT] {
        // SAFETY: the handler only stores to an atomic, which is async-signal-safe (signal-safety(7)).
        unsafe { libc::signal(signal, raise_flag as *const () as libc::sighandler_t) };
    }
    &STOP
}
