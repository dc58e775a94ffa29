//! The interface of all stressors.

/// Work in blocks of a few microseconds, so that a duty cycle can stop between two blocks.
pub trait Work: Send {
    /// Do one block; return the amount of work in units.
    fn block(&mut self) -> u64;
}
