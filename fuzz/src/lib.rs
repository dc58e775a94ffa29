//! Properties of every parser for arbitrary bytes. There is one function per target: it takes bytes, and panics if
//! a property does not hold. Hangs, and memory beyond [`limits`], are findings, too.
//!
//! Seeds are in `seeds/TARGET/`, words of the format in `dictionaries/TARGET.dict`.

pub mod capture;
pub mod engine;
pub mod hlog;
pub mod host;
pub mod journal;
mod limits;
mod pieces;
pub mod plan;
pub mod replay;
pub mod replies;
pub mod requests;

#[cfg(feature = "libfuzzer")]
pub use libfuzzer_sys;

/// Build a program of `$function`: libFuzzer's, or the plain replay without it.
#[cfg(feature = "libfuzzer")]
#[macro_export]
macro_rules! target {
    ($function:path) => {
        $crate::libfuzzer_sys::fuzz_target!(|bytes: &[u8]| $function(bytes));
    };
}

/// Build a program of `$function`: libFuzzer's, or the plain replay without it.
#[cfg(not(feature = "libfuzzer"))]
#[macro_export]
macro_rules! target {
    ($function:path) => {
        fn main() {
            $crate::replay::run($function);
        }
    };
}
