/// The times of one request in the server, in nanoseconds since the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Arrival.
    pub arrival_ns: f64,
    /// A thread takes it.
    pub start_ns: f64,
    /// The thread completes it.
    pub finish_ns: f64,
    /// Time that it needs from a thread that never waits and is never stopped: service, request noise, lock
    /// holding times.
    pub demand_ns: f64,
    /// Time of waiting for locks.
    pub lock_wait_ns: f64,
    /// Index of its kind.
    pub kind: u32,
}

/// Receives rows in the order of service start.
pub trait Sink {
    /// Receive the next row.
    fn take(&mut self, row: &Row);
}

impl Sink for Vec<Row> {
    fn take(&mut self, row: &Row) {
        self.push(*row);
    }
}
