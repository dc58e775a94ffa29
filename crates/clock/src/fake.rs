use std::cell::Cell;
use std::rc::Rc;

use crate::{Clock, Nanos};

/// A clock that tests set by hand. Clones share their time.
#[derive(Clone, Debug, Default)]
pub struct FakeClock {
    now: Rc<Cell<u64>>,
    ahead: Rc<Cell<i64>>,
}

impl FakeClock {
    /// Create a clock that shows `start`.
    pub fn new(start: Nanos) -> Self {
        Self { now: Rc::new(Cell::new(start.0)), ahead: Rc::default() }
    }

    /// Advance the clock by `span`.
    pub fn advance(&self, span: Nanos) {
        self.now.set(self.now.get() + span.0);
    }

    /// Set the clock to `moment`.
    pub fn set(&self, moment: Nanos) {
        self.now.set(moment.0);
    }

    /// Step the time of day by this many nanoseconds, which may be negative.
    pub fn step_realtime(&self, by: i64) {
        self.ahead.set(self.ahead.get() + by);
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Nanos {
        Nanos(self.now.get())
    }

    fn realtime_ahead(&self) -> i64 {
        self.ahead.get()
    }
}
