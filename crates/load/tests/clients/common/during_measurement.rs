use std::thread::JoinHandle;

use hindmost_clock::Nanos;
use hindmost_load::engine::{Command, Controller, Event, ImmediateController};
use hindmost_load::LoadError;

/// Runs an action on its own thread as soon as the measurement is ordered.
pub struct DuringMeasurement<F, T> {
    inner: ImmediateController,
    action: Option<F>,
    running: Option<JoinHandle<T>>,
}

impl<T: Send + 'static, F: FnOnce() -> T + Send + 'static> DuringMeasurement<F, T> {
    pub fn new(action: F) -> Self {
        Self { inner: ImmediateController::default(), action: Some(action), running: None }
    }

    /// Return the result of the action.
    pub fn outcome(self) -> T {
        self.running.expect("the run has started").join().unwrap()
    }
}

impl<T: Send + 'static, F: FnOnce() -> T + Send + 'static> Controller for DuringMeasurement<F, T> {
    fn report(&mut self, event: &Event) -> Result<(), LoadError> {
        self.inner.report(event)
    }

    fn next_command(&mut self, patience: Nanos) -> Result<Option<Command>, LoadError> {
        let command = self.inner.next_command(patience)?;
        if matches!(command, Some(Command::Measure { .. })) {
            self.running = self.action.take().map(std::thread::spawn);
        }
        Ok(command)
    }
}
