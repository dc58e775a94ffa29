//! Interference of the host with a server thread: without it, no figure of a server can be trusted.

use hindmost_clock::Nanos;
use hindmost_host::counters::ThreadSpan;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shorter gaps cannot be distinguished from a slow clock reading or an interrupt.
const GAP: Nanos = Nanos::from_micros(5);

/// Interruptions of a spinning thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Gaps {
    /// Number of gaps longer than 5 µs.
    pub over_5us: u64,
    /// Their sum.
    pub total_ns: u64,
    /// The longest.
    pub longest_ns: u64,
}

impl Gaps {
    #[inline]
    pub(crate) fn note(&mut self, gap: Nanos) {
        if gap > GAP {
            self.over_5us += 1;
            self.total_ns += gap.0;
            self.longest_ns = self.longest_ns.max(gap.0);
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.over_5us += other.over_5us;
        self.total_ns += other.total_ns;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }
}

/// CPU time and interruptions of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ThreadHost {
    /// Time from its start to its end.
    pub wall_ns: u64,
    /// CPU time used.
    pub cpu_ns: u64,
    /// Number of times that it went to sleep.
    pub voluntary_switches: u64,
    /// Number of preemptions.
    pub involuntary_switches: u64,
    /// Time in which it waited for a CPU that another thread of this host used; absent if the scheduler does not count
    /// it.
    pub run_delay_ns: Option<u64>,
    /// Gaps in its services.
    pub gaps: Gaps,
}

impl ThreadHost {
    pub(crate) fn new(span: &ThreadSpan, gaps: Gaps) -> Self {
        Self {
            wall_ns: span.wall_ns,
            cpu_ns: span.cpu_ns,
            voluntary_switches: span.voluntary_switches,
            involuntary_switches: span.involuntary_switches,
            run_delay_ns: span.schedule.map(|schedule| schedule.run_delay_ns),
            gaps,
        }
    }
}
