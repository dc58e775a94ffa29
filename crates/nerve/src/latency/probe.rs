//! A light open-loop probe: one connection, moments drawn beforehand, latency from the moment due.
//!
//! ```text
//!  due      |     |        |   |          one connection answers in order, so that what waits here waits as it
//!  sent     |     |------->|   |          would in the server's socket; latency counts from `due` in both
//!  done       |           x  x   x
//! ```

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use hindmost_load::protocol::Outcome;
use hindmost_random::{mix, unit};
use hindmost_sys::clock::monotonic_ns;
use hindmost_sys::this_thread;

use super::client::{Client, ProbeRequest};
use super::Intake;
use crate::NerveError;

/// Between attempts to connect.
const PAUSE_NS: u64 = 200_000_000;
/// Requests of a stall that are still asked for; older ones are counted as failed.
const MOST_LATE_NS: u64 = 10_000_000_000;

struct Shared {
    intake: Mutex<Intake>,
    stop: AtomicBool,
}

/// A probe that runs until it is dropped.
pub(crate) struct Prober {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Prober {
    /// Of `asked`; keeps `each` request, or their histogram alone.
    pub(crate) fn start(asked: &ProbeRequest, each: bool) -> Result<Self, NerveError> {
        let rate = asked.rate;
        if !(0.1..=10_000.0).contains(&rate) {
            return Err(asked.refused(&format!("{rate} requests a second; a probe makes 0.1 to 10000")));
        }
        // The first answer now, so that a wrong address is told in the first second.
        let mut client = Client::new(asked)?;
        let answer = client.ask().map_err(|error| asked.refused(&error))?;
        if answer.outcome == Outcome::Error {
            let words = answer.words.unwrap_or_default();
            let line = words.lines().next().unwrap_or_default();
            return Err(asked.refused(&format!("the server answers the probe with an error: {line}")));
        }
        let shared = Arc::new(Shared { intake: Mutex::new(Intake::new(each)), stop: AtomicBool::new(false) });
        let ours = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("probe".into())
            .spawn(move || run(&ours, client, rate))
            .map_err(|error| asked.refused(&error))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    pub(crate) fn take(&self, empty: Intake) -> Intake {
        let mut intake = self.shared.intake.lock().unwrap_or_else(PoisonError::into_inner);
        let (oldest, cpu) = (intake.oldest, intake.cpu_ns);
        let taken = std::mem::replace(&mut *intake, empty);
        (intake.oldest, intake.cpu_ns) = (oldest, cpu);
        taken
    }
}

impl Drop for Prober {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(shared: &Shared, mut client: Client, rate: f64) {
    this_thread::make_timers_precise();
    // What the probe waits for a processor would count as the server's.
    let _ = this_thread::make_urgent();
    let mut draw = mix(monotonic_ns());
    let mut due = monotonic_ns();
    while !shared.stop.load(Ordering::Relaxed) {
        draw = mix(draw);
        due += (-(1.0 - unit(draw)).ln() / rate * 1e9) as u64;
        // In pieces, so that an end is heard of.
        while monotonic_ns() < due && !shared.stop.load(Ordering::Relaxed) {
            this_thread::sleep_until(due.min(monotonic_ns() + PAUSE_NS));
        }
        with(shared, |intake| intake.oldest = due);
        let sent = monotonic_ns();
        if sent > due + MOST_LATE_NS {
            with(shared, |intake| intake.errors += 1);
            continue;
        }
        let answer = client.ask();
        let done = monotonic_ns();
        with(shared, |intake| {
            intake.oldest = 0;
            intake.slip_ns += sent.saturating_sub(due);
            intake.cpu_ns = this_thread::cpu_time_ns();
            match &answer {
                Ok(answer) if answer.outcome != Outcome::Error => intake.record(due, done - due),
                Ok(_) | Err(_) => intake.errors += 1,
            }
        });
        if answer.is_err() {
            this_thread::sleep_until(monotonic_ns() + PAUSE_NS);
        }
    }
}

fn with(shared: &Shared, change: impl FnOnce(&mut Intake)) {
    change(&mut shared.intake.lock().unwrap_or_else(PoisonError::into_inner));
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener};
    use std::time::Duration;

    use super::*;

    fn asked(address: SocketAddr, protocol: &str, rate: f64) -> ProbeRequest {
        ProbeRequest { address, protocol: protocol.to_owned(), path: None, host: None, rate }
    }

    #[test]
    fn a_stall_counts_for_all_that_were_due_in_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = [0; 64];
            let mut answered = 0;
            while stream.read(&mut bytes).is_ok_and(|count| count > 0) {
                answered += 1;
                if answered == 10 {
                    std::thread::sleep(Duration::from_millis(300));
                }
                if stream.write_all(b"END\r\n").is_err() {
                    break;
                }
            }
        });
        let prober = Prober::start(&asked(address, "memcached", 500.0), true).unwrap();
        std::thread::sleep(Duration::from_millis(700));
        let seen = prober.take(Intake::new(true));
        drop(prober);
        server.join().unwrap();
        // 300 ms at 500/s: some 150 requests were due while the server slept; asked one after the other, one would
        // be slow.
        let slow = seen.each.unwrap().iter().filter(|(_, latency)| *latency > 20_000_000).count();
        assert!(slow > 60, "{slow}");
    }

    #[test]
    fn who_does_not_answer_is_told_at_once() {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert!(matches!(
            Prober::start(&asked(free, "memcached", 100.0), false),
            Err(NerveError::Latency { .. })
        ));
        assert!(matches!(
            Prober::start(&asked(free, "gopher", 100.0), false),
            Err(NerveError::Latency { .. })
        ));
    }
}
