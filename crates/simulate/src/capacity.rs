use std::sync::atomic::AtomicBool;

use hindmost_clone::{Document, Program, Queue, Scope};
use hindmost_random::Draws;

use crate::{general, Arrivals, Design, Row, SimulateError, Sink};

/// Requests of the pilot run that measures the cost of lock contention and of load dependence.
const PILOT: u64 = 20_000;
const PILOT_WARMUP: u64 = 2_000;

/// Return the highest rate that the server can sustain, in requests/s.
///
/// The result is exact if threads share only the queue: threads divided by mean demand, reduced by the time in
/// which they are stopped. If they contend for locks or slow down with load, a pilot run with twice as many
/// requests in the server as threads measures how much longer a thread is busy with a request than its demand. The
/// busiest lock is an upper bound.
///
/// # Errors
/// [`SimulateError::Interrupted`].
pub fn capacity_per_s(program: &Program, seed: u64, stop: &AtomicBool) -> Result<f64, SimulateError> {
    let bound = program.capacity_per_s();
    let contended = program.threads > 1 && !program.locks.is_empty();
    if !(contended || program.depends_on_load()) || bound <= 0.0 || bound.is_infinite() {
        return Ok(bound);
    }
    let isolated = Program::new(&Document {
        queue: Queue::Shared,
        arrival_us: 0.0,
        wake_us: 0.0,
        disturbances: program
            .document()
            .disturbances
            .iter()
            .filter(|disturbance| disturbance.scope == Scope::Request)
            .cloned()
            .collect(),
        ..program.document().clone()
    })?;
    let design = Design {
        load: None,
        arrivals: Arrivals::Closed { clients: 2 * isolated.threads, think_us: 0.0 },
        requests: PILOT,
        warmup: PILOT_WARMUP,
        sections: 1,
        seed,
        quantiles: Vec::new(),
        backlog: false,
        event_by_event: true,
    };
    let mut spent = TotalTime::default();
    general::run(&isolated, &design, None, &mut spent, stop)?;
    // The same requests in an idle server: their mean demand is known, so that chance cancels.
    let mut sequence = isolated.sequence();
    let demand: f64 =
        (0..design.total()).map(|i| idle_demand(&isolated, &mut sequence, Draws::new(seed, i))).sum();
    let longer = spent.busy_ns / demand;
    let running = (1.0 - program.stopped_share()).max(0.0);
    let threads = program.threads_capacity_per_s(program.mean_busy_ns() * longer) * running;
    Ok(bound.min(threads).max(if program.depends_on_load() { threads } else { 0.0 }))
}

fn idle_demand(program: &Program, sequence: &mut hindmost_clone::Sequence, draws: Draws) -> f64 {
    let request = program.request(sequence, draws, 0.0, 0.0);
    let holds: f64 = program.locks.iter().filter_map(|lock| lock.hold(draws)).map(|hold| hold.hold_ns).sum();
    request.service_ns + request.noise_ns + holds
}

#[derive(Default)]
struct TotalTime {
    busy_ns: f64,
}

impl Sink for TotalTime {
    fn take(&mut self, row: &Row) {
        self.busy_ns += row.finish_ns - row.start_ns;
    }
}
