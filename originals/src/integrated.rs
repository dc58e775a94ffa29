//! Requests generated in the process itself: without sockets and other threads, which gives the cleanest traces.
//!
//! Workers take the numbers of requests in turn. With a rate, each waits for its request's scheduled time. That is
//! one first-come-first-served queue in front of all workers, without a dispatcher that adds delay.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::Barrier;
use std::thread;

use crate::clock::{wait_until, wall_ns, Stopwatch};
use crate::log::Log;
use crate::options::Options;
use crate::program::{Fault, Program};
use crate::random::{self, Purpose};
use crate::{affinity, RunTotals};

/// Time between the readiness of the last worker and the first arrival.
const LEAD_NS: u64 = 5_000_000;

/// Serve `requests`, back to back or as a Poisson process of `rate` requests/s, until all are served or `end` is
/// set.
pub fn run(
    program: &dyn Program,
    options: &Options,
    requests: u64,
    rate: Option<f64>,
    log: &Log,
    end: &AtomicBool,
) -> Result<RunTotals, Fault> {
    let scheduled: Option<Vec<u64>> = rate.map(|rate| {
        let mut random = random::generator_of_purpose(options.seed, Purpose::Arrivals);
        let mut time = 0.0;
        (0..requests)
            .map(|_| {
                time -= random::unit(&mut random).ln() / rate * 1e9;
                time as u64
            })
            .collect()
    });
    let (next, began, ready) = (AtomicU64::new(0), AtomicU64::new(0), Barrier::new(options.threads));
    let work = |thread: usize| -> Result<RunTotals, Fault> {
        let made = affinity::bind(&options.cpus).and_then(|()| program.worker());
        let watch = Stopwatch::new(options.cpu_time);
        if made.is_err() {
            end.store(true, Relaxed);
        }
        if ready.wait().is_leader() {
            began.store(wall_ns() + LEAD_NS, Relaxed);
        }
        ready.wait();
        let mut worker = made?;
        let mut ended = RunTotals { served: 0, discarded: 0, clock_ns: watch.own_ns() };
        while !end.load(Relaxed) {
            let number = next.fetch_add(1, Relaxed);
            if number >= requests {
                break;
            }
            let scheduled =
                scheduled.as_ref().map(|scheduled| began.load(Relaxed) + scheduled[number as usize]);
            if let Some(scheduled) = scheduled {
                wait_until(scheduled);
            }
            let mut random = random::generator_of_request(options.seed, number);
            let (service, outcome) = watch.time(|| worker.serve(&mut random));
            log.keep(number as usize, scheduled.unwrap_or(service.start_ns), &service, thread, outcome.kind);
            ended.served += 1;
        }
        Ok(ended)
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..options.threads).map(|thread| scope.spawn(move || work(thread))).collect();
        let mut total = RunTotals::default();
        for thread in threads {
            total.add(&thread.join().map_err(|_| "a worker panicked")??);
        }
        Ok(total)
    })
}
