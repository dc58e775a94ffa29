use hindmost_clock::Nanos;

use super::{Ended, Stop};
use crate::record::Window;

/// Ends the warm-up after a fixed time.
#[derive(Clone, Copy, Debug)]
pub struct FixedTime(pub Nanos);

impl Stop for FixedTime {
    fn decide(&mut self, elapsed: Nanos, _: &[Window]) -> Option<Ended> {
        (elapsed >= self.0).then_some(Ended::Elapsed)
    }
}
