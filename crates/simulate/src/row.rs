/// One request's way through the server. Times are nanoseconds since the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// It arrived.
    pub arrival_ns: f64,
    /// A thread took it.
    pub start_ns: f64,
    /// The thread was done with it.
    pub finish_ns: f64,
    /// What it took of a thread that never stood still or waited: service, disturbances of requests, locks held.
    pub demand_ns: f64,
    /// How long it waited for locks.
    pub lock_wait_ns: f64,
    /// Number of its kind.
    pub kind: u32,
}

/// Takes rows in the order of service start.
pub trait Sink {
    /// The next one.
    fn take(&mut self, row: &Row);
}

impl Sink for Vec<Row> {
    fn take(&mut self, row: &Row) {
        self.push(*row);
    }
}
