//! The server: one thread reads requests, workers serve them in order of arrival.
//!
//! ```text
//!   client ──bytes──► reader: epoll, parse ──► queue, one for all ──► worker: serve ──bytes──► client
//!                              │arrival                     start│        │end
//! ```
//! - **arrival**: the reader has the complete request and is about to queue it.
//! - **start**: a worker has taken it from the queue; until here it was *queued*.
//! - **end**: the program has its result; until here it was *served*. The reply is written afterwards, as in
//!   `TailBench` (Kasture and Sanchez, IISWC 2016): that keeps the worker busy, but belongs to the frame
//!   instead of the program.
//!
//! No thread wakes up unless a request or a signal arrives.

mod connection;
mod http;
mod queue;
mod reader;

use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Barrier;
use std::thread;

use crate::clock::Stopwatch;
use crate::log::Log;
use crate::options::Options;
use crate::program::{Fault, Program};
use crate::signals::Signals;
use crate::{affinity, random, RunTotals};

use queue::Queue;
use reader::Reader;

/// Serve until a signal arrives. Requests in service are finished; waiting ones are discarded.
pub fn run(
    program: &dyn Program,
    options: &Options,
    address: SocketAddr,
    log: &Log,
    signals: Signals,
) -> Result<RunTotals, Fault> {
    let queue = Queue::new();
    let ready = Barrier::new(options.threads + 1);
    let work = |thread: usize| -> Result<RunTotals, Fault> {
        let made = affinity::bind(&options.cpus).and_then(|()| program.worker());
        if made.is_err() {
            queue.close();
        }
        let watch = Stopwatch::new(options.cpu_time);
        ready.wait();
        let mut worker = made?;
        let mut ended = RunTotals { clock_ns: watch.own_ns(), ..RunTotals::default() };
        while let Some(waiting) = queue.take() {
            let mut random = random::generator_of_request(options.seed, waiting.number);
            let (service, outcome) = watch.time(|| worker.serve(&mut random));
            log.keep(waiting.place, waiting.arrival_ns, &service, thread, outcome.kind);
            let kind = program.kinds()[outcome.kind];
            waiting.connection.reply(waiting.turn, http::reply(kind, outcome.digest, waiting.keep));
            ended.served += 1;
        }
        Ok(ended)
    };
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..options.threads).map(|thread| scope.spawn(move || work(thread))).collect();
        ready.wait();
        let read = if queue.is_closed() { Ok(()) } else { read(options.name, address, &queue, signals) };
        let mut total = RunTotals { discarded: queue.close(), ..RunTotals::default() };
        for thread in threads {
            total.add(&thread.join().map_err(|_| "a worker panicked")??);
        }
        read.map(|()| total)
    })
}

/// Read requests until a signal arrives.
fn read(name: &str, address: SocketAddr, queue: &Queue, signals: Signals) -> Result<(), Fault> {
    let mut reader = Reader::listen(address)?;
    let ending = reader.ending();
    signals.on_end(move || ending.ask());
    println!("{name} http://{}/", reader.address()?);
    std::io::stdout().flush()?;
    reader.run(queue)
}
