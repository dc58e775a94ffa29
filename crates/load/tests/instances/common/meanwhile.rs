use std::thread::JoinHandle;

use hindmost_clock::Nanos;
use hindmost_load::engine::{Command, Controller, Event, ImmediateController};
use hindmost_load::LoadError;

/// Runs an action on its own thread as soon as the measurement is ordered.
pub struct Meanwhile<F, T> {
    alone: ImmediateController,
    deed: Option<F>,
    under_way: Option<JoinHandle<T>>,
}

impl<T: Send + 'static, F: FnOnce() -> T + Send + 'static> Meanwhile<F, T> {
    pub fn new(deed: F) -> Self {
        Self { alone: ImmediateController::default(), deed: Some(deed), under_way: None }
    }

    /// Return the result of the action.
    pub fn outcome(self) -> T {
        self.under_way.expect("it was ordered to measure").join().unwrap()
    }
}

impl<T: Send + 'static, F: FnOnce() -> T + Send + 'static> Controller for Meanwhile<F, T> {
    fn report(&mut self, event: &Event) -> Result<(), LoadError> {
        self.alone.report(event)
    }

    fn next_command(&mut self, patience: Nanos) -> Result<Option<Command>, LoadError> {
        let heard = self.alone.next_command(patience)?;
        if matches!(heard, Some(Command::Measure { .. })) {
            self.under_way = self.deed.take().map(std::thread::spawn);
        }
        Ok(heard)
    }
}
