use std::cell::Cell;
use std::rc::Rc;

use crate::{Clock, Nanos};

/// A clock that a test winds by hand. Clones share the same hands.
#[derive(Clone, Debug, Default)]
pub struct FakeClock {
    now: Rc<Cell<u64>>,
    ahead: Rc<Cell<i64>>,
}

impl FakeClock {
    /// A clock that stands at `start`.
    pub fn at(start: Nanos) -> Self {
        Self { now: Rc::new(Cell::new(start.0)), ahead: Rc::default() }
    }

    /// Moves the hands forward by `span`.
    pub fn advance(&self, span: Nanos) {
        self.now.set(self.now.get() + span.0);
    }

    /// Moves the hands to `moment`.
    pub fn set(&self, moment: Nanos) {
        self.now.set(moment.0);
    }

    /// Sets the time of day `by` nanoseconds forward, or back where that is negative.
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
