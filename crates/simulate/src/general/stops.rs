//! When one thread runs, given the timed disturbances of this thread and of all threads.

use std::iter::Peekable;

use hindmost_clone::{Program, Windows};

/// The stops of a thread. If several overlap, it is stopped until the last has ended. Times passed to the methods
/// must not decrease.
#[derive(Clone, Debug)]
pub(crate) struct Stops {
    sources: Box<[Peekable<Windows>]>,
    /// Start of the first stop that has not ended at the last queried time; infinite if there is none.
    begin_ns: f64,
    end_ns: f64,
}

impl Stops {
    pub(crate) fn new(program: &Program, seed: u64, thread: u32) -> Self {
        let windows = program.windows(seed, None).into_iter().chain(program.windows(seed, Some(thread)));
        let sources = windows.map(Iterator::peekable).collect();
        let mut stops = Self { sources, begin_ns: 0.0, end_ns: 0.0 };
        stops.advance();
        stops
    }

    /// Return the first time, not before `at`, at which the thread runs.
    #[inline]
    pub(crate) fn runs_at(&mut self, at: f64) -> f64 {
        while self.end_ns <= at {
            self.advance();
        }
        if self.begin_ns <= at {
            self.end_ns
        } else {
            at
        }
    }

    /// Return when work is complete that starts at `from` and takes `work_ns` of a running thread.
    #[inline]
    pub(crate) fn done_at(&mut self, from: f64, work_ns: f64) -> f64 {
        let (mut now, mut left) = (self.runs_at(from), work_ns);
        loop {
            // The stop at `now` is over; another may start at the same time.
            while self.end_ns <= now {
                self.advance();
            }
            if now + left <= self.begin_ns {
                return now + left;
            }
            left -= self.begin_ns - now;
            now = self.end_ns;
        }
    }

    /// Advance to the next stop, joined with all that overlap it or follow immediately.
    fn advance(&mut self) {
        self.begin_ns = f64::INFINITY;
        self.end_ns = f64::INFINITY;
        let begins = |source: &mut Peekable<Windows>| source.peek().map_or(f64::INFINITY, |window| window.0);
        let next = self.sources.iter_mut().map(begins).enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        let Some((begin, length)) = next.and_then(|(place, _)| self.sources[place].next()) else { return };
        (self.begin_ns, self.end_ns) = (begin, begin + length);
        while let Some(window) =
            self.sources.iter_mut().find_map(|source| source.next_if(|window| window.0 <= self.end_ns))
        {
            self.end_ns = self.end_ns.max(window.0 + window.1);
        }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "whole nanoseconds")]
mod tests {
    use super::*;
    use hindmost_clone::Document;
    use serde_json::json;

    /// All threads are stopped at 100..110 and 200..210 us; each thread at 105..120, 300..305 and 305..310 us.
    fn stops() -> Stops {
        let stop = |name: &str, scope: &str, at_us: &[f64], us: f64| {
            json!({"name": name, "scope": scope, "when": {"kind": "once", "at_us": at_us},
                   "length": {"kind": "deterministic", "us": us}})
        };
        let document = json!({
            "schema": "hindmost.clone/1", "name": "stops",
            "service": [{"law": {"kind": "deterministic", "us": 10}}],
            "disturbances": [stop("world", "server", &[100.0, 200.0], 10.0), stop("own", "thread", &[105.0], 15.0),
                             stop("two", "thread", &[300.0, 305.0], 5.0)],
        });
        let document = Document::from_json(&document.to_string()).unwrap();
        Stops::new(&Program::new(&document).unwrap(), 1, 0)
    }

    #[test]
    fn a_thread_runs_outside_its_stops() {
        let mut stops = stops();
        for (at, runs) in
            [(0.0, 0.0), (99.0, 99.0), (100.0, 120.0), (119.0, 120.0), (120.0, 120.0), (302.0, 310.0)]
        {
            assert_eq!(stops.runs_at(at * 1e3), runs * 1e3, "{at}");
        }
        assert_eq!(stops.runs_at(1e12), 1e12);
    }

    #[test]
    fn work_takes_longer_by_the_stops_in_between() {
        for (from, work, done) in [
            (0.0, 50.0, 50.0),
            (90.0, 10.0, 100.0),
            (90.0, 11.0, 121.0),
            (90.0, 100.0, 220.0),
            (105.0, 5.0, 125.0),
            (90.0, 500.0, 640.0 - 10.0),
        ] {
            assert_eq!(stops().done_at(from * 1e3, work * 1e3), done * 1e3, "{from} {work}");
        }
    }
}
