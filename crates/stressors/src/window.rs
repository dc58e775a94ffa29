//! Runs a stressor for a window: from a common start, at a fraction of full intensity, with its work counted.

use hindmost_clock::{Clock, MonotonicClock};
use hindmost_sys::this_thread::{cpu_time_ns, make_real_time, pin, sleep_until, switches};
use serde::{Deserialize, Serialize};

use crate::burst::CoreClock;
use crate::stressor::ReadyStressor;
use crate::StressorError;

/// A requested window.
#[derive(Clone, Debug, Deserialize)]
pub struct WindowRequest {
    /// CPU to run on.
    pub cpu: Option<usize>,
    /// Start time (`CLOCK_MONOTONIC`), common to all participants. A time in the past starts at once.
    pub start_ns: u64,
    /// Duration in nanoseconds.
    pub duration_ns: u64,
    /// Fraction of each period in which it works, 0 to 1.
    pub duty: f64,
    /// Length of a period: 5 to 10 us, or the duty cycle becomes visible in a tail.
    pub period_ns: u64,
    /// Whether to request real-time priority.
    pub real_time: bool,
}

/// Results of a window.
#[derive(Clone, Debug, Serialize)]
pub struct Window {
    /// Units of work.
    pub done: u64,
    /// Start of the first block.
    pub began_ns: u64,
    /// End of the last block.
    pub ended_ns: u64,
    /// Time in blocks.
    pub busy_ns: u64,
    /// CPU time of the thread.
    pub cpu_ns: u64,
    /// How often the thread was preempted.
    pub involuntary: u64,
    /// Clock of the core before and after, in GHz.
    pub ghz: [f64; 2],
    /// Whether it had real-time priority.
    pub real_time: bool,
}

impl ReadyStressor {
    /// Work for a window, on a new thread.
    ///
    /// # Errors
    /// If the thread cannot be pinned to that CPU, or memory for code is refused.
    pub fn run(&mut self, request: &WindowRequest) -> Result<Window, StressorError> {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| self.window(request));
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn window(&mut self, request: &WindowRequest) -> Result<Window, StressorError> {
        if let Some(cpu) = request.cpu {
            pin(cpu).map_err(|source| StressorError::Processor { cpu, source })?;
        }
        let mut core = CoreClock::new()?;
        let clock = MonotonicClock;
        // Sleep until shortly before the start, so that other programs are disturbed for little longer than
        // the window.
        sleep_until(request.start_ns.saturating_sub(500_000));
        let real_time = request.real_time && make_real_time().is_ok();
        let before = core.isolated_ghz();
        while clock.now().0 < request.start_ns {
            std::hint::spin_loop();
        }
        let (taken, used) = (switches().involuntary, cpu_time_ns());
        let began = clock.now().0;
        let (done, busy, ended) = self.periods(request, began, clock);
        let (cpu_ns, involuntary) = (cpu_time_ns() - used, switches().involuntary - taken);
        let ghz = [before, core.isolated_ghz()];
        Ok(Window {
            done,
            began_ns: began,
            ended_ns: ended,
            busy_ns: busy,
            cpu_ns,
            involuntary,
            ghz,
            real_time,
        })
    }

    /// Work for the fraction of each period; the excess of a block is subtracted from the next period.
    fn periods(&mut self, request: &WindowRequest, began: u64, clock: MonotonicClock) -> (u64, u64, u64) {
        let end = began + request.duration_ns;
        let duty = request.duty.clamp(0.0, 1.0);
        let (mut done, mut busy, mut now) = (0, 0u64, began);
        while now < end {
            // Time that may be worked by the end of the current period.
            let periods = (now - began) / request.period_ns.max(1) + 1;
            let allowed = (periods * request.period_ns.max(1)) as f64 * duty;
            if (busy as f64) < allowed || duty >= 1.0 {
                done += self.work.block();
                let after = clock.now().0;
                busy += after - now;
                now = after;
            } else {
                std::hint::spin_loop();
                now = clock.now().0;
            }
        }
        (done, busy, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knees::Knees;

    fn window(name: &str, duty: f64) -> Window {
        let mut made = ReadyStressor::new(name, &Knees::default(), &std::env::temp_dir(), 1).unwrap();
        let now = MonotonicClock.now().0;
        let request = WindowRequest {
            cpu: None,
            start_ns: now + 1_000_000,
            duration_ns: 20_000_000,
            duty,
            period_ns: 10_000,
            real_time: false,
        };
        let window = made.run(&request).unwrap();
        assert!(
            window.began_ns >= request.start_ns && window.ended_ns - window.began_ns >= request.duration_ns
        );
        window
    }

    #[test]
    fn a_stressor_works_the_requested_fraction_of_its_window() {
        for duty in [0.25, 0.5, 1.0] {
            let seen = window("int_add", duty);
            let share = seen.busy_ns as f64 / (seen.ended_ns - seen.began_ns) as f64;
            // A preempted thread may miss its share, or count as busy while it does not run.
            assert!(seen.involuntary > 0 || (share - duty).abs() < 0.05, "{share} for {duty}: {seen:?}");
            assert!(seen.done > 0);
        }
        assert_eq!(window("int_add", 0.0).done, 0);
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_refused() {
        let mut made = ReadyStressor::new("null", &Knees::default(), &std::env::temp_dir(), 1).unwrap();
        let request = WindowRequest {
            cpu: Some(4000),
            start_ns: 0,
            duration_ns: 1,
            duty: 1.0,
            period_ns: 10_000,
            real_time: false,
        };
        assert!(matches!(made.run(&request), Err(StressorError::Processor { cpu: 4000, .. })));
    }
}
