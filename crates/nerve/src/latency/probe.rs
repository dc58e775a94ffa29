//! A light open-loop probe: one connection, a schedule drawn in advance, latency from the scheduled time.
//!
//! ```text
//!  scheduled  |     |        |   |        one connection answers in order, so requests that wait here would
//!  sent       |     |------->|   |        wait in the server's socket otherwise; latency counts from the
//!  completed    |           x  x   x       scheduled time in both cases
//! ```

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use hindmost_load::protocol::Outcome;
use hindmost_random::{mix, unit};
use hindmost_sys::clock::monotonic_ns;
use hindmost_sys::this_thread;

use super::client::{Client, ProbeRequest};
use super::Intake;
use crate::NerveError;

/// Pause between attempts to connect.
const RETRY_NS: u64 = 200_000_000;
/// Oldest delayed request that is still sent after a stall; older ones count as failed.
const MAX_DELAY_NS: u64 = 10_000_000_000;

struct ProbeState {
    intake: Mutex<Intake>,
    stop: AtomicBool,
}

/// A probe that runs until it is dropped.
pub(crate) struct Prober {
    state: Arc<ProbeState>,
    thread: Option<JoinHandle<()>>,
}

impl Prober {
    /// Start a probe. It keeps `each` request, or only their histogram. `must_answer`: fail if the server does not
    /// answer now.
    pub(crate) fn start(request: &ProbeRequest, each: bool, must_answer: bool) -> Result<Self, NerveError> {
        let rate = request.rate;
        if !(0.1..=10_000.0).contains(&rate) {
            return Err(request.error(&format!("{rate} requests/s; a probe sends 0.1 to 10000 requests/s")));
        }
        let mut client = Client::new(request)?;
        if must_answer {
            check_answer(request, &mut client)?;
        }
        let pace = Pace::new(rate, request.budget_us);
        let state =
            Arc::new(ProbeState { intake: Mutex::new(Intake::new(each)), stop: AtomicBool::new(false) });
        let thread_state = Arc::clone(&state);
        let thread = std::thread::Builder::new()
            .name("probe".into())
            .spawn(move || run(&thread_state, client, pace))
            .map_err(|error| request.error(&error))?;
        Ok(Self { state, thread: Some(thread) })
    }

    pub(crate) fn take(&self, empty: Intake) -> Intake {
        let mut intake = self.state.intake.lock().unwrap_or_else(PoisonError::into_inner);
        let (oldest, cpu) = (intake.oldest, intake.cpu_ns);
        let readings = std::mem::replace(&mut *intake, empty);
        (intake.oldest, intake.cpu_ns) = (oldest, cpu);
        readings
    }
}

impl Drop for Prober {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// Send one request, so that a wrong address is reported at once.
fn check_answer(request: &ProbeRequest, client: &mut Client) -> Result<(), NerveError> {
    let answer = client.ask().map_err(|error| request.error(&error))?;
    if answer.outcome == Outcome::Error {
        let words = answer.words.unwrap_or_default();
        let line = words.lines().next().unwrap_or_default();
        return Err(request.error(&format!("the server answered the probe with an error: {line}")));
    }
    Ok(())
}

/// The rate of a probe: as requested, or lower if requests would cost more CPU time than the budget.
struct Pace {
    requested: f64,
    /// Allowed nanoseconds per second.
    allowed: f64,
    /// Smoothed cost of a request, in nanoseconds.
    cost: f64,
}

/// Cost of a request before one was sent, in nanoseconds.
const FIRST_COST: f64 = 50_000.0;
/// Least requests per second, whatever they cost.
const LEAST_RATE: f64 = 1.0;
/// Weight of the last request in the mean cost: a single reconnection must not slow the probe down.
const SMOOTHING: f64 = 0.02;

impl Pace {
    fn new(requested: f64, budget_us: Option<u64>) -> Self {
        let allowed = budget_us.map_or(f64::INFINITY, |budget| budget as f64 * 1e3);
        Self { requested, allowed, cost: FIRST_COST }
    }

    fn record_cost(&mut self, ns: u64) {
        self.cost += SMOOTHING * (ns as f64 - self.cost);
    }

