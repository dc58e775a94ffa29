use std::cell::Cell;
use std::rc::Rc;

use crate::{Clock, Nanos};

/// A clock that a test winds by hand. Clones share the same hands.
#[derive(Clone, Debug, Default)]
pub struct FakeClock(Rc<Cell<u64>>);

impl FakeClock {
    /// A clock that stands at `start`.
    pub fn at(start: Nanos) -> Self {
        Self(Rc::new(Cell::new(start.0)))
    }

    /// Moves the hands forward by `span`.
    pub fn advance(&self, span: Nanos) {
        self.0.set(self.0.get() + span.0);
    }

    /// Moves the hands to `moment`.
    pub fn set(&self, moment: Nanos) {
        self.0.set(moment.0);
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Nanos {
        Nanos(self.0.get())
    }
}
