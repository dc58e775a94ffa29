//! When a thread stands still by the clock, and what that does to its work.
//!
//! ```text
//!   work    |=======|      pause       |====|
//!           t                               through(t, work)
//! ```

use std::collections::VecDeque;

use hindmost_clock::Nanos;
use hindmost_clone::{Program, Windows};

/// The pauses of one thread: its own, and those of the whole server, which every thread finds out by itself from
/// the same draws.
///
/// Moments may be asked about in any order, down to the last one that was forgotten: a thread first asks whether it
/// runs now, and then what became of a service that it should have begun a little earlier.
pub(crate) struct Pauses {
    origin: Nanos,
    sources: Vec<Source>,
    /// Begin and end of those drawn and not forgotten, in order, apart from each other; empty only before the first
    /// question.
    known: VecDeque<(Nanos, Nanos)>,
}

/// Room for pauses in the time that a thread looks back and ahead; more are kept all the same.
const ROOM: usize = 64;

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
        let room = if sources.is_empty() { 0 } else { ROOM };
        Self { origin, sources, known: VecDeque::with_capacity(room) }
    }

    /// No earlier moment will be asked about.
    #[inline]
    pub(crate) fn forget(&mut self, before: Nanos) {
        while self.known.front().is_some_and(|pause| pause.1 <= before) {
            self.known.pop_front();
        }
    }

    /// The first moment from `t` on at which the thread runs.
    #[inline]
    pub(crate) fn after(&mut self, t: Nanos) -> Nanos {
        match self.first_ending_after(t) {
            Some((begin, end)) if begin <= t => end,
            _ => t,
        }
    }

    /// When `work` that begins at `t` is done.
    #[inline]
    pub(crate) fn through(&mut self, t: Nanos, work: Nanos) -> Nanos {
        let (mut t, mut left) = (self.after(t), work);
        while let Some((begin, end)) = self.first_ending_after(t) {
            let runs = begin - t;
            if left <= runs {
                break;
            }
            left = left.saturating_sub(runs);
            t = end;
        }
        t.saturating_add(left)
    }

    /// The first pause that is not over at `t`, if one will come; drawn where it is not known yet.
    #[inline]
    fn first_ending_after(&mut self, t: Nanos) -> Option<(Nanos, Nanos)> {
        if self.sources.is_empty() {
            return None;
        }
        while self.known.back().is_none_or(|pause| pause.1 <= t) {
            self.draw()?;
        }
        self.known.iter().find(|pause| pause.1 > t).copied()
    }

    /// Draws the next pause: a window, with all that overlap it or follow at once. `None` once there are no more.
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
        self.known.push_back((begin, end));
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

    #[test]
    fn a_service_that_should_have_begun_before_a_pause_that_is_seen_meets_it() {
        let us = |from: u64| Nanos::from_micros(1_000 + from);
        // A thread is late: it looks whether it runs now, in the pause or after it, and begins a service of before.
        for (now, forgotten) in [(12, 0), (14, 3), (15, 4), (40, 5), (300, 5)] {
            let mut some = pauses(&[
                (Scope::Thread, 10.0, 5.0),
                (Scope::Server, 30.0, 5.0),
                (Scope::Thread, 200.0, 50.0),
            ]);
            some.after(us(now));
            some.forget(us(forgotten));
            assert_eq!(some.through(us(5), Nanos::from_micros(10)), us(20), "seen at {now}");
            assert_eq!(some.through(us(5), Nanos::from_micros(25)), us(40), "seen at {now}");
            assert_eq!(some.after(us(201)), us(250));
        }
    }

    #[test]
    fn what_is_over_and_forgotten_is_not_kept() {
        let mut some = pauses(&[(Scope::Thread, 10.0, 5.0), (Scope::Server, 30.0, 5.0)]);
        let us = |from: u64| Nanos::from_micros(1_000 + from);
        some.after(us(100));
        assert_eq!(some.known.len(), 2);
        some.forget(us(15));
        assert_eq!(some.known.len(), 1);
        some.forget(us(34));
        assert_eq!(some.after(us(30)), us(35), "one that is not over is kept");
    }
}