    /// Return the current requests per second.
    fn rate(&self) -> f64 {
        (self.allowed / self.cost).max(LEAST_RATE).min(self.requested)
    }
}

fn run(state: &ProbeState, mut client: Client, mut pace: Pace) {
    this_thread::make_timers_precise();
    // Time that the probe waits for a CPU would count as the server's.
    let _ = this_thread::make_urgent();
    let mut draw = mix(monotonic_ns());
    let mut scheduled = monotonic_ns();
    let mut cpu_ns = this_thread::cpu_time_ns();
    while !state.stop.load(Ordering::Relaxed) {
        draw = mix(draw);
        scheduled += (-(1.0 - unit(draw)).ln() / pace.rate() * 1e9) as u64;
        wait_until(scheduled, &state.stop);
        update(state, |intake| intake.oldest = scheduled);
        let sent = monotonic_ns();
        if sent > scheduled + MAX_DELAY_NS {
            update(state, |intake| intake.errors += 1);
            continue;
        }
        let answer = client.ask();
        let done = monotonic_ns();
        let cpu_before = std::mem::replace(&mut cpu_ns, this_thread::cpu_time_ns());
        pace.record_cost(cpu_ns - cpu_before);
        update(state, |intake| {
            intake.oldest = 0;
            intake.send_delay_ns += sent.saturating_sub(scheduled);
            intake.cpu_ns = cpu_ns;
            match &answer {
                Ok(answer) if answer.outcome != Outcome::Error => intake.record(scheduled, done - scheduled),
                Ok(_) | Err(_) => intake.errors += 1,
            }
        });
        if answer.is_err() {
            wait_until(monotonic_ns() + RETRY_NS, &state.stop);
        }
    }
}

/// Sleep until a time, or until the probe is stopped.
fn wait_until(at_ns: u64, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let now = monotonic_ns();
        if now >= at_ns {
            return;
        }
        std::thread::park_timeout(Duration::from_nanos(at_ns - now));
    }
}

fn update(state: &ProbeState, change: impl FnOnce(&mut Intake)) {
    change(&mut state.intake.lock().unwrap_or_else(PoisonError::into_inner));
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener};

    use super::*;

    fn probe_request(address: SocketAddr, protocol: &str, rate: f64) -> ProbeRequest {
        ProbeRequest { address, protocol: protocol.to_owned(), path: None, host: None, rate, budget_us: None }
    }

    #[test]
    fn a_stall_delays_all_requests_scheduled_in_it() {
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
        let prober = Prober::start(&probe_request(address, "memcached", 500.0), true, true).unwrap();
        std::thread::sleep(Duration::from_millis(700));
        let intake = prober.take(Intake::new(true));
        drop(prober);
        server.join().unwrap();
        // 300 ms at 500/s: about 150 requests were scheduled while the server slept. A closed loop would see one slow
        // request.
        let slow = intake.each.unwrap().iter().filter(|(_, latency)| *latency > 20_000_000).count();
        assert!(slow > 60, "{slow}");
    }

    #[test]
    fn a_budget_slows_only_a_probe_whose_requests_cost_more() {
        let after = |cost, budget_us| {
            let mut pace = Pace::new(25.0, budget_us);
            (0..1_000).for_each(|_| pace.record_cost(cost));
            pace.rate().round() as u64
        };
        assert_eq!(after(10_000, Some(500)), 25);
        assert_eq!(after(100_000, Some(500)), 5);
        assert_eq!(after(1_000_000_000, Some(500)), 1);
        assert_eq!(after(1_000_000_000, None), 25);
    }

    #[test]
    fn a_probe_that_waits_ends_at_once() {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let prober = Prober::start(&probe_request(free, "memcached", 0.1), false, false).unwrap();
        let (done, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            drop(prober);
            done.send(()).unwrap();
        });
        // Its next request may be minutes away.
        ended.recv_timeout(Duration::from_secs(5)).unwrap();
    }

    #[test]
    fn a_server_that_does_not_answer_is_reported_at_once() {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert!(matches!(
            Prober::start(&probe_request(free, "memcached", 100.0), false, true),
            Err(NerveError::Latency { .. })
        ));
        assert!(matches!(
            Prober::start(&probe_request(free, "gopher", 100.0), false, true),
            Err(NerveError::Latency { .. })
        ));
    }
}
