//! SIGTERM and SIGINT as a flag that a loop looks at.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

extern "C" fn raise_flag(_: libc::c_int) {
    STOP.store(true, Ordering::Relaxed);
}

/// From here on SIGTERM and SIGINT do nothing but raise the flag that is returned, which is down now.
pub fn stop_flag() -> &'static AtomicBool {
    STOP.store(false, Ordering::Relaxed);
    for signal in [libc::SIGTERM, libc::SIGINT] {
        // SAFETY: the handler only stores to an atomic, which is async-signal-safe (signal-safety(7)).
        unsafe { libc::signal(signal, raise_flag as *const () as libc::sighandler_t) };
    }
    &STOP
}
