//! What every ruler does.

/// Work in blocks of a few microseconds, so that a duty cycle can stop between two of them.
pub trait Work: Send {
    /// Does a block; says how much that was.
    fn block(&mut self) -> u64;
}
