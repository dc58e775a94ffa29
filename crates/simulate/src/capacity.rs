use std::sync::atomic::AtomicBool;

use hindmost_clone::{Document, Program, Queue, Scope};
use hindmost_random::Draws;

use crate::{general, Arrivals, Design, Row, SimulateError, Sink};

/// Requests of the pilot run that finds what waiting for locks and the dependence on load cost.
const PILOT: u64 = 20_000;
const PILOT_WARMUP: u64 = 2_000;

/// The highest rate that can be served for long, requests a second.
///
/// Where threads share nothing but the queue this is exact: threads by mean demand, less the time in which they stand
/// still. Where they contend for locks, or slow down with the load, a pilot run with twice as many requests in the server
/// as threads tells how much longer a thread is busy with a request than its demand; it cannot exceed what the
/// busiest lock allows.
///
/// # Errors
/// [`SimulateError::Interrupted`].
pub fn capacity_per_s(program: &Program, seed: u64, stop: &AtomicBool) -> Result<f64, SimulateError> {
    let bound = program.capacity_per_s();
    let contended = program.threads > 1 && !program.locks.is_empty();
    if !(contended || program.depends_on_load()) || bound <= 0.0 || bound.is_infinite() {
        return Ok(bound);
    }
    let calm = Program::new(&Document {
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
        arrivals: Arrivals::Closed { clients: 2 * calm.threads, think_us: 0.0 },
        requests: PILOT,
        warmup: PILOT_WARMUP,
        sections: 1,
        seed,
        quantiles: Vec::new(),
        backlog: false,
        event_by_event: true,
    };
    let mut spent = Spent::default();
    general::run(&calm, &design, None, &mut spent, stop)?;
    // The same requests in an idle server: their mean demand is known, so that what chance added drops out.
    let mut sequence = calm.sequence();
    let demand: f64 =
        (0..design.total()).map(|i| idle_demand(&calm, &mut sequence, Draws::of(seed, i))).sum();
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
struct Spent {
    busy_ns: f64,
}

impl Sink for Spent {
    fn take(&mut self, row: &Row) {
        self.busy_ns += row.finish_ns - row.start_ns;
    }
}
