//! A ruler at work for a while: from a common start, at a share of full strength, its work counted.

use hindmost_clock::{Clock, MonotonicClock};
use hindmost_sys::this_thread::{cpu_time_ns, make_real_time, pin, sleep_until, switches};
use serde::{Deserialize, Serialize};

use crate::burst::CoreClock;
use crate::ruler::Made;
use crate::RulerError;

/// A window that is asked for.
#[derive(Clone, Debug, Deserialize)]
pub struct Asked {
    /// Where.
    pub cpu: Option<usize>,
    /// When it begins, `CLOCK_MONOTONIC`: the barrier at which all who take part meet. Past: at once.
    pub start_ns: u64,
    /// How long.
    pub duration_ns: u64,
    /// Share of each period in which it works, 0 to 1.
    pub duty: f64,
    /// A period: 5 to 10 us, or the on and off shows in a tail.
    pub period_ns: u64,
    /// Whether to go before all that is not real-time, where that is allowed.
    pub real_time: bool,
}

/// What was done in a window.
#[derive(Clone, Debug, Serialize)]
pub struct Window {
    /// Units of work.
    pub done: u64,
    /// When the first block began.
    pub began_ns: u64,
    /// When the last one ended.
    pub ended_ns: u64,
    /// Time in blocks.
    pub busy_ns: u64,
    /// CPU time of the thread.
    pub cpu_ns: u64,
    /// How often something else got the processor.
    pub involuntary: u64,
    /// The core's clock before and after, GHz.
    pub ghz: [f64; 2],
    /// Whether it went before all that is not real-time.
    pub real_time: bool,
}

impl Made {
    /// Works for a window, on a thread of its own.
    ///
    /// # Errors
    /// Where the thread may not run on that processor, or memory for code is refused.
    pub fn run(&mut self, asked: &Asked) -> Result<Window, RulerError> {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| self.window(asked));
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn window(&mut self, asked: &Asked) -> Result<Window, RulerError> {
        if let Some(cpu) = asked.cpu {
            pin(cpu).map_err(|source| RulerError::Processor { cpu, source })?;
        }
        let mut core = CoreClock::new()?;
        let clock = MonotonicClock;
        // Sleeps until shortly before, so that a neighbour is not disturbed longer than the window.
        sleep_until(asked.start_ns.saturating_sub(500_000));
        let real_time = asked.real_time && make_real_time().is_ok();
        let before = core.calm_ghz();
        while clock.now().0 < asked.start_ns {
            std::hint::spin_loop();
        }
        let (taken, used) = (switches().involuntary, cpu_time_ns());
        let began = clock.now().0;
        let (done, busy, ended) = self.periods(asked, began, clock);
        let (cpu_ns, involuntary) = (cpu_time_ns() - used, switches().involuntary - taken);
        let ghz = [before, core.calm_ghz()];
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

    /// Works its share of each period; what a block took too long is taken off the next.
    fn periods(&mut self, asked: &Asked, began: u64, clock: MonotonicClock) -> (u64, u64, u64) {
        let end = began + asked.duration_ns;
        let duty = asked.duty.clamp(0.0, 1.0);
        let (mut done, mut busy, mut now) = (0, 0u64, began);
        while now < end {
            // All that may have been worked by the end of the period that we are in.
            let periods = (now - began) / asked.period_ns.max(1) + 1;
            let allowed = (periods * asked.period_ns.max(1)) as f64 * duty;
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
        let mut made = Made::new(name, &Knees::default(), &std::env::temp_dir(), 1).unwrap();
        let now = MonotonicClock.now().0;
        let asked = Asked {
            cpu: None,
            start_ns: now + 1_000_000,
            duration_ns: 20_000_000,
            duty,
            period_ns: 10_000,
            real_time: false,
        };
        let window = made.run(&asked).unwrap();
        assert!(window.began_ns >= asked.start_ns && window.ended_ns - window.began_ns >= asked.duration_ns);
        window
    }

    #[test]
    fn a_ruler_works_the_share_of_its_window_that_was_asked() {
        for duty in [0.25, 0.5, 1.0] {
            let seen = window("int_add", duty);
            let share = seen.busy_ns as f64 / (seen.ended_ns - seen.began_ns) as f64;
            // A thread that was switched off misses its share, or is busy while it is away.
            assert!(seen.involuntary > 0 || (share - duty).abs() < 0.05, "{share} for {duty}: {seen:?}");
            assert!(seen.done > 0);
        }
        assert_eq!(window("int_add", 0.0).done, 0);
    }

    #[test]
    fn a_processor_that_is_not_there_is_refused() {
        let mut made = Made::new("null", &Knees::default(), &std::env::temp_dir(), 1).unwrap();
        let asked = Asked {
            cpu: Some(4000),
            start_ns: 0,
            duration_ns: 1,
            duty: 1.0,
            period_ns: 10_000,
            real_time: false,
        };
        assert!(matches!(made.run(&asked), Err(RulerError::Processor { cpu: 4000, .. })));
    }
}
