//! The queue simulator of a clone document: requests arrive, wait in order of arrival, and use threads and locks as
//! the document describes, with the same random numbers as the synthetic server.
//!
//! ```text
//!  Program, Design --simulate--> rows in the order of service start --> Recorder --> Outcome
//!                      |
//!                      +-- plain:   threads that share nothing but the queue, by the recursion of Lindley (1952), of Kiefer and Wolfowitz (1955)
//!                      +-- general: event by event; locks, timed stops, load dependence, closed loop
//! ```
//!
//! If both methods apply, they give the same rows, bit for bit. Request `i` in the order of service start uses
//! `Draws::new(seed, i)`, so that two designs with one seed serve the same requests (common random numbers). Of
//! several idle threads, the one that has been idle longest takes a request.

mod arrivals;
mod batch;
mod capacity;
mod design;
mod error;
mod general;
mod outcome;
mod plain;
mod record;
mod row;

use std::sync::atomic::AtomicBool;

use hindmost_clone::{Program, Queue};

pub use arrivals::Arrivals;
pub use batch::{run_batch, Batch, Point};
pub use capacity::capacity_per_s;
pub use design::{Design, Load};
pub use error::SimulateError;
pub use outcome::{Answer, Figures, LockFigures, Outcome};
pub use row::{Row, Sink};

use crate::record::Recorder;

/// Run one design to its end and return its statistics.
///
/// # Errors
/// [`SimulateError`] if the design is invalid, if the rate exceeds the capacity (unless the design allows a
/// backlog), or if `stop` was set.
pub fn simulate(program: &Program, design: &Design, stop: &AtomicBool) -> Result<Outcome, SimulateError> {
    design.check()?;
    simulate_with_capacity(program, design, capacity_per_s(program, design.seed, stop)?, stop)
}

/// Run a checked design with a known capacity, like [`simulate`].
fn simulate_with_capacity(
    program: &Program,
    design: &Design,
    capacity: f64,
    stop: &AtomicBool,
) -> Result<Outcome, SimulateError> {
    let rate = design.rate_per_s(capacity)?;
    let mut recorder = Recorder::new(program, design);
    let locks = run(program, design, rate, &mut recorder, stop)?;
    Ok(recorder.outcome(program, design, rate, capacity, &locks))
}

/// Run one design and pass its rows, including warm-up, to `sink`.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_rows(
    program: &Program,
    design: &Design,
    sink: &mut impl Sink,
    stop: &AtomicBool,
) -> Result<(), SimulateError> {
    design.check()?;
    let rate = design.rate_per_s(capacity_per_s(program, design.seed, stop)?)?;
    run(program, design, rate, sink, stop).map(drop)
}

fn run(
    program: &Program,
    design: &Design,
    rate: Option<f64>,
    sink: &mut impl Sink,
    stop: &AtomicBool,
) -> Result<Vec<general::LockUse>, SimulateError> {
    if !design.event_by_event && is_plain(program, design) {
        return plain::run(program, design, rate, sink, stop);
    }
    general::run(program, design, rate, sink, stop)
}

/// Whether threads never wait for each other, and nothing depends on time or load.
fn is_plain(program: &Program, design: &Design) -> bool {
    let one_queue = program.queue == Queue::Shared || program.threads == 1;
    let no_clock = program.windows(0, None).is_empty() && program.windows(0, Some(0)).is_empty();
    one_queue
        && no_clock
        && (program.locks.is_empty() || program.threads == 1)
        && !program.depends_on_load()
        && program.arrival_ns == 0.0
        && program.wake_ns == 0.0
        && !design.arrivals.is_closed()
}
