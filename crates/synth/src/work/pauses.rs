//! When a thread stands still by the clock, and what that does to its work.
//!
//! ```text
//!   work    |=======|      pause       |====|
//!           t                               through(t, work)
//! ```

use hindmost_clock::Nanos;
use hindmost_clone::{Program, Windows};

/// The pauses of one thread: its own, and those of the whole server, which every thread finds out by itself from
/// the same draws.
pub(crate) struct Pauses {
    origin: Nanos,
    sources: Vec<Source>,
    /// The last pause that was met, from begin to end.
    last: (Nanos, Nanos),
}

struct Source {
    windows: Windows,
    begin: Nanos,
    end: Nanos,
}

impl Source {
    /// Its next window, for good `MAX` once there is none.
    fn step(&mut self, origin: Nanos) {
        let (begin, length) = self.windows.next().unwrap_or((f64::INFINITY, 0.0));
        // Casts saturate: infinity is the end of all time.
        self.begin = origin.saturating_add(Nanos(begin as u64));
        self.end = self.begin.saturating_add(Nanos(length.round() as u64));
    }
}

impl Pauses {
    /// Of thread `thread` of a server that started at `origin`.
    pub(crate) fn new(program: &Program, seed: u64, thread: u32, origin: Nanos) -> Self {
        let windows = program.windows(seed, None).into_iter().chain(program.windows(seed, Some(thread)));
        let mut sources: Vec<_> =
            windows.map(|windows| Source { windows, begin: Nanos::ZERO, end: Nanos::ZERO }).collect();
        for source in &mut sources {
            source.step(origin);
        }
        Self { origin, sources, last: (Nanos::ZERO, Nanos::ZERO) }
    }

    /// The first moment from `t` on at which the thread runs. Moments asked for must not fall, but back into the pause
    /// that was met last.
    #[inline]
    pub(crate) fn after(&mut self, mut t: Nanos) -> Nanos {
        if self.sources.is_empty() {
            return t;
        }
        if t >= self.last.0 {
            t = t.max(self.last.1);
        }
        loop {
            let mut within: Option<(Nanos, Nanos)> = None;
            for source in &mut self.sources {
                while source.end <= t && source.begin < Nanos::MAX {
                    source.step(self.origin);
                }
                if source.begin <= t {
                    let (begin, end) = within.unwrap_or((source.begin, source.end));
                    within = Some((begin.min(source.begin), end.max(source.end)));
                }
            }
            match within {
                Some((begin, end)) if end > t => {
                    // One that follows at once is part of it.
                    self.last = if begin <= self.last.1 { (self.last.0, end) } else { (begin, end) };
                    t = end;
                }
                _ => return t,
            }
        }
    }

    /// When `work` that begins at `t` is done.
    #[inline]
    pub(crate) fn through(&mut self, t: Nanos, work: Nanos) -> Nanos {
        if self.sources.is_empty() {
            return t.saturating_add(work);
        }
        let (mut t, mut left) = (self.after(t), work);
        loop {
            let next = self.sources.iter().map(|source| source.begin).min().unwrap_or(Nanos::MAX);
            let runs = next.saturating_sub(t);
            if left <= runs {
                return t.saturating_add(left);
            }
            left = left.saturating_sub(runs);
            t = self.after(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use hindmost_clone::{Component, Disturbance, Document, Law, Scope, When};

    use super::*;
    use crate::ServerConfig;

    fn pauses(windows: &[(Scope, f64, f64)]) -> Pauses {
        let mut document: Document = ServerConfig::default().program().unwrap().document().clone();
        document.service = vec![Component { weight: 1.0, law: Law::Deterministic { us: 1.0 } }];
        document.disturbances = windows
            .iter()
            .map(|&(scope, at, us)| Disturbance {
                name: "pause".to_owned(),
                scope,
                when: When::Once { at_us: vec![at] },
                length: Law::Deterministic { us },
                while_holding: None,
            })
            .collect();
        Pauses::new(&Program::new(&document).unwrap(), 1, 0, Nanos::from_micros(1_000))
    }

    #[test]
    fn work_goes_on_where_it_was_interrupted() {
        let us = |from: u64| Nanos::from_micros(1_000 + from);
        let work = Nanos::from_micros;
        let check = |windows: &[(Scope, f64, f64)], t, length, end| {
            assert_eq!(pauses(windows).through(us(t), work(length)), us(end), "{windows:?}");
        };
        let (thread, server) = (Scope::Thread, Scope::Server);
        check(&[], 5, 10, 15);
        check(&[(thread, 10.0, 100.0)], 5, 10, 115);
        check(&[(thread, 10.0, 100.0)], 50, 10, 120);
        check(&[(thread, 10.0, 100.0)], 110, 10, 120);
        check(&[(thread, 10.0, 100.0)], 0, 10, 10);
        // Two that overlap are one; one that follows counts, too.
        check(&[(thread, 10.0, 100.0), (server, 50.0, 100.0)], 5, 10, 155);
        check(&[(thread, 10.0, 100.0), (server, 112.0, 8.0)], 5, 10, 123);
    }

    #[test]
    fn who_runs_is_not_held_up() {
        let mut some = pauses(&[(Scope::Server, 10.0, 5.0)]);
        let us = |from: u64| Nanos::from_micros(1_000 + from);
        let found = [0, 9, 10, 14, 15, 90].map(|t| some.after(us(t)));
        assert_eq!(found, [us(0), us(9), us(15), us(15), us(15), us(90)]);
    }
}
