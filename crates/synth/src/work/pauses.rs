//! Pauses of a thread by the clock, and how they delay its work.
//!
//! ```text
//!   work    |=======|      pause       |====|
//!           t                               through(t, work)
//! ```

use std::collections::VecDeque;

use hindmost_clock::Nanos;
use hindmost_clone::{Program, Windows};

/// The pauses of one thread: its own and those of the whole server, which every thread computes from the same draws.
///
/// Queries may come in any order, down to the last forgotten time: a thread first asks whether it runs now, and then
/// when a service ends that should have started a little earlier.
pub(crate) struct Pauses {
    origin: Nanos,
    sources: Vec<Source>,
    /// Start and end of drawn pauses, in order and disjoint; empty only before the first query.
    drawn: VecDeque<(Nanos, Nanos)>,
}

/// Initial capacity for the pauses within a thread's range of queries; more may be kept.
const INITIAL_CAPACITY: usize = 64;

struct Source {
    windows: Windows,
    begin: Nanos,
    end: Nanos,
}

impl Source {
    /// Draw the next window; `MAX` if there is none.
    fn step(&mut self, origin: Nanos) {
        let (begin, length) = self.windows.next().unwrap_or((f64::INFINITY, 0.0));
        // The casts saturate: infinity becomes the maximum.
        self.begin = origin.saturating_add(Nanos(begin as u64));
        self.end = self.begin.saturating_add(Nanos(length.round() as u64));
    }
}

impl Pauses {
    /// Create the pauses of one thread of a server that started at `origin`.
    pub(crate) fn new(program: &Program, seed: u64, thread: u32, origin: Nanos) -> Self {
        let windows = program.windows(seed, None).into_iter().chain(program.windows(seed, Some(thread)));
        let mut sources: Vec<_> =
            windows.map(|windows| Source { windows, begin: Nanos::ZERO, end: Nanos::ZERO }).collect();
        for source in &mut sources {
            source.step(origin);
        }
        let capacity = if sources.is_empty() { 0 } else { INITIAL_CAPACITY };
        Self { origin, sources, drawn: VecDeque::with_capacity(capacity) }
    }

    /// Forget earlier pauses: no earlier time will be queried.
    #[inline]
    pub(crate) fn forget(&mut self, before: Nanos) {
        while self.drawn.front().is_some_and(|pause| pause.1 <= before) {
            self.drawn.pop_front();
        }
    }

    /// Return the first time from `t` on at which the thread runs.
    #[inline]
    pub(crate) fn after(&mut self, t: Nanos) -> Nanos {
        match self.first_ending_after(t) {
            Some((begin, end)) if begin <= t => end,
            _ => t,
        }
    }

    /// Return the end of `work` that starts at `t`.
    #[inline]
    pub(crate) fn through(&mut self, t: Nanos, work: Nanos) -> Nanos {
        let (mut t, mut left) = (self.after(t), work);
        while let Some((begin, end)) = self.first_ending_after(t) {
            let free = begin - t;
            if left <= free {
                break;
            }
            left = left.saturating_sub(free);
            t = end;
        }
        t.saturating_add(left)
    }

    /// Return the first pause that ends after `t`, drawing pauses as needed; None if there is none.
    #[inline]
    fn first_ending_after(&mut self, t: Nanos) -> Option<(Nanos, Nanos)> {
        if self.sources.is_empty() {
            return None;
        }
        while self.drawn.back().is_none_or(|pause| pause.1 <= t) {
            self.draw()?;
        }
        self.drawn.iter().find(|pause| pause.1 > t).copied()
    }

    /// Draw the next pause: a window with all windows that overlap or touch it. Return `None` if there are no more.
    fn draw(&mut self) -> Option<()> {
        let origin = self.origin;
        let first = self.sources.iter_mut().min_by_key(|source| source.begin)?;
        let (begin, mut end) = (first.begin, first.end);
        if begin == Nanos::MAX {
            return None;
        }
        while let Some(source) =
            self.sources.iter_mut().find(|source| source.begin <= end && source.begin < Nanos::MAX)
        {
            end = end.max(source.end);
            source.step(origin);
        }
        self.drawn.push_back((begin, end));
        Some(())
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
    fn work_resumes_after_a_pause() {
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
        // Two overlapping pauses merge; a following one counts, too.
        check(&[(thread, 10.0, 100.0), (server, 50.0, 100.0)], 5, 10, 155);
        check(&[(thread, 10.0, 100.0), (server, 112.0, 8.0)], 5, 10, 123);
    }

    #[test]
    fn a_running_thread_is_not_delayed() {
        let mut pauses_of_thread = pauses(&[(Scope::Server, 10.0, 5.0)]);
        let us = |from: u64| Nanos::from_micros(1_000 + from);
        let found = [0, 9, 10, 14, 15, 90].map(|t| pauses_of_thread.after(us(t)));
        assert_eq!(found, [us(0), us(9), us(15), us(15), us(15), us(90)]);
    }

    #[test]
    fn a_service_scheduled_before_a_known_pause_is_delayed_by_it() {
        let us = |from: u64| Nanos::from_micros(1_000 + from);
        // A late thread first asks whether it runs now, during or after the pause, then starts an earlier service.
        for (now, forgotten) in [(12, 0), (14, 3), (15, 4), (40, 5), (300, 5)] {
            let mut pauses_of_thread = pauses(&[
                (Scope::Thread, 10.0, 5.0),
                (Scope::Server, 30.0, 5.0),
                (Scope::Thread, 200.0, 50.0),
            ]);
            pauses_of_thread.after(us(now));
            pauses_of_thread.forget(us(forgotten));
            assert_eq!(pauses_of_thread.through(us(5), Nanos::from_micros(10)), us(20), "queried at {now}");
            assert_eq!(pauses_of_thread.through(us(5), Nanos::from_micros(25)), us(40), "queried at {now}");
            assert_eq!(pauses_of_thread.after(us(201)), us(250));
        }
    }

    #[test]
    fn finished_pauses_are_dropped_when_forgotten() {
        let mut pauses_of_thread = pauses(&[(Scope::Thread, 10.0, 5.0), (Scope::Server, 30.0, 5.0)]);
        let us = |from: u64| Nanos::from_micros(1_000 + from);
        pauses_of_thread.after(us(100));
        assert_eq!(pauses_of_thread.drawn.len(), 2);
        pauses_of_thread.forget(us(15));
        assert_eq!(pauses_of_thread.drawn.len(), 1);
        pauses_of_thread.forget(us(34));
        assert_eq!(pauses_of_thread.after(us(30)), us(35), "an unfinished pause is kept");
    }
}
