//! Real programs with known service times, which Hindmost's clones should reproduce. See README.md.

mod affinity;
mod clock;
mod integrated;
mod log;
mod options;
mod program;
mod programs;
mod random;
mod scratch;
mod serve;
mod signals;

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use log::Log;
use options::{Command, Mode, Options};
use program::Fault;
use scratch::Scratch;

/// Result of a run.
#[derive(Default)]
struct RunTotals {
    served: u64,
    /// Requests that were waiting at the end.
    discarded: u64,
    /// CPU time that reading the clocks would have added to each request.
    clock_ns: u64,
}

impl RunTotals {
    fn add(&mut self, other: &Self) {
        self.served += other.served;
        self.discarded += other.discarded;
        self.clock_ns = self.clock_ns.max(other.clock_ns);
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match options::parse(&words) {
        Ok(Command::Help(text)) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Ok(Command::Run(options)) => match run(&options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(fault) => {
                eprintln!("error: {}: {fault}", options.name);
                ExitCode::FAILURE
            }
        },
        Err(fault) => {
            eprintln!("error: {fault}\nhint: originals --help");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> Result<(), Fault> {
    let signals = signals::block()?; // before other threads are started, so that none of them is interrupted
    let folder = Scratch::new(options.folder.as_deref())?;
    affinity::bind(&options.cpus)?; // so that the data is built in nearby memory
    let program = (options.make)(options.data, folder.path())?;
    let end = Arc::new(AtomicBool::new(false));
    let capacity = match options.mode {
        Mode::Integrated { requests, .. } => requests as usize,
        Mode::Serve { keep, .. } => keep,
    };
    let log = Log::new(if options.log.is_some() { capacity } else { 0 });
    let ended = match options.mode {
        Mode::Integrated { requests, rate } => {
            signals.on_end({
                let end = end.clone();
                move || end.store(true, std::sync::atomic::Ordering::Relaxed)
            });
            integrated::run(program.as_ref(), options, requests, rate, &log, &end)?
        }
        Mode::Serve { address, .. } => serve::run(program.as_ref(), options, address, &log, signals)?,
    };
    eprintln!("{}: {} requests served, {} discarded at the end", options.name, ended.served, ended.discarded);
    if options.cpu_time {
        eprintln!("{}: {} ns of clock overhead subtracted from each cpu_ns", options.name, ended.clock_ns);
    }
    if let Some(path) = &options.log {
        let written = log
            .write(path, program.kinds())
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        eprintln!("{}: {} requests in {}", options.name, written.requests, path.display());
        if written.beyond > 0 {
            eprintln!(
                "{}: {} more exceeded the capacity of the log\nhint: --keep {}",
                options.name,
                written.beyond,
                written.requests + written.beyond
            );
        }
    }
    Ok(())
}
