//! The server: one thread reads requests, workers serve them in the order in which they came.
//!
//! ```text
//!   client ──bytes──► reader: epoll, parse ──► queue, one for all ──► worker: serve ──bytes──► client
//!                              │arrival                     start│        │end
//! ```
//! - **arrival**: the reader has the whole request and is about to queue it.
//! - **start**: a worker has taken it from the queue; until here it was *queued*.
//! - **end**: the program has its result; until here it was *served*. Writing the reply comes after that, as in
//!   `TailBench` (Kasture and Sanchez, IISWC 2016): it keeps the worker busy, and belongs to the frame, not to
//!   the program.
//!
//! Nothing wakes up unless a request or a signal comes.

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
use crate::{affinity, random, Ended};

use queue::Queue;
use reader::Reader;

/// Serves until a signal comes. What is in service then is finished; what still waits is discarded.
pub fn run(
    program: &dyn Program,
    options: &Options,
    address: SocketAddr,
    log: &Log,
    signals: Signals,
) -> Result<Ended, Fault> {
    let queue = Queue::new();
    let ready = Barrier::new(options.threads + 1);
    let work = |thread: usize| -> Result<Ended, Fault> {
        let made = affinity::bind(&options.cpus).and_then(|()| program.worker());
        if made.is_err() {
            queue.close();
        }
        let watch = Stopwatch::new(options.cpu_time);
        ready.wait();
        let mut worker = made?;
        let mut ended = Ended { clock_ns: watch.own_ns(), ..Ended::default() };
        while let Some(waiting) = queue.take() {
            let mut random = random::of_request(options.seed, waiting.number);
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
        let mut total = Ended { discarded: queue.close(), ..Ended::default() };
        for thread in threads {
            total.add(&thread.join().map_err(|_| "a worker panicked")??);
        }
        read.map(|()| total)
    })
}

/// Reads requests until a signal comes.
fn read(name: &str, address: SocketAddr, queue: &Queue, signals: Signals) -> Result<(), Fault> {
    let mut reader = Reader::listen(address)?;
    let ending = reader.ending();
    signals.on_end(move || ending.ask());
    println!("{name} http://{}/", reader.address()?);
    std::io::stdout().flush()?;
    reader.run(queue)
}
